// SPDX-License-Identifier: Apache-2.0
#include "device/memory.hpp"

#include <gtest/gtest.h>

#include "tensor/types.hpp"

namespace quern {
namespace {

TEST(DeviceMemory, IsKnownWhereThereIsADevice) {
  const auto available = available_device_memory();
  EXPECT_EQ(available.has_value(), !kHostExecution);
  EXPECT_GT(available.value_or(1), 0);
}

}  // namespace
}  // namespace quern
