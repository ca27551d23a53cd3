// SPDX-License-Identifier: Apache-2.0
#include "base/system_failure.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace quern {
namespace {

TEST(SystemFailure, DisksFileServersAndLimits) {
  for (const int error : {EIO, ESTALE, ETIMEDOUT, ENOMEM, EMFILE, ENFILE, EINTR, EAGAIN, ENODEV,
                          ENXIO, ENOLINK, ENOTCONN, ESHUTDOWN}) {
    EXPECT_TRUE(is_system_failure(error)) << error;
  }
}

TEST(SystemFailure, WhatAnotherStartDoesNotMend) {
  for (const int error : {0, ENOENT, EACCES, EPERM, ENOTDIR, EISDIR, EINVAL, ENAMETOOLONG, ELOOP}) {
    EXPECT_FALSE(is_system_failure(error)) << error;
    EXPECT_NO_THROW(throw_system_failure(error, "'a'")) << error;
  }
}

TEST(SystemFailure, SaysWhatTheSystemSays) {
  try {
    throw_system_failure(EIO, "cannot read 'a'");
    FAIL();
  } catch (const SystemFailure& failure) {
    EXPECT_EQ(std::string(failure.what()), "cannot read 'a': Input/output error");
    EXPECT_EQ(failure.code(), ExitCode::failure);
  }
}

}  // namespace
}  // namespace quern
