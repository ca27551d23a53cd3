// SPDX-License-Identifier: Apache-2.0
// Results of commands, for people and for programs. (Apart, because fmt, JSON and Kokkos do not
// mix.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quern {

struct EvaluationFacts {
  std::string checkpoint;
  std::string data;
  std::int64_t step = 0;
  std::int64_t samples = 0;
  double loss = 0;
  std::optional<std::int64_t> correct;
  int ranks = 1;
};

std::string evaluation_report(const EvaluationFacts& facts);
std::string evaluation_json(const EvaluationFacts& facts);

struct StepBenchFacts {
  std::string workload;
  std::string device;
  int ranks = 1;
  int threads = 1;
  int global_batch = 0;
  std::int64_t steps = 0;  ///< timed steps of a round
  int rounds = 0;
  double step_s = 0;  ///< median over the rounds
  double fastest_step_s = 0;
  double slowest_step_s = 0;
  double flop_per_sample = 0;
  double peak_gflops = 0;  ///< measured FMA peak of the threads used, all ranks together
  std::int64_t epoch_samples = 60000;  ///< what seconds_per_epoch counts

  double samples_per_s() const { return global_batch / step_s; }
  double gflops() const { return flop_per_sample * samples_per_s() * 1e-9; }
};

std::string step_bench_report(const StepBenchFacts& facts);
std::string step_bench_json(const StepBenchFacts& facts);

}  // namespace quern
