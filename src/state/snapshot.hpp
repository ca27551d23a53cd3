// SPDX-License-Identifier: Apache-2.0
// From a running training to its checkpoints.
#pragma once

#include <vector>

#include "checkpoint/checkpoint_state.hpp"
#include "comm/process_grid.hpp"
#include "state/stage_tensors.hpp"
#include "strategy/train_state.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

/// Host copies of the parameters and the optimizer's state, and a CheckpointState that points into
/// them. Waits for the device.
class Snapshot {
 public:
  /// Collective over the grid's world: what all ranks have of the network `whole`, each of its own
  /// `table`, on rank 0; empty on the others. It goes there array by array: of another rank that
  /// stands for a stage, or for a part of one, it takes the memory of one array, of two where
  /// state is spread.
  Snapshot(const ProcessGrid& grid, const ParameterTable& whole, const ParameterTable& table,
           const TrainState& train_state);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  /// Progress and origin are the caller's to fill in.
  CheckpointState state;

  /// Is every number finite? A model that is not is never written.
  bool is_finite() const;

 private:
  TensorStorage values_;  // one per tensor, where they stay: `state` points to them
};

/// Bytes of the numbers in a checkpoint: parameters, buffers, and so many arrays of optimizer
/// state. A Snapshot takes as many.
std::int64_t snapshot_bytes(const ParameterTable& table, int state_arrays);

}  // namespace quern
