// SPDX-License-Identifier: Apache-2.0
#include "linalg/host/block_sum.hpp"

#include "base/ceil_div.hpp"
#include "linalg/host/simd.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

// Columns of one work item: four vector registers on the widest processors.
constexpr int kColumnChunk = 64;

/// Sums Width columns over all rows, or values.columns where Width is 0: full chunks have a width
/// that the compiler knows.
template <int Width>
struct ColumnSum {
  const BlockSchedule& schedule;
  ConstMatrix values;
  float* sums;
  std::int64_t partial_stride;

  static constexpr int kGroups = Width == 0 ? 1 : Width / kLanes;

  int columns() const { return Width == 0 ? values.columns : Width; }

  void add_block(int block, float* sum) const {
    const float* rows = values.data + std::int64_t{block} * schedule.block_rows * values.stride;
    int c = 0;
    for (; c + kGroups * kLanes <= columns(); c += kGroups * kLanes) add_vectors(rows, c, sum);
    for (; c < columns(); ++c) {
      const float* value = rows + values.place(0, c);
      sum[c] = 0;
      for (int s = 0; s < schedule.block_rows; ++s, value += values.stride) sum[c] += *value;
    }
  }

  void add_vectors(const float* rows, int c, float* sum) const {
    const float* row = rows + values.place(0, c);
    simd::Vector total[kGroups] = {};
    for (int s = 0; s < schedule.block_rows; ++s, row += values.stride)
      for (int g = 0; g < kGroups; ++g) total[g] += simd::load(row + g * values.panel);
    for (int g = 0; g < kGroups; ++g) simd::store(sum + c + g * kLanes, total[g]);
  }

  void operator()() const {
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
                    const ConstMatrix& values, const GradientSums& partial_sums,
                    std::int64_t offset) {
  float* target = partial_sums.data.data() + offset;
  const std::int64_t stride = partial_sums.stride;
  // Kernels of the host are complete when their launch returns. Copies of views would be counted.
  quern::parallel_for(label, RangePolicy(exec, 0, ceil_div(values.columns, kColumnChunk)),
                      [&](std::int64_t chunk) {
                        const int first = static_cast<int>(chunk) * kColumnChunk;
                        ConstMatrix part = values;
                        part.data += values.place(0, first);
                        part.columns = values.columns - first;
                        if (part.columns >= kColumnChunk)
                          ColumnSum<kColumnChunk>{schedule, part, target + first, stride}();
                        else
                          ColumnSum<0>{schedule, part, target + first, stride}();
                      });
}

}  // namespace quern::host
