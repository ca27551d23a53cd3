// SPDX-License-Identifier: Apache-2.0
#include "readers/csv_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect_error.hpp"

namespace quern {
namespace {

using testing::ElementsAre;
using Floats = std::vector<float>;

const std::string kMark = "\xEF\xBB\xBF";

ByteStream stream_of_text(const std::string& text) {
  ByteStream stream;
  stream.name = "'t.csv'";
  stream.longest = text.size();
  stream.read = [text, at = std::size_t{0}](std::span<std::uint8_t> bytes) mutable {
    const std::size_t count = std::min(bytes.size(), text.size() - at);
    std::copy_n(text.data() + at, count, bytes.data());
    at += count;
    return count;
  };
  return stream;
}

Floats values_of(const std::string& text, const std::string& columns = "") {
  return std::get<Floats>(read_csv(stream_of_text(text), columns, false).values);
}

Floats part_of(const std::string& text, const SampleRange& range) {
  const TableLines lines = find_lines(stream_of_text(text));
  const auto choose = [&](std::int64_t) { return range; };
  return std::get<Floats>(read_csv(stream_of_text(text), "", false, lines, choose).values);
}

void expect_bad(const std::string& text, std::initializer_list<std::string> parts,
                const std::string& columns = "") {
  test::expect_error([&] { values_of(text, columns); }, ExitCode::bad_input, parts);
}

// As in NumPy.
TEST(CsvReader, NumbersTooSmallForAFloat) {
  EXPECT_THAT(values_of("a,b\n1.5,1e-50\n-1e-400,+3e-9999\n"), ElementsAre(1.5f, 0, 0, 0));
  EXPECT_THAT(values_of("1e-40\n"), ElementsAre(1e-40f));
  EXPECT_THAT(values_of("0." + std::string(60, '0') + "1\n"), ElementsAre(0));
}

TEST(CsvReader, QuotesHoldSeparators) {
  EXPECT_THAT(values_of("\"width, mm\",b\n3,4\n", "b"), ElementsAre(4));
  EXPECT_THAT(values_of("\"width, mm\",b\n3,4\n", "width, mm"), ElementsAre(3));
  EXPECT_THAT(values_of("\"a;b\tc\",b\n3,4\n"), ElementsAre(3, 4));
  EXPECT_THAT(values_of("a;\"b,c\"\n\"3\"; \"4\" \n", "b,c"), ElementsAre(4));
  EXPECT_THAT(values_of("a\t\"b\tc\"\n1\t2\n", "2"), ElementsAre(2));
  EXPECT_THAT(values_of("note,x\n\"one, two\",3\n\"\",4\n", "x"), ElementsAre(3, 4));
  EXPECT_THAT(values_of("note,x\n,4\n", "x"), ElementsAre(4));
  EXPECT_THAT(part_of("\"a,b\",c\n1,2\n\"3\",\"4\"\n", {1, 1}), ElementsAre(3, 4));
}

TEST(CsvReader, ColumnsOfOneNameHaveNumbers) {
  expect_bad("a,b,a\n1,2,3\n", {"several columns are called 'a'", "the number of one"}, "a");
  EXPECT_THAT(values_of("a,b,a\n1,2,3\n", "3"), ElementsAre(3));
  EXPECT_THAT(values_of("a,b,a\n1,2,3\n", "b"), ElementsAre(2));
}

TEST(CsvReader, DoubledQuotesAreOne) {
  EXPECT_THAT(values_of("\"5\"\" disk, new\",b\n3,4\n", "5\" disk, new"), ElementsAre(3));
  EXPECT_THAT(values_of("\"\"\"x\"\"\",\"\"\"\"\n3,4\n", "\"x\""), ElementsAre(3));
  EXPECT_THAT(values_of("\"\"\"x\"\"\",\"\"\"\"\n3,4\n", "\""), ElementsAre(4));
  EXPECT_THAT(values_of("5\" disk,b\n3,4\n", "5\" disk"), ElementsAre(3));
  expect_bad("a,b\n1,\"2\"\"\"\n", {"'2\"' in line 2, column 2, expected a number"});
}

TEST(CsvReader, QuotesThatDoNotFit) {
  const std::string expected = "a quote without an end, expected it in the same line";
  expect_bad("\"a,b\n3,4\n", {"'t.csv': line 1, column 1", expected});
  expect_bad("a,b\n1,2\n3,\"4\n5,6\n", {"line 3, column 2", expected});
  expect_bad("a,b\n3,\"4\"\"\n", {"line 2, column 2", expected});
  expect_bad("a,b\n3,\"", {"line 2, column 2", expected});
  expect_bad("a,b\n\"3\"1,4\n", {"line 2, column 1: text behind a quote, expected a separator"});
}

TEST(CsvReader, AFirstLineWithoutANumberIsNames) {
  EXPECT_THAT(values_of("a,b,y\n3,4,1\n", "y,a"), ElementsAre(1, 3));
  EXPECT_THAT(values_of("1st,x1,2nd half\n3,4,1\n", "x1,1st"), ElementsAre(4, 3));
  EXPECT_THAT(values_of("\"a\"; \"b\"\n3;4\n", "b"), ElementsAre(4));
  EXPECT_THAT(values_of(",a\n0,7\n", "a"), ElementsAre(7));  // as pandas writes an index
  EXPECT_THAT(values_of("1.2.3,0x10,1e,-\n1,2,3,4\n", "0x10"), ElementsAre(2));
}

TEST(CsvReader, AFirstLineOfNumbersIsASample) {
  EXPECT_THAT(values_of("1,2\n3,4\n"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values_of("\"1\",\"-2e1\"\n+3, .5 \n"), ElementsAre(1, -20, 3, .5f));
  EXPECT_EQ(values_of("nan,inf\n3,4\n").size(), 4);
  expect_bad("1e999\n3\n",
             {"'t.csv': '1e999' in line 1, column 1, expected a number that float32 can hold"});
  expect_bad("3\n-1e39\n",
             {"'-1e39' in line 2, column 1, expected a number that float32 can hold"});
  expect_bad("1,1e999\n3,4\n", {"'1e999' in line 1, column 2, expected a number"});
}

TEST(CsvReader, AFirstLineOfNumbersAndWordsIsRefused) {
  const std::string expected = "expected numbers alone, or names alone";
  expect_bad("NA,2,0\n3,4,1\n",
             {"'t.csv': 'NA' in line 1, column 1, beside the number '2' in column 2", expected});
  expect_bad("NA,2,0\n3,4,1\n", {"'NA' in line 1, column 1"}, "1,2");
  expect_bad("5.1,3.5,setosa\n4.9,3,setosa\n", {"'setosa' in line 1, column 3"}, "1-2");
  expect_bad("year,2019,2020\n1,2,3\n", {"'year' in line 1, column 1", "'2019' in column 2"});
  expect_bad("2,,0\n3,4,1\n", {"'' in line 1, column 2, beside the number '2' in column 1"});
  expect_bad("\"1\",\"x\"\n3,4\n", {"'x' in line 1, column 2, beside the number '1' in column 1"});
  expect_bad("nan,x\n3,4\n", {"'x' in line 1, column 2, beside the number 'nan'"});
  expect_bad("1e999,x\n3,4\n", {"'x' in line 1, column 2, beside the number '1e999'"});
}

TEST(CsvReader, AFirstLineOfEmptyFieldsIsRefused) {
  expect_bad(",,\n3,4,1\n",
             {"'t.csv': line 1 has empty fields alone", "expected numbers or names"});
  expect_bad("\"\"\n3\n", {"empty, expected a table of numbers"});
}

TEST(CsvReader, AByteOrderMarkIsNoPartOfTheTable) {
  EXPECT_THAT(values_of(kMark + "1,2\n3,4\n"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values_of(kMark + "a,b\r\n3,4\r\n", "a"), ElementsAre(3));
  EXPECT_THAT(values_of(kMark + "\"a\",b\n3,4\n", "a"), ElementsAre(3));
  expect_bad(kMark, {"empty, expected a table of numbers"});
  expect_bad("1,2\n" + kMark + "3,4\n", {"in line 2, column 1, expected a number"});
}

TEST(CsvReader, FieldsInMessagesTouchNoTerminal) {
  expect_bad("1,2\n\x1b[2J,4\n", {"'\\x1b[2J' in line 2, column 1, expected a number"});
  expect_bad("caf\xe9,2\n3,4\n", {"'caf\\xe9' in line 1, column 1, beside the number"});
  expect_bad("\x1b[2J,b\n3,4\n", {"no column 'c'", "or names (\\x1b[2J, b)"}, "c");
  const std::string umlauts = "üüüüüüüüüüüüüüüüüüüüüüüü";
  expect_bad("1\n" + umlauts + "\n", {"'" + umlauts.substr(0, 40) + "...' in line 2"});
}

TEST(CsvReader, NamesWithAZeroByteAreRefused) {
  const std::string text = std::string("lon,\"la\0t\",income\n1,2,3\n", 24);
  expect_bad(text, {"'t.csv': 'la\\x00t' in line 1, column 2: byte 3 of the name is 0",
                    "expected text in UTF-8"});
  EXPECT_THAT(values_of(text, "1,3"), ElementsAre(1, 3)) << "where the column is not read";
  expect_bad(std::string("a\0,\0b\0\n\1\0", 9), {"line 1, column 1: byte 2 of the name is 0"});
}

TEST(CsvReader, RangesAreOfNumbersAndRunUpwards) {
  const std::string text = "lon,lat,mean-income\n1,2,3\n";
  EXPECT_THAT(values_of(text, "2-3"), ElementsAre(2, 3));
  EXPECT_THAT(values_of(text, "mean-income,lon"), ElementsAre(3, 1));
  for (const auto& [columns, expected] : {std::pair{"lon-lat", "1-2"},
                                          {"lon-mean-income", "1-3"},
                                          {"mean-income-lat", "2-3"},
                                          {"3-1", "1-3"},
                                          {"lon-3", "1-3"}}) {
    expect_bad(
        text,
        {std::string("no column '") + columns + "': a range is of numbers and runs upwards, ",
         std::string("expected ") + expected},
        columns);
  }
  for (const char* columns : {"lon-depth", "1-4", "0-2", "lat-", "-3"})
    expect_bad(text,
               {std::string("no column '") + columns + "', expected numbers from 1 to 3 or names"},
               columns);
  expect_bad("1,2,3\n", {"no column '3-1': a range is of numbers and runs upwards, expected 1-3"},
             "3-1");
}

TEST(CsvReader, SomeLinesOfATable) {
  for (const std::string& mark : {std::string(), kMark}) {
    EXPECT_THAT(part_of(mark + "1,2\n3,4\n5,6\n", {0, 2}), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(part_of(mark + "1,2\n3,4\n5,6\n", {2, 1}), ElementsAre(5, 6));
    EXPECT_THAT(part_of(mark + "a,b\n3,4\n5,6\n", {0, 1}), ElementsAre(3, 4));
  }
  test::expect_error(
      [] {
        part_of("NA,2\n3,4\n5,6\n", {1, 1});
      },
      ExitCode::bad_input, {"'NA' in line 1, column 1"});
}

}  // namespace
}  // namespace quern
