// SPDX-License-Identifier: Apache-2.0
// From a running training to its checkpoints.
#pragma once

#include <list>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"
#include "comm/process_grid.hpp"
#include "strategy/train_state.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

/// Host copies of the parameters and the optimizer's state, and a CheckpointState that points into
/// them. Waits for the device.
class Snapshot {
 public:
  /// The model alone.
  Snapshot(const ParameterTable& table, const FloatView& parameters);
  /// Collective with StatePlace::owners, and then empty on all ranks but 0.
  Snapshot(Communicator& comm, const ParameterTable& table, const TrainState& train_state);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  /// Collective over a tensor group, of a snapshot that is not empty: whole tensors on its first
  /// rank, nothing on the others, which may have parts of them. `table`: this rank's.
  void join_parts(Communicator& group, const ParameterTable& table);
  /// Collective over grid.pipeline(), for ranks whose snapshot of their stage is not empty: on
  /// stage 0 the tensors of all stages, in the order of the network. `whole`: its table.
  void collect_stages(const ProcessGrid& grid, const ParameterTable& whole);

  /// Progress and origin are the caller's to fill in.
  CheckpointState state;

  /// Is every number finite? A model that is not is never written.
  bool is_finite() const;

 private:
  template <class V>
  std::vector<NamedTensor> copy_tensors(const std::vector<ParameterEntry>& entries, const V& view);

  std::list<std::vector<float>> values_;  // one per tensor, where they stay: `state` points to them
};

/// Bytes of the numbers in a checkpoint: parameters, buffers, and so many arrays of optimizer
/// state. A Snapshot takes as many.
std::int64_t snapshot_bytes(const ParameterTable& table, int state_arrays);

}  // namespace quern
