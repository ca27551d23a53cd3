// SPDX-License-Identifier: Apache-2.0
#include "io/sample_checks.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/expect_error.hpp"

namespace quern {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The last of six values, of three samples that count from 10.
std::optional<std::string> found_last(float value, std::optional<StoredType> stored = {}) {
  const std::vector<float> values{0, -1, 1e-40f, 65519, -65519, value};
  return find_not_finite(values, "targets", 2, 10, stored);
}

TEST(SampleChecks, NameTheFirstValueThatIsNotFinite) {
  EXPECT_FALSE(found_last(-std::numeric_limits<float>::max()));
  EXPECT_EQ(found_last(kInfinity),
            "the targets of sample 12 hold inf or a number too large for float32, expected finite "
            "numbers");
  EXPECT_EQ(found_last(-kInfinity),
            "the targets of sample 12 hold -inf or a number too large for float32, expected finite "
            "numbers");
  EXPECT_EQ(found_last(kNan), "the targets of sample 12 hold nan, expected finite numbers");
  EXPECT_TRUE(found_last(-kNan));
  EXPECT_EQ(
      find_not_finite(std::vector<float>{0, kInfinity, kNan}, "values", 1, 0),
      "the values of sample 1 hold inf or a number too large for float32, expected finite numbers");
  EXPECT_FALSE(find_not_finite({}, "values", 0, 0));
}

TEST(SampleChecks, NameWhatIsInfiniteAsItIsStored) {
  EXPECT_FALSE(found_last(65520, StoredType::float32));
  EXPECT_FALSE(found_last(65519, StoredType::float16));
  EXPECT_EQ(found_last(-65520, StoredType::float16),
            "the targets of sample 12 hold -65520, expected finite float16 numbers");
  EXPECT_EQ(found_last(kNan, StoredType::float32),
            "the targets of sample 12 hold nan, expected finite float32 numbers");
}

TEST(SampleChecks, NameTheFirstLabelOutOfRange) {
  EXPECT_FALSE(find_wrong_label(std::vector<std::int32_t>{0, 9}, 10, 5));
  EXPECT_EQ(find_wrong_label(std::vector<std::int32_t>{0, 10, -1}, 10, 5),
            "label 10 of sample 6 is out of range, expected 0 to 9");
  EXPECT_EQ(find_wrong_label(std::vector<std::int32_t>{-1}, 10, 5),
            "label -1 of sample 5 is out of range, expected 0 to 9");
}

TEST(SampleChecks, RefuseWithTheFileIfThereIsOne) {
  refuse_input("'t.csv'", std::nullopt);
  test::expect_error([] { refuse_input("'t.csv'", "no number"); }, ExitCode::bad_input,
                     {"'t.csv': no number"});
  test::expect_error([] { refuse_input("", "no number"); }, ExitCode::bad_input, {"no number"});
}

}  // namespace
}  // namespace quern
