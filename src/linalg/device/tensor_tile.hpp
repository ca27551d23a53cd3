// SPDX-License-Identifier: Apache-2.0
// The tile that a warp multiplies: on tensor cores where there are some.
#pragma once

#include "linalg/device/plain_tile.hpp"

#if defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ARCH_VOLTA) && !defined(KOKKOS_ARCH_TURING75)
#include "linalg/device/wmma_tile.hpp"
#define QUERN_TENSOR_CORES 1
#endif

namespace quern::device {

/// Threads that share a tile.
inline constexpr int kWarpThreads = kHostExecution ? 1 : 32;

#if defined(QUERN_TENSOR_CORES)
template <class Operand, bool BDepthFirst>
using TensorTile = WmmaTile<Operand, BDepthFirst>;
#else
template <class Operand, bool BDepthFirst>
using TensorTile = PlainTile<Operand, BDepthFirst, kWarpThreads>;
#endif

}  // namespace quern::device
