// SPDX-License-Identifier: Apache-2.0
// The buffers in which activations and their gradients lie.
#pragma once

#include <cstdint>

#include "network/ops.hpp"

namespace quern {

/// Allocates activations for at most `max_rows` rows, the two buffers between which gradients
/// alternate in backward, and the workspace that layers share. Returns the gradient of the output.
/// Ops below the first one with parameters keep empty gradients: nobody needs them.
Activation allocate_buffers(Ops& ops, int max_rows);

/// Bytes that allocate_buffers(max_rows) allocates, those of the layers' own buffers included.
std::int64_t buffer_bytes(const Ops& ops, int max_rows);

}  // namespace quern
