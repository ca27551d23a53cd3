// SPDX-License-Identifier: Apache-2.0
// What the four benchmarks say: the figures of each, as text and as a JSON document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/kernel_cost.hpp"
#include "bench/machine_info.hpp"
#include "parallel/halving.hpp"

namespace quern {

/// Two lines: what it ran on, and the peaks.
std::string machine_text(const MachineInfo& machine);

struct StepBenchInfo {
  std::string workload;
  std::string recipe;  ///< resolved, as TOML
  int global_batch = 0;
  std::int64_t steps = 0;     ///< timed steps of a round
  std::int64_t settling = 0;  ///< steps before them, after the peaks were measured
  int rounds = 0;
  Spread step_s;
  double flop_per_sample = 0;
  std::int64_t epoch_samples = 60000;  ///< what seconds_per_epoch counts
  bool knows_epoch = false;            ///< are these the recipe's?
  // Of the rank with most; without the data.
  std::int64_t memory_bytes = 0;  ///< TrainingStep::memory_bytes
  std::int64_t sent_bytes = 0;    ///< TrainingStep::sent_bytes

  double samples_per_s() const { return global_batch / step_s.median; }
  double flops() const { return flop_per_sample * samples_per_s(); }
  double seconds_per_epoch() const { return static_cast<double>(epoch_samples) / samples_per_s(); }
};

std::string step_bench_text(const MachineInfo& machine, const StepBenchInfo& info);
std::string step_bench_json(const MachineInfo& machine, const StepBenchInfo& info);

/// A kernel of a training step; all figures are those of one step, all its calls together.
struct KernelRow {
  std::string layer;   ///< "" outside of layers
  std::string kernel;  ///< Kokkos label
  std::string shape;   ///< "128 x [784] -> [128]"
  double calls = 0;
  Spread time_s;
  KernelCost cost;
};

struct KernelsBenchInfo {
  std::string workload;
  int global_batch = 0;
  int samples = 0;  ///< of the rank whose kernels these are
  std::int64_t steps = 0;
  std::int64_t settling = 0;  ///< as of StepBenchInfo
  int rounds = 0;
  Spread step_s;           ///< without profiling
  Spread profiled_step_s;  ///< while the kernels were timed
  Spread kernels_s;        ///< all kernels of a step
  std::vector<KernelRow> rows;
};

/// `machine`: the part of one rank. `rows` are all that `filter` (a regular expression; "" for all)
/// finds in "layer label".
std::string kernels_bench_text(const MachineInfo& machine, const KernelsBenchInfo& info);
std::string kernels_bench_json(const MachineInfo& machine,
                               const std::vector<KernelsBenchInfo>& workloads);

/// One size of gradient. Times are those of one reduction, the slowest rank's.
struct AllreduceRow {
  std::string workload;  ///< recipe whose gradient this is, or ""
  std::int64_t bytes = 0;
  int blocks = 0;            ///< micro-blocks of the batch
  int num_partial_sums = 0;  ///< that rank 0 passes on in rank-invariant mode
  std::optional<Spread> rank_invariant_s;
  std::optional<Spread> fast_s;
  Spread transport_s;  ///< the communicator's own all-reduce of the same bytes
  /// The same after a step that each rank makes by itself, without that step.
  std::optional<Spread> rank_invariant_after_step_s = {};
  std::optional<Spread> fast_after_step_s = {};
  /// Of messages between nodes in rank-invariant mode, where the ranks halve the gradient.
  std::optional<ExchangeLoad> halving = {};
};

struct AllreduceBenchInfo {
  int rounds = 0;
  std::vector<AllreduceRow> rows;
};

std::string allreduce_bench_text(const MachineInfo& machine, const AllreduceBenchInfo& info);
std::string allreduce_bench_json(const MachineInfo& machine, const AllreduceBenchInfo& info);

/// One operation on files, and the same bytes moved by the system's plain calls.
struct IoRow {
  /// "checkpoint_write", "checkpoint_read", "shards_read", "shards_streamed" (the first epoch of a
  /// run) or "shards_streamed_again" (a later one)
  std::string operation;
  std::string what;  ///< the recipe, the size or the data set
  std::int64_t bytes = 0;
  std::int64_t samples = 0;  ///< shards only
  Spread time_s;
  Spread raw_s;
  bool cold = false;  ///< the system was asked to drop its copies of the files before
};

struct IoBenchInfo {
  std::string folder;
  int rounds = 0;
  std::vector<IoRow> rows;
};

std::string io_bench_text(const MachineInfo& machine, const IoBenchInfo& info);
std::string io_bench_json(const MachineInfo& machine, const IoBenchInfo& info);

}  // namespace quern
