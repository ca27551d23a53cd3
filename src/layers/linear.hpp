// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/layer.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// y = x W^T + b for every slot: torch.nn.Linear. x [S, I], W [O, I], b [O], y [S, O], rows.
class Linear final : public Layer {
 public:
  /// Uses spec.features. `input` must be flat.
  Linear(const LayerSpec& spec, const Shape& input);

  Layout input_layout(Layout) const override { return Layout::rows; }
  std::int64_t macs() const override { return std::int64_t{in_features_} * out_features_; }
  void add_parameters(ParameterTable& table) override;
  void allocate(int max_slots) override;
  void forward(const ExecSpace& exec, const StepContext& step, const Activation& x,
               const Activation& y) override;
  void backward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                const Activation& y, const Activation& dy, const Activation& dx) override;

 private:
  int in_features_;
  int out_features_;
  std::int64_t weight_ = 0;  // offsets in the flat block
  std::int64_t bias_ = 0;
  FloatView weight_t_;  // W^T [I, O padded], refreshed by forward; padding columns are zero
};

}  // namespace quern
