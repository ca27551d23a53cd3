// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/linear_kernels.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// y = x W^T + b for every row: torch.nn.Linear. W [O, I], b [O] where spec.bias; x [S, I] and y
/// [S, O] in flat_layout(). The parameter block holds W^T as forward reads it: on a CPU in panels,
/// on a device row-major. With operands of bf16 on a CPU x is in Layout::tiles, and y may be.
class Linear final : public Layer {
 public:
  /// Uses spec.features and bias. `input` must be flat.
  Linear(const LayerSpec& spec, const Shape& input, const KernelChoice& choice = {});

  Layout input_layout(Layout) const override;
  Layout output_layout(Layout) const override { return flat_layout(); }
  LayerTraits traits() const override;
  std::int64_t macs() const override { return std::int64_t{shape_.in} * shape_.out; }
  void add_parameters(ParameterTable& table) override;
  void set_up(const LayerSetup& setup) override;
  std::int64_t own_floats(const BatchLimit& most) const override;
  std::int64_t workspace_floats(const BatchLimit& most) const override;
  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  LinearPass pass_of(const StepContext& step) const;

  const LinearKernels& kernels_;
  LinearShape shape_;  // in the flat block, and so in its gradient; if frozen from frozen_ on
  Training training_;
  std::int64_t frozen_ = 0;  // where the block's frozen tensors begin, if these are such
  std::shared_ptr<DenseProducts> products_ = choose_products();
  bool with_relu_ = false;
  bool with_input_relu_ = false;
  bool hands_over_output_ = false;
};

}  // namespace quern
