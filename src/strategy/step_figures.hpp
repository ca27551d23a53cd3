// SPDX-License-Identifier: Apache-2.0
// What a training takes and sends, known before its first step and before it has its memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/rank_sums.hpp"
#include "strategy/epoch_batches.hpp"
#include "strategy/model.hpp"

namespace quern {

/// Of this rank if nothing else is said. The data set is not counted.
struct StepFigures {
  std::int64_t activation_bytes = 0;  ///< of the pieces in flight, with their gradients
  /// Parameters, gradients and optimizer state; of what a node has once, this rank's share.
  std::int64_t parameter_bytes = 0;
  std::int64_t optimizer_bytes = 0;  ///< optimizer state, counted in parameter_bytes
  /// What it sends to others in a full batch: gradients or parameters, at the borders of its stage,
  /// and of layers that it shares. Nothing where ranks share memory.
  std::int64_t sent_bytes = 0;
  /// Of these what a rank of each stage sends to the stages beside it.
  std::vector<std::int64_t> stage_sent_bytes;

  std::int64_t memory_bytes() const { return activation_bytes + parameter_bytes; }
};

/// After the last plan of the reducers, and before they allocate.
StepFigures step_figures(const OptimizerSpec& optimizer, const Model& model,
                         const PlannedBatch& full, const StepRoom& room,
                         const GradientReducer& reducer, const RankSums& sums);

/// What would make a training fit that takes too much memory, separated by commas: of the settings
/// that change something here.
std::string memory_remedies(const Recipe& recipe, const PlannedBatch& full,
                            const StepFigures& figures);

/// Collective over the world: may all ranks allocate that? AgreedError (exit 2) where a node has
/// too little memory or a device, which has `data_bytes` of samples already.
void check_step_memory(Communicator& world, const StepFigures& figures, std::int64_t data_bytes,
                       const std::string& remedies);

}  // namespace quern
