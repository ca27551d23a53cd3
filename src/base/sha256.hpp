// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), streaming: it names data sets, checkpoints, recipes and the running binary.
// By the processor's own instructions where it has them, so that no cryptographic library is
// needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/sha256_blocks.hpp"

namespace quern {

class Sha256 {
 public:
  explicit Sha256(Sha256Blocks blocks = fastest_sha256_blocks());
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(const std::string& text);
  /// Lower-case hexadecimal digest, 64 characters. The object is spent afterwards.
  std::string hex_digest();

 private:
  Sha256Blocks blocks_;
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> buffer_{};
  std::uint64_t length_ = 0;
};

std::string sha256(std::span<const std::byte> bytes);
std::string sha256(const std::string& text);
/// SystemFailure where a disk or a file server fails, InputError when the file cannot be read
/// otherwise.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace quern
