// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/bench/machine_facts.hpp"

namespace quern {

/// One size of gradient. Times are those of one reduction, the slowest rank's.
struct AllreduceRow {
  std::string workload;  ///< recipe whose gradient this is, or ""
  std::int64_t bytes = 0;
  int blocks = 0;    ///< micro-blocks of the batch
  int partials = 0;  ///< that rank 0 hands over in rank-invariant mode
  std::optional<Spread> rank_invariant_s;
  std::optional<Spread> fast_s;
  Spread transport_s;  ///< the communicator's own all-reduce of the same bytes
};

struct AllreduceBenchFacts {
  int rounds = 0;
  std::vector<AllreduceRow> rows;
};

std::string allreduce_bench_text(const MachineFacts& machine, const AllreduceBenchFacts& facts);
std::string allreduce_bench_json(const MachineFacts& machine, const AllreduceBenchFacts& facts);

}  // namespace quern
