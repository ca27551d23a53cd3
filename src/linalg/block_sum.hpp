// SPDX-License-Identifier: Apache-2.0
// Sums over samples in the order of the fixed tree.
#pragma once

#include <string>

#include "linalg/block_schedule.hpp"
#include "linalg/matrix.hpp"
#include "tensor/activation.hpp"

namespace quern {

/// Sums the columns of values [rows, columns], row-major or in panels, over rows: overwrites
///   partial_sums.data[p * partial_sums.stride + offset + c] = sum of values(s, c) over the rows s
///   of partial sum p.
/// The rows of a block are added one by one in row order, blocks in the order of the schedule;
/// no other order is ever used, so the bits depend neither on threads nor on ranks. Empty rows
/// must hold zeros. `label` names the kernel.
void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const ConstMatrix& values, const GradientSums& partial_sums,
                    std::int64_t offset);

/// The same over an activation in nc or cn16c, one column a unit. It may have more rows than
/// the schedule: only those of the schedule count.
void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const Activation& values, const GradientSums& partial_sums,
                    std::int64_t offset);

/// The same over rows [num_blocks, floats] of sums, one for each micro-block of the schedule.
void add_block_rows(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const float* rows, std::int64_t floats, const GradientSums& partial_sums,
                    std::int64_t offset);

}  // namespace quern
