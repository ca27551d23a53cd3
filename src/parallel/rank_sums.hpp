// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "comm/device_transport.hpp"
#include "linalg/batch_sums.hpp"
#include "parallel/gradient_reducer.hpp"

namespace quern {

/// BatchSums over the ranks: the reducers of gradients, with few floats. Each size of sum has two
/// of them in turn. So nobody overwrites partial sums that another rank still reads: who asks for
/// the next sum of this size has seen all ranks arrive at the one before.
class RankSums final : public BatchSums {
 public:
  /// `counts`: floats of the sums that layers will ask for, in any order, with repetitions.
  /// Collective, as all that follows. `comm` and `transport` (see make_reducer) must outlive it.
  RankSums(Communicator& comm, DeviceTransport* transport, const std::vector<std::int64_t>& counts,
           SumOrder order);
  /// With other reducers: `make` gets the floats of a block, and how many of them at its end are
  /// sums.
  using MakeReducer = std::function<std::unique_ptr<GradientReducer>(std::int64_t num_floats,
                                                                     std::int64_t num_sums)>;
  RankSums(Communicator& comm, const std::vector<std::int64_t>& counts, const MakeReducer& make);

  /// GradientReducer::reserve().
  void reserve(int partial_sums);
  /// For a batch cut like this: at the same times as the reducer of the gradients, which gives the
  /// plan the same number (also where no layer asks for sums).
  ReductionPlan add_plan(const BatchPartition& partition);
  std::int64_t bytes() const;
  void allocate();
  /// GradientReducer::takes_later_plans().
  bool takes_later_plans() const;

  /// The plan of the sums that follow.
  void begin_batch(ReductionPlan plan) { plan_ = plan; }

  GradientSums partial_sums(std::int64_t count) override;
  ConstFloatView add(const ExecSpace& exec, std::int64_t count) override;
  bool owns_first_block() const override { return comm_.rank() == 0; }

  /// GradientReducer::is_capturable.
  bool is_capturable() const;

 private:
  struct Turns {
    std::array<std::unique_ptr<GradientReducer>, 2> reducers;
    std::size_t next = 0;
  };
  Turns& turns_of(std::int64_t count);

  Communicator& comm_;
  std::map<std::int64_t, Turns> turns_;
  int num_plans_ = 0;
  ReductionPlan plan_{};
};

}  // namespace quern
