// SPDX-License-Identifier: Apache-2.0
// What `quern bench --json` wrote, for those who go on with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallel/halving.hpp"
#include "plan/measured_line.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// Where something was measured: what others make use of in a document's MachineInfo
/// (bench/machine_info.hpp), by rank.
struct BenchMachine {
  int ranks = 1;
  int nodes = 1;
  double rank_flops = 0;        ///< multiply-add peak of a rank, in flop/s
  double rank_bytes_per_s = 0;  ///< that a rank reads from memory; 0: not known
};

/// `quern bench step`.
struct MeasuredStep {
  BenchMachine machine;
  std::string workload;  ///< the recipe's name
  /// Nothing in documents of programs that did not tell.
  std::optional<Recipe> recipe = {};
  int samples = 0;  ///< of a rank, rounded up
  double seconds = 0;
  std::string file = {};  ///< that tells it
};

/// A gradient of `quern bench allreduce`.
struct MeasuredReduction {
  double bytes = 0;
  int partial_sums = 0;         ///< of rank 0, rank-invariant
  double rank_invariant_s = 0;  ///< 0: not measured
  double fast_s = 0;            ///< 0: not measured
  double transport_s = 0;       ///< the transport's own all-reduce; 0: not measured
  std::string workload = {};    ///< the recipe's name; empty for a size
  // The same sums after a step that each rank makes by itself; 0: not measured.
  double rank_invariant_after_step_s = 0;
  double fast_after_step_s = 0;
  std::optional<ExchangeLoad> halving = {};  ///< rank-invariant, between nodes
};
struct MeasuredReductions {
  BenchMachine machine;
  std::vector<MeasuredReduction> rows;
};

struct BenchFigures {
  std::vector<MeasuredStep> steps;
  std::vector<MeasuredReductions> reductions;
};

/// Adds what is in `file`. InputError, naming it, where that is not a document of `quern bench
/// step` or `quern bench allreduce`.
void read_bench_figures(const std::string& file, BenchFigures& figures);

/// InputError where the step is not one of `planned`: another recipe's, or measured with other
/// settings, or with a network that was split.
void check_measured(const MeasuredStep& step, const Recipe& planned);

/// What each message costs and what comes out of a node, from reductions that were measured on
/// several nodes: the pair that leaves the least relative errors.
struct NetworkFit {
  double message_s = 0;
  double node_bytes_per_s = 0;
};
/// At least two rows of different sizes, and more than one node. InputError where that makes no
/// sense: times that fall with the bytes.
NetworkFit fit_network(const MeasuredReductions& measured);

/// The same of messages inside one node, from the transport's own all-reduces; nothing where these
/// do not tell.
std::optional<NetworkFit> fit_messages(const MeasuredReductions& measured);

/// What a sum of the gradients of the recipe `workload` takes longer after a step of each rank than
/// after another sum, in seconds for each of its moved_bytes(). 0 where that was not measured.
double after_step_s_per_byte(const MeasuredReductions& measured, const std::string& workload,
                             bool rank_invariant);

/// Seconds of a reduction inside one node by the bytes that a rank reads and writes (added_bytes).
MeasuredLine node_sum_line(const MeasuredReductions& measured, bool rank_invariant);

}  // namespace quern
