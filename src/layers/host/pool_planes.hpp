// SPDX-License-Identifier: Apache-2.0
// Work on the planes of a pooled image: one work item is a channel of 16 samples.
#pragma once

#include <string>
#include <type_traits>

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

/// Rows and columns of a part of a window, 0 if only known when running.
template <int Count>
using KnownSize = std::integral_constant<int, Count>;

/// Calls body(KnownSize, part, begin, out) for every window of a plane: what of the window lies in
/// the plane, and where that and the window's output begin, in floats from those of their planes.
/// Size: the window's size, as of for_each_plane.
template <int Size, class Body>
void for_each_window(const PoolWindow& window, const Body& body) {
  std::int64_t out = 0;
  for (int oh = 0; oh < window.out_height; ++oh)
    for (int ow = 0; ow < window.out_width; ++ow, out += kLanes) {
      const WindowPart part = window.part(oh, ow);
      if constexpr (Size > 0) {
        if (part.is_square(Size)) {
          body(KnownSize<Size>{}, part, window.begin(part), out);
          continue;
        }
      }
      body(KnownSize<0>{}, part, window.begin(part), out);
    }
}

}  // namespace quern::host
