// SPDX-License-Identifier: Apache-2.0
#include "device/memory.hpp"

#include <cstddef>

#include "device/driver.hpp"

namespace quern {

std::optional<std::int64_t> available_device_memory() {
#if defined(QUERN_DRIVER)
  std::size_t free = 0;
  std::size_t total = 0;
  if (QUERN_DRIVER(MemGetInfo)(&free, &total) != QUERN_DRIVER(Success)) return {};
  return static_cast<std::int64_t>(free);
#else
  return {};
#endif
}

}  // namespace quern
