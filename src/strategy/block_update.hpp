// SPDX-License-Identifier: Apache-2.0
// The update of the flat block from the reduced gradient.
#pragma once

#include <memory>
#include <vector>

#include "optim/clip.hpp"
#include "optim/optimizer.hpp"
#include "optim/running_averages.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/state_memory.hpp"
#include "strategy/clip_exchange.hpp"
#include "strategy/train_state.hpp"

namespace quern {

/// What this rank updates: its ranges of the block (GradientReducer::ranges_of), each with an
/// optimizer and running averages of its own.
class BlockUpdate {
 public:
  /// Collective. `reducer` has been allocated and outlives it; `memory` is that of its ranks.
  /// `exchange`: of a network that is split, where its gradient is clipped.
  BlockUpdate(const OptimizerSpec& spec, const ParameterTable& table, GradientReducer& reducer,
              const StateMemory& memory, std::unique_ptr<ClipExchange> exchange = nullptr);
  BlockUpdate(const BlockUpdate&) = delete;
  BlockUpdate& operator=(const BlockUpdate&) = delete;

  /// Bytes of optimizer state on this rank; of what the node has once, its share.
  static std::int64_t state_bytes(const OptimizerSpec& spec, const ParameterTable& table,
                                  const GradientReducer& reducer);

  bool clips() const { return clip_.is_active(); }
  /// Does it need the whole gradient on every rank?
  bool needs_whole_gradient() const { return clips() && !reducer_.spreads_state(); }

  /// Updates parameters and optimizer state from what of `gradient` is this rank's. Nothing unless
  /// scalars().apply_updates. Both are whole blocks.
  void update_parameters(const ExecSpace& exec, const StepScalarsView& scalars,
                         const FloatView& parameters, const ConstFloatView& gradient);
  /// And the running averages, from the batch's statistics in the gradient block.
  void update_buffers(const ExecSpace& exec, const StepScalarsView& scalars,
                      const FloatView& parameters, const ConstFloatView& gradient) const;

  /// Optimizer::begin_update, of a rank that updates all parameters.
  ParameterUpdate begin_update(const ExecSpace& exec, const StepScalarsView& scalars,
                               const FloatView& parameters);

  TrainState state(const FloatView& parameters) const;

 private:
  struct Part {
    std::unique_ptr<Optimizer> optimizer;
    RunningAverages averages;
  };
  FloatView trained(const FloatView& block) const {
    return Kokkos::subview(block, std::pair(std::int64_t{0}, trained_size_));
  }

  GradientReducer& reducer_;
  std::int64_t trained_size_;
  std::unique_ptr<ClipExchange> exchange_;
  GradientClip clip_;
  std::vector<StateBlock> shared_;
  std::vector<Part> parts_;
};

}  // namespace quern
