// SPDX-License-Identifier: Apache-2.0
// How far inputs lie from what networks learn well from.
#pragma once

#include "comm/communicator.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// Collective. The largest absolute value among the samples; each rank looks at its share. 0 of
/// images, whose pixels are read as 0 to 1, and of streamed samples, which nobody reads for this.
double largest_input(Communicator& comm, const Samples& samples);

}  // namespace quern
