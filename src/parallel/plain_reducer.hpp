// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "parallel/gradient_reducer.hpp"
#include "parallel/owner_slices.hpp"

namespace quern {

/// determinism = "fast": the transport's own all-reduce over one partial sum per rank (a schedule
/// of the rank's own blocks: make_block_schedule(0, n, n, ...)), zeros from ranks without blocks.
/// The bits depend on the number of ranks. In place: `total` is the partial sum. With owners
/// everybody gets the sum all the same, and the owners hand on their slices of the parameters.
class PlainReducer final : public GradientReducer {
 public:
  PlainReducer(Communicator& comm, std::int64_t num_floats, std::int64_t num_sums = 0,
               const Updaters& updaters = {});

  ReducedGradient reduce(const ExecSpace& exec, ReductionPlan plan) override;
  std::vector<BlockRange> ranges_of(int rank) const override;
  bool spreads_state() const override { return owners_.has_value(); }
  void publish_update(const ExecSpace& exec, const FloatView& parameters) override;

 private:
  FloatView allocate_partial_sums() override { return allocate_private_partial_sums(); }

  std::optional<OwnerSlices> owners_;
};

}  // namespace quern
