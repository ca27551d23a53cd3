// SPDX-License-Identifier: Apache-2.0
// Larger images: torch.nn.Upsample(scale_factor=factor, mode="nearest").
#pragma once

#include "layers/layer.hpp"
#include "layers/upsample_kernels.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// Each pixel becomes a square of factor x factor equal ones: y(h, w) = x(h / factor, w / factor).
/// x [S, C, H, W], y [S, C, H factor, W factor]; works in nchw16n. dx is the sum of the square's
/// gradients, row after row, each from left to right.
class Upsample final : public Layer {
 public:
  Upsample(const LayerSpec& spec, const Shape& input);

  Layout input_layout(Layout) const override { return Layout::nchw16n; }
  LayerTraits traits() const override { return {.applies_input_relu = true}; }
  Shape needed_input(const Shape& read) const override;
  void set_up(const LayerSetup& setup) override { with_input_relu_ = setup.with_input_relu; }

  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  int factor_;
  const UpsampleKernels& kernels_;
  bool with_input_relu_ = false;
};

}  // namespace quern
