// SPDX-License-Identifier: Apache-2.0
#include "readers/array.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"

namespace quern {

namespace {

const char* word_of(NumberType type) {
  switch (type) {
    case NumberType::uint8:
      return "uint8";
    case NumberType::integer:
      return "integers";
    case NumberType::float16:
      return "float16";
    case NumberType::floating:
      break;
  }
  return "floats";
}

bool are_zeros_and_ones(const Array& array) {
  return std::visit(
      [](const auto& values) {
        return std::ranges::all_of(values, [](auto value) { return value == 0 || value == 1; });
      },
      array.values);
}

// What such an array most often is in other programs.
std::string remedy_for_labels(const Array& array) {
  const auto* floats = std::get_if<std::vector<float>>(&array.values);
  if (array.shape.size() == 1 || (array.shape.size() == 2 && array.shape[1] == 1)) {
    const bool are_whole = floats && std::ranges::all_of(*floats, [](float value) {
                             return value == std::floor(value);
                           });
    return are_whole ? " (they are whole: in NumPy, y.astype(int))"
                     : " (numbers to be predicted: --targets)";
  }
  if (array.shape.size() == 2 && are_zeros_and_ones(array))
    return " (one-hot: in NumPy, y.argmax(1); several yes and no for each sample: --targets, with "
           "loss.type = \"binary_cross_entropy\")";
  if (array.shape.size() == 2) return " (numbers to be predicted: --targets)";
  return " (a class for each pixel is not supported; a mask of 0 and 1 for each class: --targets "
         "[n, classes, height, width], with loss.type = \"binary_cross_entropy\")";
}

std::int32_t checked_label(const Array& array, std::int64_t value, std::int64_t sample) {
  if (value >= 0 && value < std::numeric_limits<std::int32_t>::max()) {
    return static_cast<std::int32_t>(value);
  }
  throw InputError(fmt::format("{}: label {} of sample {} is out of range, expected 0 to {}",
                               array.name, value, sample,
                               std::numeric_limits<std::int32_t>::max() - 1));
}

}  // namespace

std::string description(const Array& array) {
  return fmt::format("{} [{}]", word_of(array.type), fmt::join(array.shape, ", "));
}

std::vector<float> to_floats(Array&& array) {
  return std::visit(
      [](auto& values) {
        if constexpr (std::is_same_v<std::decay_t<decltype(values)>, std::vector<float>>) {
          return std::move(values);
        } else {
          std::vector<float> floats(values.size());
          std::transform(values.begin(), values.end(), floats.begin(),
                         [](auto value) { return static_cast<float>(value); });
          values = {};
          return floats;
        }
      },
      array.values);
}

ColumnSums original_sums(const Array& array) {
  const auto* integers = std::get_if<std::vector<std::int64_t>>(&array.values);
  if (!integers) return array.sums;
  ColumnSums sums = sums_for(array.shape);
  for (std::size_t i = 0; i < integers->size() && !sums.empty();)
    for (std::size_t column = 0; column < sums.size(); ++column, ++i)
      sums[column].add(static_cast<double>((*integers)[i]));
  return sums;
}

std::vector<std::int32_t> to_labels(const Array& array, std::int64_t first) {
  const bool is_column = array.shape.size() == 2 && array.shape[1] == 1;
  if (array.is_float() || (array.shape.size() != 1 && !is_column)) {
    throw InputError(fmt::format("{}: {} are no labels, expected whole numbers [n]{}", array.name,
                                 description(array), remedy_for_labels(array)));
  }
  std::vector<std::int32_t> labels;
  std::visit(
      [&](const auto& values) {
        labels.reserve(values.size());
        for (const auto value : values) {
          labels.push_back(
              checked_label(array, static_cast<std::int64_t>(value), first + std::ssize(labels)));
        }
      },
      array.values);
  return labels;
}

}  // namespace quern
