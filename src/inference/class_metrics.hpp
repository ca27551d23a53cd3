// SPDX-License-Identifier: Apache-2.0
// How a classifier errs, counted: exact on any number of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "strategy/batch_plan.hpp"
#include "strategy/model.hpp"

namespace quern {

class ClassMetrics {
 public:
  static constexpr int kTop = 5;
  static constexpr int kMaxReportedClasses = 4096;  ///< a table of all pairs is kept

  /// `samples` come with labels; they and the model outlive it. InputError above
  /// kMaxReportedClasses outputs.
  ClassMetrics(const Model& model, const Samples& samples);

  /// Counts the samples of this rank's part of a batch, after forward, where it has the outputs
  /// (the last stage) and counts for those that have the same (the first of a tensor group). Waits.
  void add(const ExecSpace& exec, const BatchPlan& plan);

  /// Collective: adds what the other ranks have counted.
  void sum(Communicator& comm);

  int outputs() const { return outputs_; }
  /// Samples of class `label` whose largest output (the first of equals) was `predicted`.
  std::int64_t count(int label, int predicted) const { return counts_[place(label, predicted)]; }
  /// Samples of class `label`.
  std::int64_t wanted(int label) const;
  /// Samples whose largest output was `label`.
  std::int64_t predicted(int label) const;
  /// Samples where both are.
  std::int64_t correct(int label) const { return count(label, label); }
  /// Samples whose label is among the five largest outputs (of equals the first ones count).
  std::int64_t correct_in_top() const { return counts_.back(); }

 private:
  std::size_t place(int label, int predicted) const {
    return static_cast<std::size_t>(std::int64_t{label} * outputs_ + predicted);
  }

  const Model& model_;
  int outputs_;
  const Samples& samples_;
  std::vector<std::int64_t> counts_;  // [outputs, outputs], and at the end correct_in_top
};

}  // namespace quern
