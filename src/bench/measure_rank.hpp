// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/bench_figures.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// The peaks of the ranks of `comm` together, as every benchmark measures them. Collective.
BenchMachine measure_machine(Communicator& comm);

/// Steps of one rank alone, as `quern bench step` measures them, by the samples of its batch: for
/// each of `batches`, in micro-blocks of `micro_block` samples. `comm`: of one rank. AgreedError
/// (exit 2).
MeasuredLine measure_rank(Communicator& comm, const std::string& recipe,
                          const std::vector<std::string>& overrides, int micro_block,
                          const std::vector<int>& batches);

}  // namespace quern
