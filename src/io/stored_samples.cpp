// SPDX-License-Identifier: Apache-2.0
#include "io/stored_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/float16.hpp"
#include "io/sample_checks.hpp"

namespace quern {

namespace {

template <class T>
std::span<T> part(std::span<T> all, std::int64_t first, std::int64_t count, std::int64_t units,
                  bool is_there) {
  if (!is_there) return {};
  const auto begin = static_cast<std::size_t>(first * units);
  const auto size = static_cast<std::size_t>(count * units);
  expect(begin + size <= all.size(), "arrays with room for the samples");
  return all.subspan(begin, size);
}

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  expect(from.size() == to.size(), "as many bytes as there is room for");
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

void widen_halves(std::span<const std::byte> halves, std::span<float> values) {
  expect(halves.size() == values.size() * sizeof(std::uint16_t), "as many numbers as places");
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, halves.data() + i * sizeof(half), sizeof(half));
    values[i] = float_of_half(half);
  }
}

void widen_labels(std::span<const std::byte> bytes, std::span<std::int32_t> labels) {
  expect(bytes.size() == labels.size(), "as many labels as places");
  std::transform(bytes.begin(), bytes.end(), labels.begin(),
                 [](std::byte label) { return std::to_integer<std::int32_t>(label); });
}

}  // namespace

SampleArrays part_of(const ShardContent& content, const SampleArrays& arrays, std::int64_t first,
                     std::int64_t count) {
  const auto own = [&](auto all, int units, bool is_there) {
    return part(all, first, count, units, is_there);
  };
  return {own(arrays.images, content.shape.units(), content.has_pixels()),
          own(arrays.values, content.shape.units(), !content.has_pixels()),
          own(arrays.labels, 1, content.has_labels()),
          own(arrays.targets, content.target_shape.units(), content.has_targets())};
}

std::span<std::byte> stored_inputs_of(const ShardContent& content, const SampleArrays& arrays) {
  if (content.has_pixels()) return std::as_writable_bytes(arrays.images);
  if (content.input == StoredType::float16) return {};
  return std::as_writable_bytes(arrays.values);
}

std::span<std::byte> stored_answers_of(const ShardContent& content, const SampleArrays& arrays) {
  if (content.has_targets()) return std::as_writable_bytes(arrays.targets);
  if (content.answer_type == StoredType::uint8) return {};
  return std::as_writable_bytes(arrays.labels);
}

void put_inputs(const ShardContent& content, std::span<const std::byte> stored,
                const SampleArrays& arrays) {
  if (content.input == StoredType::float16)
    widen_halves(stored, arrays.values);
  else
    copy_bytes(stored, stored_inputs_of(content, arrays));
}

void put_answers(const ShardContent& content, std::span<const std::byte> stored,
                 const SampleArrays& arrays) {
  if (content.has_labels() && content.answer_type == StoredType::uint8)
    widen_labels(stored, arrays.labels);
  else
    copy_bytes(stored, stored_answers_of(content, arrays));
}

void check_samples(const Shard& shard, const ShardContent& content, const SampleArrays& arrays,
                   std::int64_t first) {
  const auto refuse = [&](const std::optional<std::string>& wrong) {
    if (wrong) throw UnusableError(fmt::format("'{}': {}", shard.path.string(), *wrong));
  };
  refuse(find_not_finite(arrays.values, "values", content.shape.units(), first));
  refuse(find_not_finite(arrays.targets, "targets", content.target_shape.units(), first));
  refuse(find_wrong_label(arrays.labels, content.classes, first));
}

}  // namespace quern
