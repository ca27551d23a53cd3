// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "linalg/block_schedule.hpp"
#include "parallel/halving.hpp"
#include "parallel/tree_sum.hpp"
#include "tensor/types.hpp"

namespace quern {

/// The messages of a Halving, made once and sent in every step.
class HalvingExchange {
 public:
  /// Floats that an exchange of vectors of `num_floats` needs for what it receives.
  static std::int64_t received_floats(const Halving& halving, std::int64_t num_floats, int rank);

  /// Between the ranks of `comm`, of this rank's `partial_sums`, of which the first `num_floats`
  /// floats are its vector, with received_floats() in `received`; host memory, which must outlive
  /// it, as `comm` must. `tag`: this and the next one, see Message. Not collective.
  HalvingExchange(Communicator& comm, const Halving& halving, const GradientSums& partial_sums,
                  std::int64_t num_floats, const FloatView& received, int tag);

  /// Collective, after what is on `exec`: the vector of each rank becomes the sum of all partial
  /// sums; its last float the sum of those of all vectors.
  void add(const ExecSpace& exec);

 private:
  using Range = Kokkos::pair<std::int64_t, std::int64_t>;
  using Messages = std::vector<std::unique_ptr<Message>>;
  struct Leaf {
    Messages give;
    Messages take;
    std::optional<TreeSumPlan> sum;  ///< none: the vector is the leaf
  };
  struct Round {
    Messages give;
    Messages take;
    Messages hand_back;           ///< of what was taken, once it is complete
    Messages get_back;            ///< of what was given
    std::vector<Range> taken;     ///< of the vector
    std::vector<Range> received;  ///< where it comes in, in received_
  };

  void make_leaf(Communicator& comm, const LeafGathering& gathering, int tag);
  void make_round(Communicator& comm, const HalvingRound& parts, int tag);
  std::int64_t next_place(std::int64_t count);
  void add_leaf(const ExecSpace& exec);

  GradientSums partial_sums_;
  std::int64_t num_floats_;
  FloatView vector_;
  FloatView received_;
  std::int64_t place_ = 0;  // of received_, that is not taken yet
  Leaf leaf_;
  std::vector<Round> rounds_;
};

}  // namespace quern
