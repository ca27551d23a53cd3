// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds, as plain host data. The spans belong to the caller.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "spec/best_evaluation.hpp"
#include "spec/training_progress.hpp"

namespace quern {

/// A float32 tensor in PyTorch's name and axis order: "fc1.weight" [out, in].
struct NamedTensor {
  std::string name;                 ///< parts joined by '.', each part a group of the file
  std::vector<std::int64_t> shape;  ///< row-major, the last axis is contiguous
  std::span<const float> values;    ///< as many as the product of shape
};

/// One state array of the optimizer ("exp_avg"), with a tensor for each parameter.
struct OptimizerTensors {
  std::string name;
  std::vector<NamedTensor> tensors;
};

/// Which run and program wrote it.
struct RunOrigin {
  std::uint64_t seed = 0;
  std::int64_t global_batch = 0;
  std::int64_t num_ranks = 0;
  std::string recipe;  ///< TOML text, resolved
  std::string git_commit;
  std::string version;
  std::string data_sha256;  ///< digest of the training data's content
  std::string created;      ///< ISO 8601, UTC: "2025-01-31T12:00:00Z"
  friend bool operator==(const RunOrigin&, const RunOrigin&) = default;
};

/// A setting that a run got when it was resumed.
struct RecipeChange {
  std::int64_t step = 0;  ///< steps that were done then
  std::string key;        ///< "optimizer.lr"
  std::string before;     ///< as TOML, or "(not stated)"
  std::string after;
  friend bool operator==(const RecipeChange&, const RecipeChange&) = default;
};

struct CheckpointState {
  std::vector<NamedTensor> model;  ///< in network order
  std::vector<OptimizerTensors> optimizer;
  TrainingProgress progress;
  RunOrigin origin;
  /// Of the classes of the training data, where they have names.
  std::vector<std::string> class_names = {};
  /// Of the numbers of a sample, where they were columns with names.
  std::vector<std::string> feature_names = {};
  /// Of what a sample of the training data consists: "images" of bytes, which the network reads
  /// divided by 255, or "values". "" where nobody has said.
  std::string input = {};
  /// Of the run until then, and the digest of the test data that it was of, or is looked for with.
  BestEvaluation best = {};
  std::string best_data = {};
  std::vector<RecipeChange> changes = {};  ///< of the run until then, in order
  /// state_name() of the checkpoint, outside of its folder, that the run started from; "" where it
  /// began by itself.
  std::string started_from = {};
};

/// A checkpoint that was read: the state, and the memory its spans point to.
class LoadedCheckpoint {
 public:
  LoadedCheckpoint(std::filesystem::path path, CheckpointState state,
                   std::vector<std::vector<float>> storage)
      : path_(std::move(path)), state_(std::move(state)), storage_(std::move(storage)) {}
  LoadedCheckpoint(LoadedCheckpoint&&) = default;
  LoadedCheckpoint& operator=(LoadedCheckpoint&&) = default;
  LoadedCheckpoint(const LoadedCheckpoint&) = delete;
  LoadedCheckpoint& operator=(const LoadedCheckpoint&) = delete;

  const CheckpointState& state() const { return state_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  CheckpointState state_;
  std::vector<std::vector<float>> storage_;
};

/// Now, in the form of RunOrigin::created.
std::string utc_timestamp();

/// Product of the extents; throws Error when one is negative or the product overflows.
std::int64_t num_elements(const std::vector<std::int64_t>& shape);

/// "[128, 784]"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace quern
