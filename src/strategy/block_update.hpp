// SPDX-License-Identifier: Apache-2.0
// The update of the flat block from the reduced gradient.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "optim/clip.hpp"
#include "optim/optimizer.hpp"
#include "optim/running_averages.hpp"
#include "optim/trust_ratios.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/state_memory.hpp"
#include "strategy/norm_exchange.hpp"
#include "strategy/train_state.hpp"

namespace quern {

/// What this rank updates: its ranges of the block (GradientReducer::ranges_of), each with an
/// optimizer and running averages of its own.
class BlockUpdate {
 public:
  /// Collective. `reducer` has been allocated and outlives it; `memory` is that of its ranks.
  /// `exchange`: of a network that is split, where needs_norms().
  BlockUpdate(const OptimizerSpec& spec, const ParameterTable& table, GradientReducer& reducer,
              const StateMemory& memory, std::unique_ptr<NormExchange> exchange = nullptr);
  BlockUpdate(const BlockUpdate&) = delete;
  BlockUpdate& operator=(const BlockUpdate&) = delete;

  /// Does it need norms of the gradient or of tensors?
  static bool needs_norms(const OptimizerSpec& spec) {
    return spec.clip_norm > 0 || TrustRatios::are_needed(spec);
  }

  /// Bytes of optimizer state and scratch on this rank; of what the node has once, its share.
  static std::int64_t state_bytes(const OptimizerSpec& spec, const ParameterTable& table,
                                  const GradientReducer& reducer);

  /// Does it need the whole gradient on every rank?
  bool needs_whole_gradient() const {
    return clip_.is_active() && !reducer_.spreads_state() && !exchange_;
  }

  /// From now on layers update their parameters in backward, all but these ranges. Of a rank that
  /// updates all parameters, and needs no norms.
  void leave_to_layers(std::vector<std::pair<std::int64_t, std::int64_t>> but);
  bool is_left_to_layers() const { return updater_ == Updater::layers; }
  /// From now on GradientReducer::reduce_and_update() updates them. Of a rank that needs no norms.
  void leave_to_reducer();
  bool is_left_to_reducer() const { return updater_ == Updater::reducer; }
  /// Optimizer::begin_update, for layers or reducer, as soon as the sums of the loss are known. If
  /// that is not finite, nothing is updated from now on.
  ParameterUpdate begin_update(const ExecSpace& exec, const StepScalarsView& scalars,
                               const FloatView& parameters, const ConstFloatView& loss_sums);

  /// Updates parameters and optimizer state from what of the gradient is this rank's, and not left
  /// to others, and the running averages from the batch's statistics in it. Nothing if the loss is
  /// not finite, or has been so before. `parameters` is the whole block, as `gradient.total` is.
  void update(const ExecSpace& exec, const StepScalarsView& scalars, const FloatView& parameters,
              const ReducedGradient& gradient);

  TrainState state(const FloatView& parameters) const;

 private:
  enum class Updater { optimizer, layers, reducer };
  struct Part {
    std::unique_ptr<Optimizer> optimizer;
    RunningAverages averages;
  };
  void leave_to(Updater updater);
  void update_parameters(const ExecSpace& exec, const StepScalarsView& scalars,
                         const FloatView& parameters, const ConstFloatView& gradient);
  FloatView trained(const FloatView& block) const {
    return Kokkos::subview(block, std::pair(std::int64_t{0}, trained_size_));
  }

  GradientReducer& reducer_;
  std::int64_t trained_size_;
  std::unique_ptr<NormExchange> exchange_;
  GradientClip clip_;
  std::shared_ptr<const TrustRatios> ratios_;  // null where the optimizer has none
  // Of clip_ and ratios_, whether or not others have a part of what they need.
  bool gathers_gradient_ = false;
  bool gathers_ratios_ = false;
  std::vector<StateBlock> shared_;
  std::vector<Part> parts_;
  Updater updater_ = Updater::optimizer;
  std::vector<std::pair<std::int64_t, std::int64_t>> not_by_layers_;
  ParameterUpdate by_pieces_;  // of the step under way, where it is left to others
};

}  // namespace quern
