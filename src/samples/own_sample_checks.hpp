// SPDX-License-Identifier: Apache-2.0
// What is asked of samples that come from no file: shards were checked when they were written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/shard_content.hpp"

namespace quern {

/// InputError that names the first bad sample unless values and targets are finite and labels from
/// 0 to below `content.classes`. `samples`: the arrays of all; looked at are [first, last).
/// `origin`: whose they are, for the message.
void check_own_samples(const ConstSampleArrays& samples, const ShardContent& content,
                       std::int64_t first, std::int64_t last, const std::string& origin);

/// Are all extents positive, and can a sample's values be counted?
bool is_shape_of_samples(const Shape& shape);

/// Names the content of both arrays: Samples::data_hash.
std::string hash_of_samples(std::span<const std::byte> inputs, std::span<const std::byte> answers);

}  // namespace quern
