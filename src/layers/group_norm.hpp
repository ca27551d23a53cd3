// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/group_norm_kernels.hpp"
#include "layers/layer.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// y = (x - mean) / sqrt(variance + eps) weight + bias, mean and variance over all pixels of each
/// set of neighbouring channels of each image, weight and bias of each channel:
/// torch.nn.GroupNorm(spec.groups, C) (Wu and He 2018, arXiv:1803.08494). As many sets as channels
/// are instance normalisation. The variance is the mean of the squared distances. Training and
/// evaluation are the same, and ranks exchange nothing.
///
/// How it is computed: the mean, then the squares about it, in a fixed order for each sample; see
/// docs/numerics.md.
class GroupNorm final : public Layer {
 public:
  /// spec.groups divides the channels; flat samples are images of one pixel. Uses spec.eps.
  GroupNorm(const LayerSpec& spec, const Shape& input);

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
  ChannelNorm norm_of(const StepContext& step, const LayerArrays& arrays) const;

  const GroupNormKernels& kernels_;
  int sets_;
  std::int64_t padded_;  // channels in whole groups of lanes
  float eps_;
  Training training_;
  bool with_relu_ = false;
  std::int64_t frozen_ = 0;  // where the block's frozen tensors begin, if these are such
  std::int64_t weight_ = 0;  // offset of weight in the block, if frozen from there; bias follows
};

}  // namespace quern
