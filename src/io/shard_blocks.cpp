// SPDX-License-Identifier: Apache-2.0
#include "io/shard_blocks.hpp"

#include <algorithm>

#include "base/sha256.hpp"
#include "base/xxh3.hpp"

namespace quern {

std::int64_t block_samples_of(const ShardContent& content) {
  constexpr std::int64_t kBytes = std::int64_t{16} << 10;
  return std::max<std::int64_t>(1, kBytes / (content.input_bytes() + content.answer_bytes()));
}

std::string block_sums(const ShardContent& content, std::int64_t block, std::int64_t digits,
                       std::span<const std::byte> inputs, std::span<const std::byte> answers) {
  const auto input_bytes = static_cast<std::size_t>(block * content.input_bytes());
  const auto answer_bytes = static_cast<std::size_t>(block * content.answer_bytes());
  std::string sums;
  while (!inputs.empty()) {
    const auto head = inputs.first(std::min(input_bytes, inputs.size()));
    const auto tail = answers.first(std::min(answer_bytes, answers.size()));
    sums += digits == kSha256Digits ? Sha256().update(head).update(tail).hex_digest()
                                    : xxh3_128(head, tail);
    inputs = inputs.subspan(head.size());
    answers = answers.subspan(tail.size());
  }
  return sums;
}

void KnownBlocks::expect_state(const FileState& state) {
  if (state == state_) return;
  state_ = state;
  blocks_.clear();
}

bool KnownBlocks::has_all(std::int64_t first, std::int64_t end) const {
  if (end > static_cast<std::int64_t>(blocks_.size())) return false;
  return std::all_of(blocks_.begin() + first, blocks_.begin() + end,
                     [](bool known) { return known; });
}

void KnownBlocks::add(const FileState& state, std::int64_t first, std::int64_t end) {
  if (!(state == state_)) return;
  if (end > static_cast<std::int64_t>(blocks_.size()))
    blocks_.resize(static_cast<std::size_t>(end));
  std::fill(blocks_.begin() + first, blocks_.begin() + end, true);
}

}  // namespace quern
