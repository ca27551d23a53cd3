// SPDX-License-Identifier: Apache-2.0
#include "train/training_run.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/agree.hpp"
#include "comm/check_same.hpp"
#include "comm/exchange.hpp"
#include "config/read_recipe.hpp"
#include "config/recipe_change.hpp"
#include "inference/class_names.hpp"
#include "inference/data_match.hpp"
#include "inference/feature_names.hpp"
#include "runtime/devices.hpp"
#include "runtime/rank_watch.hpp"
#include "runtime/ranks.hpp"
#include "samples/class_weights.hpp"
#include "samples/largest_input.hpp"
#include "samples/load_samples.hpp"
#include "samples/normalization.hpp"
#include "state/initial_weights.hpp"
#include "strategy/recipe_grid.hpp"
#include "train/data_check.hpp"
#include "train/load_recipe.hpp"
#include "train/lost_metrics.hpp"
#include "train/recipe_check.hpp"
#include "train/report_text.hpp"
#include "train/run_warnings.hpp"
#include "train/starting_point.hpp"
#include "train/trainer.hpp"

namespace quern {

namespace {

void warn_unless_empty(const std::string& sentence) {
  if (!sentence.empty()) log::warn(sentence);
}

RunFolder folder_of(const Recipe& recipe, const RunOptions& options) {
  return RunFolder(options.folder.empty() ? std::filesystem::path("runs") / recipe.name
                                          : options.folder);
}

// Before anything is done together: with other epochs or batches ranks would wait for each other.
Recipe shared_recipe(Communicator& comm, const Recipe& recipe, const RunOptions& options) {
  const auto is_given = [](const std::optional<Samples>& samples) {
    return samples ? "given" : "not given";
  };
  check_same_recipe(comm, recipe,
                    {{"RunOptions::folder", folder_of(recipe, options).path().string()},
                     {"RunOptions::resume", options.resume},
                     {"RunOptions::changes", join_lines(options.changes)},
                     {"RunOptions::is_plan", options.is_plan ? "true" : "false"},
                     {"RunOptions::train", is_given(options.train)},
                     {"RunOptions::test", is_given(options.test)}});
  return agree(comm, [&] {
    for (const std::string& key : options.changes) {
      const std::string problem = change_problem(key);
      if (!problem.empty()) throw InputError("RunOptions::changes: " + key + ": " + problem);
    }
    return with_strategy(checked_recipe(recipe), comm.size());
  });
}

Samples training_samples(const ProcessGrid& grid, const Recipe& recipe, RunOptions& options,
                         const Shape& output) {
  Communicator& comm = grid.world();
  agree(comm, [&] {
    check_source(recipe, options.train.has_value(), options.test.has_value());
    // A batch that is too large is refused before any reading.
    recipe.global_batch(grid.data().size());
  });
  if (options.train) {
    agree(comm, [&] {
      if (options.train->count < 1)
        throw InputError("RunOptions::train has no samples, expected at least one");
    });
    return std::move(*options.train);
  }
  return load_training_samples(grid, recipe, output);
}

std::optional<Samples> test_samples(const ProcessGrid& grid, const Recipe& recipe,
                                    const BatchRule& batches, RunOptions& options) {
  if (options.test || recipe.data.test.empty()) return std::move(options.test);
  return load_evaluation_samples(grid, recipe, batches.full_batch, {recipe.data.test, "test"});
}

// What is to be trained is trained already. The epochs are part of some schedules.
std::string finished_text(const LoadedCheckpoint& start, const Recipe& recipe) {
  const TrainingProgress& at = start.state().progress;
  return start.path().string() + " has all " + count_text(at.epoch, "epoch") + " (" +
         count_text(at.step, "step") + "): the training is finished already (for more epochs " +
         (ends_with_run(recipe.optimizer.schedule) ? "--change" : "--set") +
         " train.epochs=N, or take another --run-dir)";
}

}  // namespace

class TrainingRun::Parts {
 public:
  Parts(Communicator& comm, const Recipe& recipe, RunOptions options);

  ExitCode train();
  Evaluation evaluate();

  const Recipe& recipe() const { return recipe_; }
  const RunFolder& folder() const { return folder_; }
  const std::string& folder_problem() const { return folder_problem_; }
  const Model& model() const { return model_; }
  const Samples& samples() const { return samples_; }
  const Trainer& trainer() const { return *trainer_; }

 private:
  void check() const;
  void take_numbers_of_data();
  double large_input_of_data() const;
  void find_start();
  void find_start_of_plan();
  void find_start_again();
  void take_initial_weights();
  void check_same_samples() const;
  void warn_of_other_features(const CheckpointState& state) const;
  void warn_of_other_inputs() const;

