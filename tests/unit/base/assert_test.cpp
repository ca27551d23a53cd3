// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"

namespace quern {
namespace {

TEST(Expect, NamesThePlaceOfItsCaller) {
  expect(true, "nothing");
  const int line = __LINE__ + 2;
  try {
    expect(false, "two rows");
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("expected two rows"), std::string::npos) << text;
    EXPECT_NE(text.find("assert_test.cpp:" + std::to_string(line) + ", TestBody"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace quern
