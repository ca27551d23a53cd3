// SPDX-License-Identifier: Apache-2.0
// The numbers of each column of samples before they became float32: mean and deviation.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quern {

struct ColumnSum {
  std::int64_t count = 0;
  double origin = 0;        ///< the first number: sums of differences from it keep the deviation
  double sum = 0;           ///< of the differences
  double squares = 0;       ///< of the differences
  bool is_rounded = false;  ///< float32 does not have one of the numbers

  void add(double value) {
    if (count++ == 0) origin = value;
    const double difference = value - origin;
    sum += difference;
    squares += difference * difference;
    is_rounded |= static_cast<double>(static_cast<float>(value)) != value;
  }
  void add(const ColumnSum& more);
  /// The same, and keeps the origin where this one counts nothing.
  void add_around(const ColumnSum& more);

  double mean() const { return origin + sum / static_cast<double>(count); }
  double deviation() const;
};

using ColumnSums = std::vector<ColumnSum>;

/// One of nothing for each number of a sample of an array [n, ...]; none where these are so many
/// that they are no columns of a table.
ColumnSums sums_for(std::span<const std::int64_t> array_shape);

/// Adds rows of the `count` columns from `first` on, of so many `columns`; where these are too
/// many, none.
void add(std::span<const double> rows, std::size_t first, std::size_t count, std::size_t columns,
         ColumnSums& all);

/// Both of as many columns, or one of none, which makes none of the sum.
void add(const ColumnSums& more, ColumnSums& all);

/// From a number near `value` to the next that float32 has.
double float_step(double value);

/// Has the column lost what tells its numbers apart? So it is where it was rounded, and its
/// deviation is few steps of float32.
bool is_lost(const ColumnSum& column);

}  // namespace quern
