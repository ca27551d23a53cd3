// SPDX-License-Identifier: Apache-2.0
#include "readers/column_sums.hpp"

#include <algorithm>
#include <limits>

namespace quern {

namespace {

constexpr std::size_t kMostColumns = std::size_t{1} << 16;
// Rounding adds a deviation of step / sqrt(12): here one percent of that of the numbers.
constexpr double kFewSteps = 32;
// Less is what float64 itself does to numbers that are meant to be equal.
constexpr double kLeastDeviation = 1e-14;

}  // namespace

void ColumnSum::add(const ColumnSum& more) {
  if (count == 0) origin = more.origin;
  add_around(more);
}

void ColumnSum::add_around(const ColumnSum& more) {
  const auto number = static_cast<double>(more.count);
  const double shift = more.origin - origin;
  squares += more.squares + 2 * shift * more.sum + number * shift * shift;
  sum += more.sum + number * shift;
  count += more.count;
  is_rounded |= more.is_rounded;
}

ColumnSums sums_for(std::span<const std::int64_t> array_shape) {
  std::size_t columns = 1;
  for (const std::int64_t extent : array_shape.subspan(1)) {
    const auto numbers = static_cast<std::size_t>(extent);
    if (numbers < 1 || numbers > kMostColumns / columns) return {};
    columns *= numbers;
  }
  return ColumnSums(columns);
}

double ColumnSum::deviation() const {
  const auto number = static_cast<double>(count);
  const double mean_difference = sum / number;
  return std::sqrt(std::max(0.0, squares / number - mean_difference * mean_difference));
}

void add(std::span<const double> rows, std::size_t first, std::size_t count, std::size_t columns,
         ColumnSums& all) {
  if (columns > kMostColumns) return;
  all.resize(columns);
  for (std::size_t i = 0; i < rows.size(); ++i) all[first + i % count].add(rows[i]);
}

void add(const ColumnSums& more, ColumnSums& all) {
  if (more.size() != all.size()) {
    all.clear();
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].add(more[i]);
}

double float_step(double value) {
  const auto near = static_cast<float>(std::abs(value));
  return double{std::nextafter(near, std::numeric_limits<float>::infinity())} - double{near};
}

bool is_lost(const ColumnSum& column) {
  if (column.count == 0 || !column.is_rounded) return false;
  const double mean = column.mean();
  const double deviation = column.deviation();
  return deviation > kLeastDeviation * std::abs(mean) && deviation < kFewSteps * float_step(mean);
}

}  // namespace quern
