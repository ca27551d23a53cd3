// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quern {

/// Bytes that this node still has for memory shared between processes (/dev/shm, which containers
/// keep small: often 64 MiB); the largest number where nothing tells.
std::int64_t free_shared_memory_bytes();

}  // namespace quern
