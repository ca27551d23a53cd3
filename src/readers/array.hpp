// SPDX-License-Identifier: Apache-2.0
// An array of numbers as a file holds it, in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "readers/column_sums.hpp"

namespace quern {

/// What an array's numbers were in the file.
enum class NumberType {
  uint8,
  integer,  ///< of any other width
  float16,
  floating,  ///< float32 or float64
};

struct Array {
  std::string name;                 ///< for messages: the file, and what in it
  std::vector<std::int64_t> shape;  ///< the first axis counts samples
  NumberType type = NumberType::uint8;
  /// Row-major: uint8 as bytes, integers as int64, floats as float (those of float64 rounded).
  std::variant<std::vector<std::uint8_t>, std::vector<std::int64_t>, std::vector<float>> values;
  /// Of floats that were float64, of a table as they are written; else empty.
  ColumnSums sums = {};
  /// Of a table with a line of names, those of the columns that are held; else empty. One without a
  /// name is called "column 3".
  std::vector<std::string> column_names = {};

  std::int64_t count() const { return shape.empty() ? 0 : shape[0]; }
  bool is_float() const { return values.index() == 2; }
};

/// Consecutive samples.
struct SampleRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Which of so many samples are wanted. Empty: all. A reader that is given one asks it once, as
/// soon as it knows how many there are, and leaves the others unread where the format allows it.
using ChooseRange = std::function<SampleRange(std::int64_t total)>;

inline SampleRange chosen(const ChooseRange& choose, std::int64_t total) {
  return choose ? choose(total) : SampleRange{0, total};
}

/// "float32 [60000, 28, 28]"
std::string description(const Array& array);

/// As floats; integers are converted. Takes the array's memory.
std::vector<float> to_floats(Array&& array);

/// Of the numbers of each sample before they become float32. Empty where they lose nothing, or are
/// too many to be columns.
ColumnSums original_sums(const Array& array);

/// As labels: whole numbers from 0 on, of shape [n] or [n, 1]. InputError. `first`: the number of
/// the first sample.
std::vector<std::int32_t> to_labels(const Array& array, std::int64_t first = 0);

}  // namespace quern
