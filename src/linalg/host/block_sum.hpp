// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "linalg/block_schedule.hpp"
#include "linalg/matrix.hpp"

namespace quern::host {

/// linalg/block_sum.hpp on a CPU: a work item sums some neighbouring columns.
void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const ConstMatrix& values, const GradientSums& partial_sums,
                    std::int64_t offset);

}  // namespace quern::host
