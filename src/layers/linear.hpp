// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/layer.hpp"
#include "linalg/matrix.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// y = x W^T + b for every row: torch.nn.Linear. W [O, I], b [O]; x [S, I] and y [S, O] in
/// flat_layout(). The parameter block holds W^T as forward reads it: on a CPU in panels, on a
/// device row-major.
class Linear final : public Layer {
 public:
  /// Uses spec.features. `input` must be flat.
  Linear(const LayerSpec& spec, const Shape& input);

  Layout input_layout(Layout) const override { return flat_layout(); }
  LayerTraits traits() const override { return {.applies_relu = true, .applies_input_relu = true}; }
  std::int64_t macs() const override { return std::int64_t{in_features_} * out_features_; }
  void add_parameters(ParameterTable& table) override;
  void set_up(const LayerSetup& setup) override;
  std::int64_t own_floats(int max_rows) const override;
  std::int64_t workspace_floats(int max_rows) const override {
    return products_ ? products_->workspace_floats(in_features_, weight_.stride, max_rows) : 0;
  }
  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  void parameter_gradients(const ExecSpace& exec, const StepContext& step,
                           const LayerArrays& arrays) const;
  void input_gradient(const ExecSpace& exec, const StepContext& step,
                      const LayerArrays& arrays) const;
  ConstMatrix weight_t(const StepContext& step) const;

  int in_features_;
  int out_features_;
  GradientPlace weight_;                     // of W^T in the flat block, and so in its gradient
  std::int64_t bias_ = 0;                    // offset in the flat block
  std::shared_ptr<DenseProducts> products_;  // or null: linalg/gemm.hpp
  bool with_relu_ = false;
  bool with_input_relu_ = false;
};

}  // namespace quern
