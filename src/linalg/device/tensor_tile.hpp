// SPDX-License-Identifier: Apache-2.0
// The tile that a warp multiplies: on tensor cores where there are some.
#pragma once

#include "linalg/device/plain_tile.hpp"

// Since Ampere they multiply tf32 and bf16.
#if defined(KOKKOS_ENABLE_CUDA) && (defined(KOKKOS_ARCH_AMPERE) || defined(KOKKOS_ARCH_ADA89) || \
                                    defined(KOKKOS_ARCH_HOPPER) || defined(KOKKOS_ARCH_BLACKWELL))
#include "linalg/device/wmma_tile.hpp"
#define QUERN_TENSOR_CORES 1
#endif

namespace quern::device {

/// Threads that share a tile.
inline constexpr int kWarpThreads = kHostExecution ? 1 : 32;

#if defined(QUERN_TENSOR_CORES)
inline constexpr bool kTensorCores = true;
template <class Operand, bool ADepthFirst, bool BDepthFirst, int Warp>
using TensorTile = WmmaTile<Operand, ADepthFirst, BDepthFirst>;
#else
inline constexpr bool kTensorCores = false;
template <class Operand, bool ADepthFirst, bool BDepthFirst, int Warp>
using TensorTile = PlainTile<Operand, ADepthFirst, BDepthFirst, Warp>;
#endif

}  // namespace quern::device
