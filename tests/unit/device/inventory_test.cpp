// SPDX-License-Identifier: Apache-2.0
#include "device/inventory.hpp"

#include <gtest/gtest.h>

#include "tensor/types.hpp"

namespace quern {
namespace {

TEST(DeviceInventory, OnlyDevicesAreCountedAndHaveIds) {
  EXPECT_EQ(count_devices().devices > 0, !kHostExecution);
  EXPECT_EQ(count_devices().problem, "");
  EXPECT_NE(device_of_this_rank().name, "");
  EXPECT_EQ(device_of_this_rank().id.empty(), kHostExecution);
  EXPECT_EQ(available_device_memory().has_value(), !kHostExecution);
  EXPECT_GT(available_device_memory().value_or(1), 0);
}

}  // namespace
}  // namespace quern
