// SPDX-License-Identifier: Apache-2.0
#include "io/shard_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/float16.hpp"
#include "base/sha256.hpp"
#include "io/h5_stored_type.hpp"
#include "io/sample_checks.hpp"
#include "io/shard_blocks.hpp"

namespace quern {

namespace {

template <class T>
std::span<T> part(std::span<T> all, std::int64_t begin, std::int64_t samples, int units,
                  bool is_there) {
  if (!is_there) return {};
  const auto first = static_cast<std::size_t>(begin * units);
  const auto count = static_cast<std::size_t>(samples * units);
  expect(first + count <= all.size(), "arrays with room for the whole set");
  return all.subspan(first, count);
}

}  // namespace

ShardPlace::ShardPlace(const ShardContent& content, const Shard& shard, std::int64_t begin,
                       const SampleArrays& arrays)
    : content_(content), shard_(shard) {
  const auto own = [&](auto all, int units, bool is_there) {
    return part(all, begin, shard.count, units, is_there);
  };
  arrays_ = {own(arrays.images, content.shape.units(), content.has_pixels()),
             own(arrays.values, content.shape.units(), !content.has_pixels()),
             own(arrays.labels, 1, content.has_labels()),
             own(arrays.targets, content.target_shape.units(), content.has_targets())};
}

void ShardPlace::read() {
  const H5File file = H5File::open_read(shard_.path);
  const auto read = [&](const char* name, StoredType type, std::span<std::byte> bytes) {
    file.read_stored(std::string("/") + name, h5_type_of(type), bytes);
  };
  const auto read_aside = [&](const char* name, StoredType type, std::size_t count,
                              std::vector<std::byte>& bytes) {
    bytes.resize(count * static_cast<std::size_t>(bytes_of(type)));
    read(name, type, bytes);
  };
  if (content_.input == StoredType::float16) {
    read_aside("values", content_.input, arrays_.values.size(), half_values_);
  } else if (content_.has_pixels()) {
    read("images", content_.input, std::as_writable_bytes(arrays_.images));
  } else {
    read("values", content_.input, std::as_writable_bytes(arrays_.values));
  }
  if (shard_.block_samples > 0) {
    const std::int64_t blocks = (shard_.count + shard_.block_samples - 1) / shard_.block_samples;
    block_sums_.resize(static_cast<std::size_t>(blocks * kBlockDigits));
    file.read_stored(kBlockSums, H5Type::uint8, block_sums_);
  }
  if (content_.has_targets()) {
    read("targets", content_.answer_type, std::as_writable_bytes(arrays_.targets));
  } else if (content_.has_labels() && content_.answer_type == StoredType::uint8) {
    read_aside("labels", content_.answer_type, arrays_.labels.size(), byte_labels_);
  } else if (content_.has_labels()) {
    read("labels", content_.answer_type, std::as_writable_bytes(arrays_.labels));
  }
}

void ShardPlace::verify() {
  if (content_.input == StoredType::float16) {
    check_sha256("values", half_values_, shard_.sha256_input);
    for (std::size_t i = 0; i < arrays_.values.size(); ++i) {
      std::uint16_t half = 0;
      std::memcpy(&half, half_values_.data() + i * sizeof(half), sizeof(half));
      arrays_.values[i] = float_of_half(half);
    }
    half_values_ = {};
  } else if (content_.has_pixels()) {
    check_sha256("images", std::as_bytes(arrays_.images), shard_.sha256_input);
  } else {
    check_sha256("values", std::as_bytes(arrays_.values), shard_.sha256_input);
  }
  check_finite(shard_, "values", arrays_.values, content_.shape.units(), shard_.first_index);

  if (!byte_labels_.empty()) {
    check_sha256("labels", byte_labels_, shard_.sha256_answer);
    std::transform(byte_labels_.begin(), byte_labels_.end(), arrays_.labels.begin(),
                   [](std::byte label) { return std::to_integer<std::int32_t>(label); });
    byte_labels_ = {};
  } else if (content_.has_labels()) {
    check_sha256("labels", std::as_bytes(arrays_.labels), shard_.sha256_answer);
  } else if (content_.has_targets()) {
    check_sha256("targets", std::as_bytes(arrays_.targets), shard_.sha256_answer);
  }
  if (shard_.block_samples > 0) check_sha256("blocks", block_sums_, shard_.sha256_blocks);
  check_labels(shard_, arrays_.labels, content_.classes, shard_.first_index);
  check_finite(shard_, "targets", arrays_.targets, content_.target_shape.units(),
               shard_.first_index);
}

void ShardPlace::check_sha256(const char* name, std::span<const std::byte> bytes,
                              const std::string& expected) const {
  const std::string actual = sha256(bytes);
  if (actual == expected) return;
  throw UnusableError(fmt::format("'{}': dataset '/{}' is damaged: its SHA-256 is {}, expected {}",
                                  shard_.path.string(), name, actual, expected));
}

}  // namespace quern