  Recipe recipe_;
  Communicator& comm_;
  ProcessGrid grid_;
  RankWatch watch_;
  RunFolder folder_;
  const std::string resume_;
  const std::vector<std::string> changes_;
  Model model_;
  Samples samples_;
  BatchRule batches_;
  std::optional<Samples> test_;
  // Rank 0's: where the run starts, and the folder's state then.
  StartingPoint start_;
  std::string folder_state_;
  std::string folder_problem_;
  GridConnections connections_;
  std::optional<Trainer> trainer_;
  bool has_initial_weights_ = false;
  bool has_trained_ = false;
};

TrainingRun::Parts::Parts(Communicator& comm, const Recipe& recipe, RunOptions options)
    : recipe_(shared_recipe(comm, recipe, options)),
      comm_(comm),
      grid_(make_grid(comm, recipe_)),
      watch_(comm, [shape = grid_.shape()](
                       int rank) { return describe(grid_place(shape, rank), shape); }),
      folder_(folder_of(recipe_, options)),
      resume_(options.resume),
      changes_(options.changes),
      model_(
          agree(comm, [&] { return Model(recipe_, stage_of(grid_), slices_of(grid_, recipe_)); })),
      samples_(training_samples(grid_, recipe_, options, model_.whole().output_shape())),
      batches_(agree(
          comm, [&] { return training_batches(recipe_, grid_.data().size(), samples_.count); })),
      test_(test_samples(grid_, recipe_, batches_, options)) {
  set_place_of_this_rank(describe(grid_.place(), grid_.shape()));
  check_same(comm_, "the network", tensors_text(model_.whole()));
  agree(comm_, [&] { check(); });
  take_numbers_of_data();
  if (recipe_.data.source == DataSource::program) check_same_samples();
  run_on_root(comm_, [&] { options.is_plan ? find_start_of_plan() : find_start(); });
  connections_ = connect_devices(grid_, recipe_.parallel.backend);
  const double large_input = large_input_of_data();
  trainer_.emplace(recipe_, grid_, folder_, model_, samples_, test_ ? &*test_ : nullptr,
                   TrainerOptions{.transports = connections_.get(),
                                  .has_read_checkpoint = start_.checkpoint.has_value(),
                                  .large_input = large_input,
                                  .resuming_command = resume_ == "auto"
                                                          ? "the same command"
                                                          : "the same command with --resume auto"});
  if (!broadcast_value(comm_, start_.checkpoint.has_value())) take_initial_weights();
  for (const std::string& sentence : run_warnings(recipe_, batches_, grid_.data().size()))
    log::warn(sentence);
  warn_unless_empty(processor_warning(recipe_));
  if (large_input > 0) log::warn(large_input_text(large_input));
  warn_of_other_inputs();
}

// What the recipe leaves to the training data.
void TrainingRun::Parts::take_numbers_of_data() {
  NormalizeSpec& inputs = recipe_.data.normalize;
  NormalizeSpec& targets = recipe_.data.normalize_targets;
  if (inputs.type == NormalizeType::dataset) inputs = statistics_of(comm_, samples_);
  if (targets.type == NormalizeType::dataset)
    targets = target_statistics_of(comm_, samples_, model_.whole().output_shape());
  model_.set_normalization(inputs, targets);
  if (recipe_.loss.type == LossType::binary_cross_entropy) {
    check_probabilities(comm_, samples_, recipe_.data.target, training_data_name(recipe_.data));
    if (test_)
      check_probabilities(comm_, *test_, recipe_.data.target, test_data_name(recipe_.data));
  }
  ClassWeightsSpec& weights = recipe_.loss.class_weights;
  if (weights.type != ClassWeightsType::balanced) return;
  weights = balanced_weights(class_counts(comm_, samples_, model_.whole().output_shape().units()));
  model_.set_class_weights(weights.values);
}

// 0 where they are normalized, or need not be.
double TrainingRun::Parts::large_input_of_data() const {
  constexpr double kLarge = 100;
  if (recipe_.data.normalize.type != NormalizeType::none) return 0;
  const double largest = largest_input(comm_, samples_);
  return largest > kLarge ? largest : 0;
}

// Where the run starts afresh.
void TrainingRun::Parts::take_initial_weights() {
  if (recipe_.network.init.type != InitType::checkpoint || has_initial_weights_) return;
  has_initial_weights_ = true;
  std::optional<InitialWeights> weights;
  run_on_root(comm_, [&] {
    weights.emplace(load_initial_weights(recipe_.network.init, model_.whole().table()));
    for (const std::string& sentence : differing_normalizations(weights->file, recipe_))
      log::warn(sentence);
    warn_unless_empty(input_difference(weights->file.state().input, samples_.input_name(),
                                       training_data_name(recipe_.data)));
    warn_of_other_features(weights->file.state());
  });
  trainer_->begin_with(weights ? &weights->tensors : nullptr);
}

// Rank 0's. What was written since by a training that had the folder then must not be lost.
void TrainingRun::Parts::find_start_again() {
  if (folder_.state() != folder_state_ || !folder_problem_.empty()) find_start();
}

void TrainingRun::Parts::find_start() {
  folder_state_ = folder_.state();
  start_ = find_starting_point(resume_, folder_, {recipe_, batches_, samples_.data_hash, changes_});
}

// Whatever the folder holds, the plan is the same.
void TrainingRun::Parts::find_start_of_plan() {
  try {
    find_start();
  } catch (const InputError& problem) {
    folder_problem_ = problem.what();
  } catch (const UnusableError& problem) {
    folder_problem_ = problem.what();
  }
}

void TrainingRun::Parts::check() const {
  model_.check_samples(samples_, training_data_name(recipe_.data));
  if (test_) model_.check_samples(*test_, test_data_name(recipe_.data));
  if (!test_ && (recipe_.train.patience > 0 || recipe_.checkpoint.keep_best ||
                 needs_evaluations(recipe_.optimizer.schedule)))
    throw InputError(
        "train.patience, checkpoint.keep_best and a schedule of type \"plateau\" need evaluations, "
        "and the program brings no test samples (expected RunOptions::test, or none of these "
        "keys)");
  if (test_) {
    check_class_names(samples_.class_names, test_->class_names, "the test data");
    check_feature_names(samples_.feature_names, test_->feature_names, "the test data");
  }
  check_batches(batches_, grid_.data().size());
  check_program(recipe_, comm_.size());
  check_augmentation(recipe_, model_.whole().output_shape());
}

void TrainingRun::Parts::check_same_samples() const {
  check_same(comm_, "the samples that the program brings",
             "SHA-256 " + samples_.data_hash + (test_ ? ", of the test " + test_->data_hash : ""));
}

// Of weights that were trained on a table.
void TrainingRun::Parts::warn_of_other_features(const CheckpointState& state) const {
  const std::string difference = feature_difference(state.feature_names, samples_.feature_names,
                                                    training_data_name(recipe_.data));
  if (!difference.empty()) log::warn("the weights were trained with other features: " + difference);
}

void TrainingRun::Parts::warn_of_other_inputs() const {
  const std::string mine = samples_.input_name();
  if (start_.checkpoint) {
    warn_unless_empty(
        input_difference(start_.checkpoint->state().input, mine, training_data_name(recipe_.data)));
    warn_of_other_features(start_.checkpoint->state());
  }
  if (!test_) return;
  warn_unless_empty(input_difference(mine, test_->input_name(), test_data_name(recipe_.data)));
  if (test_->classes > samples_.classes && samples_.has_labels())
    log::warn(unknown_classes_text(samples_.classes, test_->classes, test_data_name(recipe_.data)));
}

ExitCode TrainingRun::Parts::train() {
  if (has_trained_)
    throw AgreedError(comm_,
                      "TrainingRun::train() is called again, expected once for each TrainingRun");
  has_trained_ = true;
  std::optional<RunLock> lock;
  run_on_root(comm_, [&] {
    lock.emplace(folder_);
    find_start_again();
    if (!start_.checkpoint) tell_of_lost_steps(folder_);
    if (start_.checkpoint && start_.is_in_folder)
      warn_unless_empty(lost_metrics_text(folder_, start_.checkpoint->state()));
  });
  if (broadcast_value(comm_, start_.checkpoint.has_value())) {
    std::optional<LoadedCheckpoint>& start = start_.checkpoint;
    trainer_->resume(start ? &start->state() : nullptr,
                     {start_.is_in_folder, start_.changes, start_.started_from});
    const bool is_finished = start && start->state().progress.epoch >= recipe_.train.epochs;
    if (start)
      log::info(is_finished ? finished_text(*start, recipe_)
                            : "continuing from " + start->path().string());
    for (const RecipeChange& change : start_.changes)
      log::info(change.key + " is " + change.after + " from step " + std::to_string(change.step) +
                " on, and was " + change.before);
    start.reset();  // its memory
  } else {
    take_initial_weights();  // where the checkpoint is gone that there was before
  }
  return trainer_->run(lock ? &*lock : nullptr, start_.damaged);
}

Evaluation TrainingRun::Parts::evaluate() {
  if (!test_) {
    throw AgreedError(
        comm_,
        "TrainingRun::evaluate(): there are no test samples (expected data.test in the recipe, or "
        "RunOptions::test)",
        ExitCode::bad_input);
  }
  return trainer_->evaluate_test_set();
}

TrainingRun::TrainingRun(Communicator& comm, const Recipe& recipe, RunOptions options)
    : parts_(std::make_unique<Parts>(comm, recipe, std::move(options))) {}

TrainingRun::~TrainingRun() = default;

ExitCode TrainingRun::train() {
  return parts_->train();
}
Evaluation TrainingRun::evaluate() {
  return parts_->evaluate();
}

const Recipe& TrainingRun::recipe() const {
  return parts_->recipe();
}
const std::filesystem::path& TrainingRun::folder() const {
  return parts_->folder().path();
}
const std::string& TrainingRun::folder_problem() const {
  return parts_->folder_problem();
}
const Network& TrainingRun::network() const {
  return parts_->model().whole();
}
const Samples& TrainingRun::samples() const {
  return parts_->samples();
}
const TrainingStep& TrainingRun::training_step() const {
  return parts_->trainer().training_step();
}

}  // namespace quern
