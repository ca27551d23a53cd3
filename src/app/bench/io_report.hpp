// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/bench/machine_facts.hpp"

namespace quern {

/// One operation on files, and the same bytes moved by the system's plain calls.
struct IoRow {
  std::string operation;  ///< "checkpoint_write", "checkpoint_read", "shards_read"
  std::string what;       ///< the recipe, the size or the data set
  std::int64_t bytes = 0;
  std::int64_t samples = 0;  ///< shards only
  Spread time_s;
  Spread raw_s;
};

struct IoBenchFacts {
  std::string folder;
  int rounds = 0;
  std::vector<IoRow> rows;
};

std::string io_bench_text(const MachineFacts& machine, const IoBenchFacts& facts);
std::string io_bench_json(const MachineFacts& machine, const IoBenchFacts& facts);

}  // namespace quern
