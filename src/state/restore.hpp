// SPDX-License-Identifier: Apache-2.0
// From a checkpoint to a training that goes on.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"
#include "comm/process_grid.hpp"
#include "strategy/train_state.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

/// Collective over the grid's world. Puts model and optimizer state of rank 0's `state` (the other
/// ranks pass nullptr), which are of the network `whole`, into `to`, on all ranks: every rank gets
/// what is of its own `table`. What a node has once is written by its first rank alone, and the
/// caller publishes it. Where kernels run on the host, the network is whole and state is not spread
/// it takes no memory besides; otherwise one array at a time on rank 0 and kRestoreBytes on the
/// others. Of a network that is split the ranks that stand for a stage have what is of it in one
/// array, and again the rows of it. AgreedError (exit 2) naming the tensor when the checkpoint is
/// of another network or another optimizer; then nothing has changed.
void restore(const ProcessGrid& grid, const CheckpointState* state, const ParameterTable& whole,
             const ParameterTable& table, const TrainState& to);
/// The model alone, whatever optimizer trained it: into `parameters`, every rank's own.
void restore(const ProcessGrid& grid, const CheckpointState* state, const ParameterTable& whole,
             const ParameterTable& table, const FloatView& parameters);

/// Collective over the grid's world. Overwrites these of the model's parameters, rank 0's `tensors`
/// (the other ranks pass nullptr), with names and shapes of `whole`; the rest stays as it is. As
/// restore().
void restore_part(const ProcessGrid& grid, const std::vector<NamedTensor>* tensors,
                  const ParameterTable& whole, const ParameterTable& table, const TrainState& to);

/// What restore() sends at a time.
inline constexpr std::int64_t kRestoreBytes = std::int64_t{4} << 20;

}  // namespace quern
