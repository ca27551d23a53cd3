// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace quern::host {

/// Memory of the calling thread for one work item: `floats` floats with any values, from the start
/// of a cache line on, until the thread's next call. Allocates where the thread never had as much.
inline float* scratch(std::int64_t floats) {
  constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, kLine); }
  };
  thread_local std::unique_ptr<float, Free> memory;
  thread_local std::int64_t size = 0;
  if (floats > size) {
    memory.reset();
    const auto bytes = static_cast<std::size_t>(floats) * sizeof(float);
    memory.reset(static_cast<float*>(::operator new(bytes, kLine)));
    size = floats;
  }
  return memory.get();
}

}  // namespace quern::host
