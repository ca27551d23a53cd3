// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/common_options.hpp"
#include "app/network_text.hpp"
#include "app/run_plan_text.hpp"
#include "base/ceil_div.hpp"
#include "base/count_text.hpp"
#include "base/log.hpp"
#include "comm/exchange.hpp"
#include "comm/launch.hpp"
#include "config/read_recipe.hpp"
#include "config/recipe_change.hpp"
#include "config/write_recipe.hpp"
#include "network/network.hpp"
#include "optim/optimizer.hpp"
#include "runtime/devices.hpp"
#include "runtime/ranks.hpp"
#include "state/snapshot.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/tensor_plan.hpp"
#include "strategy/training_step.hpp"
#include "train/load_recipe.hpp"
#include "train/recipe_check.hpp"
#include "train/run_folder.hpp"
#include "train/run_warnings.hpp"
#include "train/starting_point.hpp"
#include "train/stop_request.hpp"
#include "train/training_run.hpp"

namespace quern {

namespace {

struct TrainOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  std::vector<std::string> changes;
  std::string run_dir;
  std::string resume = "auto";
  bool dry_run = false;
  bool check_recipe = false;
  int ranks = 1;  // that the recipe is checked for
};

// Collective: stages differ in what they take.
void add_stages(Communicator& comm, const TrainingStep& step, RunPlanInfo& info) {
  const StepFigures& figures = step.figures();
  const std::vector<std::int64_t> memory = all_gather_value(comm, figures.memory_bytes());
  info.sent_bytes = std::ranges::max(all_gather_value(comm, figures.sent_bytes));
  const GridShape& shape = step.grid().shape();
  if (shape.pipeline == 1) return;
  for (int i = 0; i < shape.pipeline; ++i) {
    const auto number = static_cast<std::size_t>(i);
    const StageInfo& stage = step.model().stages()[number];
    // The first rank of the stage (grid_place).
    const std::int64_t rank = std::int64_t{i} * shape.data * shape.tensor;
    info.stages.push_back({stage.first_layer, stage.last_layer, stage.parameters,
                           2.0 * static_cast<double>(stage.training_macs),
                           memory[static_cast<std::size_t>(rank)],
                           figures.stage_sent_bytes[number]});
  }
  info.bubble = pipeline_bubble(shape.pipeline, info.pieces);
}

RunPlanInfo info_of(Communicator& comm, const TrainingRun& run) {
  const TrainingStep& step = run.training_step();
  const Samples& samples = run.samples();
  RunPlanInfo info;
  info.ranks = comm.size();
  info.threads = kHostExecution ? ExecSpace().concurrency() : 1;
  info.device = device_of_this_rank().name;
  info.samples = samples.count;
  info.parameters = run.network().table().num_parameters();
  info.trained = run.network().table().num_trained();
  info.training_flop = 2.0 * static_cast<double>(run.network().training_macs());
  info.epochs = run.recipe().train.epochs;
  info.steps_per_epoch = step.steps_per_epoch();
  info.determinism = run.recipe().train.determinism;
  info.reduction = step.reduction_text();
  info.is_recorded = step.is_recorded();
  info.memory_bytes = step.figures().memory_bytes();
  info.copy_bytes = snapshot_bytes(run.network().table(), num_state_arrays(run.recipe().optimizer));
  if (run.recipe().parallel.pipeline * run.recipe().parallel.tensor > 1)
    info.collected_bytes = (step.state().place == StatePlace::owners ? 2 : 1) *
                           snapshot_bytes(run.network().table(), 0);
  info.segments = run.network().num_recomputed_segments() + 1;
  info.optimizer_bytes = step.figures().optimizer_bytes;
  const StatePlace place = step.state().place;
  info.spreads_state = place == StatePlace::owners;
  info.shares_state = place == StatePlace::node;
  info.data_bytes = samples.num_bytes();
  info.is_streamed = samples.stream != nullptr;
  if (info.is_streamed) comm.all_reduce_sum(std::span(&info.data_bytes, 1));
  info.windows = step.windows().windows;
  info.window_samples = step.windows().window_samples();
  for (const BatchPlan* batch : {&step.full_batch(), &step.last_batch()}) {
    RunPlanInfo::Batch shares{batch->samples(), batch->partition.block_size(), {}};
    for (int rank = 0; rank < batch->partition.num_ranks(); ++rank) {
      shares.samples_of_rank.push_back(batch->partition.num_samples(rank));
    }
    info.batches.push_back(shares);
  }
  const BatchPlan& full = step.full_batch();
  const int blocks = piece_blocks(full.partition, full.micro_batches);
  info.schedule = run.recipe().parallel.schedule == PipelineSchedule::gpipe ? "gpipe" : "1f1b";
  info.pieces = ceil_div(full.partition.max_blocks(), blocks);
  info.piece_samples = blocks * full.partition.block_size();
  add_stages(comm, step, info);
  const TensorPlan tensor = tensor_plan(step.model(), full.rows());
  info.tensor = {tensor.slices.count, tensor.slices.ranks, tensor.split,
                 tensor.whole,        tensor.parameters,   tensor.sent_bytes};
  return info;
}

// Then nothing about a run that is there already is a part of the question.
bool asks_for_no_folder(const TrainOptions& options) {
  return options.run_dir.empty() && options.resume == "auto" && options.changes.empty();
}

ExitCode train(Communicator& comm, const TrainOptions& options, const Recipe& recipe) {
  // A reader of the output that ends (head, grep -m1) does not end the training: log::note warns.
  std::signal(SIGPIPE, SIG_IGN);
  TrainingRun run(comm, recipe,
                  {.folder = options.run_dir,
                   .resume = options.resume,
                   .changes = changed_keys(options.changes),
                   .is_plan = options.dry_run && asks_for_no_folder(options)});
  const RunPlanInfo info = info_of(comm, run);
  if (options.dry_run) {
    const std::string network = network_text(summarize(recipe.network, run.network()));
    log::print(to_toml(run.recipe()) + "\n" + network + "\n\n" + run_plan_text(info));
    if (!run.folder_problem().empty())
      log::warn("without --run-dir a training would be refused: " + run.folder_problem());
    return ExitCode::done;
  }
  log::info(summary_text(recipe, info));
  const std::string warning = tensor_warning(info.tensor);
  if (!warning.empty()) log::warn(warning);
  const ExitCode code = run.train();
  if (code == ExitCode::done) log::note("done: " + run.folder().string());
  return code;
}

// What can be known before there are data, other ranks and a device.
ExitCode check_only(const TrainOptions& options) {
  const Recipe recipe = read_recipe(options.recipe, options.overrides, options.changes);
  const RecipeInfo info = check_recipe(recipe, options.ranks);
  check_resume(options.resume);
  if (!options.run_dir.empty()) {
    check_earlier_run(recipe, options.ranks, RunFolder(options.run_dir), options.resume,
                      changed_keys(options.changes));
  }
  const int data_ranks = grid_shape_of(recipe, options.ranks).data;
  const bool is_random = recipe.data.source == DataSource::random;
  BatchRule batches =
      training_batches(recipe, data_ranks, is_random ? recipe.data.samples : kMaxGlobalBatch);
  if (!is_random) batches.num_samples = 0;
  for (const std::string& sentence : run_warnings(recipe, batches, data_ranks)) log::warn(sentence);
  log::print("good: " + recipe.name + ", " + std::to_string(info.parameters) + " parameters, " +
             count_text(recipe.train.epochs, "epoch") + ", " + count_text(options.ranks, "rank") +
             " (data not checked)");
  return ExitCode::done;
}

// Other programs start their ranks themselves.
ExitCode refuse_ranks(const TrainOptions& options) {
  const std::string number = std::to_string(options.ranks);
  return refuse_start(read_launch().rank == 0,
                      "--ranks requires --check-recipe; for training the launcher sets the ranks: "
                      "mpirun -n " +
                          number + " quern train ... without --ranks");
}

}  // namespace

