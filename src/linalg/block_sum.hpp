// SPDX-License-Identifier: Apache-2.0
// Sums over samples in the order of the fixed tree.
#pragma once

#include <string>

#include "linalg/block_schedule.hpp"

namespace quern {

/// Sums columns over slots: with v(s, c) = values[s * slot_stride + c], c < columns, overwrites
///   partials.data[p * partials.stride + offset + c] = sum of v(s, c) over the slots s of partial
///   p.
/// The slots of a block are added one by one in slot order, blocks in the order of the schedule;
/// no other order is ever used, so the bits depend neither on threads nor on ranks. Empty slots
/// must hold zeros. `label` names the kernel.
void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const ConstFloatView& values, std::int64_t slot_stride, std::int64_t columns,
                    const GradientPartials& partials, std::int64_t offset);

}  // namespace quern
