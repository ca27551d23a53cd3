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
  bool fuse_relu() override { return fused_relu_ = true; }
  bool fuse_input_relu() override { return fused_input_relu_ = true; }
  std::int64_t macs() const override { return std::int64_t{in_features_} * out_features_; }
  void use_products(const std::shared_ptr<DenseProducts>& products) override {
    products_ = products;
  }
  void add_parameters(ParameterTable& table) override;
  void allocate(int max_rows) override;
  std::int64_t own_bytes(int max_rows) const override;
  std::int64_t workspace_floats(int max_rows) const override {
    return products_ ? products_->workspace_floats(in_features_, weight_.stride, max_rows) : 0;
  }
  void use_workspace(const FloatView& workspace) override { workspace_ = workspace; }
  void forward(const ExecSpace& exec, const StepContext& step, const Activation& x,
               const Activation& y) override;
  void backward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                const Activation& y, const Activation& dy, const Activation& dx) override;

 private:
  void parameter_gradients(const ExecSpace& exec, const StepContext& step, const Activation& x,
                           const Activation& dy);
  void input_gradient(const ExecSpace& exec, const StepContext& step, const Activation& x,
                      const Activation& dy, const Activation& dx);
  ConstMatrix weight_t(const StepContext& step) const;

  int in_features_;
  int out_features_;
  GradientPlace weight_;   // of W^T in the flat block, and so in its gradient
  std::int64_t bias_ = 0;  // offset in the flat block
  FloatView weight_rows_;  // W [O, I] in panels for the input gradient; padding columns are zero
  std::shared_ptr<DenseProducts> products_;  // or null: linalg/gemm.hpp
  FloatView workspace_;                      // shared with other layers
  bool fused_relu_ = false;
  bool fused_input_relu_ = false;
};

}  // namespace quern
