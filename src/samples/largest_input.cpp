// SPDX-License-Identifier: Apache-2.0
#include "samples/largest_input.hpp"

#include <cstdint>
#include <span>

namespace quern {

double largest_input(Communicator& comm, const Samples& samples) {
  if (samples.has_images() || samples.stream) return 0;
  const ConstFloatView values = samples.values;
  const auto size = static_cast<std::int64_t>(values.size());
  float largest = 0;
  Kokkos::parallel_reduce(
      "quern::samples::largest_input",
      Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<std::int64_t>>(
          size * comm.rank() / comm.size(), size * (comm.rank() + 1) / comm.size()),
      KOKKOS_LAMBDA(const std::int64_t i, float& most) {
        const float value = values(i) < 0 ? -values(i) : values(i);
        if (value > most) most = value;
      },
      Kokkos::Max<float>(largest));
  // Bits of numbers that are not negative are in the order of the numbers.
  std::int64_t bits = Kokkos::bit_cast<std::int32_t>(largest);
  comm.all_reduce_max(std::span(&bits, 1));
  return Kokkos::bit_cast<float>(static_cast<std::int32_t>(bits));
}

}  // namespace quern
