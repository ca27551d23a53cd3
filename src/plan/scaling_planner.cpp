// SPDX-License-Identifier: Apache-2.0
#include "plan/scaling_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "base/ceil_div.hpp"
#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/unit_text.hpp"
#include "plan/gpu_work.hpp"
#include "strategy/pipeline_order.hpp"

namespace quern {

namespace {

constexpr double kGood = 0.75;  // of one node's throughput per node
constexpr double kMuch = 0.1;   // of a step
// Where a power of two of neighbours would send it twice.
constexpr double kLeavesOften = 2.5;
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

// Sentences of ScalingPlanner::advice(); empty where there is nothing to say.

std::string idle_ranks_text(const StepDemand& demand) {
  const int ranks = demand.data_ranks();
  const int smaller = demand.global_batch / ranks;
  // Of many blocks the first ranks take one more each, and leave none for the last.
  const int each = std::max(1, demand.blocks / ranks);
  return fmt::format(
      "{} of {} ranks have no micro-block: data.global_batch = {}{} gives every rank {}",
      demand.idle_ranks, ranks, std::int64_t{each} * ranks * demand.block_samples,
      smaller >= kLeastBlock && each == 1 ? fmt::format(", or train.micro_block = {},", smaller)
                                          : "",
      each == 1 ? "one" : std::to_string(each));
}

std::string uneven_text(const StepDemand& demand) {
  const int ranks = demand.data_ranks();
  if (demand.blocks % ranks == 0) return "";
  const auto blocks = static_cast<int>(ceil_div(std::int64_t{demand.blocks}, ranks));
  return fmt::format(
      "some ranks have {} micro-blocks and some fewer: data.global_batch = {} gives every rank as "
      "many",
      blocks, std::int64_t{blocks} * ranks * demand.block_samples);
}

std::string partial_sums_text(const StepDemand& demand, int ranks_per_node) {
  if (demand.partial_sums <= 1 || demand.ranks <= ranks_per_node) return "";
  const int ranks = demand.data_ranks();
  const int blocks = static_cast<int>(
      std::bit_ceil(static_cast<unsigned>(ceil_div(std::int64_t{demand.blocks}, ranks))));
  return fmt::format(
      "a rank hands on up to {} partial sums: with a power of two of micro-blocks on every rank "
      "(data.global_batch = {}) it is one",
      demand.partial_sums, std::int64_t{blocks} * ranks * demand.block_samples);
}

std::string leaving_text(const PlannedStep& step, int ranks_per_node) {
  const StepDemand& demand = step.demand;
  const auto node_ranks = static_cast<unsigned>(ranks_per_node);
  const double gradients = demand.halving ? static_cast<double>(demand.halving->node_floats) /
                                                static_cast<double>(demand.floats)
                                          : 0;
  // Of several partial sums, or of parts of layers, another advice says more.
  const bool may_round =
      !std::has_single_bit(node_ranks) && demand.tensor == 1 && !demand.gathers_leaves;
  if (!may_round || gradients <= kLeavesOften || step.time.network_s <= kMuch * step.time.step_s())
    return "";
  return fmt::format(
      "with {} ranks a node the gradient leaves it {:.1f} times a step: with a power of two of "
      "them ({}) twice",
      ranks_per_node, gradients, std::bit_floor(node_ranks));
}

std::string batch_sums_text(const PlannedStep& step) {
  const double seconds = step.time.step_s();
  if (step.time.batch_sums_s <= kMuch * seconds) return "";
  return fmt::format(
      "batch normalisation over the global batch takes {:.0f} % of the step: statistics = "
      "\"block\" exchanges nothing",
      100 * step.time.batch_sums_s / seconds);
}

}  // namespace

int fewest_nodes(const Recipe& recipe, int ranks_per_node) {
  const int tensor = recipe.parallel.tensor;
  if (ranks_per_node % tensor != 0) {
    throw InputError(fmt::format(
        "parallel.tensor = {}: ranks that share layers are to be on one node, but a node has {} "
        "(expected a multiple of {}: see --ranks-per-node)",
        tensor, count_text(ranks_per_node, "rank"), tensor));
  }
  const int grid = recipe.parallel.pipeline * tensor;
  return grid / std::gcd(grid, ranks_per_node);
}

ScalingPlanner::ScalingPlanner(const Recipe& recipe, RankWork rank, const ClusterFigures& cluster)
    : recipe_(recipe),
      fewest_nodes_(fewest_nodes(recipe, cluster.ranks_per_node)),
      demands_(recipe),
      rank_(std::move(rank)),
      cluster_(cluster) {}

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
  step.demand =
      demands_.of(recipe, ranks, cluster_.ranks_per_node, nodes == 1 ? cluster_.shared_bytes : 0);
  step.time = predict_step(step.demand, rank_, cluster_);
  step.memory_bytes = demands_.memory_bytes(recipe, step.demand);
  if (nodes == fewest_nodes_) return step;
  const StepDemand fewest =
      demands_.of(recipe, fewest_nodes_ * cluster_.ranks_per_node, cluster_.ranks_per_node);
  step.efficiency = efficiency(step.demand, step.time, static_cast<double>(nodes) / fewest_nodes_,
                               fewest, predict_step(fewest, rank_, cluster_));
  return step;
}

