// SPDX-License-Identifier: Apache-2.0
// network.init = {type = "checkpoint"}: training that begins with the weights of a file.
#pragma once

#include <vector>

#include "checkpoint/checkpoint_state.hpp"
#include "spec/network_spec.hpp"
#include "state/match_weights.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

struct InitialWeights {
  LoadedCheckpoint file;             ///< owns the values
  std::vector<NamedTensor> tensors;  ///< names and shapes of the network
};

/// Of all tensors, as match_weights() takes them.
std::vector<NamedShape> named_shapes(const ParameterTable& table);

/// Rank 0's: reads init.file, and takes what init.only and init.rename say. Says how many tensors
/// it took. InputError where the file does not fit `table`.
InitialWeights load_initial_weights(const InitSpec& init, const ParameterTable& table);

}  // namespace quern
