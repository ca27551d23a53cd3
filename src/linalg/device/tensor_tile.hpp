// SPDX-License-Identifier: Apache-2.0
// The tile that a warp multiplies: on tensor cores where there are some.
#pragma once

#include "device/tensor_cores.hpp"
#include "linalg/device/plain_tile.hpp"

#if defined(QUERN_TENSOR_CORES)
#include "linalg/device/wmma_tile.hpp"
#endif

namespace quern::device {

/// Threads that share a tile.
inline constexpr int kWarpThreads = kHostExecution ? 1 : 32;

#if defined(QUERN_TENSOR_CORES)
template <class Operand, bool ADepthFirst, bool BDepthFirst, int Warp>
using TensorTile = WmmaTile<Operand, ADepthFirst, BDepthFirst>;
#else
template <class Operand, bool ADepthFirst, bool BDepthFirst, int Warp>
using TensorTile = PlainTile<Operand, ADepthFirst, BDepthFirst, Warp>;
#endif

}  // namespace quern::device
