// SPDX-License-Identifier: Apache-2.0
// From the list of layers in a recipe to the graph of a network.
#pragma once

#include "layers/sliced_layer.hpp"
#include "network/graph.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// The graph of `spec` in the shapes that have to be computed: where a pool leaves the last rows or
/// columns of its input unread, the convolution in front of it does without them (LeNet on 28 x 28:
/// a fifth of all work). Bits do not change by it. InputError with layers and shapes where an input
/// is unknown or comes later, where shapes do not fit, where no layer reads an output, or where
/// something is larger than kernels can index. Layers take the kernels of `choice`.
Graph build_graph(const NetworkSpec& spec, const KernelChoice& choice = {});

/// Layers [first, last) of a network.
struct LayerRange {
  int first = 0;
  int last = 0;
  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};

/// The graph of these layers alone, in the shapes that they have in the whole, which build_graph()
/// accepts. A single value comes into them (see cut.hpp): its batch, which wants a gradient if
/// anything before it is trained. `slices`: its layers are cut so (build_sliced_layer()); with fp32
/// only.
Graph build_graph(const NetworkSpec& spec, const KernelChoice& choice, const LayerRange& part,
                  const TensorSlices& slices = {});

}  // namespace quern
