// SPDX-License-Identifier: Apache-2.0
// Pooling. The maximum, as torch.nn.MaxPool2d: NaN wins, and the gradient goes to the first maximum
// in scan order (to the last NaN if there is one). The mean, as torch.nn.AvgPool2d.
#pragma once

#include "layers/layer.hpp"
#include "layers/pool_kernels.hpp"

namespace quern {

/// Square windows, sizes rounded down; works in nchw16n. Padding is never the maximum, and counts
/// as zeros in a mean (PyTorch's count_include_pad). Input that no window covers has a gradient of
/// zero.
class Pool2d final : public Layer {
 public:
  /// `spec.type` is max_pool2d or avg_pool2d. Throws InputError when the window does not fit into
  /// the input.
  Pool2d(const LayerSpec& spec, const Shape& input);

  Layout input_layout(Layout) const override { return Layout::nchw16n; }
  Layout output_layout(Layout) const override { return Layout::nchw16n; }
  Shape needed_input(const Shape& read) const override { return pool_.window.input_of(read); }
  LayerTraits traits() const override { return {.applies_input_relu = true, .pool = pool_}; }
  void set_up(const LayerSetup& setup) override { with_input_relu_ = setup.with_input_relu; }

  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  Pool pool_;
  const PoolKernels& kernels_;
  bool with_input_relu_ = false;
};

}  // namespace quern
