// SPDX-License-Identifier: Apache-2.0
// What a network that answers yes or no for each of its outputs gets right, output by output: for
// outputs of which "yes" is rare, where a network that always says no is right most of the time.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "strategy/batch_plan.hpp"
#include "strategy/model.hpp"

namespace quern {

/// Of a network that is trained with binary cross entropy. An output says yes above a probability
/// of 1/2, a target does above 1/2.
class OutputMetrics {
 public:
  /// `samples` come with targets; they and the model outlive it.
  OutputMetrics(const Model& model, const Samples& samples);

  /// Counts the samples of this rank's part of a batch, after forward, where it has the outputs
  /// (the last stage) and counts for those that have the same (the first of a tensor group). Waits.
  void add(const ExecSpace& exec, const BatchPlan& plan);

  /// Collective: adds what the other ranks have counted.
  void sum(Communicator& comm);

  int outputs() const { return outputs_; }
  /// Samples whose target says yes.
  std::int64_t wanted(int output) const { return count(output, 0); }
  /// Samples to which the network says yes.
  std::int64_t predicted(int output) const { return count(output, 1); }
  /// Samples where both do.
  std::int64_t correct(int output) const { return count(output, 2); }

 private:
  std::int64_t count(int output, std::size_t column) const {
    return counts_[static_cast<std::size_t>(output) * kColumns + column];
  }

  static constexpr int kColumns = 3;
  const Model& model_;
  const Samples& samples_;
  int outputs_;
  std::vector<std::int64_t> counts_;  // [outputs, kColumns]: wanted, predicted, both
};

}  // namespace quern
