// SPDX-License-Identifier: Apache-2.0
#include "plan/scaling_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/count_text.hpp"
#include "base/unit_text.hpp"

namespace quern {

namespace {

using Json = nlohmann::ordered_json;

/// `split`: a column that only networks have that are split.
constexpr const char* kPlanRow =
    "{:>6} {:>7} {:>9} {:>7} {:>10} {:>10} {}{:>10} {:>11} {:>11} {:>10}\n";

std::string split_cell(const StepDemand& demand, const std::string& text) {
  return demand.stages.empty() ? "" : fmt::format("{:>10} ", text);
}

std::string bytes_of(double bytes) {
  return bytes_text(static_cast<std::int64_t>(bytes));
}

std::string row_text(const PlannedStep& step) {
  return fmt::format(
      fmt::runtime(kPlanRow), step.nodes, step.demand.ranks, step.demand.global_batch,
      step.demand.samples, time_text(step.time.step_s()), time_text(step.time.compute_s),
      split_cell(step.demand, time_text(step.time.split_s())), time_text(step.time.reduction_s()),
      bytes_of(step.time.rank_bytes), bytes_of(step.time.node_bytes),
      fmt::format("{:.0f} %", 100 * step.efficiency));
}

/// Those of the parts that take any time.
std::string parts_text(const std::vector<std::pair<const char*, double>>& parts) {
  std::string text;
  for (const auto& [what, seconds] : parts) {
    if (seconds <= 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", time_text(seconds), what);
  }
  return text.empty() ? "nothing" : text;
}

std::string reduction_text(const StepPrediction& time) {
  std::string text = parts_text({{"starting messages and waiting", time.meetings_s},
                                 {"on the network", time.network_s},
                                 {"adding", time.adding_s},
                                 {"for sums inside of layers", time.batch_sums_s},
                                 {"more after a step", time.after_step_s}});
  if (time.hidden_s > 0)
    text += fmt::format("; {} of this beside the backward pass", time_text(time.hidden_s));
  return text;
}

std::string split_text(const StepPrediction& time) {
  return parts_text({{"until the first micro-batch comes and after the last", time.idle_s},
                     {"for what crosses between stages", time.crossing_s},
                     {"for exchanges inside of layers", time.layers_s}});
}

std::string grid_text(const StepDemand& demand, PipelineSchedule schedule) {
  return fmt::format("{} data x {} x {} of a layer; {} a step{}", demand.data_ranks(),
                     count_text(demand.num_stages(), "stage"), count_text(demand.tensor, "part"),
                     count_text(demand.pieces, "micro-batch"),
                     demand.num_stages() == 1              ? ""
                     : schedule == PipelineSchedule::gpipe ? ", gpipe"
                                                           : ", 1f1b");
}

std::string stage_text(const StageDemand& stage, int pieces) {
  std::string text = fmt::format(
      "'{}' to '{}': {:.0f} % of the network's work on a rank, gradient {}, {} per rank, sends {} "
      "per step to its neighbours",
      stage.first_layer, stage.last_layer, 100 * stage.work,
      bytes_of(4.0 * static_cast<double>(stage.floats)), bytes_text(stage.memory_bytes),
      bytes_of(pieces * (stage.sent_forward + stage.sent_backward)));
  if (stage.exchanges > 0) {
    text += fmt::format(", and {} in {} inside of layers", bytes_of(pieces * stage.exchanged_bytes),
                        count_text(pieces * stage.exchanges, "exchange"));
  }
  return text;
}

Json stage_json(const StageDemand& stage) {
  Json json;
  json["first_layer"] = stage.first_layer;
  json["last_layer"] = stage.last_layer;
  json["work"] = stage.work;
  json["gradient_bytes"] = 4.0 * static_cast<double>(stage.floats);
  json["micro_batch_bytes_forward"] = stage.sent_forward;
  json["micro_batch_bytes_backward"] = stage.sent_backward;
  json["micro_batch_exchanges"] = stage.exchanges;
  json["micro_batch_exchanged_bytes"] = stage.exchanged_bytes;
  json["memory_bytes"] = stage.memory_bytes;
  return json;
}

Json step_json(const PlannedStep& step) {
  Json json;
  json["nodes"] = step.nodes;
  json["ranks"] = step.demand.ranks;
  json["global_batch"] = step.demand.global_batch;
  json["samples_per_rank"] = step.demand.samples;
  json["blocks"] = step.demand.blocks;
  json["partial_sums"] = step.demand.partial_sums;
  json["step_us"] = step.time.step_s() * 1e6;
  json["compute_us"] = step.time.compute_s * 1e6;
  json["idle_us"] = step.time.idle_s * 1e6;
  json["crossing_us"] = step.time.crossing_s * 1e6;
  json["layers_us"] = step.time.layers_s * 1e6;
  json["messages_us"] = step.time.meetings_s * 1e6;
  json["network_us"] = step.time.network_s * 1e6;
  json["adding_us"] = step.time.adding_s * 1e6;
  json["batch_sums_us"] = step.time.batch_sums_s * 1e6;
  json["after_step_us"] = step.time.after_step_s * 1e6;
  json["hidden_us"] = step.time.hidden_s * 1e6;
  json["rank_bytes"] = step.time.rank_bytes;
  json["node_bytes"] = step.time.node_bytes;
  json["memory_bytes"] = step.memory_bytes;
  json["efficiency"] = step.efficiency;
  if (step.demand.stages.empty()) return json;
  json["data_ranks"] = step.demand.data_ranks();
  json["tensor"] = step.demand.tensor;
  json["micro_batches"] = step.demand.pieces;
  for (const StageDemand& stage : step.demand.stages) json["stages"].push_back(stage_json(stage));
  return json;
}

}  // namespace

std::string scaling_text(const ScalingPlanner& planner, const PlanSources& sources,
                         const std::vector<PlannedStep>& steps) {
  const PlannedStep& last = steps.back();
  const StepDemand& demand = last.demand;
  std::string text =
      fmt::format("# {} on {}{}\n", planner.recipe().name, count_text(last.nodes, "node"),
                  sources.site.empty() ? " like this machine" : " of " + sources.site);
  const auto line = [&](const char* key, const std::string& value) {
    text += fmt::format("{:<18} {}\n", key, value);
  };
  if (!sources.estimate.empty()) line("ESTIMATE", sources.estimate);
  line("ranks", fmt::format("{}, {} a node{}", demand.ranks, planner.cluster().ranks_per_node,
                            planner.cluster().turns > 1
                                ? fmt::format(", {:g} to a core", planner.cluster().turns)
                                : ""));
  line("batch", fmt::format("{} samples, at most {} a rank", demand.global_batch, demand.samples));
  line("micro-blocks",
       fmt::format("{} of {} samples; a rank hands on at most {}", demand.blocks,
                   demand.block_samples, count_text(demand.partial_sums, "partial sum")));
  const bool is_split = !demand.stages.empty();
  if (is_split) line("grid", grid_text(demand, planner.recipe().parallel.schedule));
  for (std::size_t i = 0; i < demand.stages.size(); ++i)
    line(("  stage " + std::to_string(i)).c_str(), stage_text(demand.stages[i], demand.pieces));
  line("gradient", fmt::format("{}; a rank sends {} a step, a node {} over the network",
                               bytes_of(4.0 * static_cast<double>(demand.floats)),
                               bytes_of(last.time.rank_bytes), bytes_of(last.time.node_bytes)));
  line("memory",
       fmt::format(
           "{} per rank, and the data; for checkpoints {} more on rank 0{}",
           bytes_text(last.memory_bytes),
           bytes_text(planner.demands().checkpoint_copy_bytes(planner.recipe())),
           is_split ? fmt::format(", at most {} on others",
                                  bytes_text(planner.demands().collected_bytes(planner.recipe())))
                    : ""));
  line("step",
       fmt::format("{}: {} computing, {}then {} for sums over the ranks",
                   time_text(last.time.step_s()), time_text(last.time.compute_s),
                   is_split ? time_text(last.time.split_s()) + " for the split network, " : "",
                   time_text(last.time.reduction_s())));
  if (is_split) line("split", split_text(last.time));
  line("sums", reduction_text(last.time));
  line("throughput", fmt::format("{:.0f} samples/s; {:.0f} % of {} per node",
                                 demand.global_batch / last.time.step_s(), 100 * last.efficiency,
                                 steps.front().nodes == 1
                                     ? "one node's"
                                     : "that of " + count_text(steps.front().nodes, "node")));
  line("computing from", sources.computed);
  if (!sources.network.empty()) line("network from", sources.network);
  for (const std::string& assumption : planner.assumptions()) line("assumed", assumption);
  const std::vector<std::string> advice = planner.advice(last);
  for (std::size_t i = 0; i < advice.size(); ++i) line(i == 0 ? "to change" : "", advice[i]);
  if (advice.empty()) line("to change", "nothing");
  text += '\n';
  text +=
      fmt::format(fmt::runtime(kPlanRow), "nodes", "ranks", "batch", "a rank", "step", "computing",
                  split_cell(demand, "split"), "sums", "rank sends", "node sends", "efficiency");
  for (const PlannedStep& step : steps) text += row_text(step);
  text.pop_back();
  return text;
}

std::string scaling_json(const ScalingPlanner& planner, const PlanSources& sources,
                         const std::vector<PlannedStep>& steps) {
  Json json;
  json["plan"] = planner.recipe().name;
  json["site"] = sources.site;
  json["computing_from"] = sources.computed;
  json["network_from"] = sources.network;
  json["estimate"] = sources.estimate;
  json["ranks_per_node"] = planner.cluster().ranks_per_node;
  json["parameters"] = planner.demands().num_parameters();
  json["checkpoint_copy_bytes"] = planner.demands().checkpoint_copy_bytes(planner.recipe());
  json["gflop_per_sample"] = planner.demands().training_flop() * 1e-9;
  for (const PlannedStep& step : steps) json["steps"].push_back(step_json(step));
  json["assumed"] = planner.assumptions();
  json["advice"] = planner.advice(steps.back());
  return json.dump(2);
}

}  // namespace quern
