// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "plan/measured_line.hpp"

namespace quern {

/// Seconds that a rank takes alone for a step, by its samples.
class RankWork {
 public:
  /// Of the whole network.
  RankWork(MeasuredLine whole) : lines_{std::move(whole)} {}
  /// Of a rank of each stage, with its part of the layers. At least one.
  explicit RankWork(std::vector<MeasuredLine> stages)
      : lines_(std::move(stages)), is_of_stages_(true) {}

  bool is_of_stages() const { return is_of_stages_; }
  /// Of the whole network.
  double seconds(double samples) const { return lines_.front().seconds(samples); }
  /// Of a stage that has this share of the network's work.
  double stage_seconds(std::size_t stage, double share, double samples) const {
    return is_of_stages_ ? lines_[stage].seconds(samples) : share * seconds(samples);
  }

 private:
  std::vector<MeasuredLine> lines_;
  bool is_of_stages_ = false;
};

}  // namespace quern
