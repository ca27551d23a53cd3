// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "layers/sliced_layer.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// The layer that `spec` describes, for inputs of shape `input`. `index` is its place in the
/// network (the stream of its random numbers). InputError with layer and shapes when they do not
/// fit or are too large to index. Not for flatten, add and concat, which have no layer. `choice`:
/// of its kernels.
std::unique_ptr<Layer> build_layer(const LayerSpec& spec, const Shape& input, int index,
                                   const KernelChoice& choice = {});

/// The convolution that `spec` describes, which computes only the top left part `output` of its
/// outputs.
std::unique_ptr<Layer> build_part_of_conv2d(const LayerSpec& spec, const Shape& input,
                                            const Shape& output, const KernelChoice& choice = {});

/// The linear or conv2d layer that `spec` describes cut into slices, of which this rank has its
/// own, with the top left part `output` of its outputs. Null for other layers, and for those with
/// fewer units than can be cut: 16 a slice of a linear layer, one channel of a convolution.
std::unique_ptr<Layer> build_sliced_layer(const LayerSpec& spec, const Shape& input,
                                          const Shape& output, const TensorSlices& slices,
                                          const KernelChoice& choice = {});

/// "layer 'fc1' (linear, recipe line 12)"
std::string describe(const LayerSpec& spec);

}  // namespace quern
