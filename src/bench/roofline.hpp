// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/kernel_cost.hpp"
#include "bench/machine_info.hpp"

namespace quern {

enum class Bound { unknown, fma, tiles, l1, l2, l3, memory };
/// "FMA", "tiles", "L1", "L2", "L3", "memory", "-"
const char* to_string(Bound bound);

/// The least time that a machine with these peaks needs, and what takes it. Data lie in the
/// smallest cache that holds the working set, and as much of them as fits in the caches before it:
/// where the kernel before has left them is unknown, so this is the best case.
struct Roofline {
  double seconds = 0;            ///< 0: nothing is known
  Bound bound = Bound::unknown;  ///< the peak of products, or `level`
  Bound level = Bound::unknown;  ///< where the data lie; of two places that which takes longer
};
Roofline roofline(const KernelCost& cost, const MachineInfo& machine);

/// What products of this kind reach at most, in flop/s.
double peak_flops(const KernelCost& cost, const MachineInfo& machine);

}  // namespace quern
