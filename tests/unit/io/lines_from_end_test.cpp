// SPDX-License-Identifier: Apache-2.0
#include "io/lines_from_end.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

struct Read {
  std::vector<std::string> lines;  ///< in the order of the file
  std::string all;                 ///< the file, put together
  bool has_torn = false;
};

Read read(const std::filesystem::path& file) {
  Read result;
  LinesFromEnd lines(file);
  std::int64_t next = std::filesystem::file_size(file);
  while (const auto line = lines.next()) {
    EXPECT_EQ(line->begin + static_cast<std::int64_t>(line->text.size()) + line->is_ended, next);
    EXPECT_TRUE(line->is_ended || result.lines.empty());
    next = line->begin;
    result.all.insert(0, line->text + (line->is_ended ? "\n" : ""));
    result.lines.push_back(line->text);
    result.has_torn = result.has_torn || !line->is_ended;
  }
  EXPECT_EQ(next, 0);
  std::ranges::reverse(result.lines);
  return result;
}

class LinesFromEndTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    std::ofstream(folder_ / "lines", std::ios::binary) << text;
    return folder_ / "lines";
  }

  test::TempDir folder_;
};

TEST_F(LinesFromEndTest, AreThoseOfTheFile) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(read(write("a\nbc\n\nd\n")).lines, (Lines{"a", "bc", "", "d"}));
  EXPECT_EQ(read(write("\n")).lines, Lines{""});
  EXPECT_EQ(read(write("\n\n")).lines, (Lines{"", ""}));
  EXPECT_EQ(read(write("")).lines, Lines{});
  const Read torn = read(write("a\nb"));
  EXPECT_EQ(torn.lines, (Lines{"a", "b"}));
  EXPECT_TRUE(torn.has_torn);
  EXPECT_FALSE(LinesFromEnd(folder_ / "no").next().has_value());
}

// Around the sizes in which the file is read.
TEST_F(LinesFromEndTest, OfLongFiles) {
  constexpr std::size_t kPart = std::size_t{1} << 18;
  for (const std::size_t length : {kPart - 2, kPart - 1, kPart, kPart + 1, 5 * kPart}) {
    const std::string text = "first\n" + std::string(length, 'x') + "\nlast\n";
    const Read whole = read(write(text));
    EXPECT_EQ(whole.lines.size(), 3u) << length;
    EXPECT_TRUE(whole.all == text) << length;
  }
  for (std::size_t bytes = 2 * kPart - 3; bytes < 2 * kPart + 3; ++bytes) {
    std::string text;
    while (text.size() < bytes) text += std::to_string(text.size()) + "\n";
    text.resize(bytes);
    EXPECT_TRUE(read(write(text)).all == text) << bytes;
  }
}

TEST_F(LinesFromEndTest, OfADiskThatFails) {
  test::expect_error([] { LinesFromEnd("/proc/self/mem"); }, ExitCode::failure,
                     {"cannot read '/proc/self/mem': Input/output error"});
  test::expect_error([&] { LinesFromEnd(folder_.path()); }, ExitCode::bad_input,
                     {"cannot read", folder_.path().string()});
}

}  // namespace
}  // namespace quern
