// SPDX-License-Identifier: Apache-2.0
#include "layers/initialize.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/views.hpp"

namespace quern {
namespace {

ParameterTable make_table() {
  ParameterTable table;
  table.add("fc1.weight", {129, 257}, 257, ParameterKind::weight);
  table.add("fc1.bias", {129}, 257, ParameterKind::bias);
  table.add("conv1.weight", {20, 7, 3, 3}, 63, ParameterKind::weight);
  return table;
}

std::vector<float> initialize(const ParameterTable& table, const InitSpec& init,
                              std::uint64_t seed) {
  const FloatView block("test::parameters", static_cast<std::size_t>(table.block_size()));
  Kokkos::deep_copy(block, 777.0f);
  initialize_parameters(table, init, seed, block);
  return test::to_vector(block);
}

std::vector<float> tensor(const ParameterTable& table, const std::vector<float>& block,
                          std::size_t entry) {
  const auto begin = block.begin() + table.entries()[entry].offset;
  return {begin, begin + table.entries()[entry].count};
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double largest = 0;
};

Moments moments(const std::vector<float>& values) {
  const auto count = static_cast<double>(values.size());
  Moments m;
  for (const float value : values) {
    m.mean += value / count;
    m.largest = std::max(m.largest, std::abs(double{value}));
  }
  for (const float value : values) m.variance += (value - m.mean) * (value - m.mean) / count;
  return m;
}

TEST(Initialize, PyTorchDefaultIsUniformInTheFanInBound) {
  const ParameterTable table = make_table();
  const std::vector<float> block = initialize(table, {}, 1);
  for (std::size_t entry = 0; entry < 3; ++entry) {
    const double bound = 1 / std::sqrt(static_cast<double>(table.entries()[entry].fan_in));
    const Moments m = moments(tensor(table, block, entry));
    const auto count = static_cast<double>(table.entries()[entry].count);
    EXPECT_LE(m.largest, bound);
    EXPECT_GT(m.largest, 0.95 * bound);
    EXPECT_NEAR(m.mean, 0, 5 * bound / std::sqrt(3 * count));
    EXPECT_NEAR(m.variance, bound * bound / 3, 5 * bound * bound / std::sqrt(count));
  }
}

TEST(Initialize, NormalHasTheStandardDeviationAndZeroBiases) {
  const ParameterTable table = make_table();
  const std::vector<float> block = initialize(table, {InitType::normal, 0.01}, 1);
  const Moments m = moments(tensor(table, block, 0));
  const auto count = static_cast<double>(table.entries()[0].count);
  EXPECT_NEAR(m.mean, 0, 5 * 0.01 / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(m.variance), 0.01, 5 * 0.01 / std::sqrt(2 * count));
  EXPECT_GT(m.largest, 0.03);
  EXPECT_LT(m.largest, 0.07);
  EXPECT_EQ(moments(tensor(table, block, 1)).largest, 0);
}

// torch.nn.init.kaiming_normal_(mode="fan_out", nonlinearity="relu") of [20, 7, 3, 3]: fan_out 180.
TEST(Initialize, KaimingIsForConvolutionsAndTheRestIsThePyTorchDefault) {
  const ParameterTable table = make_table();
  const std::vector<float> block = initialize(table, {InitType::kaiming}, 1);
  const std::vector<float> by_default = initialize(table, {}, 1);
  EXPECT_EQ(tensor(table, block, 0), tensor(table, by_default, 0));
  EXPECT_EQ(tensor(table, block, 1), tensor(table, by_default, 1));
  const Moments m = moments(tensor(table, block, 2));
  const auto count = static_cast<double>(table.entries()[2].count);
  const double deviation = std::sqrt(2.0 / 180);
  EXPECT_NEAR(m.mean, 0, 5 * deviation / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(m.variance), deviation, 5 * deviation / std::sqrt(2 * count));
  EXPECT_GT(m.largest, 2.5 * deviation) << "normal, not uniform";
}

TEST(Initialize, GapsAreZero) {
  const ParameterTable table = make_table();
  const std::vector<float> block = initialize(table, {}, 1);
  const ParameterEntry& bias = table.entries()[1];
  ASSERT_LT(bias.count, table.entries()[2].offset - bias.offset) << "a gap to look at";
  for (auto i = bias.offset + bias.count; i < table.entries()[2].offset; ++i)
    EXPECT_EQ(block[static_cast<std::size_t>(i)], 0);
}

TEST(Initialize, ScalesAreOneAndShiftsZero) {
  ParameterTable table;
  table.add("norm.weight", {21}, 1, ParameterKind::scale);
  table.add("norm.bias", {21}, 1, ParameterKind::shift);
  for (const InitSpec& init :
       {InitSpec{}, InitSpec{InitType::normal, 0.01}, InitSpec{InitType::kaiming}}) {
    const std::vector<float> block = initialize(table, init, 1);
    EXPECT_EQ(tensor(table, block, 0), std::vector<float>(21, 1.0f));
    EXPECT_EQ(tensor(table, block, 1), std::vector<float>(21, 0.0f));
  }
}

TEST(Initialize, SeedAndTensorChangeTheNumbers) {
  const ParameterTable table = make_table();
  const std::vector<float> block = initialize(table, {}, 1);
  EXPECT_EQ(block, initialize(table, {}, 1));
  EXPECT_NE(block, initialize(table, {}, 2));
  EXPECT_NE(block[0], block[static_cast<std::size_t>(table.entries()[1].offset)]);
}

TEST(Initialize, NumbersFollowTheDocumentedCounter) {
  ParameterTable table;
  table.add("w", {5}, 4, ParameterKind::weight);
  table.add("v", {5}, 4, ParameterKind::weight);
  // Worked out in Python after docs/numerics.md, "Random numbers".
  const float uniform[2][5] = {{0.35346704721450806f, 0.15351223945617676f, -0.34256529808044434f,
                                -0.47909921407699585f, -0.35837334394454956f},
                               {-0.3570725917816162f, 0.21354609727859497f, -0.20551133155822754f,
                                -0.3078228831291199f, 0.09106558561325073f}};
  const double normal[2][5] = {
      {-0.003207552, -0.004626151, 0.019063285, 0.0025179542, 0.011432286},
      {-0.0044785854, -0.019210046, 0.005556801, 0.014615913, 0.00057102024}};
  const std::vector<float> by_default = initialize(table, {}, 9);
  const std::vector<float> by_normal = initialize(table, {InitType::normal, 0.01}, 9);
  for (std::size_t t = 0; t < 2; ++t) {
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(tensor(table, by_default, t)[i], uniform[t][i]) << t << ", " << i;
      EXPECT_NEAR(tensor(table, by_normal, t)[i], normal[t][i], 1e-9) << t << ", " << i;
    }
  }
}

}  // namespace
}  // namespace quern
