// SPDX-License-Identifier: Apache-2.0
// Private to io/: one shard on its way into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/shard_content.hpp"
#include "io/shard_set.hpp"

namespace quern {

class ShardPlace {
 public:
  /// The shard's samples go to `arrays` from the one numbered `begin` on. All arguments must
  /// outlive it.
  ShardPlace(const ShardContent& content, const Shard& shard, std::int64_t begin,
             const SampleArrays& arrays);

  /// Reads the shard as it is stored. InputError. HDF5 is not for several threads at once.
  void read();

  /// Puts what read() has read in its place, after a check of its SHA-256, labels and values:
  /// UnusableError. On any thread.
  void verify();

 private:
  void check_sha256(const char* name, std::span<const std::byte> bytes,
                    const std::string& expected) const;

  const ShardContent& content_;
  const Shard& shard_;
  SampleArrays arrays_;  // this shard's part
  // As stored: where they belong, or aside where they have to be widened.
  std::span<const std::byte> inputs_;
  std::span<const std::byte> answers_;
  std::vector<std::byte> inputs_aside_;
  std::vector<std::byte> answers_aside_;
  std::vector<std::byte> block_sums_;
};

}  // namespace quern
