// SPDX-License-Identifier: Apache-2.0
// The little kernels that open and close a step.
#pragma once

#include <array>
#include <utility>

#include "parallel/gradient_reducer.hpp"
#include "train/batch_plan.hpp"

namespace quern {

/// scalars().inverse_count = 1 / samples of the batch; clipping off until it is set.
void begin_batch(const ExecSpace& exec, const StepScalarsView& scalars, int samples);

/// Moves step and cursor on past a batch.
void end_batch(const ExecSpace& exec, const StepScalarsView& scalars, int samples);

/// Overwrites step, epoch, cursor and seed from the host; waits.
void set_position(const StepScalarsView& scalars, std::uint64_t seed, std::int64_t step,
                  std::int64_t epoch, std::int64_t cursor);

/// Copies view[begin .. begin + Count) to the host; waits for `exec`.
template <std::size_t Count>
std::array<float, Count> read_floats(const ExecSpace& exec, const ConstFloatView& view,
                                     std::int64_t begin) {
  std::array<float, Count> values{};
  const auto first = static_cast<std::size_t>(begin);
  const Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> host(
      values.data(), Count);
  Kokkos::deep_copy(exec, host, Kokkos::subview(view, std::pair(first, first + Count)));
  exec.fence("quern::train::read_floats");
  return values;
}

}  // namespace quern
