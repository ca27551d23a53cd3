// SPDX-License-Identifier: Apache-2.0
#include "strategy/batch_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "dataset/permutation.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

// Of a rank's blocks [from, to), counted from its first.
BlockSchedule schedule_of(const BatchCut& cut, const BatchPartition& partition, int rank, int from,
                          int to) {
  const int block_rows = round_up(cut.block_samples, cut.row_multiple);
  const int first = partition.first_block(rank);
  // Fast mode: each rank adds its blocks in a tree of its own.
  BlockSchedule schedule =
      cut.sum_order() == SumOrder::ranks
          ? make_block_schedule(from, to, std::max(1, partition.num_blocks(rank)), block_rows)
          : make_block_schedule(first + from, first + to, partition.num_blocks(), block_rows);
  schedule.block_samples = cut.block_samples;
  const int before = (first + to - 1) * cut.block_samples;
  schedule.last_samples = std::min(cut.block_samples, partition.samples() - before);
  return schedule;
}

}  // namespace

BatchPlan make_batch_plan(const BatchCut& cut, int samples, int rank, int num_ranks) {
  return make_batch_plan(cut, BatchPartition(samples, cut.block_samples, num_ranks), rank);
}

BatchPlan make_batch_plan(const BatchCut& cut, const BatchPartition& partition, int rank) {
  if (partition.num_blocks() > BlockSchedule::kMaxBlocks) {
    throw InputError("train.micro_block = " + std::to_string(cut.block_samples) +
                     " cuts a batch of " + std::to_string(partition.samples()) + " samples into " +
                     std::to_string(partition.num_blocks()) + " blocks, expected at most " +
                     std::to_string(BlockSchedule::kMaxBlocks) +
                     " (raise train.micro_block or take a smaller batch)");
  }
  return {partition, schedule_of(cut, partition, rank, 0, partition.num_blocks(rank)),
          partition.first_sample(rank), partition.num_samples(rank), cut.micro_batches};
}

std::vector<BatchPiece> make_batch_pieces(const BatchCut& cut, const BatchPlan& whole, int rank) {
  std::vector<PieceSums> sums =
      cut_share(cut.sum_order(), whole.partition, rank, cut.micro_batches);
  to_kernels(sums);
  std::vector<BatchPiece> pieces;
  for (PieceSums& piece : sums) {
    BatchPlan plan = whole;
    if (sums.size() > 1) {
      plan.schedule = schedule_of(cut, whole.partition, rank, piece.first_block, piece.last_block);
      const int begin = piece.first_block * cut.block_samples;
      const int end = std::min(piece.last_block * cut.block_samples, whole.num_samples);
      plan.first_sample = whole.first_sample + begin;
      plan.num_samples = end - begin;
    }
    pieces.push_back({std::move(plan), std::move(piece)});
  }
  return pieces;
}

int most_piece_sums(const BatchCut& cut, const BatchPartition& partition) {
  return quern::most_piece_sums(cut.sum_order(), partition, cut.micro_batches);
}

namespace {

struct RowAssignment {
  std::int64_t block_rows;
  std::int64_t block_samples;
  std::int64_t first_sample;
  std::int64_t num_samples;
  std::int64_t num_rows;
  SampleOrder order;
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
    bool is_empty[kRows];
    std::int64_t positions[kRows];
    std::int64_t samples[kRows];
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t at = position(item * kRows + i);
      is_empty[i] = at < 0;
      positions[i] = is_empty[i] ? 0 : at;
      samples[i] = positions[i];
    }
    if (order.shuffle) {
      const Permutation permutation(scalars().seed, static_cast<std::uint32_t>(scalars().epoch),
                                    order.count);
      if constexpr (kHostExecution)
        permutation.map(positions, samples);
      else
        samples[0] = permutation(positions[0]);
    }
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t row = item * kRows + i;
      if (row < num_rows) sample_of_row(row) = is_empty[i] ? -1 : samples[i];
    }
  }
};

/// The same out of windows.
struct WindowAssignment {
  RowAssignment rows;
  WindowPlan windows;
  WindowBuffers buffers;
  View<std::int64_t> place_of_row;

  static constexpr int kRows = RowAssignment::kRows;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const StepScalars& scalars = rows.scalars();
    const WindowOrder order(windows, scalars.seed, static_cast<std::uint32_t>(scalars.epoch));
    bool is_empty[kRows];
    std::int64_t positions[kRows];
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t at = rows.position(item * kRows + i);
      is_empty[i] = at < 0;
      positions[i] = is_empty[i] ? 0 : at;
    }
    WindowPlace places[kRows];
    std::int64_t samples[kRows];
    if constexpr (kHostExecution) {
      order.map(positions, places, samples);
    } else {
      places[0] = order.place(positions[0]);
      samples[0] = order.sample(places[0]);
    }
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t row = item * kRows + i;
      if (row >= rows.num_rows) break;
      rows.sample_of_row(row) = is_empty[i] ? -1 : samples[i];
      if (place_of_row.extent(0) > 0) {
        place_of_row(row) =
            is_empty[i] ? -1 : buffers.at(windows, scalars.epoch, positions[i], places[i]);
      }
    }
  }
};

}  // namespace

void assign_rows(const ExecSpace& exec, const BatchPlan& plan, const SampleOrder& order,
                 const StepScalarsView& scalars, const View<std::int64_t>& sample_of_row,
                 const View<std::int64_t>& place_of_row) {
  const RowAssignment assignment{plan.schedule.block_rows,
                                 plan.partition.block_size(),
                                 plan.first_sample,
                                 plan.num_samples,
                                 plan.rows(),
                                 order,
                                 scalars,
                                 sample_of_row};
  const std::string label = "quern::strategy::assign_rows";
  const RangePolicy items(exec, 0, ceil_div(plan.rows(), RowAssignment::kRows));
  if (order.windows.is_active()) {
    quern::parallel_for(label, items,
                        WindowAssignment{assignment, order.windows, order.buffers, place_of_row});
    return;
  }
  quern::parallel_for(label, items, assignment);
}

}  // namespace quern
