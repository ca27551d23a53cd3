// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/commands.hpp"
#include "app/common_options.hpp"
#include "app/out_file.hpp"
#include "app/site_figures.hpp"
#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "bench/bench_figures.hpp"
#include "bench/measure_rank.hpp"
#include "comm/agree.hpp"
#include "comm/node_shared.hpp"
#include "config/read_recipe.hpp"
#include "config/recipe_change.hpp"
#include "io/output_file.hpp"
#include "io/shard_set.hpp"
#include "plan/gpu_work.hpp"
#include "plan/scaling_report.hpp"
#include "runtime/binding.hpp"
#include "runtime/cpu_mask.hpp"
#include "runtime/ranks.hpp"
#include "strategy/recipe_grid.hpp"
#include "tensor/types.hpp"

namespace quern {

namespace {

struct PlanOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string nodes;
  std::string site;
  std::string figures;
  int ranks_per_node = 0;
  int batch_per_rank = 0;
  int cores = 0;
  std::vector<std::string> bench;
  std::string json;
};

std::filesystem::path figures_of(const PlanOptions& options) {
  return options.figures.empty() ? site_figures_file() : std::filesystem::path(options.figures);
}

std::vector<std::string> inputs_of(const PlanOptions& options) {
  std::vector<std::string> inputs = options.bench;
  inputs.push_back(options.recipe);
  if (!options.site.empty()) inputs.push_back(figures_of(options).string());
  return inputs;
}

/// "64" or "1,8,64", rising.
std::vector<int> nodes_of(const std::string& text) {
  constexpr int kMost = 1 << 16;
  std::vector<int> nodes;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    int count = 0;
    const auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, count);
    if (error != std::errc() || rest != text.data() + end || count < 1 || count > kMost) {
      throw InputError("--nodes: '" + text.substr(begin, end - begin) +
                       "' is no number of nodes from 1 to " + std::to_string(kMost));
    }
    nodes.push_back(count);
    begin = end + 1;
  }
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

/// Everything that a plan is made of but the work of a rank.
struct Given {
  Recipe recipe;
  std::vector<int> nodes;
  BenchFigures figures;
  std::optional<SiteFigures> site;
  int ranks_per_node = 1;
  PlanSources sources;

  bool has_gpus() const { return site && site->has_gpus(); }
};

/// The batch is said once. InputError.
void check_batch_options(const PlanOptions& options) {
  if (options.batch_per_rank == 0) return;
  const std::vector<std::string> keys = changed_keys(options.overrides);
  for (const char* batch : {"data.global_batch", "data.batch_per_rank"}) {
    if (std::ranges::find(keys, batch) == keys.end()) continue;
    throw InputError(std::string("--batch-per-rank and --set ") + batch +
                     " both say the batch (expected one of them)");
  }
}

/// Of a site with GPUs nothing can be measured here, and no network that is split be planned.
void check_for_gpus(const Given& given, const PlanOptions& options) {
  if (!given.has_gpus()) return;
  const ParallelSpec& parallel = given.recipe.parallel;
  const std::string site = "the site '" + options.site + "' has GPUs";
  if (!options.bench.empty()) {
    throw InputError("--bench: " + site +
                     ", of which a plan knows published figures alone (expected no --bench)");
  }
  if (options.ranks_per_node > 0 && options.ranks_per_node != given.site->ranks) {
    throw InputError("--ranks-per-node: " + site + ", " + std::to_string(given.site->ranks) +
                     " on a node (expected one rank for each)");
  }
  if (parallel.pipeline > 1 || parallel.tensor > 1) {
    throw InputError(
        std::string("parallel.") + (parallel.pipeline > 1 ? "pipeline" : "tensor") + ": " + site +
        ", and of these a plan is for ranks that share a batch by its samples (expected 1)");
  }
}

/// The peak of a GPU in the recipe's precision. InputError where there are no figures for it.
double gpu_flops(const Given& given) {
  const SiteFigures& site = *given.site;
  const Precision precision = given.recipe.train.precision;
  const double flops = precision == Precision::bf16   ? site.bf16_flops
                       : precision == Precision::tf32 ? site.tf32_flops
                                                      : site.node_flops;
  if (flops > 0) return flops / site.ranks;
  throw InputError(std::string("train.precision = \"") + to_string(precision) +
                   "\": the GPUs of '" + given.sources.site +
                   "' have no figures for it (expected \"fp32\")");
}

