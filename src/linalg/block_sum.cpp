// SPDX-License-Identifier: Apache-2.0
#include "linalg/block_sum.hpp"

#include "base/assert.hpp"
#include "linalg/device/block_sum.hpp"
#include "linalg/host/block_sum.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const ConstMatrix& values, const GradientSums& partial_sums,
                    std::int64_t offset) {
  if (schedule.num_blocks == 0) return;
  expect(values.rows >= schedule.rows(), "values of every row");
  expect((schedule.num_partial_sums - 1) * partial_sums.stride + offset + values.columns <=
             static_cast<std::int64_t>(partial_sums.data.extent(0)),
         "room for the partial sums");
  const auto run = choose_kernels<decltype(device::block_tree_sum)>(
      {.host = host_set<host::block_tree_sum>(), .device = device::block_tree_sum});
  run(exec, label, schedule, values, partial_sums, offset);
}

void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const Activation& values, const GradientSums& partial_sums,
                    std::int64_t offset) {
  expect(values.layout != Layout::nchw16n, "values in nc or cn16c");
  expect(values.size() <= static_cast<std::int64_t>(values.data.extent(0)),
         "memory of allocate_activation()");
  const bool panels = values.layout == Layout::cn16c;
  block_tree_sum(exec, label, schedule,
                 {values.data.data(), values.rows, values.shape.units(),
                  panels ? std::int64_t{kLanes} : std::int64_t{values.row_stride()},
                  panels ? values.panel_stride() : std::int64_t{kLanes}},
                 partial_sums, offset);
}

void add_block_rows(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const float* rows, std::int64_t floats, const GradientSums& partial_sums,
                    std::int64_t offset) {
  BlockSchedule one_row = schedule;
  one_row.block_rows = 1;
  block_tree_sum(exec, label, one_row,
                 {rows, schedule.num_blocks, static_cast<int>(floats), floats}, partial_sums,
                 offset);
}

}  // namespace quern
