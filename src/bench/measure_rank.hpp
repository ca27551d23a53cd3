// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/bench_figures.hpp"
#include "comm/communicator.hpp"
#include "plan/rank_work.hpp"

namespace quern {

/// The peaks of the ranks of `comm` together, as every benchmark measures them. Collective.
BenchMachine measure_machine(Communicator& comm);

/// Of the timed steps: how long they took, and how long processors worked for this process.
struct ProcessorUse {
  double seconds = 0;
  double processor_seconds = 0;
};

/// Steps of one rank alone, as `quern bench step` measures them, by the samples of its batch: for
/// each of `batches`, in micro-blocks of `micro_block` samples. Where the recipe splits the network
/// each stage is measured by itself, as its first rank computes it while the others are absent.
/// All ranks of `comm` do the same at the same time, and the slowest counts. `ranks`: that the
/// recipe's parallel.strategy is to be taken for. `use`, if there, gets that of this rank.
/// Collective; AgreedError (exit 2).
RankWork measure_rank(Communicator& comm, const std::string& recipe,
                      const std::vector<std::string>& overrides, int ranks, int micro_block,
                      const std::vector<int>& batches, ProcessorUse* use = nullptr);

}  // namespace quern
