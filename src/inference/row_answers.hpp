// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/model.hpp"

namespace quern {

/// The label of each row [rows] of the batch that `model` works on; -1 in an empty row. `samples`
/// come with labels. Waits for what is on `exec`.
std::vector<std::int32_t> labels_of_rows(const ExecSpace& exec, const Model& model,
                                         const Samples& samples, int rows);

/// The targets of each row [rows, target units] as they come with the samples; 0 in an empty row.
/// `samples` come with targets. Waits for what is on `exec`.
std::vector<float> targets_of_rows(const ExecSpace& exec, const Model& model,
                                   const Samples& samples, int rows);

}  // namespace quern
