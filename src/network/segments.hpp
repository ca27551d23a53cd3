// SPDX-License-Identifier: Apache-2.0
// Activation recomputation, also called gradient checkpointing: the nodes are cut into segments.
// Only values that a later segment reads are kept; the backward pass of a segment begins with its
// forward pass again. Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016.
#pragma once

#include <vector>

#include "network/fusion.hpp"
#include "network/graph.hpp"

namespace quern {

/// Cuts the nodes so that the values that are kept, and those of the largest segment, which the
/// segments hold in the same memory one after the other, take little memory together. No cut parts
/// nodes that write to the same buffer. One segment where cutting does not help. It does not depend
/// on the number of rows.
std::vector<NodeRange> cut_into_segments(const Graph& graph, const Fusion& fusion);

}  // namespace quern
