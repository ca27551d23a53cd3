// SPDX-License-Identifier: Apache-2.0
#include "io/sample_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/float16.hpp"
#include "io/sample_checks.hpp"
#include "io/shard_blocks.hpp"

namespace quern {

namespace {

constexpr std::size_t kMostFiles = 64;                       // open at the same time
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;  // read at once, about

[[noreturn]] void fail(const Shard& shard, const std::string& what) {
  throw UnusableError(fmt::format("'{}': {}", shard.path.string(), what));
}

template <class T>
std::span<T> part(std::span<T> all, std::int64_t first, std::int64_t count, std::int64_t units) {
  return all.subspan(static_cast<std::size_t>(first * units),
                     static_cast<std::size_t>(count * units));
}

template <class T>
void copy_bytes(std::span<const std::byte> from, std::span<T> to) {
  expect(from.size() == to.size_bytes(), "as many bytes as there is room for");
  std::memcpy(to.data(), from.data(), from.size());
}

void widen_halves(std::span<const std::byte> halves, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, halves.data() + i * sizeof(half), sizeof(half));
    values[i] = float_of_half(half);
  }
}

}  // namespace

SampleReader::SampleReader(const ShardSet& set) : set_(set) {}

SampleReader::~SampleReader() {
  for (const OpenFile& file : files_) ::close(file.descriptor);
}

void SampleReader::read(std::int64_t first, std::int64_t count, std::int64_t place,
                        const SampleArrays& arrays) {
  expect(first >= 0 && count >= 0 && first + count <= set_.count(), "samples of the set");
  while (count > 0) {
    const std::size_t number = shard_of(first);
    const Shard& shard = set_.shards()[number];
    const std::int64_t here = std::min(first + count, piece_end(shard, first)) - first;
    read_piece(number, first - shard.first_index, here);
    verify(shard);
    decode(shard, first, here, place, arrays);
    first += here;
    place += here;
    count -= here;
  }
}

std::size_t SampleReader::shard_of(std::int64_t sample) const {
  const std::vector<Shard>& shards = set_.shards();
  const auto next = std::upper_bound(
      shards.begin(), shards.end(), sample,
      [](std::int64_t index, const Shard& shard) { return index < shard.first_index; });
  return static_cast<std::size_t>(next - shards.begin()) - 1;
}

void SampleReader::announce(std::int64_t first, std::int64_t count) {
  const std::int64_t sample_bytes = set_.content().input_bytes();
  while (count > 0) {
    const std::size_t number = shard_of(first);
    const Shard& shard = set_.shards()[number];
    const std::int64_t here = std::min(first + count, shard.first_index + shard.count) - first;
    // Where the system does not do it, reading is slower and nothing else.
    posix_fadvise(descriptor_of(number),
                  shard.input_offset + (first - shard.first_index) * sample_bytes,
                  here * sample_bytes, POSIX_FADV_WILLNEED);
    first += here;
    count -= here;
  }
}

// Where blocks end, so that none is read twice.
std::int64_t SampleReader::piece_end(const Shard& shard, std::int64_t first) const {
  const ShardContent& content = set_.content();
  const std::int64_t samples =
      std::max<std::int64_t>(1, kPieceBytes / (content.input_bytes() + content.answer_bytes()));
  const std::int64_t block = std::max<std::int64_t>(1, shard.block_samples);
  const std::int64_t end = first - shard.first_index + samples + block - 1;
  return shard.first_index + std::min(shard.count, end / block * block);
}

// The samples [first, first + count) of the shard, and what else is in their blocks.
void SampleReader::read_piece(std::size_t number, std::int64_t first, std::int64_t count) {
  const Shard& shard = set_.shards()[number];
  const ShardContent& content = set_.content();
  const std::int64_t block = std::max<std::int64_t>(1, shard.block_samples);
  const std::int64_t first_block = first / block;
  const std::int64_t last_block = (first + count + block - 1) / block;
  stored_.first = first_block * block;
  stored_.count = std::min(last_block * block, shard.count) - stored_.first;
  const auto read_array = [&](std::int64_t offset, std::int64_t sample_bytes,
                              std::vector<std::byte>& bytes) {
    read_bytes(number, offset + stored_.first * sample_bytes, stored_.count * sample_bytes, bytes);
  };
  read_array(shard.input_offset, content.input_bytes(), stored_.input);
  read_array(shard.answer_offset, content.answer_bytes(), stored_.answer);
  stored_.sums.clear();
  if (shard.block_samples == 0) return;
  read_bytes(number, shard.block_sums_offset + first_block * kBlockDigits,
             (last_block - first_block) * kBlockDigits, stored_.sums);
}