Given read_given(const PlanOptions& options, int ranks_started) {
  Given given;
  if (!kHostExecution)
    throw InputError("quern plan knows ranks on processors, but this quern was built for GPUs");
  check_batch_options(options);
  given.nodes = nodes_of(options.nodes);
  for (const std::string& file : options.bench) read_bench_figures(file, given.figures);
  given.sources.site = options.site;
  if (!options.site.empty()) {
    given.site = read_site_figures(figures_of(options), options.site);
  }
  given.ranks_per_node = options.ranks_per_node > 0 ? options.ranks_per_node
                         : given.site               ? given.site->ranks
                                                    : ranks_started;
  const int ranks = given.nodes.back() * given.ranks_per_node;
  given.recipe = with_strategy(read_recipe(options.recipe, options.overrides), ranks);
  if (options.batch_per_rank > 0) {
    given.recipe.data.batch_per_rank = options.batch_per_rank;
    given.recipe.data.global_batch = 0;
  }
  for (const MeasuredStep& step : given.figures.steps) check_measured(step, given.recipe);
  check_for_gpus(given, options);
  // All others are compared with the fewest.
  const int fewest = fewest_nodes(given.recipe, given.ranks_per_node);
  if (given.nodes.front() > fewest) given.nodes.insert(given.nodes.begin(), fewest);
  return given;
}

/// Of several ranks: with the sum of their gradients.
MeasuredLine rank_line(const std::vector<MeasuredStep>& steps) {
  std::vector<MeasuredLine::Point> points;
  for (const MeasuredStep& step : steps)
    points.push_back({static_cast<double>(step.samples), step.seconds});
  return MeasuredLine(std::move(points));
}

const MeasuredReductions* reductions_of(const Given& given, bool several_nodes) {
  const MeasuredReductions* found = nullptr;
  for (const MeasuredReductions& measured : given.figures.reductions) {
    if (measured.machine.ranks == 1 || (measured.machine.nodes > 1) != several_nodes) continue;
    if (!several_nodes && measured.machine.ranks != given.ranks_per_node) continue;
    found = &measured;
  }
  return found;
}

/// What the ranks run on: the site, or else what was measured.
ClusterFigures cluster_of(Given& given, const PlanOptions& options, const BenchMachine& machine) {
  const bool is_fast = given.recipe.train.determinism == Determinism::fast;
  ClusterFigures cluster;
  cluster.ranks_per_node = given.ranks_per_node;
  cluster.adding_bytes_per_s = machine.rank_bytes_per_s;
  if (given.has_gpus()) cluster.shared_bytes = 0;  // each has its own memory
  if (!given.site) cluster.shared_bytes = static_cast<double>(free_shared_memory_bytes());
  if (given.site) {
    if (machine.rank_flops > 0)
      cluster.speed = given.site->node_flops / given.ranks_per_node / machine.rank_flops;
    cluster.link_bytes_per_s = given.site->link_bytes_per_s;
    cluster.adding_bytes_per_s = given.site->memory_bytes_per_s / given.ranks_per_node;
    cluster.message_s = given.site->message_s;
    cluster.node_bytes_per_s = given.site->node_bytes_per_s;
    given.sources.network = "published figures of the site and assumptions, not measured";
  } else {
    const int cores =
        options.cores > 0 ? options.cores : std::max(1, static_cast<int>(allowed_cpus().size()));
    cluster.turns = std::max(1.0, static_cast<double>(given.ranks_per_node) / cores);
    if (const MeasuredReductions* inside = reductions_of(given, false)) {
      cluster.node_sum = node_sum_line(*inside, !is_fast);
      // Ranks that take turns have states of their own in that measurement, which displace each
      // other in the caches more than the one that they share in training.
      if (cluster.turns <= 1) {
        cluster.node_after_step_s_per_byte =
            after_step_s_per_byte(*inside, given.recipe.name, !is_fast);
      }
      if (const std::optional<NetworkFit> messages = fit_messages(*inside)) {
        cluster.node_message_s = messages->message_s;
        cluster.node_message_bytes_per_s = messages->node_bytes_per_s;
      }
    }
  }
  // Assumed: a byte is written to memory that both ranks have, and read there.
  constexpr double kTouches = 4;
  if (cluster.node_message_bytes_per_s == 0)
    cluster.node_message_bytes_per_s = cluster.adding_bytes_per_s / kTouches;
  if (const MeasuredReductions* measured = reductions_of(given, true)) {
    const NetworkFit fit = fit_network(*measured);
    cluster.message_s = fit.message_s;
    cluster.node_bytes_per_s = fit.node_bytes_per_s;
    cluster.after_step_s_per_byte = after_step_s_per_byte(*measured, given.recipe.name, !is_fast);
    given.sources.network =
        "quern bench allreduce on " + std::to_string(measured->machine.nodes) + " nodes";
  }
  if (given.nodes.back() > 1 && cluster.node_bytes_per_s == 0) {
    throw InputError(
        "nothing is known of the network between nodes (expected --site, or --bench with what "
        "quern bench allreduce wrote on several nodes)");
  }
  if (given.nodes.back() * given.ranks_per_node > 1 && cluster.adding_bytes_per_s == 0) {
    throw InputError(
        "the bandwidth of the memory is not known (expected --site, or --bench with a step whose "
        "machine.memory is there)");
  }
  return cluster;
}

