// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor/types.hpp"

namespace quern {

/// Measures what the processors of `exec` can do at most: independent chains of vector fused
/// multiply-adds in registers. Gflop/s of all its threads together, the best of several tries.
/// Takes about 0.1 s.
double measure_fma_peak(const ExecSpace& exec);

}  // namespace quern
