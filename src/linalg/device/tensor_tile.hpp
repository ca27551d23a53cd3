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
inline constexpr bool kTensorCores = true;
template <class Operand, bool ADepthFirst, bool BDepthFirst>
using TensorTile = WmmaTile<Operand, ADepthFirst, BDepthFirst>;
#else
inline constexpr bool kTensorCores = false;
template <class Operand, bool ADepthFirst, bool BDepthFirst>
using TensorTile = PlainTile<Operand, ADepthFirst, BDepthFirst, kWarpThreads>;
#endif

}  // namespace quern::device
