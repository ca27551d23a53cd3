// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace quern {

/// How a time grows with the work, from a few measurements: straight between them, and going on as
/// the first two and the last two do. Through the origin where there is one measurement, and never
/// below the line from the origin to the first.
class MeasuredLine {
 public:
  struct Point {
    double work = 0;     ///< above 0
    double seconds = 0;  ///< above 0
  };

  /// At least one point, in any order; of equal work the fastest counts.
  explicit MeasuredLine(std::vector<Point> points);

  double seconds(double work) const;

 private:
  std::vector<Point> points_;  // of rising work
};

}  // namespace quern
