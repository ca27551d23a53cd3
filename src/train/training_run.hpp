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

#include "checkpoint/reader.hpp"
#include "train/trainer.hpp"

namespace quern {

struct RunOptions {
  std::filesystem::path folder = {};  ///< empty: runs/<name of the recipe>
  /// "auto": continue from the newest good checkpoint of the folder; "never": refuse a folder that
  /// holds a run; or a checkpoint file.
  std::string resume = "auto";
  /// The samples of data.source = "program" (train/own_samples.hpp), equal on all ranks.
  std::optional<Samples> train = std::nullopt;
  std::optional<Samples> test = std::nullopt;  ///< evaluated after every epoch, if given
};

class TrainingRun {
 public:
  /// Collective. Builds the network, loads the data, checks that they, the batch, the ranks and an
  /// earlier run in the folder go together, and allocates. Writes nothing. AgreedError with every
  /// problem that the user can mend (exit 2), or for damaged data (exit 93). `comm` must outlive
  /// it.
  TrainingRun(Communicator& comm, const Recipe& recipe, RunOptions options = {});
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  /// Collective. Trains from where the run stands to its last epoch (done), or to a stop that was
  /// asked for (requeue). Writes the run folder; rank 0 prints a line per epoch.
  /// AgreedError with exit 93 when the loss is no longer finite. Once.
  ExitCode train();

  /// Collective. Loss and accuracy over the whole test set, with the parameters as they are now.
  /// InputError when there is none.
  Evaluation evaluate();

  const Recipe& recipe() const { return recipe_; }
  const RunFolder& folder() const { return folder_; }
  const Model& model() const { return model_; }
  const Samples& samples() const { return samples_; }
  const Trainer& trainer() const { return *trainer_; }

 private:
  void check() const;
  void find_start();
  void find_start_again();
  void check_same_samples() const;
  void warn_of_large_batch() const;
  void warn_of_idle_ranks() const;
  void warn_of_missing_tile_unit() const;

  const Recipe recipe_;
  Communicator& comm_;
  RunFolder folder_;
  const std::string resume_;
  Model model_;
  Samples samples_;
  BatchRule batches_;
  std::optional<Samples> test_;
  std::optional<LoadedCheckpoint> start_;  // rank 0's
  std::string folder_state_;               // rank 0's: what start_ was found in
  std::unique_ptr<DeviceTransport> transport_;
  std::optional<Trainer> trainer_;
};

}  // namespace quern
