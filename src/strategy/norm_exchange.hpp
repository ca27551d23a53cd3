// SPDX-License-Identifier: Apache-2.0
// The norms of a block whose stages or slices lie on several ranks, in the order of one rank: of
// the gradient (optim/clip.hpp) and of its tensors (optim/trust_ratios.hpp).
//
//   each rank       sums of squares of the chunks of 4096 floats that it has whole
//   everybody gets  these, and the floats of chunks that several ranks share: 1/2048 of the
//                   block's bytes, and at most 16 KB for each border between two ranks; twice that
//                   for two arrays
//   each rank       adds the chunks from the first to the last
//
// Ranks along the data axis have the same block, and take part where each updates but a part of it.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/process_grid.hpp"
#include "optim/spread_chunks.hpp"
#include "parallel/gradient_reducer.hpp"

namespace quern {

class NormExchange {
 public:
  /// Collective over the axes of the grid. `whole`: the table of one rank that has everything, and
  /// computes the same slices; `own`: this rank's, of which `reducer` tells what it updates. The
  /// grid's world and `whole` outlive it.
  NormExchange(const ProcessGrid& grid, const ParameterTable& whole, const ParameterTable& own,
               const GradientReducer& reducer);

  /// Of the block that the norms are of.
  const ParameterTable& whole() const { return whole_; }
  /// What each of the ranks has of it, and which of these this rank is.
  const std::vector<std::vector<SpreadRange>>& ranges() const { return ranges_; }
  int rank() const { return rank_; }

  /// Collective: equal parts of `all`, one for each, to everybody; this rank's stands at its place.
  /// The host waits. The first call with an array allocates.
  void all_gather(const ExecSpace& exec, const FloatView& all);

 private:
  struct Axis {
    Communicator* comm;
    std::vector<std::int64_t> counts;  // floats from each of its ranks, of the call under way
  };
  struct Copy {
    const float* of;
    Kokkos::View<float*, Kokkos::HostSpace> host;  // the array itself where kernels run on the host
  };

  Copy& copy_of(const FloatView& all);

  ProcessGrid grid_;
  const ParameterTable& whole_;
  std::vector<Axis> axes_;
  std::vector<std::vector<SpreadRange>> ranges_;
  int rank_ = 0;
  std::vector<Copy> copies_;
};

}  // namespace quern
