// SPDX-License-Identifier: Apache-2.0
// Optimizers over the flat parameter block: one pass, nothing they need comes from the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "spec/training_spec.hpp"
#include "tensor/parameter_block.hpp"
#include "tensor/parameter_update.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// One array of optimizer state; the name is PyTorch's.
struct OptimizerState {
  std::string name;  ///< one of state_names()
  /// A float for each of the optimizer's part of the trained block; of all of the trained block
  /// where OptimizerPart::allocate_whole made it.
  FloatView values;
};

class TrustRatios;

/// What of the block an optimizer updates, where each rank updates a part. By default everything,
/// with state of its own.
struct OptimizerPart {
  /// The floats [begin, end) of the block: multiples of kLanes; what is after the block counts as
  /// its end.
  std::int64_t begin = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  /// Where ranks share the state: zero-filled memory for a whole state array (label, floats).
  std::function<FloatView(const std::string&, std::int64_t)> allocate_whole = {};
  /// LARS and LAMB: those that all parts share. None: of an optimizer that updates everything.
  std::shared_ptr<const TrustRatios> ratios = {};
};

class Optimizer : public ParameterUpdater {
 public:
  virtual ~Optimizer() = default;
  explicit Optimizer(OptimizerPart part) : part_(std::move(part)) {}
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Before update(), with OptimizerPart::ratios: what a step needs of all parts before any of them
  /// is updated. TrustRatios::combine() follows. Touches the state of this part only.
  virtual void prepare_update(const ExecSpace& /*exec*/, const StepScalarsView& /*scalars*/,
                              const FloatView& /*parameters*/, const ConstFloatView& /*gradient*/) {
  }

  /// One step: updates `parameters` (the whole block) and the state in place from the first
  /// parameters.extent(0) floats of `gradient`, which is multiplied by scalars().gradient_scale.
  /// Touches this optimizer's part only, and nothing unless scalars().apply_updates.
  /// Uses scalars().step (steps done before this one) and scalars().learning_rate.
  virtual void update(const ExecSpace& exec, const StepScalarsView& scalars,
                      const FloatView& parameters, const ConstFloatView& gradient) = 0;

  /// The same step, on a CPU, piece by piece: valid until the step's end, and after it for nothing.
  /// Pieces are of this optimizer's part, and get the bits of update(). None where an optimizer is
  /// not fit for it.
  ParameterUpdate begin_update(const ExecSpace& exec, const StepScalarsView& scalars,
                               const FloatView& parameters);
  /// A piece of it. Of an optimizer that begin_pieces().
  void update_pieces(std::int64_t begin, std::int64_t end, const float* gradient) const override;

  /// What a checkpoint has to hold besides the parameters; empty for plain SGD.
  const std::vector<OptimizerState>& state() const { return state_; }

 protected:
  /// Makes ready for update_pieces(), on a CPU. False: the optimizer is not fit for it.
  virtual bool begin_pieces(const ExecSpace& /*exec*/, const StepScalarsView& /*scalars*/) {
    return false;
  }
  /// What update_pieces() updates: this part of the parameters.
  float* piece_parameters() const { return piece_parameters_; }

  /// Adds a zero-filled array to the state; returns this optimizer's part of it.
  FloatView add_state(const std::string& name, std::int64_t block_size);

  /// This optimizer's part of a view of the whole block.
  template <class V>
  V own_part(const V& block) const {
    const auto size = static_cast<std::int64_t>(block.extent(0));
    return Kokkos::subview(block,
                           std::pair(std::min(part_.begin, size), std::min(part_.end, size)));
  }

  const OptimizerPart& part() const { return part_; }
  /// Where in this optimizer's part the block's float `place` is.
  std::int64_t place_in_part(std::int64_t place) const { return place - part_.begin; }

 private:
  OptimizerPart part_;
  std::vector<OptimizerState> state_;
  float* piece_parameters_ = nullptr;  // of begin_update()
};

/// Updates the parameters [begin, end) from `gradient`, of the whole block.
void update_piece(const ExecSpace& exec, const ParameterUpdate& update, std::int64_t begin,
                  std::int64_t end, const ConstFloatView& gradient);

/// How many arrays state() of such an optimizer holds (state_names()).
int num_state_arrays(const OptimizerSpec& spec);
/// Arrays that such an optimizer has besides these, which no checkpoint holds.
int num_scratch_arrays(const OptimizerSpec& spec);

/// `table`: of the parameters that it is to update.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, const ParameterTable& table,
                                          const OptimizerPart& part = {});

}  // namespace quern
