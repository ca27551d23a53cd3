// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "bench/kernel_cost.hpp"
#include "network/network.hpp"

namespace quern {

struct NamedLayerInfo {
  std::string name;
  LayerInfo info;
};

/// The layer of `network` in whose region a kernel ran, also one without a `Layer` (add, flatten):
/// gradients of its input may be added there. None for other regions, and for conversions, of
/// which several share a region.
std::optional<NamedLayerInfo> layer_of_region(const Network& network, const std::string& region);

}  // namespace quern
