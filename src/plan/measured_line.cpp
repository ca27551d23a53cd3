// SPDX-License-Identifier: Apache-2.0
#include "plan/measured_line.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace quern {

MeasuredLine::MeasuredLine(std::vector<Point> points) {
  std::ranges::sort(points, [](const Point& a, const Point& b) {
    return std::pair(a.work, a.seconds) < std::pair(b.work, b.seconds);
  });
  for (const Point& point : points) {
    expect(point.work > 0 && point.seconds > 0, "measurements of some work and time");
    if (points_.empty() || point.work > points_.back().work) points_.push_back(point);
  }
  expect(!points_.empty(), "a measurement");
}

double MeasuredLine::seconds(double work) const {
  const Point& first = points_.front();
  const double least = first.seconds * work / first.work;
  if (points_.size() == 1) return least;
  std::size_t after = 1;
  while (after + 1 < points_.size() && points_[after].work < work) ++after;
  const Point& a = points_[after - 1];
  const Point& b = points_[after];
  const double slope = (b.seconds - a.seconds) / (b.work - a.work);
  const double line = a.seconds + slope * (work - a.work);
  return work < first.work ? std::max(line, least) : std::max(line, 0.0);
}

}  // namespace quern
