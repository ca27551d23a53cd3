// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/conv_shape.hpp"
#include "layers/layer.hpp"
#include "spec/network_spec.hpp"

namespace quern {

struct Conv2dKernels;
struct Conv2dPoolKernels;

/// Two-dimensional cross-correlation with square kernels: torch.nn.Conv2d.
/// x [S, C, H, W], W [O, C, K, K], b [O] where spec.bias, y [S, O, H_out, W_out] with
/// H_out = floor((H + 2 padding - K) / stride) + 1; nchw16n.
class Conv2d final : public Layer {
 public:
  /// Uses spec.channels, kernel, stride, padding and bias. The kernel must fit into the padded
  /// input.
  Conv2d(const LayerSpec& spec, const Shape& input, const KernelChoice& choice = {});
  /// Computes only the top left part `output` of the outputs, which is all that anybody reads.
  Conv2d(const LayerSpec& spec, const Shape& input, const Shape& output,
         const KernelChoice& choice = {});

  Layout input_layout(Layout) const override { return Layout::nchw16n; }
  Shape needed_input(const Shape& read) const override;
  /// No ReLU in front with padding: x and dx would have to be padded alike.
  LayerTraits traits() const override;
  /// On a CPU, with a bias, small kernels on few channels (the first layer of a network for
  /// images), windows of 2 or 3 that tile the output.
  bool can_compute(const Pool& pool) const override;
  std::int64_t macs() const override {
    return std::int64_t{shape_.taps()} * output_shape().units();
  }
  void add_parameters(ParameterTable& table) override;
  void set_up(const LayerSetup& setup) override;
  std::int64_t own_floats(const BatchLimit& most) const override;
  std::int64_t workspace_floats(const BatchLimit& most) const override;
  std::int64_t scratch_floats(const BatchLimit& most) const override;
  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  std::int64_t padded_floats(int rows) const;
  // Room for the bits that tell which pixels the gradient of the pool reaches.
  std::int64_t pass_floats(int rows) const;
  ConvShape shape_of(const LayerArrays& arrays) const;
  const float* padded(const LayerArrays& arrays) const;
  const float* parameters(const StepContext& step) const {
    return step.parameters.data() + frozen_;
  }
  std::uint16_t* passes(const LayerArrays& arrays) const;
  void input_gradient(const ExecSpace& exec, const StepContext& step,
                      const LayerArrays& arrays) const;

  const Conv2dKernels& kernels_;
  const Conv2dPoolKernels* pool_kernels_;  // or null
  ConvShape shape_;
  int padding_;
  bool has_bias_;
  bool copies_ = false;  // x and dx into arrays with a border
  Training training_;
  std::int64_t frozen_ = 0;  // where the block's frozen tensors begin, if these are such
  std::int64_t weight_ = 0;  // offsets in the flat block; if frozen from there on
  std::int64_t bias_ = 0;
  bool with_relu_ = false;
  bool with_input_relu_ = false;
  std::optional<Pool> pool_;  // taken over
};

}  // namespace quern
