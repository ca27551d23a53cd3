// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "app/bench/machine_facts.hpp"

namespace quern {

struct StepBenchFacts {
  std::string workload;
  int global_batch = 0;
  std::int64_t steps = 0;  ///< timed steps of a round
  int rounds = 0;
  Spread step_s;
  double flop_per_sample = 0;
  std::int64_t epoch_samples = 60000;  ///< what seconds_per_epoch counts

  double samples_per_s() const { return global_batch / step_s.median; }
  double flops() const { return flop_per_sample * samples_per_s(); }
};

std::string step_bench_text(const MachineFacts& machine, const StepBenchFacts& facts);
std::string step_bench_json(const MachineFacts& machine, const StepBenchFacts& facts);

}  // namespace quern
