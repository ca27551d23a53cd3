// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace quern {
namespace {

using Texts = std::vector<std::string>;

TEST(Text, LinesComeBack) {
  for (const Texts& texts : {Texts{}, Texts{"cat"}, Texts{"cat", "", "a, \"b\"", "grüße"}})
    EXPECT_EQ(split_lines(join_lines(texts)), texts);
  EXPECT_EQ(join_lines({"cat", "dog"}), "cat\ndog");
  EXPECT_EQ(split_lines("cat\ndog\n"), (Texts{"cat", "dog"}));
}

TEST(Text, PrintableEscapesWhatATerminalActsUpon) {
  EXPECT_EQ(printable("a\x1b[31m\n\t\x7f"), "a\\x1b[31m\\x0a\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("\0z", 2)), "\\x00z");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m"),
            "\\xc2\\x9b1m")
      << "U+009B is ESC [ to some";
  for (const char* text : {"", "a \\ b", "grüße", "\xc2\xa0", "漢字", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable_lines("a\x1b\nb\r\n"), "a\\x1b\nb\\x0d\n");
}

TEST(Text, PrintableEscapesWhatIsNoUtf8) {
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\xe9"
                      "a\xc3"),
            "\\xe9a\\xc3");
  EXPECT_EQ(printable("\x80"), "\\x80");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "longer than it has to be";
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair of UTF-16";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond U+10FFFF";
}

TEST(Text, Utf8) {
  for (const char* text : {"", "a\x1b\n", "grüße", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(as_utf8(text), text);
  }
  for (const char* text : {"caf\xe9", "\xc3", "\xc0\xaf", "a\x80z"}) EXPECT_FALSE(is_utf8(text));
  EXPECT_EQ(as_utf8("caf\xe9\nü\x1b"), "caf\\xe9\nü\x1b");
}

TEST(Text, PrintableStartIsShortAndKeepsCharactersWhole) {
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ü";
  EXPECT_EQ(printable_start(umlauts), umlauts.substr(0, 60) + "...");
  EXPECT_EQ(printable_start("x" + umlauts), "x" + umlauts.substr(0, 60) + "...");
  EXPECT_EQ(printable_start("abc", 3), "abc");
  EXPECT_EQ(printable_start("abcd", 3), "abc...");
}

TEST(Text, LowersLettersOfAsciiAlone) {
  EXPECT_EQ(lower_case("T-1.CSV_\xc3\x9c"), "t-1.csv_\xc3\x9c");
}

TEST(DecimalText, ShowsDigitsOfAnySize) {
  EXPECT_EQ(decimal_text(0.03174, 4), "0.0317");
  EXPECT_EQ(decimal_text(0.001, 4), "0.0010");
  EXPECT_EQ(decimal_text(4.2134e-5, 4), "4.213e-05");
  EXPECT_EQ(decimal_text(-4.2134e-5, 4), "-4.213e-05");
  EXPECT_EQ(decimal_text(0, 4), "0.0000");
  EXPECT_EQ(decimal_text(123.4, 6), "123.400000");
  EXPECT_EQ(decimal_text(1.5e30, 6), "1.50000e+30");
  EXPECT_EQ(decimal_text(std::nan(""), 4), "nan");
  EXPECT_EQ(decimal_text(-HUGE_VAL, 4), "-inf");
}

}  // namespace
}  // namespace quern
