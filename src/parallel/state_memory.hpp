// SPDX-License-Identifier: Apache-2.0
// Memory of parameters and optimizer state.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/communicator.hpp"
#include "parallel/gradient_reducer.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

/// An array of a rank alone, or of all ranks of a node; zero at the start.
struct StateBlock {
  FloatView view;
  std::shared_ptr<NodeShared> memory;  ///< keeps the view alive; null if it does so itself
};

FloatView floats_of(const NodeShared& memory);

/// Makes the arrays that the ranks of a reducer update: on their node once if they share them, else
/// on every rank, with the room behind them that GradientReducer::publish_update needs.
class StateMemory {
 public:
  /// Of a rank that updates nothing together with others.
  StateMemory() = default;
  /// `comm`: that of the reducer. It outlives the blocks.
  StateMemory(Communicator& comm, const GradientReducer& reducer);

  /// `count` floats, or more. Collective over the reducer's ranks.
  StateBlock allocate(const std::string& label, std::int64_t count) const;

 private:
  Communicator* node_ = nullptr;  // null: every rank has its own
  std::int64_t least_ = 0;        // floats of a block
};

}  // namespace quern
