// SPDX-License-Identifier: Apache-2.0
// Maximum pooling: y = maximum of the window, as torch.nn.MaxPool2d: NaN wins, and the gradient
// goes to the first maximum in scan order (to the last NaN if there is one).
#pragma once

#include "layers/layer.hpp"
#include "layers/pool_kernels.hpp"

namespace quern {

/// Square windows, sizes rounded down; works in nchw16n. Padding is never the maximum. Input that
/// no window covers has a gradient of zero.
class MaxPool2d final : public Layer {
 public:
  /// Throws InputError when the window does not fit into the input.
  MaxPool2d(const LayerSpec& spec, const Shape& input);

  Layout input_layout(Layout) const override { return Layout::nchw16n; }
  Layout output_layout(Layout) const override { return Layout::nchw16n; }
  Shape needed_input(const Shape& read) const override { return window_.input_of(read); }
  LayerTraits traits() const override {
    return {.applies_input_relu = true, .pool = Pool{window_, PoolKind::maximum}};
  }
  void set_up(const LayerSetup& setup) override { with_input_relu_ = setup.with_input_relu; }

  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  const PoolKernels& kernels_;
  PoolWindow window_;
  bool with_input_relu_ = false;
};

}  // namespace quern
