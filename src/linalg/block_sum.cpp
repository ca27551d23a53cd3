// SPDX-License-Identifier: Apache-2.0
#include "linalg/block_sum.hpp"

#include "base/assert.hpp"
#include "linalg/device/block_sum.hpp"
#include "linalg/host/block_sum.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const ConstMatrix& values, const GradientPartials& partials,
                    std::int64_t offset) {
  if (schedule.num_blocks == 0) return;
  expect(values.rows >= schedule.slots(), "values of every slot");
  expect((schedule.num_partials - 1) * partials.stride + offset + values.columns <=
             static_cast<std::int64_t>(partials.data.extent(0)),
         "room for the partials");
  if (runs_device_kernels()) {
    expect(values.panel == kLanes, "values in rows, on a device");
    device::block_tree_sum(exec, label, schedule, values, partials, offset);
  } else if constexpr (kHostExecution) {
    host::block_tree_sum(exec, label, schedule, values, partials, offset);
  }
}

void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const Activation& values, const GradientPartials& partials,
                    std::int64_t offset) {
  expect(values.layout != Layout::lanes, "values in rows or panels");
  expect(values.size() <= static_cast<std::int64_t>(values.data.extent(0)),
         "memory of allocate_activation()");
  const bool panels = values.layout == Layout::panels;
  block_tree_sum(exec, label, schedule,
                 {values.data.data(), values.slots, values.shape.units(),
                  panels ? std::int64_t{kLanes} : std::int64_t{values.row_stride()},
                  panels ? values.panel_stride() : std::int64_t{kLanes}},
                 partials, offset);
}

}  // namespace quern
