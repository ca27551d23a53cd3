// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/halving.hpp"
#include "tensor/types.hpp"

namespace quern {

/// The messages of a Halving, made once and sent in every step.
class HalvingExchange {
 public:
  /// Floats that an exchange needs for what it receives.
  static std::int64_t received_floats(const Halving& halving);

  /// Between the ranks of `comm`, of this rank's `vector`, with received_floats() in `received`;
  /// host memory, which must outlive it, as `comm` must. `tag`: this and the next one, see
  /// Message. Not collective.
  HalvingExchange(Communicator& comm, const Halving& halving, const FloatView& vector,
                  const FloatView& received, int tag);

  /// Collective, after what is on `exec`: the vector of each rank becomes the sum of all of them.
  void add(const ExecSpace& exec);

 private:
  using Range = Kokkos::pair<std::int64_t, std::int64_t>;
  struct Round {
    std::vector<std::unique_ptr<Message>> give;
    std::vector<std::unique_ptr<Message>> take;
    std::vector<std::unique_ptr<Message>> hand_back;  ///< of what was taken, once it is complete
    std::vector<std::unique_ptr<Message>> get_back;   ///< of what was given
    std::vector<Range> taken;                         ///< of the vector
    std::vector<Range> received;                      ///< where it comes in, in received_
  };

  FloatView vector_;
  FloatView received_;
  std::vector<Round> rounds_;
};

}  // namespace quern
