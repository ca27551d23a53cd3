// SPDX-License-Identifier: Apache-2.0
// Optimizers over the flat parameter block: one pass, nothing they need comes from the host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "spec/training_spec.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// One array of optimizer state, shaped like the parameter block; the name is PyTorch's.
struct OptimizerState {
  std::string name;  ///< "momentum_buffer", "exp_avg" or "exp_avg_sq"
  FloatView values;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One step: updates `parameters` (the whole block) and the state in place from the first
  /// parameters.extent(0) floats of `gradient`, which is multiplied by scalars().gradient_scale.
  /// Uses scalars().step (steps done before this one) and scalars().learning_rate.
  virtual void update(const ExecSpace& exec, const StepScalarsView& scalars,
                      const FloatView& parameters, const ConstFloatView& gradient) = 0;

  /// What a checkpoint has to hold besides the parameters; empty for plain SGD.
  const std::vector<OptimizerState>& state() const { return state_; }

 protected:
  /// Adds a zero-filled array to the state.
  FloatView add_state(const std::string& name, std::int64_t block_size);

 private:
  std::vector<OptimizerState> state_;
};

/// Arrays that state() of such an optimizer holds.
int num_state_arrays(const OptimizerSpec& spec);

/// `block_size`: floats of the flat parameter block, a multiple of kLanes.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, std::int64_t block_size);

}  // namespace quern
