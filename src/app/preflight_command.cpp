// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <Kokkos_Core.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/common_options.hpp"
#include "app/preflight/data.hpp"
#include "app/preflight/deadline.hpp"
#include "app/preflight/files.hpp"
#include "app/preflight/info.hpp"
#include "app/preflight/launch.hpp"
#include "app/preflight/network.hpp"
#include "app/preflight/punctual.hpp"
#include "app/preflight/recipe.hpp"
#include "app/preflight/report.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/sha256.hpp"
#include "base/version.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "comm/nccl_support.hpp"
#include "comm/node_shared.hpp"
#include "comm/session.hpp"
#include "io/h5_file.hpp"
#include "plan/step_demand.hpp"
#include "runtime/cpu_mask.hpp"
#include "runtime/devices.hpp"
#include "runtime/ranks.hpp"
#include "strategy/recipe_grid.hpp"
#include "tensor/types.hpp"
#include "train/load_recipe.hpp"

namespace quern {

namespace {

struct PreflightOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string run_dir;
  int ranks = 0;
  double min_bandwidth_gb_s = 0;
  int timeout_s = 60;
  bool json = false;
};

std::string visible_devices_variable() {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}) {
    if (const char* text = std::getenv(name)) return text;
  }
  return "";
}

// What the ranks of this node take in host memory, without data. 0 where the recipe does not fit
// these ranks, which is told elsewhere, and where they are of stages that take different amounts.
std::int64_t training_bytes(const Communicator& comm, const Recipe& given) {
  if (!kHostExecution) return 0;
  try {
    const Recipe recipe = with_strategy(given, comm.size());
    if (recipe.parallel.pipeline > 1) return 0;
    const StepDemands demands(recipe);
    const bool is_one_node = comm.node_size() == comm.size();
    const auto shared = is_one_node ? static_cast<double>(free_shared_memory_bytes()) : 0;
    const std::int64_t of_rank =
        demands.memory_bytes(recipe, demands.of(recipe, comm.size(), comm.node_size(), shared));
    return of_rank * comm.node_size() +
           (comm.rank() == 0 ? demands.checkpoint_copy_bytes(recipe) : 0);
  } catch (const InputError&) {
    return 0;
  }
}

// One rank of a node looks at the files: metadata servers do not see every rank.
void look_at_files(const Communicator& comm, const PreflightOptions& options, const Recipe& recipe,
                   const DataSets& data_sets, RankInfo& info) {
  try {
    info.recipe_hash = sha256_of_file(options.recipe);
  } catch (const Error& error) {
    info.recipe_hash = std::string(kNoRecipe) + error.what() + ")";
  }
  const DataProblems problems = data_problems(data_sets, recipe.data, comm.node_size(), comm.size(),
                                              training_bytes(comm, recipe));
  info.data_problem = problems.reading;
  info.memory_problem = problems.memory;
}

// The first problem alone: others follow from it.
void look_at_recipe(const Recipe& recipe, int num_ranks, const DataSets& data_sets,
                    Preflight& all) {
  all.grid = grid_info(recipe, num_ranks);
  if (!all.grid->problem.empty()) return;
  all.recipe_problem = recipe_problem(recipe, num_ranks);
  if (!all.recipe_problem.empty()) return;
  all.fit_problem = fit_problem(recipe, num_ranks, data_sets);
  if (all.fit_problem.empty()) all.recipe_warnings = warnings_of(recipe, num_ranks, data_sets);
}

RankInfo info_of_this_rank(const Communicator& comm, double clock_offset_s) {
  const DeviceInfo device = device_of_this_rank();
  RankInfo info;
  info.rank = comm.rank();
  info.host = comm.host(comm.rank());
  info.node_rank = comm.node_rank();
  info.cpus = allowed_cpus();
  info.machine_cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  info.threads = kHostExecution ? ExecSpace().concurrency() : 1;
  info.device = device.name;
  info.device_id = device.id;
  info.visible_devices = visible_devices_variable();
  info.clock_offset_s = clock_offset_s;
  info.mpi = mpi_library_version();
  info.hdf5 = hdf5_version();
  return info;
}

// NCCL gives up by itself, and says why; with many devices it may take minutes to start.
std::chrono::seconds time_of_nccl() {
  constexpr std::chrono::seconds kToSayIt{30};
  if (kHostExecution || !built_with_nccl()) return {};
  try {
    return std::chrono::seconds(nccl_timeout_s()) + kToSayIt;
  } catch (const InputError&) {
    return {};  // all ranks hear of it when they connect
  }
}

