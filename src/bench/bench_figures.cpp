// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_figures.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "bench/json.hpp"
#include "bench/scaling_model.hpp"

namespace quern {

namespace {

/// What does not fit is told without the file's name.
double positive(const Json& object, const char* key) {
  const double value = object.at(key).get<double>();
  if (!std::isfinite(value) || value <= 0) {
    std::ostringstream text;
    text << "'" << key << "' is " << value << ", expected a number above 0";
    throw Error(text.str());
  }
  return value;
}

int count(const Json& object, const char* key) {
  const double value = positive(object, key);
  if (value != std::floor(value) || value > (1 << 24))
    throw Error("'" + std::string(key) + "' is no count");
  return static_cast<int>(value);
}

BenchMachine machine_of(const Json& document) {
  const Json& machine = document.at("machine");
  BenchMachine result;
  result.ranks = count(machine, "ranks");
  result.nodes = machine.contains("nodes") ? count(machine, "nodes") : 1;
  if (result.ranks % result.nodes != 0) throw Error("its nodes have different numbers of ranks");
  result.rank_flops = positive(machine, "fma_peak_gflops") * 1e9 / result.ranks;
  if (machine.contains("memory"))
    result.rank_bytes_per_s = positive(machine.at("memory"), "gb_per_s") * 1e9 / result.ranks;
  return result;
}

double time_of(const Json& row, const char* method) {
  return row.contains(method) ? positive(row.at(method), "time_us") * 1e-6 : 0;
}

void read_document(const Json& document, BenchFigures& figures) {
  const auto benchmark = document.at("benchmark").get<std::string>();
  if (benchmark == "step") {
    MeasuredStep step;
    step.machine = machine_of(document);
    step.workload = document.at("workload").get<std::string>();
    if (step.machine.nodes > 1) throw Error("a step was measured on several nodes");
    step.samples = (count(document, "global_batch") - 1) / step.machine.ranks + 1;
    step.seconds = positive(document, "step_us") * 1e-6;
    figures.steps.push_back(step);
  } else if (benchmark == "allreduce") {
    MeasuredReductions reductions;
    reductions.machine = machine_of(document);
    for (const Json& row : document.at("rows")) {
      if (positive(row, "bytes") < sizeof(float)) throw Error("it has a gradient of no floats");
      const double rank_invariant_s = time_of(row, "rank_invariant");
      reductions.rows.push_back({positive(row, "bytes"),
                                 rank_invariant_s > 0 ? count(row, "partials") : 0,
                                 rank_invariant_s, time_of(row, "fast")});
    }
    if (reductions.rows.empty()) throw Error("it has no rows");
    figures.reductions.push_back(std::move(reductions));
  } else {
    throw Error("it is of the benchmark '" + benchmark + "'");
  }
}

StepDemand demand_of(const MeasuredReduction& row, int ranks, bool rank_invariant) {
  StepDemand demand;
  demand.ranks = ranks;
  demand.floats = static_cast<std::int64_t>(row.bytes / sizeof(float));
  demand.determinism = rank_invariant ? Determinism::rank_invariant : Determinism::fast;
  demand.partial_sums = rank_invariant ? row.partial_sums : 1;
  demand.all_partial_sums = demand.partial_sums * ranks;
  return demand;
}

}  // namespace

void read_bench_figures(const std::string& file, BenchFigures& figures) {
  std::ifstream stream(file);
  if (!stream)
    throw InputError("cannot read '" + file + "' (expected what quern bench --json wrote)");
  try {
    read_document(Json::parse(stream), figures);
  } catch (const Json::exception&) {
    throw InputError("'" + file +
                     "' is no JSON document of quern bench step or quern bench allreduce");
  } catch (const Error& problem) {
    throw InputError("'" + file + "' does not fit: " + problem.what() +
                     " (expected what quern bench step or quern bench allreduce wrote)");
  }
}

// Least squares of (a x + b y - t) / t, with x messages and y bytes.
NetworkFit fit_network(const MeasuredReductions& measured) {
  const BenchMachine& machine = measured.machine;
  ClusterFigures units;
  units.ranks_per_node = machine.ranks / machine.nodes;
  units.message_s = 1;
  units.node_bytes_per_s = 1;
  units.adding_bytes_per_s = machine.rank_bytes_per_s;
  double xx = 0, xy = 0, yy = 0, x1 = 0, y1 = 0;
  for (const MeasuredReduction& row : measured.rows) {
    if (row.rank_invariant_s == 0) continue;
    const StepPrediction one = predict_reduction(demand_of(row, machine.ranks, true), units);
    const double rest = std::max(row.rank_invariant_s - one.adding_s, row.rank_invariant_s / 2);
    const double x = one.meetings_s / rest;
    const double y = one.network_s / rest;
    xx += x * x, xy += x * y, yy += y * y, x1 += x, y1 += y;
  }
  const double determinant = xx * yy - xy * xy;
  const double message_s = (x1 * yy - y1 * xy) / determinant;
  const double byte_s = (y1 * xx - x1 * xy) / determinant;
  if (!(determinant > 1e-9 * xx * yy) || !(message_s > 0) || !(byte_s > 0)) {
    throw InputError(
        "the measured reductions do not tell what a message costs and what a byte "
        "(expected rank-invariant ones of small and of large gradients, such as --bytes 4K,16M)");
  }
  return {message_s, 1 / byte_s};
}

MeasuredLine node_sum_line(const MeasuredReductions& measured, bool rank_invariant) {
  std::vector<MeasuredLine::Point> points;
  for (const MeasuredReduction& row : measured.rows) {
    const double seconds = rank_invariant ? row.rank_invariant_s : row.fast_s;
    if (seconds == 0) continue;
    points.push_back(
        {added_bytes(demand_of(row, measured.machine.ranks, rank_invariant)), seconds});
  }
  if (points.empty()) {
    throw InputError(std::string("the measured reductions are not ") +
                     (rank_invariant ? "rank-invariant" : "fast") +
                     ", as the recipe's are (expected quern bench allreduce --mode both)");
  }
  return MeasuredLine(std::move(points));
}

}  // namespace quern
