// SPDX-License-Identifier: Apache-2.0
#include "readers/byte_stream.hpp"

#include <fmt/format.h>

#include <array>

#include "base/error.hpp"

namespace quern {

void ByteStream::fail(const std::string& what) const {
  throw InputError(fmt::format("{}: {}", name, what));
}

void ByteStream::read_all(std::span<std::uint8_t> bytes, const std::string& what) const {
  const std::size_t got = read(bytes);
  if (got < bytes.size()) {
    fail(fmt::format("truncated: it ends within its {}", what));
  }
}

std::vector<std::uint8_t> ByteStream::read_bytes(std::uint64_t count,
                                                 const std::string& what) const {
  constexpr std::uint64_t kFirstBytes = std::uint64_t{1} << 24;
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < count) {
    const std::size_t have = bytes.size();
    bytes.resize(std::min(count, std::max<std::uint64_t>(2 * have, kFirstBytes)));
    read_all(std::span(bytes).subspan(have), what);
  }
  return bytes;
}

void ByteStream::skip_all(std::uint64_t count, const std::string& what) const {
  if (skip) {
    if (skip(count) < count) fail(fmt::format("truncated: it ends within its {}", what));
    return;
  }
  std::vector<std::uint8_t> piece(std::min<std::uint64_t>(count, std::uint64_t{1} << 20));
  for (; count > 0; count -= std::min<std::uint64_t>(count, piece.size()))
    read_all(std::span(piece).first(std::min<std::uint64_t>(count, piece.size())), what);
}

void ByteStream::expect_end(const std::string& what) const {
  std::array<std::uint8_t, 1> beyond{};
  if (read(beyond) != 0) fail("trailing bytes after its " + what);
}

}  // namespace quern
