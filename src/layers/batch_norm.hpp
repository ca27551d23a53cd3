// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/batch_norm_kernels.hpp"
#include "layers/layer.hpp"
#include "linalg/batch_sums.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// y = (x - mean) / sqrt(variance + eps) scale + shift, for each channel of images or each unit of
/// flat samples: torch.nn.BatchNorm2d and BatchNorm1d. Training takes mean and variance of the
/// batch (spec.statistics), evaluation their running averages, which are buffers; in the variance
/// that is averaged the sum is divided by one less than the number of values. With
/// Statistics::running training takes the averages, too, as constants, and leaves them as they are.
///
/// How it is computed: mean and sum of squares of each micro-block about its own mean, added in the
/// fixed tree; see docs/numerics.md.
class BatchNorm final : public Layer {
 public:
  /// Uses spec.momentum, eps and statistics. With products of bf16 on a CPU it rounds images of
  /// more than one pixel and their gradients when it reads them.
  BatchNorm(const LayerSpec& spec, const Shape& input, const KernelChoice& choice = {});

  /// Flat samples that come in lanes stay so.
  Layout input_layout(Layout incoming) const override;
  LayerTraits traits() const override;
  void add_parameters(ParameterTable& table) override;
  void set_up(const LayerSetup& setup) override;
  std::int64_t own_floats(const BatchLimit& most) const override;
  std::int64_t workspace_floats(const BatchLimit& most) const override;
  std::vector<std::int64_t> batch_sums() const override;
  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void store_statistics(const ExecSpace& exec, const StepContext& step,
                        const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  struct Memory;
  Memory memory_of(const StepContext& step, const LayerArrays& arrays) const;
  NormFunction function(const StepContext& step, const Memory& memory,
                        const LayerArrays& arrays) const;
  bool is_per_block() const { return statistics_ == Statistics::block; }
  bool takes_running() const { return statistics_ == Statistics::running; }

  // Of a training step: from the blocks' statistics to `sets` and to the statistics that the
  // running averages take; of blocks these stay in `shares`.
  void take_global_statistics(const ExecSpace& exec, const StepContext& step, Memory& memory) const;
  void take_block_statistics(const ExecSpace& exec, const StepContext& step, Memory& memory) const;
  NormGradient input_gradient_sets(const ExecSpace& exec, const StepContext& step, Memory& memory,
                                   const NormSets& sets) const;

  const BatchNormKernels& kernels_;
  int channels_;
  int pixels_;
  bool can_round_;
  bool rounds_;          // reads images as bfloat16
  std::int64_t padded_;  // channels in whole groups of lanes
  float eps_;
  float momentum_;
  Statistics statistics_;
  Training training_;  // of scale and shift
  bool with_relu_ = false;
  bool with_add_ = false;
  bool with_relu_of_sum_ = false;
  std::int64_t frozen_ = 0;        // where the block's frozen tensors begin, if these are such
  std::int64_t weight_ = 0;        // offset of scale, if frozen from there; shift follows
  std::int64_t buffers_ = 0;       // of running mean and variance, from first_buffer_ on
  std::int64_t first_buffer_ = 0;  // offset of the block's buffers
};

}  // namespace quern
