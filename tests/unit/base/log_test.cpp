// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quern {
namespace {

TEST(Log, MessagesTouchNoTerminal) {
  testing::internal::CaptureStderr();
  log::error("'\x1b[2J\xff.toml':\nüber");
  log::warn("\x1b[31m");
  log::info("\r");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "quern: error: '\\x1b[2J\\xff.toml':\nüber\nquern: warning: \\x1b[31m\n"
            "quern: \\x0d\n");
  testing::internal::CaptureStdout();
  log::note("\a");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "\\x07\n");
}

TEST(Log, WhatWasAskedForStaysAsItIs) {
  testing::internal::CaptureStdout();
  log::print("a\tb\xff");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a\tb\xff\n");
}

}  // namespace
}  // namespace quern
