// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/layer.hpp"
#include "layers/layer_norm_kernels.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// y = (x - mean) / sqrt(variance + eps) weight + bias, mean and variance over all units of each
/// sample: torch.nn.LayerNorm(F) for flat samples, torch.nn.LayerNorm([C, H, W]) for images. The
/// variance is the mean of the squared distances. Training and evaluation are the same, and ranks
/// exchange nothing.
///
/// How it is computed: the mean, then the squares about it, in a fixed order for each sample; see
/// docs/numerics.md.
class LayerNorm final : public Layer {
 public:
  /// Uses spec.eps.
  LayerNorm(const LayerSpec& spec, const Shape& input);

  /// Flat samples that come in lanes stay so.
  Layout input_layout(Layout incoming) const override;
  LayerTraits traits() const override;
  void add_parameters(ParameterTable& table) override;
  void set_up(const LayerSetup& setup) override;
  std::int64_t own_floats(const BatchLimit& most) const override;
  std::int64_t workspace_floats(const BatchLimit& most) const override;
  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  SampleNorm norm_of(const StepContext& step, const LayerArrays& arrays) const;
  void parameter_gradients(const ExecSpace& exec, const StepContext& step,
                           const LayerArrays& arrays, const SampleNorm& norm) const;

  const LayerNormKernels& kernels_;
  std::int64_t padded_;  // units in whole groups of lanes
  float eps_;
  Training training_;
  bool with_relu_ = false;
  std::int64_t frozen_ = 0;  // where the block's frozen tensors begin, if these are such
  std::int64_t weight_ = 0;  // offset of weight in the block, if frozen from there; bias follows
};

}  // namespace quern
