// SPDX-License-Identifier: Apache-2.0
#include "bench/scaling_report.hpp"

#include <fmt/format.h>

#include "base/bytes_text.hpp"
#include "base/count_text.hpp"
#include "bench/json.hpp"
#include "bench/report.hpp"

namespace quern {

namespace {

constexpr const char* kRow = "{:>6} {:>7} {:>9} {:>7} {:>10} {:>10} {:>10} {:>11} {:>11} {:>10}\n";

std::string bytes_of(double bytes) {
  return bytes_text(static_cast<std::int64_t>(bytes));
}

std::string row_text(const PlannedStep& step) {
  return fmt::format(fmt::runtime(kRow), step.nodes, step.demand.ranks, step.demand.global_batch,
                     step.demand.samples, time_text(step.time.step_s()),
                     time_text(step.time.compute_s), time_text(step.time.reduction_s()),
                     bytes_of(step.time.rank_bytes), bytes_of(step.time.node_bytes),
                     fmt::format("{:.0f} %", 100 * step.efficiency));
}

std::string reduction_text(const StepPrediction& time) {
  std::string text;
  const auto part = [&](const char* what, double seconds) {
    if (seconds <= 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", time_text(seconds), what);
  };
  part("starting messages and waiting", time.meetings_s);
  part("on the network", time.network_s);
  part("adding", time.adding_s);
  part("for sums inside of layers", time.batch_sums_s);
  return text.empty() ? "nothing" : text;
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
  json["messages_us"] = step.time.meetings_s * 1e6;
  json["network_us"] = step.time.network_s * 1e6;
  json["adding_us"] = step.time.adding_s * 1e6;
  json["batch_sums_us"] = step.time.batch_sums_s * 1e6;
  json["rank_bytes"] = step.time.rank_bytes;
  json["node_bytes"] = step.time.node_bytes;
  json["memory_bytes"] = step.memory_bytes;
  json["efficiency"] = step.efficiency;
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
  line("ranks", fmt::format("{}, {} a node{}", demand.ranks, planner.cluster().ranks_per_node,
                            planner.cluster().turns > 1
                                ? fmt::format(", {:g} to a core", planner.cluster().turns)
                                : ""));
  line("batch", fmt::format("{} samples, at most {} a rank", demand.global_batch, demand.samples));
  line("micro-blocks",
       fmt::format("{} of {} samples; a rank hands on at most {}", demand.blocks,
                   demand.block_samples, count_text(demand.partial_sums, "partial sum")));
  line("gradient", fmt::format("{}; a rank sends {} a step, a node {} over the network",
                               bytes_of(4.0 * static_cast<double>(demand.floats)),
                               bytes_of(last.time.rank_bytes), bytes_of(last.time.node_bytes)));
  line("memory", bytes_text(last.memory_bytes) + " per rank, and the data");
  line("step", fmt::format("{}: {} computing, then {} for sums over the ranks",
                           time_text(last.time.step_s()), time_text(last.time.compute_s),
                           time_text(last.time.reduction_s())));
  line("sums", reduction_text(last.time));
  line("throughput", fmt::format("{:.0f} samples/s; {:.0f} % of one node's per node",
                                 demand.global_batch / last.time.step_s(), 100 * last.efficiency));
  line("computing from", sources.computed);
  if (!sources.network.empty()) line("network from", sources.network);
  const std::vector<std::string> advice = planner.advice(last);
  for (std::size_t i = 0; i < advice.size(); ++i) line(i == 0 ? "to change" : "", advice[i]);
  if (advice.empty()) line("to change", "nothing");
  text += '\n';
  text += fmt::format(fmt::runtime(kRow), "nodes", "ranks", "batch", "a rank", "step", "computing",
                      "sums", "rank sends", "node sends", "efficiency");
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
  json["ranks_per_node"] = planner.cluster().ranks_per_node;
  json["parameters"] = planner.demands().num_parameters();
  json["gflop_per_sample"] = planner.demands().training_flop() * 1e-9;
  for (const PlannedStep& step : steps) json["steps"].push_back(step_json(step));
  json["advice"] = planner.advice(steps.back());
  return json.dump(2);
}

}  // namespace quern
