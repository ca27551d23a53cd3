// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "linalg/host/bf16_tiles.hpp"
#include "tensor/types.hpp"

namespace quern {

/// Measures what the processors of `exec` can do at most with operands of bf16, by `unit`, on tiles
/// in the L1, again and again into the same block. Gflop/s of all its threads together, the best of
/// several tries. Of kernels on the host.
double measure_tile_peak(const ExecSpace& exec, const host::TileUnit& unit);

}  // namespace quern
