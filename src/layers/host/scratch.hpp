// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace quern::host {

struct ScratchMemory {
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(float* block) const { ::operator delete(block, kLine); }
  };
  std::unique_ptr<float, Free> memory;
  std::int64_t floats = 0;
};

/// What the calling thread has.
inline ScratchMemory& scratch_memory() {
  thread_local ScratchMemory memory;
  return memory;
}

/// Memory of the calling thread for one work item: `floats` floats with any values, from the start
/// of a cache line on, until the thread's next call. Allocates where the thread never had as much;
/// Layer::scratch_floats() says how much it will come to.
inline float* scratch(std::int64_t floats) {
  ScratchMemory& own = scratch_memory();
  if (floats > own.floats) {
    own.memory.reset();
    const auto bytes = static_cast<std::size_t>(floats) * sizeof(float);
    own.memory.reset(static_cast<float*>(::operator new(bytes, ScratchMemory::kLine)));
    own.floats = floats;
  }
  return own.memory.get();
}

}  // namespace quern::host
