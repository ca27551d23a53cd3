// SPDX-License-Identifier: Apache-2.0
#include "io/shard_place.hpp"

#include <fmt/format.h>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "io/h5_stored_type.hpp"
#include "io/shard_blocks.hpp"
#include "io/stored_samples.hpp"

namespace quern {

ShardPlace::ShardPlace(const ShardContent& content, const Shard& shard, std::int64_t begin,
                       const SampleArrays& arrays)
    : content_(content), shard_(shard), arrays_(part_of(content, arrays, begin, shard.count)) {}

void ShardPlace::read() {
  const H5File file = H5File::open_read(shard_.path);
  // -> what has been read: where it belongs, or aside what has to be widened.
  const auto read = [&](const char* name, StoredType type, std::int64_t sample_bytes,
                        std::span<std::byte> place, std::vector<std::byte>& aside) {
    if (place.empty()) aside.resize(static_cast<std::size_t>(shard_.count * sample_bytes));
    const std::span<std::byte> bytes = place.empty() ? std::span(aside) : place;
    file.read_stored(std::string("/") + name, h5_type_of(type), bytes);
    return bytes;
  };
  inputs_ = read(content_.input_name(), content_.input, content_.input_bytes(),
                 stored_inputs_of(content_, arrays_), inputs_aside_);
  if (shard_.block_samples > 0) {
    const std::int64_t blocks = ceil_div(shard_.count, shard_.block_samples);
    block_sums_.resize(static_cast<std::size_t>(blocks * shard_.block_digits));
    file.read_stored(kBlockSums, H5Type::uint8, block_sums_);
  }
  if (content_.answer != Answer::none) {
    answers_ = read(content_.answer_name(), content_.answer_type, content_.answer_bytes(),
                    stored_answers_of(content_, arrays_), answers_aside_);
  }
}

void ShardPlace::verify() {
  check_sha256(content_.input_name(), inputs_, shard_.sha256_input);
  if (!inputs_aside_.empty()) put_inputs(content_, inputs_, arrays_);
  if (content_.answer != Answer::none) {
    check_sha256(content_.answer_name(), answers_, shard_.sha256_answer);
    if (!answers_aside_.empty()) put_answers(content_, answers_, arrays_);
  }
  inputs_aside_ = {};
  answers_aside_ = {};
  if (shard_.block_samples > 0) check_sha256("blocks", block_sums_, shard_.sha256_blocks);
  check_samples(shard_, content_, arrays_, shard_.first_index);
}

void ShardPlace::check_sha256(const char* name, std::span<const std::byte> bytes,
                              const std::string& expected) const {
  const std::string actual = sha256(bytes);
  if (actual == expected) return;
  throw UnusableError(fmt::format("'{}': dataset '/{}' is damaged: its SHA-256 is {}, expected {}",
                                  shard_.path.string(), name, actual, expected));
}

}  // namespace quern
