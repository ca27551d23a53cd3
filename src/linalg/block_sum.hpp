// SPDX-License-Identifier: Apache-2.0
// Sums over samples in the order of the fixed tree.
#pragma once

#include <string>

#include "linalg/block_schedule.hpp"
#include "linalg/matrix.hpp"
#include "tensor/activation.hpp"

namespace quern {

/// Sums the columns of values [slots, columns], in rows or in panels, over slots: overwrites
///   partials.data[p * partials.stride + offset + c] = sum of values(s, c) over the slots s of
///   partial p.
/// The slots of a block are added one by one in slot order, blocks in the order of the schedule;
/// no other order is ever used, so the bits depend neither on threads nor on ranks. Empty slots
/// must hold zeros. `label` names the kernel.
void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const ConstMatrix& values, const GradientPartials& partials,
                    std::int64_t offset);

/// The same over an activation in rows or panels, one column a unit. It may have more slots than
/// the schedule: only those of the schedule count.
void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const Activation& values, const GradientPartials& partials,
                    std::int64_t offset);

}  // namespace quern
