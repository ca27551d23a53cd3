// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategy/model.hpp"

namespace quern {

/// What comes of parallel.tensor and parallel.tensor_slices, for people.
struct TensorPlan {
  TensorSlices slices;
  std::vector<std::string> split;  ///< the layers that are cut, by name
  std::vector<std::string> whole;  ///< others with parameters
  std::int64_t parameters = 0;     ///< on this rank
  /// By each rank in a step: of an array that is gathered the share (R - 1) / R, of one that is
  /// summed twice that, with R ranks.
  std::int64_t sent_bytes = 0;
};

/// Of this rank's stage, in steps of `rows` rows.
TensorPlan tensor_plan(const Model& model, int rows);

}  // namespace quern
