// SPDX-License-Identifier: Apache-2.0
// Work on the planes of a pooled image: one work item is a channel of 16 samples.
#pragma once

#include <string>

#include "layers/pool_window.hpp"
#include "tensor/activation.hpp"

namespace quern::host {

/// Runs Kernel<size of the window, or 0 where it is neither 2 nor 3>{window, arguments...} on every
/// (group of 16 rows, channel) of `planes`.
template <template <int> class Kernel, class... Arguments>
void for_each_plane(const ExecSpace& exec, const std::string& label, const Activation& planes,
                    const PoolWindow& window, Arguments... arguments) {
  const RangePolicy range(exec, 0, std::int64_t{planes.rows} / kLanes * planes.shape.channels);
  if (window.size == 2)
    Kokkos::parallel_for(label, range, Kernel<2>{window, arguments...});
  else if (window.size == 3)
    Kokkos::parallel_for(label, range, Kernel<3>{window, arguments...});
  else
    Kokkos::parallel_for(label, range, Kernel<0>{window, arguments...});
}

}  // namespace quern::host
