// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor/operand_precision.hpp"
#include "tensor/types.hpp"

namespace quern {

/// Measures what the processors of `exec` can do at most with operands of bf16 or bf16_pairs: what
/// multiplies their tiles here, on tiles in the L1, again and again into the same block. Gflop/s of
/// all its threads together, the best of several tries. Of kernels on the host.
double measure_tile_peak(const ExecSpace& exec, OperandPrecision precision);

/// "AMX", "AVX512_BF16", "vector registers".
const char* tile_unit_name(OperandPrecision precision);

}  // namespace quern
