// SPDX-License-Identifier: Apache-2.0
#include "bench/scaling_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/bytes_text.hpp"
#include "base/error.hpp"
#include "bench/report.hpp"

namespace quern {

namespace {

constexpr double kGood = 0.75;   // of one node's throughput per node
constexpr double kMuch = 0.1;    // of a step
constexpr int kLeastBlock = 16;  // samples: smaller ones leave lanes empty

/// The smallest of these batches, each twice the one before, that is good on so many nodes.
template <class Plan>
std::optional<PlannedStep> least_good_batch(const StepDemand& demand, const Plan& plan) {
  constexpr std::int64_t kMostBlocks = 1 << 19;
  const std::int64_t most =
      std::min<std::int64_t>(kMaxGlobalBatch, kMostBlocks * demand.block_samples);
  for (std::int64_t batch = 2 * std::int64_t{demand.global_batch}; batch <= most; batch *= 2) {
    const PlannedStep step = plan(static_cast<int>(batch));
    if (step.efficiency >= kGood) return step;
  }
  return std::nullopt;
}

}  // namespace

void check_shares_samples(const Recipe& recipe) {
  for (const auto& [key, value] :
       {std::pair("pipeline", recipe.parallel.pipeline), {"tensor", recipe.parallel.tensor}}) {
    if (value == 1) continue;
    throw InputError(fmt::format(
        "parallel.{} = {}: a plan is for ranks that share a batch by its samples (expected 1)", key,
        value));
  }
}

ScalingPlanner::ScalingPlanner(const Recipe& recipe, MeasuredLine rank,
                               const ClusterFigures& cluster)
    : recipe_(recipe), demands_(recipe), rank_(std::move(rank)), cluster_(cluster) {
  check_shares_samples(recipe);
}

Recipe ScalingPlanner::with_batch(int global_batch) const {
  Recipe recipe = recipe_;
  recipe.data.global_batch = global_batch;
  recipe.data.batch_per_rank = 0;
  return recipe;
}

PlannedStep ScalingPlanner::plan_with(const Recipe& recipe, int nodes) const {
  PlannedStep step;
  step.nodes = nodes;
  const int ranks = nodes * cluster_.ranks_per_node;
  step.demand = demands_.of(recipe, ranks);
  step.time = predict_step(step.demand, rank_, cluster_);
  step.memory_bytes = demands_.memory_bytes(recipe, ranks);
  if (nodes == 1) return step;
  const StepDemand one = demands_.of(recipe, cluster_.ranks_per_node);
  step.efficiency =
      efficiency(step.demand, step.time, nodes, one, predict_step(one, rank_, cluster_));
  return step;
}

std::vector<std::string> ScalingPlanner::advice(const PlannedStep& step) const {
  std::vector<std::string> all;
  const StepDemand& demand = step.demand;
  const int ranks = demand.ranks;
  if (demand.idle_ranks > 0) {
    const int smaller = demand.global_batch / ranks;
    all.push_back(fmt::format(
        "{} of {} ranks have no micro-block: data.global_batch = {}{} gives "
        "every rank one",
        demand.idle_ranks, ranks, std::int64_t{ranks} * demand.block_samples,
        smaller >= kLeastBlock ? fmt::format(", or train.micro_block = {},", smaller) : ""));
  } else if (demand.blocks % ranks != 0) {
    const int blocks = (demand.blocks - 1) / ranks + 1;
    all.push_back(
        fmt::format("some ranks have {} micro-blocks and some fewer: data.global_batch = {} gives "
                    "every rank as many",
                    blocks, std::int64_t{blocks} * ranks * demand.block_samples));
  }
  if (demand.partial_sums > 1 && ranks > cluster_.ranks_per_node) {
    const int blocks =
        static_cast<int>(std::bit_ceil(static_cast<unsigned>((demand.blocks - 1) / ranks + 1)));
    all.push_back(fmt::format(
        "a rank hands on up to {} partial sums: with a power of two of micro-blocks on every rank "
        "(data.global_batch = {}) it is one",
        demand.partial_sums, std::int64_t{blocks} * ranks * demand.block_samples));
  }
  const double seconds = step.time.step_s();
  if (step.time.batch_sums_s > kMuch * seconds) {
    all.push_back(fmt::format(
        "batch normalisation over the global batch takes {:.0f} % of the step: statistics = "
        "\"block\" exchanges nothing",
        100 * step.time.batch_sums_s / seconds));
  }
  if (step.efficiency >= kGood) return all;
  const auto better =
      least_good_batch(demand, [&](int batch) { return plan_with(with_batch(batch), step.nodes); });
  if (better) {
    all.push_back(fmt::format(
        "data.global_batch = {} reaches {:.0f} % ({} and {} of memory a rank; another learning "
        "rate may be needed)",
        better->demand.global_batch, 100 * better->efficiency, time_text(better->time.step_s()),
        bytes_text(better->memory_bytes)));
  }
  int nodes = std::bit_floor(static_cast<unsigned>(step.nodes - 1));
  while (nodes > 1 && plan(nodes).efficiency < kGood) nodes /= 2;
  all.push_back(nodes == 1
                    ? fmt::format("with this batch no more than one node keeps {:.0f} % of its "
                                  "throughput",
                                  100 * kGood)
                    : fmt::format("with this batch {} nodes keep {:.0f} % of the throughput of one",
                                  nodes, 100 * kGood));
  return all;
}

}  // namespace quern
