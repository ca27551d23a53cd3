// SPDX-License-Identifier: Apache-2.0
#include "base/count_text.hpp"
#include "base/unit_text.hpp"
#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "bench/json.hpp"
#include "bench/label_filter.hpp"
#include "bench/roofline.hpp"

namespace quern {

namespace {

// What a figure is when it is known, "-" otherwise.
std::string number(double value, int digits) {
  return value > 0 ? fmt::format("{:.{}f}", value, digits) : "-";
}

std::string percent(double fraction) {
  return fraction > 0 ? fmt::format("{:.1f} %", 100 * fraction) : "-";
}

using Cells = std::array<std::string, 9>;
constexpr std::size_t kTextCells = 3;  // the rest are numbers

Cells row_cells(const MachineInfo& machine, const KernelRow& row, double step_s) {
  const double time_s = row.time_s.median;
  const Roofline line = roofline(row.cost, machine);
  return {row.layer,
          shown_label(row.kernel),
          row.shape,
          number(time_s * 1e6, 2),
          percent(time_s / step_s),
          number(row.cost.flop / time_s * 1e-9, 1),
          number(row.cost.bytes / time_s * 1e-9, 1),
          to_string(line.bound),
          percent(line.seconds / time_s)};
}

std::string table_text(const std::vector<Cells>& rows) {
  std::array<std::size_t, std::tuple_size_v<Cells>> widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i < kTextCells ? fmt::format("{:<{}}  ", row[i], widths[i])
                             : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

Json row_json(const MachineInfo& machine, const KernelRow& row, double step_s) {
  const Roofline line = roofline(row.cost, machine);
  const double time_s = row.time_s.median;
  const double bytes_per_s = row.cost.bytes / time_s;
  Json json;
  json["layer"] = row.layer;
  json["kernel"] = row.kernel;
  json["shape"] = row.shape;
  json["calls"] = row.calls;
  add_time(json, "time", row.time_s);
  json["share_of_step"] = time_s / step_s;
  if (row.cost.flop > 0) {
    json["flop"] = row.cost.flop;
    json["gflops"] = row.cost.flop / time_s * 1e-9;
    json["fraction_of_peak"] = row.cost.flop / time_s / peak_flops(row.cost, machine);
  }
  if (row.cost.bytes > 0) {
    json["bytes"] = row.cost.bytes;
    json["gb_per_s"] = bytes_per_s * 1e-9;
    json["fraction_of_memory_bandwidth"] = bytes_per_s / machine.memory.rate.median;
    json["working_set_bytes"] = row.cost.working_set;
    json["level"] = to_string(line.level);
    json["bound"] = to_string(line.bound);
    json["limit_us"] = line.seconds * 1e6;
    json["fraction_of_limit"] = line.seconds / time_s;
    if (row.cost.flop > 0) json["limit_gflops"] = row.cost.flop / line.seconds * 1e-9;
  }
  return json;
}

}  // namespace

std::string kernels_bench_text(const MachineInfo& machine, const KernelsBenchInfo& info) {
  const double step_s = info.profiled_step_s.median;
  const double outside_s = step_s - info.kernels_s.median;
  std::vector<Cells> rows = {
      {"layer", "kernel", "shape", "us/step", "of step", "Gflop/s", "GB/s", "limit", "of limit"}};
  for (const KernelRow& row : info.rows) rows.push_back(row_cells(machine, row, step_s));
  return fmt::format(
      "{}: batch of {}, {} of {}\n{}step {} = kernels {} + outside of kernels {} ({:.1f} %); "
      "without profiling a step takes {} ({} to {})",
      info.workload, info.global_batch, count_text(info.rounds, "round"),
      count_text(info.steps, "step"), table_text(rows), time_text(step_s),
      time_text(info.kernels_s.median), time_text(outside_s), 100 * outside_s / step_s,
      time_text(info.step_s.median), time_text(info.step_s.smallest),
      time_text(info.step_s.largest));
}

std::string kernels_bench_json(const MachineInfo& machine,
                               const std::vector<KernelsBenchInfo>& workloads) {
  Json json = bench_document("kernels", machine, workloads.front().rounds);
  for (const KernelsBenchInfo& info : workloads) {
    Json workload;
    workload["workload"] = info.workload;
    workload["global_batch"] = info.global_batch;
    workload["samples_of_rank"] = info.samples;
    workload["steps"] = info.steps;
    workload["untimed_steps"] = info.settling;
    add_time(workload, "step", info.step_s);
    add_time(workload, "profiled_step", info.profiled_step_s);
    add_time(workload, "all_kernels", info.kernels_s);
    workload["kernels"] = Json::array();
    for (const KernelRow& row : info.rows) {
      workload["kernels"].push_back(row_json(machine, row, info.profiled_step_s.median));
    }
    json["workloads"].push_back(workload);
  }
  return json.dump(2);
}

}  // namespace quern
