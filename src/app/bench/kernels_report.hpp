// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/bench/kernel_cost.hpp"

namespace quern {

/// A kernel of a training step; all figures are those of one step, all its calls together.
struct KernelRow {
  std::string layer;   ///< "" outside of layers
  std::string kernel;  ///< Kokkos label
  std::string shape;   ///< "128 x [784] -> [128]"
  double calls = 0;
  Spread time_s;
  KernelCost cost;
};

struct KernelsBenchFacts {
  std::string workload;
  int global_batch = 0;
  int samples = 0;  ///< of the rank whose kernels these are
  std::int64_t steps = 0;
  int rounds = 0;
  Spread step_s;           ///< without profiling
  Spread profiled_step_s;  ///< while the kernels were timed
  Spread kernels_s;        ///< all kernels of a step
  std::vector<KernelRow> rows;
};

/// `machine`: the part of one rank. `rows` are all that `filter` (a regular expression; "" for all)
/// finds in "layer label".
std::string kernels_bench_text(const MachineFacts& machine, const KernelsBenchFacts& facts);
std::string kernels_bench_json(const MachineFacts& machine,
                               const std::vector<KernelsBenchFacts>& workloads);

}  // namespace quern
