// SPDX-License-Identifier: Apache-2.0
// Sums over the whole global batch that a layer needs in the middle of a pass. Layers know nothing
// of ranks: whoever runs a step hands them this.
#pragma once

#include "linalg/block_schedule.hpp"

namespace quern {

/// Collective: all ranks ask for the same sums in the same order. For each sum, write the partial
/// sums of the schedule's blocks to partial_sums(count), then add(exec, count).
class BatchSums {
 public:
  virtual ~BatchSums() = default;

  /// Where this rank writes its partial sums of `count` floats.
  virtual GradientSums partial_sums(std::int64_t count) = 0;

  /// The `count` floats added over all ranks, in the order of the fixed tree; equal everywhere.
  /// What follows on `exec` sees it, until add() is called again with the same count.
  virtual ConstFloatView add(const ExecSpace& exec, std::int64_t count) = 0;

  /// Does this rank own the first block of the batch? One rank does.
  virtual bool owns_first_block() const = 0;
};

/// Of one rank alone, in memory of the caller's: what its schedule hands on is added from left to
/// right. For a layer outside of a training run, such as in a check of its gradients.
class OwnSums final : public BatchSums {
 public:
  /// Floats of memory for sums of up to `count` floats.
  static std::int64_t memory_floats(std::int64_t count) {
    return (BlockSchedule::kMaxDepth + 2) * count;
  }

  OwnSums(const BlockSchedule& schedule, const FloatView& memory)
      : num_partial_sums_(schedule.num_partial_sums), memory_(memory) {}

  GradientSums partial_sums(std::int64_t count) override;
  /// Until it is called again with any count.
  ConstFloatView add(const ExecSpace& exec, std::int64_t count) override;
  bool owns_first_block() const override { return true; }

 private:
  int num_partial_sums_;
  FloatView memory_;
};

}  // namespace quern
