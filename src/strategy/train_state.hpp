// SPDX-License-Identifier: Apache-2.0
// Where the state of a training lies: what a checkpoint holds, and what is put back.
#pragma once

#include <string>
#include <vector>

#include "tensor/parameter_block.hpp"

namespace quern {

enum class StatePlace {
  rank,    ///< every rank has all arrays, of its own
  node,    ///< all ranks are on one node, which has the arrays once
  owners,  ///< every rank has the parameters, but of optimizer state its own ranges alone
};

/// An array of optimizer state, as far as this rank has it.
struct StateArray {
  std::string name;  ///< PyTorch's: "exp_avg"
  /// One for all of the trained block, or with StatePlace::owners one for each of this rank's
  /// ranges.
  std::vector<FloatView> pieces;
};

/// Views of the arrays, not copies.
struct TrainState {
  FloatView parameters;               ///< the flat block
  std::vector<StateArray> optimizer;  ///< on all ranks the same names in the same order
  StatePlace place = StatePlace::rank;
  /// With StatePlace::owners: the ranges of every rank, in the trained block.
  std::vector<std::vector<BlockRange>> owners;
};

}  // namespace quern