void SampleReader::verify(const Shard& shard) const {
  const ShardContent& content = set_.content();
  for (std::int64_t at = 0; shard.block_samples > 0 && at < stored_.count;
       at += shard.block_samples) {
    const std::int64_t count = std::min(shard.block_samples, stored_.count - at);
    const std::string actual =
        block_sum(part(std::span(stored_.input), at, count, content.input_bytes()),
                  part(std::span(stored_.answer), at, count, content.answer_bytes()));
    const auto expected = part(std::span(stored_.sums), at / shard.block_samples, 1, kBlockDigits);
    if (std::memcmp(actual.data(), expected.data(), actual.size()) == 0) continue;
    const std::int64_t first = shard.first_index + stored_.first + at;
    fail(shard, fmt::format("the samples {} to {} are damaged: their SHA-256 is {}, expected {}",
                            first, first + count - 1, actual,
                            std::string_view(reinterpret_cast<const char*>(expected.data()),
                                             expected.size())));
  }
}

void SampleReader::decode(const Shard& shard, std::int64_t first, std::int64_t count,
                          std::int64_t place, const SampleArrays& arrays) const {
  const ShardContent& content = set_.content();
  const std::int64_t at = first - shard.first_index - stored_.first;
  const auto input = part(std::span(stored_.input), at, count, content.input_bytes());
  const auto answer = part(std::span(stored_.answer), at, count, content.answer_bytes());
  const int units = content.shape.units();
  if (content.has_pixels()) {
    copy_bytes(input, part(arrays.images, place, count, units));
  } else {
    const auto values = part(arrays.values, place, count, units);
    if (content.input == StoredType::float16)
      widen_halves(input, values);
    else
      copy_bytes(input, values);
    check_finite(shard, "values", values, units, first);
  }
  if (content.has_targets()) {
    const int target_units = content.target_shape.units();
    const auto targets = part(arrays.targets, place, count, target_units);
    copy_bytes(answer, targets);
    check_finite(shard, "targets", targets, target_units, first);
  } else if (content.has_labels()) {
    const auto labels = part(arrays.labels, place, count, 1);
    if (content.answer_type == StoredType::uint8) {
      std::transform(answer.begin(), answer.end(), labels.begin(),
                     [](std::byte label) { return std::to_integer<std::int32_t>(label); });
    } else {
      copy_bytes(answer, labels);
    }
    check_labels(shard, labels, content.classes, first);
  }
}

int SampleReader::descriptor_of(std::size_t number) {
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&](const OpenFile& file) { return file.shard == number; });
  if (found != files_.end()) {
    std::rotate(found, found + 1, files_.end());
    return files_.back().descriptor;
  }
  const Shard& shard = set_.shards()[number];
  const int descriptor = ::open(shard.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(shard, fmt::format("cannot be opened: {}", std::strerror(errno)));
  if (files_.size() == kMostFiles) {
    ::close(files_.front().descriptor);
    files_.erase(files_.begin());
  }
  files_.push_back({number, descriptor});
  return descriptor;
}

void SampleReader::read_bytes(std::size_t number, std::int64_t offset, std::int64_t num_bytes,
                              std::vector<std::byte>& bytes) {
  bytes.resize(static_cast<std::size_t>(num_bytes));
  if (bytes.empty()) return;
  const int descriptor = descriptor_of(number);
  const Shard& shard = set_.shards()[number];
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(descriptor, bytes.data() + done, bytes.size() - done,
                                offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(shard, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) {
      fail(shard, fmt::format("ends after {} bytes, expected at least {}: it was changed since the "
                              "training began",
                              offset + static_cast<std::int64_t>(done), offset + num_bytes));
    }
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace quern
