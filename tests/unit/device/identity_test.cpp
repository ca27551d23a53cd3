// SPDX-License-Identifier: Apache-2.0
#include "device/identity.hpp"

#include <gtest/gtest.h>

#include "tensor/types.hpp"

namespace quern {
namespace {

TEST(DeviceIdentity, OnlyDevicesAreCountedAndHaveIds) {
  EXPECT_EQ(count_devices().devices > 0, !kHostExecution);
  EXPECT_EQ(count_devices().problem, "");
  EXPECT_NE(device_of_this_rank().name, "");
  EXPECT_EQ(device_of_this_rank().id.empty(), kHostExecution);
}

}  // namespace
}  // namespace quern
