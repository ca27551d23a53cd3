// SPDX-License-Identifier: Apache-2.0
#include "linalg/block_sum.hpp"

#include "base/assert.hpp"
#include "linalg/device/block_sum.hpp"
#include "linalg/host/block_sum.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const ConstFloatView& values, std::int64_t slot_stride, std::int64_t columns,
                    const GradientPartials& partials, std::int64_t offset) {
  if (schedule.num_blocks == 0) return;
  expect(columns <= slot_stride, "columns inside a slot");
  expect(
      (schedule.slots() - 1) * slot_stride + columns <= static_cast<std::int64_t>(values.extent(0)),
      "values of every slot");
  expect((schedule.num_partials - 1) * partials.stride + offset + columns <=
             static_cast<std::int64_t>(partials.data.extent(0)),
         "room for the partials");
  if (runs_device_kernels()) {
    device::block_tree_sum(exec, label, schedule, values, slot_stride, columns, partials, offset);
  } else if constexpr (kHostExecution) {
    host::block_tree_sum(exec, label, schedule, values, slot_stride, columns, partials, offset);
  }
}

}  // namespace quern
