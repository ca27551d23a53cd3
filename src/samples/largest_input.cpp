// SPDX-License-Identifier: Apache-2.0
#include "samples/largest_input.hpp"

#include <algorithm>

#include "comm/exchange.hpp"

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
  return std::ranges::max(all_gather_value(comm, static_cast<double>(largest)));
}

}  // namespace quern
