// SPDX-License-Identifier: Apache-2.0
// Parameters that are updated where their gradient is made, while it is in a cache: it is neither
// written nor read. In a layer, the update waits for memory while products keep the processor busy.
#pragma once

#include <cstdint>

namespace quern {

/// What a kernel calls with the whole gradient of neighbouring parameters, on a CPU. A function of
/// its own for each optimizer, because those who call it do not know of them.
struct ParameterUpdate {
  const void* optimizer = nullptr;
  /// Updates the parameters [begin, end) of the block, `begin` a multiple of kLanes, from
  /// gradient[0 .. end - begin). Threads call it for different parameters at once.
  void (*run)(const void* optimizer, std::int64_t begin, std::int64_t end,
              const float* gradient) = nullptr;
  /// The block, for a kernel that asks for the lines it will update.
  const float* parameters = nullptr;

  explicit operator bool() const { return run != nullptr; }
};

}  // namespace quern
