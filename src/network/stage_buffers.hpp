// SPDX-License-Identifier: Apache-2.0
// The buffers in which activations and their gradients lie.
#pragma once

#include <cstdint>

#include "network/stages.hpp"

namespace quern {

/// Allocates activations for at most `max_slots` slots, the two buffers between which gradients
/// walk backward, and the workspace that layers share. Returns the gradient of the output. Stages
/// below the first one with parameters keep empty gradients: nobody needs them.
Activation allocate_buffers(Stages& stages, int max_slots);

/// Bytes that allocate_buffers(max_slots) allocates, those of the layers' own buffers included.
std::int64_t buffer_bytes(const Stages& stages, int max_slots);

}  // namespace quern
