// SPDX-License-Identifier: Apache-2.0
#include "linalg/batch_sums.hpp"

#include "base/assert.hpp"

namespace quern {

GradientSums OwnSums::partial_sums(std::int64_t count) {
  expect(static_cast<std::int64_t>(memory_.extent(0)) >= memory_floats(count), "memory_floats()");
  return {Kokkos::subview(memory_, std::pair(count, memory_floats(count))), count};
}

ConstFloatView OwnSums::add(const ExecSpace& exec, std::int64_t count) {
  const GradientSums partial = partial_sums(count);
  const FloatView total = Kokkos::subview(memory_, std::pair(std::int64_t{0}, count));
  const int num_partial_sums = num_partial_sums_;
  Kokkos::parallel_for(
      "quern::linalg::add_own_sums", RangePolicy(exec, 0, count), KOKKOS_LAMBDA(std::int64_t i) {
        float sum = 0;
        for (int p = 0; p < num_partial_sums; ++p) sum += partial.data(p * partial.stride + i);
        total(i) = sum;
      });
  return total;
}

}  // namespace quern
