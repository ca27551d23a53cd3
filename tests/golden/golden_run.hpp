// SPDX-License-Identifier: Apache-2.0
// Follows a golden recipe with Quern's own classes, from PyTorch's weights in PyTorch's order.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "strategy/training_step.hpp"
#include "support/golden.hpp"

namespace quern::test {

/// A tensor of the flat block, in PyTorch's order, by name.
using Tensors = std::map<std::string, std::vector<float>>;

class GoldenRun {
 public:
  /// Collective. Throws InputError when the images that the recipe needs are not there.
  GoldenRun(Communicator& comm, const std::string& name);

  const Golden& golden() const { return golden_; }

  /// Step 0 without an update, built from its parts. Collective.
  struct FirstStep {
    std::map<int, std::vector<float>> outputs;  ///< of this rank's samples, by place in the batch
    Tensors gradients;                          ///< of the mean loss over all ranks
    double gradient_norm = 0;                   ///< L2, over all tensors
    double loss = 0;                            ///< mean
  };
  FirstStep first_step();

  /// One step of TrainingStep; returns the mean loss. Collective.
  double train_step();

  Tensors weights() const;  ///< and running statistics

 private:
  void load_initial_weights();
  enum class Buffers { leave_out, take };
  Tensors split(const ConstFloatView& block, Buffers buffers) const;

  Communicator& comm_;
  Golden golden_;
  Recipe recipe_;
  Samples samples_;
  Model model_;
  std::unique_ptr<TrainingStep> step_;
  std::int64_t steps_done_ = 0;
};

}  // namespace quern::test
