// SPDX-License-Identifier: Apache-2.0
// The computations of a network in a row, and what passes between them. Part of network.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layers/layer.hpp"

namespace quern {

/// One computation: a layer, or a change of layout where `layer` is null.
struct Op {
  std::unique_ptr<Layer> layer;
  std::string region;
  Activation x, y, dy, dx;
  std::int64_t full_macs = 0;
  std::int64_t first_parameter = -1;  // where the layer's tensors begin; -1: it has none
  bool in_place = false;
  bool is_relu = false;
  bool forward_fused = false;   // a layer before computes it (ReLU, pool)
  bool backward_fused = false;  // another op does it: a ReLU's the next layer or the
                                // loss, a pool's the convolution before it
};

/// The region in which a profiler sees the kernels of a layer, in both directions.
inline std::string region_of_layer(const std::string& name) {
  return "quern::network::" + name;
}

/// Ops in order, with shapes and layouts; allocate_buffers() of op_buffers.hpp adds the data.
struct Ops {
  std::vector<Op> all;
  Activation input;   // of the first op: the batch
  Activation output;  // of the last op
  bool uses_nchw16n = false;

  /// A layer, after a change of layout where it wants another one; in place where it can be.
  void append(std::unique_ptr<Layer> layer);
  /// Only gives the units another shape; out of nchw16n they have to come first.
  void append_flatten();
  /// In front of the first layer the batch itself is gathered in this layout.
  void append_conversion(Layout to);
};

}  // namespace quern
