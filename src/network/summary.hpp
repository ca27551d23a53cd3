// SPDX-License-Identifier: Apache-2.0
// A network layer by layer, for people. (No header of Kokkos here, so that text can be made of it.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.hpp"
#include "spec/network_spec.hpp"

namespace quern {

class Network;

struct LayerSummary {
  std::string name;
  std::string type;                 ///< the recipe's word
  std::vector<std::string> inputs;  ///< empty: the layer before
  Shape output;                     ///< all of it, read or not
  std::int64_t parameters = 0;
  bool is_frozen = false;  ///< they are not trained
  std::int64_t macs = 0;   ///< multiply-adds of the forward pass
  std::int64_t bytes = 0;  ///< that its output takes; 0: it shares the memory of another
};

/// Multiply-adds and bytes are those of one sample.
struct NetworkSummary {
  Shape input;
  std::int64_t input_bytes = 0;
  std::vector<LayerSummary> layers;
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
  std::int64_t activation_bytes = 0;  ///< of the input and of all layers
  /// Of these, what segments of the network use in turn (train.recompute); no layer has it alone.
  std::int64_t segment_bytes = 0;
  std::int64_t gradient_bytes = 0;  ///< of activations, which share a few buffers
};

/// `network` was built of `spec`.
NetworkSummary summarize(const NetworkSpec& spec, const Network& network);

}  // namespace quern