std::vector<std::string> ScalingPlanner::advice(const PlannedStep& step) const {
  std::vector<std::string> all;
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) all.push_back(sentence);
  };
  const int ranks_per_node = cluster_.ranks_per_node;
  add(step.demand.idle_ranks > 0 ? idle_ranks_text(step.demand) : uneven_text(step.demand));
  add(partial_sums_text(step.demand, ranks_per_node));
  add(leaving_text(step, ranks_per_node));
  add(batch_sums_text(step));
  if (!step.demand.stages.empty()) advise_on_split(step, all);
  if (step.efficiency >= kGood) return all;
  add(larger_batch_text(step));
  add(fewer_nodes_text(step));
  return all;
}

std::string ScalingPlanner::larger_batch_text(const PlannedStep& step) const {
  const auto better = least_good_batch(
      step.demand, [&](int batch) { return plan_with(with_batch(batch), step.nodes); });
  if (!better) return "";
  return fmt::format(
      "data.global_batch = {} reaches {:.0f} % ({} and {} of memory a rank; another learning rate "
      "may be needed)",
      better->demand.global_batch, 100 * better->efficiency, time_text(better->time.step_s()),
      bytes_text(better->memory_bytes));
}

std::string ScalingPlanner::fewer_nodes_text(const PlannedStep& step) const {
  int times =
      static_cast<int>(std::bit_floor(static_cast<unsigned>((step.nodes - 1) / fewest_nodes_)));
  while (times > 1 && plan(times * fewest_nodes_).efficiency < kGood) times /= 2;
  const std::string fewest = fewest_nodes_ == 1 ? "one" : count_text(fewest_nodes_, "node");
  if (times > 1)
    return fmt::format("with this batch {} nodes keep {:.0f} % of the throughput of {}",
                       times * fewest_nodes_, 100 * kGood, fewest);
  return fmt::format("with this batch no more than {} keep{} {:.0f} % of {} throughput",
                     fewest_nodes_ == 1 ? "one node" : fewest, fewest_nodes_ == 1 ? "s" : "",
                     100 * kGood, fewest_nodes_ == 1 ? "its" : "their");
}

void ScalingPlanner::advise_on_split(const PlannedStep& step, std::vector<std::string>& all) const {
  const StepDemand& demand = step.demand;
  const double seconds = step.time.step_s();
  const int stages = demand.num_stages();
  const auto most_pieces =
      static_cast<int>(ceil_div(std::int64_t{demand.blocks}, demand.data_ranks()));
  const double bubble = pipeline_bubble(stages, demand.pieces);
  if (bubble > kMuch && demand.pieces < most_pieces) {
    const int pieces = std::min(2 * demand.pieces, most_pieces);
    all.push_back(fmt::format(
        "stages idle {:.0f} % of the time with {}: parallel.micro_batches = {} makes it {:.0f} %",
        100 * bubble, count_text(demand.pieces, "micro-batch"), pieces,
        100 * pipeline_bubble(stages, pieces)));
  }
  double work = 0;
  for (const StageDemand& stage : demand.stages) work += stage.work;
  const auto largest = std::ranges::max_element(demand.stages, {}, &StageDemand::work);
  if (stages > 1 && largest->work > (1 + kMuch) * work / stages) {
    all.push_back(fmt::format(
        "the stage '{}' to '{}' has {:.0f} % of the work, {:.0f} % would be as much as the others: "
        "they wait for it (fewer stages, or parallel.cut)",
        largest->first_layer, largest->last_layer, 100 * largest->work / work, 100.0 / stages));
  }
  if (step.time.crossing_s > kMuch * seconds) {
    all.push_back(fmt::format(
        "what crosses between stages takes {:.0f} % of the step: parallel.cut where fewer values "
        "cross, or split by samples where the network fits",
        100 * step.time.crossing_s / seconds));
  }
  if (step.time.layers_s > kMuch * seconds) {
    all.push_back(fmt::format(
        "exchanges inside of layers take {:.0f} % of the step: a smaller parallel.tensor, as far "
        "as the network fits",
        100 * step.time.layers_s / seconds));
  }
}

std::vector<std::string> ScalingPlanner::assumptions() const {
  std::vector<std::string> all;
  const ParallelSpec& parallel = recipe_.parallel;
  const bool is_split = parallel.pipeline > 1 || parallel.tensor > 1;
  if (cluster_.has_gpus()) {
    all.push_back(fmt::format(
        "a step takes the longer of its multiply-adds at {:.0f} % of the peak and its bytes at "
        "{:.0f} % of the memory's bandwidth; starts of kernels take nothing",
        100 * GpuFigures::kFlopsShare, 100 * GpuFigures::kBytesShare));
    all.emplace_back(
        "the backward pass takes two thirds of the computing, and all buckets of the "
        "gradient but the last travel beside it as far as they fit");
  }
  if (!is_split) return all;
  if (!rank_.is_of_stages())
    all.emplace_back("a stage's time, and a part of a layer's, goes with its multiply-adds");
  all.push_back(fmt::format("a message between ranks of a node takes {} and sends {}",
                            time_text(cluster_.node_message_s),
                            rate_text(cluster_.node_message_bytes_per_s)));
  return all;
}

}  // namespace quern
