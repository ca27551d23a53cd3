// SPDX-License-Identifier: Apache-2.0
#include "app/train_command.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/devices.hpp"
#include "app/load_checkpoint.hpp"
#include "app/load_recipe.hpp"
#include "app/plan_text.hpp"
#include "app/ranks.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "comm/session.hpp"
#include "config/read_recipe.hpp"
#include "config/recipe_difference.hpp"
#include "config/write_recipe.hpp"
#include "linalg/vendor_products.hpp"
#include "train/trainer.hpp"

namespace quern {

namespace {

struct TrainOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string run_dir;
  std::string resume = "auto";
  bool dry_run = false;
};

void refuse_other_recipe(const Recipe& ours, int our_batch, const std::string& their_text,
                         int their_batch, const std::string& where) {
  const Recipe theirs = parse_recipe(their_text, where);
  const auto difference = first_difference(ours, our_batch, theirs, their_batch);
  if (!difference) return;
  throw InputError(where + " is of another recipe: " + difference->key + " is " +
                   difference->theirs + " there, and " + difference->ours +
                   " now (take another --run-dir, or the old value)");
}

void check_sizes(const Recipe& recipe, const Samples& samples, int num_ranks) {
  if (num_ranks > samples.count) {
    throw InputError(std::to_string(num_ranks) + " ranks for " + std::to_string(samples.count) +
                     " training samples: expected at least one sample per rank");
  }
  const int batch = recipe.global_batch(num_ranks);
  if (num_ranks > batch) {
    throw InputError(std::to_string(num_ranks) + " ranks for a global batch of " +
                     std::to_string(batch) +
                     " samples: expected at least one sample per rank (raise data.global_batch or "
                     "take fewer ranks)");
  }
}

void check_backend(const Recipe& recipe, int num_ranks) {
  if (recipe.parallel.backend == CommBackend::serial && num_ranks > 1) {
    throw InputError("parallel.backend = \"serial\", but " + std::to_string(num_ranks) +
                     " ranks were started (expected one, or backend = \"auto\")");
  }
  if (recipe.parallel.backend == CommBackend::mpi && !built_with_mpi()) {
    throw InputError("parallel.backend = \"mpi\", but this quern was built without MPI");
  }
}

void check_precision(const Recipe& recipe) {
  if (recipe.train.precision == Precision::fp32 || has_vendor_products()) return;
  throw InputError(std::string("train.precision = ") +
                   (recipe.train.precision == Precision::tf32 ? "\"tf32\"" : "\"bf16\"") +
                   " needs a GPU, but this quern was built without cuBLAS (expected \"fp32\")");
}

void warn_of_idle_ranks(const BatchPlan& full_batch, int num_ranks) {
  int idle = 0;
  for (int rank = 0; rank < num_ranks; ++rank) idle += full_batch.partition.num_blocks(rank) == 0;
  if (idle == 0) return;
  log::warn(std::to_string(idle) + " of " + std::to_string(num_ranks) +
            " ranks have nothing to do: a batch of " + std::to_string(full_batch.samples()) +
            " samples has " + std::to_string(full_batch.partition.num_blocks()) +
            " micro-blocks of " + std::to_string(full_batch.partition.block_size()) +
            " (take fewer ranks, or set a smaller train.micro_block)");
}

// Rank 0: what to continue from; nothing for a fresh start. Refuses to write over another run.
std::optional<LoadedCheckpoint> find_start(const TrainOptions& options, const RunFolder& folder,
                                           const Recipe& recipe, int global_batch,
                                           const std::string& data_hash) {
  if (std::filesystem::exists(folder.stop_file())) {
    throw InputError("'" + folder.stop_file().string() +
                     "' asks this run to stop (remove the file to train on)");
  }
  std::optional<LoadedCheckpoint> start;
  if (options.resume == "never") {
    if (!folder.recipe_text().empty()) {
      throw InputError("the run folder '" + folder.path().string() +
                       "' holds a run already (expected a new folder with --resume never)");
    }
    return start;
  }
  if (options.resume == "auto") {
    start = load_newest(folder.checkpoints());
  } else {
    start = read_checkpoint(options.resume);
  }
  const std::string old_recipe = folder.recipe_text();
  if (!old_recipe.empty()) {
    // A run folder without a checkpoint was started with as many ranks as nobody knows any more.
    const int old_batch = start && options.resume == "auto"
                              ? static_cast<int>(start->state().origin.global_batch)
                              : global_batch;
    refuse_other_recipe(recipe, global_batch, old_recipe, old_batch, folder.recipe_file().string());
  }
  if (!start) return start;
  const RunOrigin& origin = start->state().origin;
  refuse_other_recipe(recipe, global_batch, origin.recipe, static_cast<int>(origin.global_batch),
                      start->path().string());
  if (origin.data_sha256 != data_hash) {
    throw InputError("'" + start->path().string() + "' was trained on other data (SHA-256 " +
                     origin.data_sha256.substr(0, 12) + ", expected " + data_hash.substr(0, 12) +
                     ")");
  }
  return start;
}

PlanFacts facts_of(const Recipe& recipe, Communicator& comm, const Model& model,
                   const Samples& samples, const Trainer& trainer) {
  const TrainingStep& step = trainer.training_step();
  PlanFacts facts;
  facts.ranks = comm.size();
  facts.threads = kHostExecution ? ExecSpace().concurrency() : 1;
  facts.device = device_of_this_rank().name;
  facts.samples = samples.count;
  facts.parameters = model.network().table().num_parameters();
  facts.training_flop = 2.0 * static_cast<double>(model.network().training_macs());
  facts.epochs = recipe.train.epochs;
  facts.steps_per_epoch = step.steps_per_epoch();
  facts.determinism = recipe.train.determinism;
  facts.reduction = step.reduction_text();
  facts.is_recorded = step.is_recorded();
  facts.memory_bytes = step.memory_bytes();
  facts.data_bytes = samples.num_bytes();
  for (const BatchPlan* batch : {&step.full_batch(), &step.last_batch()}) {
    PlanFacts::Batch shares{batch->samples(), batch->partition.block_size(), {}};
    for (int rank = 0; rank < comm.size(); ++rank) {
      shares.samples_of_rank.push_back(batch->partition.num_samples(rank));
    }
    facts.batches.push_back(shares);
  }
  return facts;
}

ExitCode train(Communicator& comm, const TrainOptions& options, const Recipe& recipe) {
  const RunFolder folder(options.run_dir.empty() ? "runs/" + recipe.name : options.run_dir);
  const int global_batch = agree(comm, [&] { return recipe.global_batch(comm.size()); });
  Model model = agree(comm, [&] { return Model(recipe); });

  const Samples samples = load_training_samples(comm, recipe, model.network().output_shape());
  std::optional<Samples> test;
  if (!recipe.data.test.empty()) test = load_shards(comm, recipe.data.test, "test");
  agree(comm, [&] {
    model.check_samples(samples);
    if (test) model.check_samples(*test);
    check_sizes(recipe, samples, comm.size());
    check_backend(recipe, comm.size());
    check_precision(recipe);
  });

  std::optional<LoadedCheckpoint> start;
  run_on_root(
      comm, [&] { start = find_start(options, folder, recipe, global_batch, samples.data_hash); });
  const auto transport = connect_devices(comm, recipe.parallel.backend);
  Trainer trainer(recipe, comm, folder, model, samples, test ? &*test : nullptr,
                  {.transport = transport.get()});
  warn_of_idle_ranks(trainer.training_step().full_batch(), comm.size());
  const PlanFacts facts = facts_of(recipe, comm, model, samples, trainer);
  if (options.dry_run) {
    log::print(to_toml(recipe) + "\n" + plan_text(facts));
    return ExitCode::done;
  }
  log::info(summary_text(recipe.name, facts));
  if (broadcast_value(comm, start.has_value())) {
    trainer.resume(start ? &start->state() : nullptr);
    if (start) log::info("continuing from " + start->path().string());
  }
  const ExitCode code = trainer.run();
  if (code == ExitCode::done) log::print("done: " + folder.path().string());
  return code;
}

}  // namespace

