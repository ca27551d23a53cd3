// SPDX-License-Identifier: Apache-2.0
// The mean of each channel: torch.nn.AdaptiveAvgPool2d(1), flattened.
#pragma once

#include "layers/layer.hpp"
#include "layers/pool_kernels.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// y = mean over the pixels. x [S, C, H, W], y [S, C]; works in nchw16n.
class GlobalAvgPool final : public Layer {
 public:
  GlobalAvgPool(const LayerSpec& spec, const Shape& input);

  Layout input_layout(Layout) const override { return Layout::nchw16n; }
  LayerTraits traits() const override { return {.applies_input_relu = true}; }
  void set_up(const LayerSetup& setup) override { with_input_relu_ = setup.with_input_relu; }

  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  const GlobalPoolKernels& kernels_;
  bool with_input_relu_ = false;
};

}  // namespace quern
