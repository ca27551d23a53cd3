// SPDX-License-Identifier: Apache-2.0
// The computations of a network in a row, and what passes between them. Part of network.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layers/layer.hpp"

namespace quern {

/// One computation: a layer, or a change of layout where `layer` is null.
struct Stage {
  std::unique_ptr<Layer> layer;
  std::string region;
  Activation x, y, dy, dx;
  std::int64_t full_macs = 0;
  std::int64_t first_parameter = -1;  // where the layer's tensors begin; -1: it has none
  bool in_place = false;
  bool is_relu = false;
  bool forward_fused = false;   // a layer before computes it (ReLU, pool)
  bool backward_fused = false;  // somebody else's: a ReLU's slope the layer's or the loss's
                                // behind it, a pool's the convolution's before it
};

/// The region in which a profiler sees the kernels of a layer, in both directions.
inline std::string region_of_layer(const std::string& name) {
  return "quern::network::" + name;
}

/// Stages in order, with shapes and layouts; allocate_buffers() of stage_buffers.hpp adds the data.
struct Stages {
  std::vector<Stage> all;
  Activation input;   // of the first stage: the batch
  Activation output;  // of the last stage
  bool use_lanes = false;

  /// A layer, behind a change of layout where it wants another one; in place where it can be.
  void append(std::unique_ptr<Layer> layer);
  /// Only gives the units another shape; out of lanes they have to come first.
  void append_flatten();
  /// In front of the first layer the batch itself is gathered in this layout.
  void append_conversion(Layout to);
};

}  // namespace quern
