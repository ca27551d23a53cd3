// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "base/error.hpp"

namespace quern::test {

/// Expects `action` to throw a quern::Error with this exit code whose message has all `parts`.
template <class Action>
void expect_error(Action&& action, ExitCode code, std::initializer_list<std::string> parts) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& part : parts) EXPECT_THAT(error.what(), testing::HasSubstr(part));
    return;
  }
  ADD_FAILURE() << "no error was thrown";
}

}  // namespace quern::test
