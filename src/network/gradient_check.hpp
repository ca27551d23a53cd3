// SPDX-License-Identifier: Apache-2.0
// Does a layer's backward fit its forward?
#pragma once

#include "layers/layer.hpp"

namespace quern {

/// The largest difference between what `layer.backward` says and the central difference of
/// sum(r y), r random, through `layer.forward`, relative to 1 + |derivative|: over inputs and
/// parameters of a few samples in two micro-blocks, one of them short. Of parameters with dx and
/// without, as in the first layer of a network: Error where backward writes dx although it is
/// empty. Kernels compute in float, so that 1e-3 is agreement where the function bends little; a
/// kink (ReLU) within a step of an input shows. Kokkos must be running. `layer` must not have been
/// set up, and is for nothing else afterwards.
double gradient_error(Layer& layer);

}  // namespace quern
