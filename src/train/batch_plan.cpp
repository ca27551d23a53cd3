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

namespace {

struct SlotAssignment {
  std::int64_t block_slots;
  std::int64_t block_samples;
  std::int64_t first_sample;
  std::int64_t num_samples;
  std::int64_t num_slots;
  std::int64_t data_count;
  bool shuffle;
  StepScalarsView scalars;
  View<std::int64_t> sample_of_slot;

  /// Place in the epoch of the sample in this slot, or -1.
  KOKKOS_INLINE_FUNCTION std::int64_t position(std::int64_t slot) const {
    const std::int64_t place = slot % block_slots;
    const std::int64_t mine = slot / block_slots * block_samples + place;
    if (slot >= num_slots || place >= block_samples || mine >= num_samples) return -1;
    return scalars().cursor + first_sample + mine;
  }

  /// One slot on a device, Permutation::kWidth slots on a CPU.
  static constexpr int kSlots = kHostExecution ? Permutation::kWidth : 1;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t positions[kSlots];
    std::int64_t samples[kSlots];
    for (int i = 0; i < kSlots; ++i) {
      const std::int64_t at = position(item * kSlots + i);
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
    for (int i = 0; i < kSlots; ++i) {
      const std::int64_t slot = item * kSlots + i;
      if (slot < num_slots) sample_of_slot(slot) = position(slot) < 0 ? -1 : samples[i];
    }
  }
};

}  // namespace

void assign_slots(const ExecSpace& exec, const BatchPlan& plan, std::int64_t data_count,
                  bool shuffle, const StepScalarsView& scalars,
                  const View<std::int64_t>& sample_of_slot) {
  const SlotAssignment assignment{plan.schedule.block_slots,
                                  plan.partition.block_size(),
                                  plan.first_sample,
                                  plan.num_samples,
                                  plan.slots(),
                                  data_count,
                                  shuffle,
                                  scalars,
                                  sample_of_slot};
  constexpr int width = SlotAssignment::kSlots;
  Kokkos::parallel_for("quern::train::assign_slots",
                       RangePolicy(exec, 0, (plan.slots() + width - 1) / width), assignment);
}

}  // namespace quern
