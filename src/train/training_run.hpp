// SPDX-License-Identifier: Apache-2.0
// A recipe, its data and its run folder: all that `quern train` does, for programs of your own.
//
//   return quern::run_on_ranks([](quern::Communicator& comm) {
//     const quern::Recipe recipe = quern::load_recipe(comm, "lenet.toml");
//     quern::TrainingRun run(comm, recipe, {.folder = "runs/lenet"});
//     return run.train();
//   });
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "comm/communicator.hpp"
#include "inference/evaluation.hpp"
#include "spec/recipe.hpp"
#include "strategy/samples.hpp"

namespace quern {

class Network;
class TrainingStep;

struct RunOptions {
  std::filesystem::path folder = {};  ///< empty: runs/<name of the recipe>
  /// "auto": continue from the newest good checkpoint of the folder; "never": refuse a folder that
  /// holds a run; or a checkpoint file.
  std::string resume = "auto";
  /// Keys of the recipe, "optimizer.lr", or tables of them, that a run which is resumed may have
  /// otherwise than its checkpoint: see read_recipe() about which.
  std::vector<std::string> changes = {};
  /// Only what a training takes is wanted: the constructor refuses no folder, and folder_problem()
  /// tells why train() is going to.
  bool is_plan = false;
  /// The samples of data.source = "program" (samples/own_samples.hpp), equal on all ranks.
  std::optional<Samples> train = std::nullopt;
  std::optional<Samples> test = std::nullopt;  ///< evaluated, if given: train.evaluate_every
};

class TrainingRun {
 public:
  /// Collective. Builds the network, loads the data, checks that they, the batch, the ranks and an
  /// earlier run in the folder go together, and allocates. Writes nothing. `recipe` and `options`
  /// must be the same on all ranks. AgreedError with every problem that the user can mend (exit 2),
  /// or for damaged data (exit 93). `comm` must outlive it.
  TrainingRun(Communicator& comm, const Recipe& recipe, RunOptions options = {});
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;
  ~TrainingRun();

  /// Collective. Trains from where the run stands to its last epoch (done), or to a stop that was
  /// asked for (requeue). Writes the run folder; rank 0 prints a line per epoch.
  /// AgreedError with exit 93 when the loss is no longer finite, with exit 1 when it is called
  /// twice.
  ExitCode train();

  /// Collective. Loss and accuracy over the whole test set, with the parameters as they are now.
  /// AgreedError (exit 2) when there is none.
  Evaluation evaluate();

  /// With the mean and deviation of the data where data.normalize = "dataset" asks for them.
  const Recipe& recipe() const;
  const std::filesystem::path& folder() const;  ///< docs/formats.md says what it holds
  /// With RunOptions::is_plan, on rank 0: why train() is going to refuse the folder. "" otherwise.
  const std::string& folder_problem() const;
  const Network& network() const;  ///< all of it (network/network.hpp)
  const Samples& samples() const;  ///< that it trains on
  /// How a step is split and what memory it takes: for the plan that quern train prints. The class
  /// is not public (strategy/training_step.hpp).
  const TrainingStep& training_step() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace quern