// Until who is late has been said, those that hang in a call of the network do not end.
constexpr std::chrono::seconds kToNameTheLate{5};

ExitCode preflight(Communicator& ranks, const PreflightOptions& options) {
  if (options.recipe.empty() && !options.overrides.empty())
    throw AgreedError(ranks, "--set without a recipe", ExitCode::bad_input);
  Deadline deadline(std::chrono::seconds(options.timeout_s), kToNameTheLate, ranks.rank() == 0);
  Punctual comm(ranks, deadline);
  deadline.enter("reading the recipe");
  std::optional<Recipe> recipe;
  if (!options.recipe.empty()) recipe = load_recipe(comm, options.recipe, options.overrides);
  deadline.enter("the all-reduce");
  Preflight all;
  all.network = measure_network(comm);
  deadline.enter("the all-reduce between devices", time_of_nccl());
  all.device_network = try_nccl(comm);
  deadline.enter("the comparison of clocks");
  const double offset = measure_clock_offset(comm);
  deadline.enter("opening the data sets");
  DataSets data_sets;
  if (recipe) data_sets = open_data_sets(comm, recipe->data);
  deadline.enter("looking at files");
  RankInfo mine = info_of_this_rank(comm, offset);
  if (recipe) {
    agree(comm, [&] {
      if (comm.node_rank() == 0) look_at_files(comm, options, *recipe, data_sets, mine);
    });
  }
  const auto texts = gather_strings(comm, to_text(mine));
  deadline.enter("looking at the run folder");
  ExitCode code = ExitCode::done;
  run_on_root(comm, [&] {
    for (const std::string& text : texts) all.ranks.push_back(rank_info_of(text));
    all.version = version();
    all.commit = git_commit();
    all.job = job_info({}, mine.machine_cpus);
    all.job.may_share_devices = may_share_devices();
    if (options.ranks > 0) all.job.expected_ranks = options.ranks;
    all.job.min_bandwidth = options.min_bandwidth_gb_s * 1e9;
    all.data_problem = data_sets.problem;
    if (recipe) look_at_recipe(*recipe, comm.size(), data_sets, all);
    if (!options.run_dir.empty()) {
      const bool has_network = recipe && all.recipe_problem.empty() && all.grid->problem.empty();
      const std::int64_t bytes = has_network ? checkpoint_bytes(*recipe) : 0;
      all.files = inspect_run_folder(options.run_dir, bytes, recipe ? recipe->checkpoint.keep : 0,
                                     recipe && recipe->checkpoint.keep_best);
    }
    all.findings = judge(all);
    if (num_errors(all) > 0) {
      // Nodes that fail where others do not: with other nodes in their place it may work.
      code = failing_hosts(all).empty() ? ExitCode::bad_input : ExitCode::failure;
    }
    log::print(options.json ? preflight_json(all) : preflight_text(all));
  });
  return broadcast_value(comm, code);
}

ExitCode start(const PreflightOptions& options) {
  const Launch launch = read_launch();
  const std::string problem = launch_problem(launch, mpi_library_version(), {});
  if (problem.empty()) {
    return run_on_ranks([&](Communicator& comm) { return preflight(comm, options); });
  }
  return refuse_start(launch.rank == 0, problem);
}

}  // namespace

Command add_preflight_command(CommandLine app) {
  const auto options = std::make_shared<PreflightOptions>();
  CommandLine command = app.add_command("preflight",
                                        "Check a launch before it wastes an allocation: ranks, "
                                        "devices, cores, libraries, network, files. "
                                        "Start it with the launcher and options of the training");
  command
      .add_option("recipe", options->recipe,
                  "Recipe file: checks that it suits these ranks and its data, and that "
                  "every node reads them")
      .not_empty()
      .type_name("FILE");
  add_set_option(command, options->overrides);
  command
      .add_option("--run-dir", options->run_dir,
                  "Folder of the run: checks that its checkpoints will fit")
      .not_empty()
      .type_name("DIR");
  command.add_option("--ranks", options->ranks, "Number of ranks that must find each other")
      .in_range(1, 100000000);
  command
      .add_option("--min-bandwidth", options->min_bandwidth_gb_s,
                  "What an all-reduce of 1 MiB must reach")
      .type_name("GB/S")
      .not_negative();
  command
      .add_option("--timeout", options->timeout_s, "Seconds until a hanging check ends the launch")
      .in_range(1, 86400)
      .show_default();
  command.add_flag("--json", options->json, "Print one JSON object instead of the table");
  return {command, [options] { return start(*options); }, Started::as_ranks};
}

}  // namespace quern
