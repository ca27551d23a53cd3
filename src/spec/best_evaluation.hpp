// SPDX-License-Identifier: Apache-2.0
// Which evaluation of a run is its best one.
#pragma once

#include <cmath>
#include <cstdint>

#include "spec/training_spec.hpp"

namespace quern {

struct BestEvaluation {
  Monitor monitor = Monitor::loss;
  std::int64_t epoch = 0;  ///< it came at the end of this one, counted from 1; 0: there is none
  std::int64_t step = 0;   ///< and after so many steps
  double value = 0;        ///< of what the monitor says
  /// Where there is none: epochs that were done before evaluations were compared.
  std::int64_t since = 0;

  /// Is `other` better? An equal value is not, and neither is one that is not finite.
  bool is_beaten_by(double other) const {
    if (!std::isfinite(other)) return false;
    if (epoch == 0) return true;
    return monitor == Monitor::loss ? other < value : other > value;
  }

  friend bool operator==(const BestEvaluation&, const BestEvaluation&) = default;
};

}  // namespace quern
