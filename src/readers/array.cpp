// SPDX-License-Identifier: Apache-2.0
#include "readers/array.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
    throw InputError(fmt::format("{}: {} are no labels, expected whole numbers [n]", array.name,
                                 description(array)));
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
