// SPDX-License-Identifier: Apache-2.0
// What a kernel has to do at least, told by its label: useful arithmetic and compulsory traffic
// (every array it needs, once). Of a kernel that does more the rates come out lower: that is meant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.hpp"

namespace quern {

struct KernelCost {
  double flop = 0;           ///< of products; 0 where arithmetic does not count
  double bytes = 0;          ///< moved; 0 when it is not known
  double working_set = 0;    ///< of the arrays that they lie in: less where one is read and written
  double gathered = 0;       ///< of `bytes`: rows from anywhere in an array besides the working set
  double gathered_from = 0;  ///< bytes of that array
  bool on_tiles = false;     ///< are operands of the products rounded to bf16, in tiles?
};

/// The labels of all kernels whose cost is known, or is known not to count. Of any other kernel the
/// functions below say nothing: KernelCost{}.
std::vector<std::string> kernels_with_declared_cost();

/// Of a value of each of a layer's arrays: floats, but for images of bfloat16.
struct ValueBytes {
  int x = 4;
  int dx = 4;
  int y = 4;
  int dy = 4;
};

struct LayerInfo {
  Shape input;
  Shape output;
  std::int64_t macs = 0;     ///< of one sample
  std::int64_t weights = 0;  ///< parameters of the layer
  int forward_passes = 1;    ///< of a step: 2 where y is computed again (train.recompute)
  int inputs = 1;            ///< of a concat, with a call of its kernel for each
  ValueBytes bytes = {};
};

/// One call of a kernel of this layer for `samples` samples; of a product of the forward pass, all
/// calls of a step.
KernelCost layer_kernel_cost(const std::string& label, const LayerInfo& layer, int samples);

/// "128 x [784] -> [10]"
std::string layer_kernel_shape(const LayerInfo& layer, int samples);

struct StepInfo {
  Shape input;
  Shape output;
  std::int64_t parameters = 0;        ///< floats of the flat block
  std::int64_t data_set_samples = 0;  ///< that batches are gathered from
};

/// One call of a kernel of no layer: batch, loss, optimizer.
KernelCost step_kernel_cost(const std::string& label, const StepInfo& step, int samples);

/// What such a kernel works on: "128 x [10]", or a number of floats; "" when that is not known.
std::string step_kernel_shape(const std::string& label, const StepInfo& step, int samples);

}  // namespace quern
