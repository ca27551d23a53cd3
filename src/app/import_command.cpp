// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/common_options.hpp"
#include "app/out_file.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/model_hash.hpp"
#include "checkpoint/weights_file.hpp"
#include "checkpoint/writer.hpp"
#include "comm/launch.hpp"
#include "config/read_recipe.hpp"
#include "config/write_recipe.hpp"
#include "inference/data_match.hpp"
#include "inference/weight_classes.hpp"
#include "io/pending_file.hpp"
#include "loss/loss.hpp"
#include "network/network.hpp"
#include "optim/optimizer.hpp"
#include "state/initial_weights.hpp"
#include "state/match_weights.hpp"

namespace quern {

namespace {

struct ImportOptions {
  std::string file;
  std::string recipe;
  std::vector<std::string> overrides;
  std::string out;
  std::vector<std::string> rename;
  std::vector<std::string> skip;
  bool force = false;
};

/// Optimizer state before the first step: nothing but zeros.
std::vector<OptimizerTensors> new_optimizer(const OptimizerSpec& spec, const ParameterTable& table,
                                            std::vector<float>& zeros) {
  std::vector<NamedTensor> tensors;
  for (const ParameterEntry& entry : table.entries()) {
    if (entry.is_trained())
      zeros.resize(std::max(zeros.size(), static_cast<std::size_t>(entry.count)));
  }
  for (const ParameterEntry& entry : table.entries()) {
    if (!entry.is_trained()) continue;
    const std::span<const float> values(zeros.data(), static_cast<std::size_t>(entry.count));
    tensors.push_back({entry.name, entry.shape, values});
  }
  std::vector<OptimizerTensors> optimizer;
  for (const std::string& name : state_names(spec)) optimizer.push_back({name, tensors});
  return optimizer;
}

// A checkpoint has the numbers that a recipe may leave to the training data.
void check_numbers_of_data(const Recipe& recipe) {
  const auto refuse = [](const std::string& key, const std::string& word,
                         const std::string& numbers) {
    throw InputError(key + " = \"" + word +
                     "\" does not say by which numbers (expected those of the training: "
                     "--recipe RUN/recipe.toml of a run of Quern has them, or --set '" +
                     key + "={type=\"given\", " + numbers +
                     "}'; quern train RECIPE --dry-run prints them)");
  };
  for (const auto& [key, spec] : {std::pair("data.normalize", &recipe.data.normalize),
                                  {"data.normalize_targets", &recipe.data.normalize_targets}}) {
    if (spec->type == NormalizeType::dataset) refuse(key, "dataset", "mean=[...], std=[...]");
  }
  if (recipe.loss.class_weights.type == ClassWeightsType::balanced)
    refuse("loss.class_weights", "balanced", "values=[...]");
}

ExitCode import_weights(const ImportOptions& options) {
  check_out_file(options.out, options.force);
  const std::string name = std::filesystem::path(options.out).filename().string();
  if (step_of_name(name).value_or(0) != 0) {
    throw InputError("'" + options.out +
                     "' is named as a checkpoint of another step than 0, expected " +
                     checkpoint_name(0) + " or a name that says no step");
  }
  const LoadedCheckpoint file = read_weights(options.file);
  const Recipe recipe = with_numbers_of(file, read_recipe(options.recipe, options.overrides));
  check_numbers_of_data(recipe);
  const Network network(recipe.network);
  make_loss(recipe.loss, network.output_shape());  // does it fit?
  WeightRules rules;
  rules.rename = options.rename;
  rules.skip = options.skip;

  CheckpointState state;
  state.model =
      match_weights(file.path().string(), file.state().model, named_shapes(network.table()), rules);
  std::vector<float> zeros;
  state.optimizer = new_optimizer(recipe.optimizer, network.table(), zeros);
  constexpr int kRanks = 1;
  state.origin = {
      recipe.seed, recipe.global_batch(kRanks), kRanks,         to_toml(recipe), git_commit(),
      version(),   /*data_sha256=*/"",          utc_timestamp()};
  for (const std::string& sentence : differing_normalizations(file, recipe)) log::warn(sentence);
  state.class_names = class_names_of_weights(file, recipe, network.output_shape().units());
  state.feature_names = feature_names_of_weights(file, recipe);
  state.input = file.state().input;
  write_checkpoint_file(file_behind(options.out), state);
  log::info("wrote " + std::to_string(state.model.size()) + " tensors to '" + options.out +
            "', SHA-256 of the model " + model_hash(state.model));
  return ExitCode::done;
}

ExitCode start(const ImportOptions& options) {
  const Launch launch = read_launch();
  const int processes = launch.size.value_or(1);
  if (processes == 1) return import_weights(options);
  return refuse_start(launch.rank == 0, "quern import works in one process, but " +
                                            std::to_string(processes) +
                                            " were started, which would all write '" + options.out +
                                            "' (expected no launcher)");
}

}  // namespace

Command add_import_command(CommandLine app) {
  const auto options = std::make_shared<ImportOptions>();
  CommandLine command = app.add_command(
      "import",
      "Create a checkpoint for a recipe's network from a safetensors file or a checkpoint");
  command
      .add_option("file", options->file, "safetensors file with PyTorch's names, or a checkpoint")
      .required()
      .type_name("FILE");
  command.add_option("--recipe", options->recipe, "Recipe file (TOML) with the network")
      .required()
      .type_name("FILE");
  add_set_option(command, options->overrides);
  command.add_option("--out", options->out, "The checkpoint, for example ckpt-0000000000.h5")
      .required()
      .not_empty()
      .type_name("FILE");
  command
      .add_option(
          "--rename", options->rename,
          "Replace the prefix OLD of tensor names by NEW: 'module.=' removes a prefix, '=net.' "
          "adds one to all names; a rule that matches no tensor is an error (may be "
          "repeated)")
      .type_name("OLD=NEW")
      .one_value_each();
  command
      .add_option("--skip", options->skip,
                  "Leave out the tensors of the file whose names begin so (may be repeated)")
      .type_name("NAME")
      .one_value_each();
  command.add_flag("--force", options->force, "Replace an existing file");
  return {command, [options] { return start(*options); }, Started::as_ranks};
}

}  // namespace quern
