// SPDX-License-Identifier: Apache-2.0
// Tensors of which every stage of a pipeline has its own, on their way to a checkpoint and back.
#pragma once

#include <list>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"
#include "comm/communicator.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

/// What the spans of tensors that have come from another stage point to.
using TensorStorage = std::list<std::vector<float>>;

/// Collective over the stages, in order. On the first appends the tensors of the others; `entries`:
/// those of the whole network. On the others nothing changes.
void collect_tensors(Communicator& stages, const std::vector<ParameterEntry>& entries,
                     std::vector<NamedTensor>& tensors, TensorStorage& storage);

/// The way back: every stage gets the tensors of its `own` entries. `whole`: the first stage's, one
/// for each of `entries`, in that order; the others pass nullptr.
std::vector<NamedTensor> distribute_tensors(Communicator& stages,
                                            const std::vector<ParameterEntry>& entries,
                                            const std::vector<ParameterEntry>& own,
                                            const std::vector<NamedTensor>* whole,
                                            TensorStorage& storage);

}  // namespace quern
