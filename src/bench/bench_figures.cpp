// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_figures.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "bench/json.hpp"
#include "config/read_recipe.hpp"
#include "config/recipe_difference.hpp"
#include "config/toml_text.hpp"
#include "plan/scaling_model.hpp"

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

/// A difference of two times, so that the disturbed one may be below 0.
double after_step_of(const Json& row, const char* method) {
  if (!row.contains(method) || !row.at(method).contains("after_step_us")) return 0;
  const double value = row.at(method).at("after_step_us").get<double>();
  if (!std::isfinite(value)) throw Error("'after_step_us' is no number");
  return std::max(0.0, value * 1e-6);
}

double time_of(const Json& row, const char* method) {
  return row.contains(method) ? positive(row.at(method), "time_us") * 1e-6 : 0;
}

/// Nothing in documents of programs that did not halve.
std::optional<ExchangeLoad> halving_of(const Json& row) {
  if (!row.contains("halving")) return std::nullopt;
  const Json& halving = row.at("halving");
  ExchangeLoad load;
  load.messages = count(halving, "messages");
  load.floats = static_cast<std::int64_t>(positive(halving, "floats"));
  load.node_floats = halving.value("node_floats", std::int64_t{0});
  return load;
}

void read_document(const Json& document, BenchFigures& figures) {
  const auto benchmark = document.at("benchmark").get<std::string>();
  if (benchmark == "step") {
    MeasuredStep step;
    step.machine = machine_of(document);
    step.workload = document.at("workload").get<std::string>();
    if (document.contains("recipe"))
      step.recipe = parse_recipe(document.at("recipe").get<std::string>(), "its recipe");
    if (step.machine.nodes > 1) throw Error("a step was measured on several nodes");
    step.samples = ceil_div(count(document, "global_batch"), step.machine.ranks);
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
                                 rank_invariant_s, time_of(row, "fast"), time_of(row, "transport"),
                                 row.value("workload", ""), after_step_of(row, "rank_invariant"),
                                 after_step_of(row, "fast"), halving_of(row)});
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
  if (rank_invariant) demand.halving = row.halving;
  return demand;
}

/// May a step take another time with another value of this key?
bool takes_time(const std::string& key) {
  if (key.ends_with(".name")) return false;
  constexpr const char* kKeys[] = {"data.augment",     "network.input",   "network.layers",
                                   "loss.type",        "optimizer.type",  "train.determinism",
                                   "train.precision",  "train.bf16_sums", "train.convolution",
                                   "train.micro_block"};
  return std::ranges::any_of(kKeys, [&](const char* begin) { return key.starts_with(begin); });
}

/// Of (a x + b y - t) / t, with x messages and y bytes.
class LeastSquares {
 public:
  void add(double messages, double bytes, double seconds) {
    const double x = messages / seconds;
    const double y = bytes / seconds;
    xx_ += x * x, xy_ += x * y, yy_ += y * y, x1_ += x, y1_ += y;
  }

  /// Nothing where one of the two cannot be told, or would be below 0.
  std::optional<NetworkFit> fit() const {
    const double determinant = xx_ * yy_ - xy_ * xy_;
    const double message_s = (x1_ * yy_ - y1_ * xy_) / determinant;
    const double byte_s = (y1_ * xx_ - x1_ * xy_) / determinant;
    if (!(determinant > 1e-9 * xx_ * yy_) || !(message_s > 0) || !(byte_s > 0)) return std::nullopt;
    return NetworkFit{message_s, 1 / byte_s};
  }

 private:
  double xx_ = 0, xy_ = 0, yy_ = 0, x1_ = 0, y1_ = 0;
};

}  // namespace

void read_bench_figures(const std::string& file, BenchFigures& figures) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw InputError("'" + file + "' is a folder (expected a file that quern bench --json wrote)");
  std::ifstream stream(file);
  if (!stream)
    throw InputError("cannot read '" + file + "' (expected what quern bench --json wrote)");
  const std::size_t before = figures.steps.size();
  try {
    read_document(Json::parse(stream), figures);
    if (figures.steps.size() > before) figures.steps.back().file = file;
  } catch (const Json::exception&) {
    throw InputError("'" + file +
                     "' is no JSON document of quern bench step or quern bench allreduce");
  } catch (const Error& problem) {
    throw InputError("'" + file + "' does not fit: " + problem.what() +
                     " (expected what quern bench step or quern bench allreduce wrote)");
  }
}

