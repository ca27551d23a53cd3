// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "base/system_failure.hpp"

namespace quern {

Sha256::Sha256(Sha256Blocks blocks)
    : blocks_(blocks), state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return *this;
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  const std::size_t used = length_ % 64;
  length_ += left;
  if (used > 0) {
    const std::size_t count = std::min(64 - used, left);
    std::memcpy(buffer_.data() + used, data, count);
    if (used + count < 64) return *this;
    blocks_(state_.data(), buffer_.data(), 1);
    data += count;
    left -= count;
  }
  blocks_(state_.data(), data, left / 64);
  const std::size_t rest = left % 64;
  if (rest > 0) std::memcpy(buffer_.data(), data + (left - rest), rest);
  return *this;
}

Sha256& Sha256::update(const std::string& text) {
  return update(std::as_bytes(std::span(text.data(), text.size())));
}

std::string Sha256::hex_digest() {
  const std::uint64_t bits = length_ * 8;
  std::vector<std::byte> padding(1 + (119 - length_ % 64) % 64 + 8);
  padding[0] = std::byte{0x80};
  for (std::size_t i = 0; i < 8; ++i) {
    padding[padding.size() - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  }
  update(padding);
  std::string hex;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[(word >> shift) & 15];
  }
  return hex;
}

std::string sha256(std::span<const std::byte> bytes) {
  return Sha256().update(bytes).hex_digest();
}

std::string sha256(const std::string& text) {
  return Sha256().update(text).hex_digest();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  const auto fail = [&] {
    const int error = errno;  // as the failed call left it
    throw_read_failure(error, "cannot read '" + path.string() + "'");
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail();
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  while (file) {
    errno = 0;
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    if (file.bad()) fail();
    hash.update(std::as_bytes(std::span(buffer.data(), static_cast<std::size_t>(file.gcount()))));
  }
  return hash.hex_digest();
}

}  // namespace quern
