// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/conv_shape.hpp"
#include "layers/layer.hpp"
#include "spec/network_spec.hpp"

namespace quern {

struct Conv2dKernels;
struct Conv2dPoolKernels;

/// Two-dimensional cross-correlation with square kernels: torch.nn.Conv2d.
/// x [S, C, H, W], W [O, C, K, K], b [O], y [S, O, H_out, W_out] with
/// H_out = floor((H + 2 padding - K) / stride) + 1; nchw16n.
class Conv2d final : public Layer {
 public:
  /// Uses spec.channels, kernel, stride and padding. The kernel must fit into the padded input.
  Conv2d(const LayerSpec& spec, const Shape& input);
  /// Computes only the top left part `output` of the outputs, which is all that anybody reads.
  Conv2d(const LayerSpec& spec, const Shape& input, const Shape& output);

  Layout input_layout(Layout) const override { return Layout::nchw16n; }
  Shape needed_input(const Shape& read) const override;
  bool fuse_relu() override { return fused_relu_ = true; }
  /// Not with padding: x and dx would have to be padded alike.
  bool fuse_input_relu() override { return fused_input_relu_ = padding_ == 0; }
  /// On a CPU, small kernels on few channels (the first layer of a network for images), windows of
  /// 2 or 3 that tile the output.
  bool fuse_pool(const Pool& pool) override;
  std::int64_t macs() const override {
    return std::int64_t{shape_.taps()} * output_shape().units();
  }
  void use_precision(OperandPrecision precision) override;
  void add_parameters(ParameterTable& table) override;
  void allocate(int max_rows) override;
  std::int64_t own_bytes(int max_rows) const override;
  std::int64_t workspace_floats(int max_rows) const override;
  void use_workspace(const FloatView& workspace) override { workspace_ = workspace; }
  void forward(const ExecSpace& exec, const StepContext& step, const Activation& x,
               const Activation& y) override;
  void backward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                const Activation& y, const Activation& dy, const Activation& dx) override;

 private:
  // Elements of the buffers below.
  struct OwnSizes {
    std::int64_t forward_weights = 0;
    std::int64_t gradient_weights = 0;
    std::int64_t passes = 0;
    std::int64_t padded_x = 0;
    std::int64_t padded_dx = 0;
  };
  OwnSizes own_sizes(int max_rows) const;

  const Conv2dKernels* kernels_;
  ConvShape shape_;
  int padding_;
  std::int64_t weight_ = 0;  // offsets in the flat block
  std::int64_t bias_ = 0;
  FloatView forward_weights_;   // packed by every forward
  FloatView gradient_weights_;  // packed by every backward
  FloatView workspace_;         // shared with other layers; of the weight gradient
  bool fused_relu_ = false;
  bool fused_input_relu_ = false;
  std::optional<Pool> pool_;  // taken over
  const Conv2dPoolKernels* pool_kernels_ = nullptr;
  View<std::uint16_t> passes_;  // the pixels that the gradient of the pool reaches
  FloatView padded_x_;          // only with padding: x inside a border of zeros
  FloatView padded_dx_;
};

}  // namespace quern
