// SPDX-License-Identifier: Apache-2.0
// The factors by which LARS and LAMB scale the step of every weight tensor, from its norms:
//   LARS  trust_coefficient |w| / (|g| + weight_decay |w|)     You, Gitman, Ginsburg: "Large batch
//         training of convolutional networks", 2017, arXiv:1708.03888, equation 6
//   LAMB  |w| / |r|                                           You et al.: "Large batch optimization
//         for deep learning: training BERT in 76 minutes", ICLR 2020, arXiv:1904.00962, algorithm 2
// w: the tensor, g: its gradient after clipping, r: its direction (optim/lamb.hpp). The factor is
// at most the largest float, and 1 where |w| or the denominator is 0 or not a number, and for all
// that is not of kind weight: biases, scales and shifts.
#pragma once

#include <map>
#include <vector>

#include "optim/spread_squares.hpp"
#include "spec/training_spec.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// The factors of a part of the block, plain data that kernels copy. Places count from its begin.
struct TrustedPart {
  View<const int> tensor_of_group;  ///< of every group of kLanes floats
  View<const float> ratios;         ///< of every tensor

  /// Calls run(first, last, ratio) for the pieces of [begin, end) that have one factor.
  template <class Run>
  KOKKOS_INLINE_FUNCTION void for_each_piece(std::int64_t begin, std::int64_t end,
                                             const Run& run) const {
    while (begin < end) {
      const int tensor = tensor_of_group(begin / kLanes);
      std::int64_t last = (begin / kLanes + 1) * kLanes;
      while (last < end && tensor_of_group(last / kLanes) == tensor) last += kLanes;
      last = last < end ? last : end;
      run(begin, last, ratios(tensor));
      begin = last;
    }
  }
};

/// Norms are summed in double in a fixed order: that of `whole`, tensor by tensor, cut into chunks
/// where the multiples of SpreadChunks::kChunk are. So the factors have the same bits for any
/// number of ranks and threads.
class TrustRatios {
 public:
  /// Do such optimizers need them?
  static bool are_needed(const OptimizerSpec& spec);

  /// Of a rank that updates everything.
  TrustRatios(const OptimizerSpec& spec, const ParameterTable& table);
  /// Of rank `rank` of those that update `ranges` of the block of `whole`, the table of one rank
  /// that has everything; see spread_chunks().
  TrustRatios(const OptimizerSpec& spec, const ParameterTable& whole,
              const std::vector<std::vector<SpreadRange>>& ranges, int rank);

  /// The factors, which combine() overwrites, of the floats [begin, end) of the block of `own`.
  TrustedPart part(const ParameterTable& own, std::int64_t begin, std::int64_t end) const;

  /// Where an optimizer adds the squares of the parameters, and of g (LARS) or r (LAMB).
  const SpreadSquares& squares() const { return squares_; }

  /// All of this rank's squares are added: fetches those of the others, and overwrites the factors.
  /// Collective.
  void combine(const ExecSpace& exec, const StepScalarsView& scalars,
               const AllGather& all_gather = {}) const;

 private:
  void number_weights(const ParameterTable& whole);

  double coefficient_;  // 1 for LAMB
  double decay_;        // in the denominator; 0 for LAMB
  bool scales_;         // is the second array the gradient before clipping?
  SpreadSquares squares_;
  std::map<int, int> place_of_number_;  // ParameterEntry::number -> place in ratios_
  View<float> ratios_;                  // the first one, 1, is of all that has none
  // Of each place: the chunks first_(place) to first_(place + 1) of chunks_, in the tensor's order.
  View<const int> chunks_;
  View<const int> first_;
};

}  // namespace quern
