// SPDX-License-Identifier: Apache-2.0
// Between a running training and its checkpoints.
#pragma once

#include <list>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"
#include "comm/communicator.hpp"
#include "optim/optimizer.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

/// Host copies of the parameters and the optimizer's state, and a CheckpointState that points into
/// them. Waits for the device.
class Snapshot {
 public:
  Snapshot(const ParameterTable& table, const FloatView& parameters, const Optimizer* optimizer);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  /// Progress and origin are the caller's to fill in.
  CheckpointState state;

  /// Is every number finite? A model that is not is never written.
  bool is_finite() const;

 private:
  std::vector<NamedTensor> copy_tensors(const std::vector<ParameterEntry>& entries,
                                        const FloatView& view);

  std::list<std::vector<float>> values_;  // one per tensor, where they stay: `state` points to them
};

enum class BlockPlace {
  rank,  ///< every rank has blocks of its own
  node,  ///< all ranks are on one node and share the blocks (GradientReducer::shares_blocks)
};

/// Collective. Puts the model, and with `optimizer` its state, of rank 0's `state` (the other
/// ranks pass nullptr) into the blocks of all ranks; shared ones are written by rank 0 alone, and
/// the caller publishes them. Where kernels run on the host it takes no memory besides; otherwise
/// one block on rank 0 and kRestoreBytes on the others. AgreedError (exit 2) naming the tensor when
/// the checkpoint is of another network or another optimizer; then nothing has changed.
void restore(Communicator& comm, const CheckpointState* state, const ParameterTable& table,
             const FloatView& parameters, const Optimizer* optimizer,
             BlockPlace place = BlockPlace::rank);

/// What restore() sends at a time.
inline constexpr std::int64_t kRestoreBytes = std::int64_t{4} << 20;

}  // namespace quern
