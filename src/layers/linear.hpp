// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/layer.hpp"
#include "linalg/matrix.hpp"
#include "spec/network_spec.hpp"

namespace quern {

namespace host {
struct LinearShape;
}

/// y = x W^T + b for every row: torch.nn.Linear. W [O, I], b [O]; x [S, I] and y [S, O] in
/// flat_layout(). The parameter block holds W^T as forward reads it: on a CPU in panels, on a
/// device row-major. With operands of bf16 on a CPU x is in Layout::tiles, and y may be
/// (host/linear_tiles.hpp).
class Linear final : public Layer {
 public:
  /// Uses spec.features. `input` must be flat.
  Linear(const LayerSpec& spec, const Shape& input,
         OperandPrecision precision = OperandPrecision::fp32);

  Layout input_layout(Layout) const override;
  Layout output_layout(Layout) const override { return flat_layout(); }
  LayerTraits traits() const override;
  std::int64_t macs() const override { return std::int64_t{in_features_} * out_features_; }
  void add_parameters(ParameterTable& table) override;
  void set_up(const LayerSetup& setup) override;
  std::int64_t own_floats(const BatchLimit& most) const override;
  std::int64_t workspace_floats(const BatchLimit& most) const override;
  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  void parameter_gradients(const ExecSpace& exec, const StepContext& step,
                           const LayerArrays& arrays) const;
  void input_gradient(const ExecSpace& exec, const StepContext& step,
                      const LayerArrays& arrays) const;
  const float* parameters(const StepContext& step) const {
    return step.parameters.data() + frozen_;
  }
  ConstMatrix weight_t(const StepContext& step) const;
  host::LinearShape tiles_shape() const;
  void forward_in_tiles(const ExecSpace& exec, const StepContext& step,
                        const LayerArrays& arrays) const;
  void backward_in_tiles(const ExecSpace& exec, const StepContext& step,
                         const LayerArrays& arrays) const;

  int in_features_;
  int out_features_;
  Training training_;
  std::int64_t frozen_ = 0;  // where the block's frozen tensors begin, if it is such
  GradientPlace weight_;     // of W^T in the flat block, and so in its gradient;
  std::int64_t bias_ = 0;    // offset; if frozen both from frozen_ on
  std::shared_ptr<DenseProducts> products_ = plain_products();
  bool has_tiles_;
  bool with_relu_ = false;
  bool with_input_relu_ = false;
};

}  // namespace quern
