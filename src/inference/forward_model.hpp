// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/checkpoint_state.hpp"
#include "comm/process_grid.hpp"
#include "runtime/devices.hpp"
#include "strategy/model.hpp"

namespace quern {

/// A trained network that is only computed forward, on any number of ranks. The ranks have the
/// stages and the parts of layers that the recipe says where they form whole groups of these, so
/// that what was trained on a grid fits the same ranks again. Otherwise each has the whole network.
class ForwardModel {
 public:
  /// Collective; AgreedError as Model. `comm` outlives it.
  ForwardModel(Communicator& comm, const Recipe& recipe);

  const ProcessGrid& grid() const { return grid_; }
  Model& model() { return model_; }
  /// The model is connected by them.
  GridTransports transports() const { return connections_.get(); }

  /// Collective. Allocates for batches up to `most` of these samples, and fills in the parameters
  /// of rank 0's `state`, whatever optimizer trained it (null on the other ranks). AgreedError
  /// (exit 2) when a device lacks the memory, or the checkpoint is of another network.
  void load(const BatchLimit& most, const Samples& samples, const CheckpointState* state);

 private:
  ProcessGrid grid_;
  Model model_;
  GridConnections connections_;
};

}  // namespace quern
