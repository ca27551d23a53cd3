// SPDX-License-Identifier: Apache-2.0
// The norm of a gradient whose stages or slices lie on several ranks, in the order of one rank.
//
//   each rank       sums of squares of the chunks of 4096 floats that it has whole
//   everybody gets  these, and the floats of chunks that several ranks share: 1/2048 of the
//                   gradient's bytes, and at most 16 KB for each border between two ranks
//   each rank       adds the chunks from the first to the last
//
// Ranks along the data axis have the same gradient, and take part where each has but a slice of it.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/process_grid.hpp"
#include "optim/spread_chunks.hpp"
#include "parallel/gradient_reducer.hpp"

namespace quern {

class ClipExchange {
 public:
  /// Collective over the axes of the grid. `whole`: the table of one rank that has everything, and
  /// computes the same slices; `own`: this rank's, whose gradient `reducer` tells it: all of it, or
  /// with spreads_state() its own ranges. The grid's world outlives it.
  ClipExchange(const ProcessGrid& grid, const ParameterTable& whole, const ParameterTable& own,
               const GradientReducer& reducer);

  /// Floats of the block that the norm is of.
  std::int64_t block_size() const { return block_size_; }
  /// What each of the ranks has of it, and which of these this rank is.
  const std::vector<std::vector<SpreadRange>>& ranges() const { return ranges_; }
  int rank() const { return rank_; }

  /// Collective: equal parts of `all`, one for each, to everybody; this rank's stands at its place.
  /// The host waits. `all` is the same array in every step: the first call allocates.
  void all_gather(const ExecSpace& exec, const FloatView& all);

 private:
  struct Axis {
    Communicator* comm;
    std::vector<std::int64_t> counts;  // floats from each of its ranks
  };

  void allocate(const FloatView& all);

  ProcessGrid grid_;
  std::vector<Axis> axes_;
  std::int64_t block_size_;
  std::vector<std::vector<SpreadRange>> ranges_;
  int rank_ = 0;
  Kokkos::View<float*, Kokkos::HostSpace> host_;  // the array itself where kernels run on the host
};

}  // namespace quern