/// How many samples there are; nothing where nobody can tell yet.
std::optional<std::int64_t> num_samples(const Recipe& recipe) {
  if (recipe.data.source == DataSource::random) return recipe.data.samples;
  try {
    return ShardSet::open(recipe.data.train, "train").count();
  } catch (const Error&) {
    return std::nullopt;
  }
}

void warn_of_large_batches(const Recipe& recipe, const std::vector<PlannedStep>& steps) {
  const auto samples = num_samples(recipe);
  if (!samples) return;
  for (const PlannedStep& step : steps) {
    if (step.demand.global_batch <= *samples) continue;
    log::warn("a batch on " + count_text(step.nodes, "node") + " has " +
              std::to_string(step.demand.global_batch) + " samples, and the data " +
              std::to_string(*samples) +
              ": a training takes all of them in every step, so the plan is for larger data of the "
              "same shape");
    return;
  }
}

void print_plan(const Given& given, const PlanOptions& options, const ClusterFigures& cluster,
                RankWork rank) {
  const ScalingPlanner planner(given.recipe, std::move(rank), cluster);
  std::vector<PlannedStep> steps;
  for (const int nodes : given.nodes) steps.push_back(planner.plan(nodes));
  log::print(scaling_text(planner, given.sources, steps));
  warn_of_large_batches(given.recipe, steps);
  if (options.json.empty()) return;
  write_whole_file(options.json, scaling_json(planner, given.sources, steps) + "\n");
}

/// As many samples as keep a rank of this machine busy for as long as those that a rank has on the
/// most nodes, in whole micro-blocks, and four times as many.
std::vector<int> batches_to_measure(const StepDemand& demand, const ClusterFigures& cluster) {
  constexpr int kMost = 4096;
  const int block = std::min(demand.block_samples, kMost);
  const double blocks = std::ceil(demand.samples / cluster.speed / block);
  const int most = kMost / block;
  const int batch = block * (blocks < most ? static_cast<int>(blocks) : most);
  return {batch, 4 * batch};
}

/// One rank, or all of a node at once: these take from each other what they share, and their turns
/// on the cores, too.
void check_ranks(Communicator& comm, const Given& given, const PlanOptions& options) {
  if (comm.size() == 1) return;
  if (options.cores > 0) {
    throw AgreedError(comm,
                      "--cores: the " + count_text(comm.size(), "rank") +
                          " that were started are measured on the cores that they have here "
                          "(expected one rank, or no --cores)",
                      ExitCode::bad_input);
  }
  if (comm.size() == given.ranks_per_node && comm.node_size() == comm.size()) return;
  throw AgreedError(
      comm,
      "quern plan measures one rank alone, or all ranks of a node at once, but " +
          std::to_string(comm.size()) + " were started on nodes of " +
          count_text(given.ranks_per_node, "rank") +
          " (expected one, as many as --ranks-per-node, or --bench with what was measured)",
      ExitCode::bad_input);
}

/// Their steps would take as long as their turns on this machine's processors.
void check_turns(Communicator& comm, const Given& given) {
  if (!given.site || processor_share(comm, ExecSpace().concurrency()) >= 1) return;
  throw AgreedError(comm,
                    "--site: " + count_text(comm.size(), "rank") + " with " +
                        count_text(ExecSpace().concurrency(), "thread") +
                        " each are more than the processors here, and their turns would be counted "
                        "as those of the site's nodes (expected a processor for each thread: fewer "
                        "ranks, or a smaller OMP_NUM_THREADS)",
                    ExitCode::bad_input);
}

/// Of one rank: several wait for each other.
void warn_of_busy_processors(const ProcessorUse& use) {
  if constexpr (!kHostExecution) return;
  constexpr double kFree = 0.85;
  const double share = use.processor_seconds / (use.seconds * ExecSpace().concurrency());
  if (share >= kFree) return;
  log::warn(
      "other programs took processors while steps were measured: this rank had " +
      std::to_string(std::lround(100 * share)) +
      " % of the time. On a node of its own it computes faster, and waits for others more: the "
      "efficiency of the plan is too high (expected a node without other work, or --bench)");
}