Command add_train_command(CommandLine app) {
  const auto options = std::make_shared<TrainOptions>();
  CommandLine command = app.add_command(
      "train", "Train a recipe; alone, under mpirun or under srun. The same command resumes");
  command.add_option("recipe", options->recipe, "Recipe file (TOML)").required();
  command
      .add_option("--set", options->overrides,
                  "Override a key of the recipe: key.path=value (may be repeated)")
      .type_name("KEY=VALUE")
      .one_value_each();
  command.add_option("--run-dir", options->run_dir,
                     "Folder of the run (default: runs/<name of the recipe>)");
  command
      .add_option("--resume", options->resume,
                  "auto: continue from the newest good checkpoint of the run folder; never: refuse "
                  "a folder that holds a run; or a checkpoint file to start from")
      .type_name("auto|never|FILE")
      .show_default();
  command.add_flag(
      "--dry-run", options->dry_run,
      "Print the resolved recipe and the plan (ranks, blocks, steps, memory) and stop");
  return {command, [options] {
            Recipe recipe;
            return run_on_ranks([&](Communicator& comm) { return train(comm, *options, recipe); },
                                [&](Communicator& comm) {
                                  recipe = load_recipe(comm, options->recipe, options->overrides);
                                });
          }};
}

}  // namespace quern