void check_measured(const MeasuredStep& step, const Recipe& planned) {
  const std::string measured = "--bench: a step of '" + step.workload + "' was measured";
  if (step.workload != planned.name)
    throw InputError(measured + ", expected one of '" + planned.name + "'");
  if (!step.recipe) return;
  const ParallelSpec& parallel = step.recipe->parallel;
  if (parallel.pipeline > 1 || parallel.tensor > 1) {
    throw InputError(measured +
                     " whose network was split over ranks, expected one of ranks that "
                     "compute all of it (without parallel.pipeline and parallel.tensor)");
  }
  const auto refuse = [&](const std::string& key, const std::string& theirs,
                          const std::string& ours) {
    throw InputError(measured + " with " + key + " = " + theirs + ", and the plan is for " + ours +
                     " (expected the same settings in both)");
  };
  if (step.recipe->train.recompute != planned.train.recompute)
    refuse("train.recompute", step.recipe->train.recompute ? "true" : "false",
           planned.train.recompute ? "true" : "false");
  if ((step.recipe->optimizer.clip_norm > 0) != (planned.optimizer.clip_norm > 0))
    refuse("optimizer.clip_norm", to_toml_text(step.recipe->optimizer.clip_norm),
           to_toml_text(planned.optimizer.clip_norm));
  const int batch = planned.global_batch(1);
  for (const RecipeDifference& difference : differences(planned, batch, *step.recipe, batch)) {
    if (takes_time(difference.key)) refuse(difference.key, difference.theirs, difference.ours);
  }
}

NetworkFit fit_network(const MeasuredReductions& measured) {
  const BenchMachine& machine = measured.machine;
  ClusterFigures units;
  units.ranks_per_node = machine.ranks / machine.nodes;
  units.message_s = 1;
  units.node_bytes_per_s = 1;
  units.adding_bytes_per_s = machine.rank_bytes_per_s;
  LeastSquares squares;
  for (const MeasuredReduction& row : measured.rows) {
    if (row.rank_invariant_s == 0) continue;
    const StepPrediction one = predict_reduction(demand_of(row, machine.ranks, true), units);
    const double rest = std::max(row.rank_invariant_s - one.adding_s, row.rank_invariant_s / 2);
    squares.add(one.meetings_s, one.network_s, rest);
  }
  if (const std::optional<NetworkFit> fit = squares.fit()) return *fit;
  throw InputError(
      "the measured reductions do not tell what a message costs and what a byte "
      "(expected rank-invariant ones of small and of large gradients, such as --bytes 4K,16M)");
}

// By halving and doubling.
std::optional<NetworkFit> fit_messages(const MeasuredReductions& measured) {
  const int ranks = measured.machine.ranks;
  LeastSquares squares;
  for (const MeasuredReduction& row : measured.rows) {
    if (row.transport_s == 0) continue;
    squares.add(2 * std::log2(ranks), 2 * row.bytes * (ranks - 1) / ranks, row.transport_s);
  }
  return squares.fit();
}

double after_step_s_per_byte(const MeasuredReductions& measured, const std::string& workload,
                             bool rank_invariant) {
  const BenchMachine& machine = measured.machine;
  ClusterFigures cluster;
  cluster.ranks_per_node = machine.ranks / machine.nodes;
  cluster.message_s = cluster.node_bytes_per_s = cluster.adding_bytes_per_s = 1;
  double longer = 0;
  for (const MeasuredReduction& row : measured.rows) {
    const double after = rank_invariant ? row.rank_invariant_after_step_s : row.fast_after_step_s;
    const double before = rank_invariant ? row.rank_invariant_s : row.fast_s;
    if (row.workload != workload || after <= before) continue;
    const StepDemand demand = demand_of(row, machine.ranks, rank_invariant);
    longer = (after - before) / moved_bytes(demand, predict_reduction(demand, cluster));
  }
  return longer;
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
