// SPDX-License-Identifier: Apache-2.0
#include "layers/window.hpp"

#include "base/assert.hpp"

namespace quern {

void draw_windows(const ExecSpace& exec, const AugmentSpec& augment, const StepScalarsView& scalars,
                  const View<const std::int64_t>& sample_of_row, int rows,
                  const View<Window>& windows) {
  expect(windows.extent_int(0) >= rows && sample_of_row.extent_int(0) >= rows,
         "a sample and a window for every row");
  Kokkos::parallel_for(
      "quern::layers::draw_windows", RangePolicy(exec, 0, rows), KOKKOS_LAMBDA(std::int64_t row) {
        windows(row) = draw_window(augment, scalars().seed, scalars().epoch, sample_of_row(row));
      });
}

}  // namespace quern
