// SPDX-License-Identifier: Apache-2.0
#include "base/count_text.hpp"
#include "bench/report.hpp"

#include <fmt/format.h>

#include "base/unit_text.hpp"
#include "bench/json.hpp"

namespace quern {

namespace {

constexpr const char* kAllreduceRow =
    "{:<18} {:>9} {:>6} {:>8} {:>14} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9}\n";

// One rank moves nothing: rates and ratios of its calls are those of doing nothing.
bool reduces_anything(const MachineInfo& machine) {
  return machine.ranks > 1;
}

std::string time_cell(const std::optional<Spread>& seconds) {
  return seconds ? fmt::format("{:.1f}", seconds->median * 1e6) : "-";
}

std::string ratio_cell(const std::optional<Spread>& a, const std::optional<Spread>& b) {
  return a && b ? fmt::format("{:.2f}", a->median / b->median) : "-";
}

std::string row_text(const MachineInfo& machine, const AllreduceRow& row) {
  const auto best = row.rank_invariant_s ? row.rank_invariant_s : row.fast_s;
  const auto after_step =
      row.rank_invariant_s ? row.rank_invariant_after_step_s : row.fast_after_step_s;
  const double rate = static_cast<double>(row.bytes) / best->median;
  const bool reduces = reduces_anything(machine);
  const auto of_sums = [&](const std::string& cell) { return reduces ? cell : "-"; };
  return fmt::format(
      fmt::runtime(kAllreduceRow), row.workload.empty() ? "-" : row.workload, bytes_text(row.bytes),
      row.blocks, row.rank_invariant_s ? std::to_string(row.num_partial_sums) : "-",
      time_cell(row.rank_invariant_s), time_cell(row.fast_s), time_cell(row.transport_s),
      time_cell(after_step), of_sums(fmt::format("{:.2f}", rate * 1e-9)),
      of_sums(ratio_cell(row.rank_invariant_s, row.fast_s)),
      of_sums(ratio_cell(best, row.transport_s)));
}

Json method_json(const MachineInfo& machine, const AllreduceRow& row, const Spread& seconds,
                 const std::optional<Spread>& after_step_s = {}) {
  Json json;
  add_time(json, "time", seconds);
  if (reduces_anything(machine)) {
    json["gb_per_s"] = static_cast<double>(row.bytes) / seconds.median * 1e-9;
    json["over_transport"] = seconds.median / row.transport_s.median;
  }
  if (after_step_s) add_time(json, "after_step", *after_step_s);
  return json;
}

}  // namespace

std::string allreduce_bench_text(const MachineInfo& machine, const AllreduceBenchInfo& info) {
  std::string text = fmt::format(
      "{}\ntimes in us, medians of {}, the slowest rank's; transport: its own all-reduce of the "
      "same bytes\n",
      machine_text(machine), count_text(info.rounds, "round"));
  text += fmt::format(fmt::runtime(kAllreduceRow), "gradient of", "bytes", "blocks", "partials",
                      "rank-invariant", "fast", "transport", "after step", "GB/s", "/ fast",
                      "/ transp.");
  for (const AllreduceRow& row : info.rows) text += row_text(machine, row);
  text.pop_back();
  return text;
}

std::string allreduce_bench_json(const MachineInfo& machine, const AllreduceBenchInfo& info) {
  Json json = bench_document("allreduce", machine, info.rounds);
  for (const AllreduceRow& row : info.rows) {
    Json object;
    object["workload"] = row.workload;
    object["bytes"] = row.bytes;
    object["blocks"] = row.blocks;
    if (row.rank_invariant_s) object["partials"] = row.num_partial_sums;
    if (row.halving) {
      object["halving"] = {{"messages", row.halving->messages},
                           {"floats", row.halving->floats},
                           {"node_floats", row.halving->node_floats}};
    }
    if (row.rank_invariant_s) {
      object["rank_invariant"] =
          method_json(machine, row, *row.rank_invariant_s, row.rank_invariant_after_step_s);
    }
    if (row.fast_s) object["fast"] = method_json(machine, row, *row.fast_s, row.fast_after_step_s);
    object["transport"] = method_json(machine, row, row.transport_s);
    if (row.rank_invariant_s && row.fast_s && reduces_anything(machine)) {
      object["rank_invariant_over_fast"] = row.rank_invariant_s->median / row.fast_s->median;
    }
    json["rows"].push_back(object);
  }
  return json.dump(2);
}

}  // namespace quern
