// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "plan/scaling_model.hpp"
#include "spec/recipe.hpp"

namespace quern {

class Model;

/// What a recipe asks of its ranks: of each stage, where it cuts the network into stages or layers
/// into parts. The recipes handed over may differ from the first in their batch.
class StepDemands {
 public:
  /// `recipe`: after with_strategy(). InputError as of Model.
  explicit StepDemands(const Recipe& recipe);
  ~StepDemands();
  StepDemands(const StepDemands&) = delete;
  StepDemands& operator=(const StepDemands&) = delete;

  /// Of a full batch. InputError where there are more ranks than samples, or they make no grid.
  /// `ranks_per_node`: neighbours. `shared_bytes`: free for them to share, where all are of one
  /// node; 0 on several.
  StepDemand of(const Recipe& recipe, int ranks, int ranks_per_node, double shared_bytes = 0) const;

  /// Bytes that the rank with most of them takes for what of() has said: activations, parameters,
  /// gradients, what it receives of the others', the optimizer's state; of what a node has once,
  /// its share. Without data.
  std::int64_t memory_bytes(const Recipe& recipe, const StepDemand& demand) const;
  /// Bytes of the copy that rank 0 writes checkpoints from.
  std::int64_t checkpoint_copy_bytes(const Recipe& recipe) const;
  /// And at most what other ranks need to hand it their parts of a split network: one array, or two
  /// where optimizer state is spread over ranks that send messages.
  std::int64_t collected_bytes(const Recipe& recipe) const;

  /// Bytes that kernels read and write for a sample, and for the parameters in a step: each layer
  /// reads its input twice and its output's gradient, and writes its output and its input's
  /// gradient; a parameter is read by both passes and updated.
  double sample_bytes() const;
  double parameter_bytes(const Recipe& recipe) const;

  /// Multiply-adds of training with one sample, twice.
  double training_flop() const;
  std::int64_t num_parameters() const;

 private:
  StageDemand of_stage(const Recipe& recipe, const StepDemand& demand, std::size_t stage) const;
  std::int64_t memory_of(const Recipe& recipe, const StepDemand& demand, std::size_t stage) const;

  std::unique_ptr<const Model> whole_;                // neither cut into stages nor into parts
  std::vector<std::unique_ptr<const Model>> stages_;  // as the first rank of each has it
};

}  // namespace quern
