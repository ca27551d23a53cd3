// SPDX-License-Identifier: Apache-2.0
// The networks of a pipeline's stages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loss/loss.hpp"
#include "network/network.hpp"
#include "spec/recipe.hpp"
#include "strategy/pipeline_order.hpp"
#include "strategy/stage_exchange.hpp"

namespace quern {

/// What every rank knows of a stage.
struct StageInfo {
  std::string first_layer;
  std::string last_layer;
  std::int64_t parameters = 0;
  std::int64_t training_macs = 0;  ///< of one sample
  /// What comes in: the samples, or what the stage before puts out.
  Shape input;
  Layout input_layout = Layout::nc;
  bool wants_gradient = false;  ///< it hands the gradient of that back
};

struct StageNetworks {
  std::vector<Network> whole;  ///< one, where the network is split; nothing computes with it
  std::vector<Network> own;    ///< one
  /// The name table of one rank that has all of it, where that is not the whole network's: layers
  /// are cut into slices.
  std::optional<ParameterTable> unsplit;
  std::vector<StageInfo> stages;
  int row_multiple = 1;  ///< of all
};

/// Each stage puts out what the next one takes in, in its layout; `loss` follows the last. All are
/// built, so that every rank knows where it stands; layers are cut into `slices`. InputError as
/// cut_network().
StageNetworks build_stages(const Recipe& recipe, const KernelChoice& kernels, const Loss& loss,
                           const StagePlace& place, const TensorSlices& slices);

/// What crosses at the borders of a stage, for pieces of at most `max_rows` rows.
CrossingFloats crossing_floats(const std::vector<StageInfo>& stages, int stage, int max_rows);

}  // namespace quern
