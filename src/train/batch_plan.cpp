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
  const int block_slots =
      (cut.block_samples + cut.slot_multiple - 1) / cut.slot_multiple * cut.slot_multiple;
  const int first = partition.first_block(rank);
  const int last = partition.last_block(rank);
  BatchPlan plan{partition, {}, partition.first_sample(rank), partition.num_samples(rank)};
  // Fast mode: each rank adds its blocks in a tree of its own.
  plan.schedule = cut.determinism == Determinism::fast
                      ? make_block_schedule(0, last - first, std::max(1, last - first), block_slots)
                      : make_block_schedule(first, last, partition.num_blocks(), block_slots);
  return plan;
}

void assign_slots(const ExecSpace& exec, const BatchPlan& plan, std::int64_t data_count,
                  bool shuffle, const StepScalarsView& scalars,
                  const View<std::int64_t>& sample_of_slot) {
  const std::int64_t block_slots = plan.schedule.block_slots;
  const std::int64_t block_samples = plan.partition.block_size();
  const std::int64_t first = plan.first_sample;
  const std::int64_t count = plan.num_samples;
  Kokkos::parallel_for(
      "quern::train::assign_slots", RangePolicy(exec, 0, plan.slots()),
      KOKKOS_LAMBDA(std::int64_t slot) {
        const std::int64_t place = slot % block_slots;
        const std::int64_t mine = slot / block_slots * block_samples + place;
        if (place >= block_samples || mine >= count) {
          sample_of_slot(slot) = -1;
          return;
        }
        const std::int64_t position = scalars().cursor + first + mine;
        const auto epoch = static_cast<std::uint32_t>(scalars().epoch);
        sample_of_slot(slot) =
            shuffle ? Permutation(scalars().seed, epoch, data_count)(position) : position;
      });
}

}  // namespace quern
