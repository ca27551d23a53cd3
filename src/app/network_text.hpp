// SPDX-License-Identifier: Apache-2.0
// The graph of a network as a table. (Apart from the commands, because fmt and Kokkos do not mix.)
#pragma once

#include <string>

#include "network/summary.hpp"

namespace quern {

/// A line for each layer: its inputs where they are not the layer before, shape, parameters,
/// multiply-adds and memory of one sample; then the sums. No line feed at the end.
std::string network_text(const NetworkSummary& network);

}  // namespace quern
