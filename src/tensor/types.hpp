// SPDX-License-Identifier: Apache-2.0
// The array vocabulary: every View in Quern is one of these.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

#include "base/ceil_div.hpp"

namespace quern {

using ExecSpace = Kokkos::DefaultExecutionSpace;
using MemorySpace = ExecSpace::memory_space;

/// Is kernel memory also host memory (CPU back ends)?
inline constexpr bool kHostExecution =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;

// Much is chosen by it that is about where kernels run.
static_assert(kHostExecution == std::is_same_v<ExecSpace, Kokkos::DefaultHostExecutionSpace>,
              "a Kokkos whose devices have memory of their own: no unified memory, no APU");

template <class T>
using View = Kokkos::View<T*, Kokkos::LayoutRight, MemorySpace>;
template <class T>
using ScalarView = Kokkos::View<T, Kokkos::LayoutRight, MemorySpace>;
using FloatView = View<float>;
using ConstFloatView = View<const float>;

using RangePolicy = Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<std::int64_t>>;

/// Floats of one SIMD group: the lanes of Layout::nchw16n, the padding of rows, the alignment of
/// parameters. 16 floats are one cache line and one AVX-512 register.
inline constexpr int kLanes = 16;

/// `count` rounded up to a multiple of kLanes.
KOKKOS_INLINE_FUNCTION constexpr std::int64_t round_up_to_lanes(std::int64_t count) {
  return round_up(count, kLanes);
}

/// Floats from one row of a matrix to the next, for rows of `count` floats: whole lane groups, and
/// one more where the rows would lie a multiple of 512 bytes apart. Rows at such a distance share
/// an eighth of the sets of a first-level cache, and products that walk down a column miss in it.
KOKKOS_INLINE_FUNCTION constexpr std::int64_t row_floats(std::int64_t count) {
  const std::int64_t floats = round_up_to_lanes(count);
  return floats % (8 * kLanes) == 0 ? floats + kLanes : floats;
}

}  // namespace quern
