// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_support.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace quern::test {

namespace {

int timeout_of(const char* text) {
  return nccl_timeout_s([text](const char*) { return text; });
}

}  // namespace

TEST(NcclTimeout, ComesFromTheEnvironment) {
  EXPECT_EQ(timeout_of(nullptr), 300);
  EXPECT_EQ(timeout_of("7"), 7);
  for (const char* text : {"0", "-1", "", "5s", "1e3", "99999999999"}) {
    expect_error([&] { timeout_of(text); }, ExitCode::bad_input, {"QUERN_NCCL_TIMEOUT", "seconds"});
  }
}

}  // namespace quern::test