ExitCode plan_by_measuring(Communicator& comm, Given& given, const PlanOptions& options) {
  check_ranks(comm, given, options);
  check_turns(comm, given);
  const BenchMachine machine = measure_machine(comm);
  ClusterFigures cluster = agree(comm, [&] { return cluster_of(given, options, machine); });
  if (comm.size() > 1) cluster.turns = 1;  // they have taken turns while they were measured
  const StepDemand demand =
      StepDemands(given.recipe)
          .of(given.recipe, given.nodes.back() * given.ranks_per_node, given.ranks_per_node);
  given.sources.computed = comm.size() == 1
                               ? "steps of one rank on this machine, measured now"
                               : "steps of " + std::to_string(comm.size()) +
                                     " ranks on this machine at once, each alone, measured now";
  ProcessorUse use;
  const RankWork work =
      measure_rank(comm, options.recipe, options.overrides, demand.ranks, demand.block_samples,
                   batches_to_measure(demand, cluster), &use);
  if (comm.size() == 1) warn_of_busy_processors(use);
  run_on_root(comm, [&] { print_plan(given, options, cluster, work); });
  return ExitCode::done;
}

void plan_by_figures(Given& given, const PlanOptions& options) {
  const std::vector<MeasuredStep>& steps = given.figures.steps;
  given.sources.computed =
      "quern bench step, " + steps.front().file + (steps.size() > 1 ? " and others" : "");
  print_plan(given, options, cluster_of(given, options, steps.front().machine), rank_line(steps));
}

/// Nothing is measured: nobody has a GPU of the site here.
void plan_for_gpus(Given& given, const PlanOptions& options) {
  const StepDemands demands(given.recipe);
  const int ranks = given.nodes.back() * given.ranks_per_node;
  const int samples = demands.of(given.recipe, ranks, given.ranks_per_node).samples;
  const ClusterFigures cluster = cluster_of(given, options, {});
  given.sources.computed = "peaks of the GPUs' data sheets";
  given.sources.estimate = "from data sheets and assumptions; no GPU has confirmed it";
  print_plan(
      given, options, cluster,
      gpu_line(demands, given.recipe, samples, {gpu_flops(given), cluster.adding_bytes_per_s}));
}

ExitCode plan(const PlanOptions& options) {
  Given given;
  return run_on_ranks(
      [&](Communicator& comm) {
        if (given.figures.steps.empty() && !given.has_gpus())
          return plan_by_measuring(comm, given, options);
        run_on_root(comm, [&] {
          if (given.has_gpus())
            plan_for_gpus(given, options);
          else
            plan_by_figures(given, options);
        });
        return ExitCode::done;
      },
      [&](Communicator& comm) {
        given = agree(comm, [&] { return read_given(options, comm.size()); });
        run_on_root(comm, [&] {
          if (!options.json.empty()) check_out_file(options.json, true);
          refuse_input_as_output(options.json, inputs_of(options));
        });
      });
}

}  // namespace

Command add_plan_command(CommandLine app) {
  const auto options = std::make_shared<PlanOptions>();
  CommandLine command = app.add_command(
      "plan",
      "Predict the time of a training step on many nodes: batch, bytes sent, efficiency, and what "
      "to change");
  command.add_option("recipe", options->recipe, "Recipe file (TOML)").required().type_name("FILE");
  command
      .add_option("--nodes", options->nodes,
                  "Number of nodes; a list such as 8,64,512 prints a table")
      .required()
      .type_name("N");
  const Option site =
      command
          .add_option(
              "--site", options->site,
              "Nodes and network of this site (jobs/sites/figures.txt); default: nodes like this "
              "machine, of which several need a network out of --bench")
          .not_empty()
          .type_name("NAME");
  command
      .add_option("--bench", options->bench,
                  "What quern bench step --json and quern bench allreduce --json wrote (may be "
                  "repeated); without a step the ranks that were started are measured now: one, or "
                  "those of a node")
      .type_name("FILE")
      .one_value_each();
  command
      .add_option("--ranks-per-node", options->ranks_per_node,
                  "Ranks of a node (default: the site's, or those that were started)")
      .in_range(1, 1 << 12)
      .type_name("N");
  command
      .add_option("--batch-per-rank", options->batch_per_rank,
                  "Samples of a rank, in place of the recipe's batch")
      .in_range(1, kMaxGlobalBatch)
      .type_name("N");
  command
      .add_option("--cores", options->cores,
                  "Cores of a node, without --site: more ranks take turns (default: those that "
                  "this program may use)")
      .excludes(site)
      .in_range(1, 1 << 12)
      .type_name("N");
  add_set_option(command, options->overrides);
  command
      .add_option("--figures", options->figures,
                  "File of the sites' figures, in place of jobs/sites/figures.txt; with --site")
      .not_empty()
      .needs(site)
      .type_name("FILE");
  command.add_option("--json", options->json, "Write the figures to this file, too")
      .not_empty()
      .type_name("FILE");
  return {command, [options] { return plan(*options); }, Started::as_ranks};
}

}  // namespace quern
