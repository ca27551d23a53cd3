// SPDX-License-Identifier: Apache-2.0
// Tensors of which every rank of a tensor group has its own rows, in one part or several, on their
// way to a checkpoint and back. Others, which every rank has whole, go along.
#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "state/stage_tensors.hpp"

namespace quern {

/// Collective over the group. On its first rank the whole tensors, each in the place of its first
/// part; nothing on the others. `parts`: the values of each of `entries`, which are released one by
/// one.
std::vector<NamedTensor> join_parts(Communicator& group, const std::vector<ParameterEntry>& entries,
                                    std::vector<std::vector<float>> parts, TensorStorage& storage);

/// The way back: every rank gets its own rows of each tensor. `whole`: the first rank's, by name;
/// the others pass nullptr.
std::vector<NamedTensor> distribute_parts(Communicator& group,
                                          const std::vector<ParameterEntry>& entries,
                                          const std::vector<NamedTensor>* whole,
                                          TensorStorage& storage);

/// `entries` as if the rows that this rank has of each tensor, those that distribute_parts() gives
/// it, were all of it.
std::vector<ParameterEntry> of_own_rows(std::vector<ParameterEntry> entries);

}  // namespace quern
