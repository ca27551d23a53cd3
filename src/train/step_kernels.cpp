// SPDX-License-Identifier: Apache-2.0
#include "train/step_kernels.hpp"

namespace quern {

void begin_batch(const ExecSpace& exec, const StepScalarsView& scalars, int samples) {
  Kokkos::parallel_for(
      "quern::train::begin_batch", RangePolicy(exec, 0, 1), KOKKOS_LAMBDA(std::int64_t) {
        scalars().inverse_count = 1.0f / static_cast<float>(samples);
        scalars().gradient_scale = 1.0f;
      });
}

void end_batch(const ExecSpace& exec, const StepScalarsView& scalars, int samples) {
  Kokkos::parallel_for(
      "quern::train::end_batch", RangePolicy(exec, 0, 1), KOKKOS_LAMBDA(std::int64_t) {
        scalars().step += 1;
        scalars().cursor += samples;
      });
}

void set_position(const StepScalarsView& scalars, std::uint64_t seed, std::int64_t step,
                  std::int64_t epoch, std::int64_t cursor) {
  const auto host = Kokkos::create_mirror_view(scalars);
  Kokkos::deep_copy(host, scalars);
  host().step = step;
  host().epoch = epoch;
  host().cursor = cursor;
  host().seed = seed;
  Kokkos::deep_copy(scalars, host);
}

}  // namespace quern