Command add_train_command(CommandLine app) {
  const auto options = std::make_shared<TrainOptions>();
  CommandLine command = app.add_command(
      "train", "Train a recipe; alone, under mpirun or under srun. The same command resumes");
  command.add_option("recipe", options->recipe, "Recipe file (TOML)").required().type_name("FILE");
  add_set_option(command, options->overrides);
  command
      .add_option("--run-dir", options->run_dir,
                  "Folder of the run (default: runs/<name of the recipe>)")
      .not_empty()
      .type_name("DIR");
  command
      .add_option(
          "--resume", options->resume,
          "auto: resume from the newest good checkpoint of the run folder; never: refuse "
          "a folder that holds a run; FILE: start a new run from this checkpoint, or from the "
          "newest of this run folder")
      .type_name("auto|never|FILE")
      .show_default();
  command
      .add_option(
          "--change", options->changes,
          "Like --set, for a resumed run: continue with this value even if the checkpoint was "
          "trained with another one. For optimizer settings and the keys that may always "
          "change (may be repeated)")
      .type_name("KEY=VALUE")
      .one_value_each();
  Option dry_run = command.add_flag(
      "--dry-run", options->dry_run,
      "Print the resolved recipe, the network layer by layer and the plan (ranks, blocks, steps, "
      "memory) and stop");
  Option check_recipe = command.add_flag(
      "--check-recipe", options->check_recipe,
      "Check the recipe and its settings, and that the run folder does not hold another "
      "run, and stop: without data, launcher or device");
  check_recipe.excludes(dry_run);
  const Option ranks = command
                           .add_option("--ranks", options->ranks,
                                       "With --check-recipe: check for this many ranks (mpirun or "
                                       "srun sets the number for training)")
                           .in_range(1, 1 << 20)
                           .type_name("N")
                           .show_default();
  return {command,
          [options, ranks] {
            if (options->check_recipe) return check_only(*options);
            if (ranks.is_given()) return refuse_ranks(*options);
            if (!options->dry_run) watch_stop_signals();
            Recipe recipe;
            const ExitCode code = run_on_ranks(
                [&](Communicator& comm) { return train(comm, *options, recipe); },
                [&](Communicator& comm) {
                  recipe = load_recipe(comm, options->recipe, options->overrides, options->changes);
                });
            if (code == ExitCode::requeue) end_by_ctrl_c();
            return code;
          },
          Started::as_ranks};
}

}  // namespace quern
