// SPDX-License-Identifier: Apache-2.0
#include "linalg/host/block_sum.hpp"

namespace quern::host {

namespace {

// Columns of one work item: four vector registers on the widest processors.
constexpr int kColumnChunk = 64;

/// Sums Width columns over all slots, or `width` columns where Width is 0: full chunks have a width
/// that the compiler knows.
template <int Width>
struct ColumnSum {
  BlockSchedule schedule;
  const float* values;
  std::int64_t slot_stride;
  float* sums;
  std::int64_t partial_stride;
  int width;

  KOKKOS_INLINE_FUNCTION int columns() const { return Width == 0 ? width : Width; }

  KOKKOS_INLINE_FUNCTION void add_block(int block, float* sum) const {
    const float* row = values + std::int64_t{block} * schedule.block_slots * slot_stride;
    for (int c = 0; c < columns(); ++c) sum[c] = 0;
    for (int s = 0; s < schedule.block_slots; ++s, row += slot_stride)
      for (int c = 0; c < columns(); ++c) sum[c] += row[c];
  }

  KOKKOS_INLINE_FUNCTION void operator()() const {
    float stack[BlockSchedule::kMaxDepth][kColumnChunk];
    int depth = 0;
    for (int block = 0; block < schedule.num_blocks; ++block) {
      add_block(block, stack[depth++]);
      for (int merge = schedule.merges(block); merge > 0; --merge, --depth)
        for (int c = 0; c < columns(); ++c) stack[depth - 2][c] += stack[depth - 1][c];
    }
    for (int p = 0; p < depth; ++p)
      for (int c = 0; c < columns(); ++c) sums[p * partial_stride + c] = stack[p][c];
  }
};

}  // namespace

void block_tree_sum(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                    const ConstFloatView& values, std::int64_t slot_stride, std::int64_t columns,
                    const GradientPartials& partials, std::int64_t offset) {
  const float* source = values.data();
  float* target = partials.data.data() + offset;
  const std::int64_t stride = partials.stride;
  Kokkos::parallel_for(
      label, RangePolicy(exec, 0, (columns + kColumnChunk - 1) / kColumnChunk),
      KOKKOS_LAMBDA(std::int64_t chunk) {
        const std::int64_t c = chunk * kColumnChunk;
        const std::int64_t left = columns - c;
        const int width = static_cast<int>(left < kColumnChunk ? left : kColumnChunk);
        if (width == kColumnChunk)
          ColumnSum<kColumnChunk>{schedule, source + c, slot_stride, target + c, stride, width}();
        else
          ColumnSum<0>{schedule, source + c, slot_stride, target + c, stride, width}();
      });
}

}  // namespace quern::host
