// SPDX-License-Identifier: Apache-2.0
#include "train/batch_plan.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "dataset/permutation.hpp"

namespace quern {

BatchPlan make_batch_plan(const BatchCut& cut, int samples, int rank, int num_ranks) {
  const BatchPartition partition(samples, cut.block_samples, num_ranks);
  if (partition.num_blocks() > BlockSchedule::kMaxBlocks) {
    throw InputError("train.micro_block = " + std::to_string(cut.block_samples) +
                     " cuts a batch of " + std::to_string(samples) + " samples into " +
                     std::to_string(partition.num_blocks()) + " blocks, expected at most " +
                     std::to_string(BlockSchedule::kMaxBlocks) +
                     " (raise train.micro_block or take a smaller batch)");
  }
  const int block_rows =
      (cut.block_samples + cut.row_multiple - 1) / cut.row_multiple * cut.row_multiple;
  const int first = partition.first_block(rank);
  const int last = partition.last_block(rank);
  BatchPlan plan{partition, {}, partition.first_sample(rank), partition.num_samples(rank)};
  // Fast mode: each rank adds its blocks in a tree of its own.
  plan.schedule = cut.determinism == Determinism::fast
                      ? make_block_schedule(0, last - first, std::max(1, last - first), block_rows)
                      : make_block_schedule(first, last, partition.num_blocks(), block_rows);
  return plan;
}

namespace {

struct RowAssignment {
  std::int64_t block_rows;
  std::int64_t block_samples;
  std::int64_t first_sample;
  std::int64_t num_samples;
  std::int64_t num_rows;
  std::int64_t data_count;
  bool shuffle;
  StepScalarsView scalars;
  View<std::int64_t> sample_of_row;

  /// Place in the epoch of the sample in this row, or -1.
  KOKKOS_INLINE_FUNCTION std::int64_t position(std::int64_t row) const {
    const std::int64_t place = row % block_rows;
    const std::int64_t mine = row / block_rows * block_samples + place;
    if (row >= num_rows || place >= block_samples || mine >= num_samples) return -1;
    return scalars().cursor + first_sample + mine;
  }

  /// One row on a device, Permutation::kWidth rows on a CPU.
  static constexpr int kRows = kHostExecution ? Permutation::kWidth : 1;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t positions[kRows];
    std::int64_t samples[kRows];
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t at = position(item * kRows + i);
      positions[i] = at < 0 ? 0 : at;
      samples[i] = positions[i];
    }
    if (shuffle) {
      const Permutation permutation(scalars().seed, static_cast<std::uint32_t>(scalars().epoch),
                                    data_count);
      if constexpr (kHostExecution)
        permutation.map(positions, samples);
      else
        samples[0] = permutation(positions[0]);
    }
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t row = item * kRows + i;
      if (row < num_rows) sample_of_row(row) = position(row) < 0 ? -1 : samples[i];
    }
  }
};

}  // namespace

void assign_rows(const ExecSpace& exec, const BatchPlan& plan, std::int64_t data_count,
                 bool shuffle, const StepScalarsView& scalars,
                 const View<std::int64_t>& sample_of_row) {
  const RowAssignment assignment{plan.schedule.block_rows,
                                 plan.partition.block_size(),
                                 plan.first_sample,
                                 plan.num_samples,
                                 plan.rows(),
                                 data_count,
                                 shuffle,
                                 scalars,
                                 sample_of_row};
  constexpr int kWidth = RowAssignment::kRows;
  Kokkos::parallel_for("quern::train::assign_rows",
                       RangePolicy(exec, 0, (plan.rows() + kWidth - 1) / kWidth), assignment);
}

}  // namespace quern
