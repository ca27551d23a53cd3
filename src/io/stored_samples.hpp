// SPDX-License-Identifier: Apache-2.0
// Private to io/: from the bytes of a shard to samples in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/shard_content.hpp"
#include "io/shard_set.hpp"

namespace quern {

/// The samples [first, first + count) of `arrays`.
SampleArrays part_of(const ShardContent& content, const SampleArrays& arrays, std::int64_t first,
                     std::int64_t count);

/// The memory of the inputs, or of the answers, where they are stored as they lie in it; else
/// empty.
std::span<std::byte> stored_inputs_of(const ShardContent& content, const SampleArrays& arrays);
std::span<std::byte> stored_answers_of(const ShardContent& content, const SampleArrays& arrays);

/// Overwrites the inputs, or the answers, with what is stored: half precision and labels of bytes
/// are widened.
void put_inputs(const ShardContent& content, std::span<const std::byte> stored,
                const SampleArrays& arrays);
void put_answers(const ShardContent& content, std::span<const std::byte> stored,
                 const SampleArrays& arrays);

/// Of the samples from the one numbered `first` on: UnusableError unless values and targets are
/// finite and labels in range.
void check_samples(const Shard& shard, const ShardContent& content, const SampleArrays& arrays,
                   std::int64_t first);

}  // namespace quern
