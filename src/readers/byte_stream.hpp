// SPDX-License-Identifier: Apache-2.0
// Bytes from first to last, from wherever they come: a file, a packed file, a member of an archive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace quern {

struct ByteStream {
  std::string name;           ///< for messages, quoted
  std::uint64_t longest = 0;  ///< no more bytes than these can come
  /// Overwrites the bytes from the start with what comes next; -> how many. Fewer than asked for:
  /// the content ends there. Throws InputError.
  std::function<std::size_t(std::span<std::uint8_t>)> read;
  /// Goes on by up to so many bytes without reading them; -> how many, fewer at the end. Empty:
  /// they have to be read.
  std::function<std::uint64_t(std::uint64_t)> skip = {};

  /// InputError that names the stream.
  [[noreturn]] void fail(const std::string& what) const;

  /// Overwrites all of `bytes`. InputError where fewer come.
  void read_all(std::span<std::uint8_t> bytes, const std::string& what) const;

  /// The next `count` bytes. Memory grows with what is really there, so what a hostile file claims
  /// is never allocated at once. InputError where fewer come.
  std::vector<std::uint8_t> read_bytes(std::uint64_t count, const std::string& what) const;

  /// Goes on past so many bytes. InputError where there are fewer.
  void skip_all(std::uint64_t count, const std::string& what) const;

  /// InputError unless the content ends here, after its `what`.
  void expect_end(const std::string& what = "values") const;
};

/// `count` numbers as convert(bytes of one) gives them, where each has `width` bytes. Memory grows
/// as that of read_bytes().
template <class T, class Convert>
std::vector<T> read_numbers(const ByteStream& stream, std::uint64_t count, std::size_t width,
                            const Convert& convert) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  constexpr std::uint64_t kFirstGrowth = std::uint64_t{1} << 22;
  std::vector<std::uint8_t> piece(kPieceBytes / width * width);
  std::vector<T> values;
  while (values.size() < count) {
    const std::uint64_t left = (count - values.size()) * width;
    const std::span bytes(piece.data(),
                          static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), left)));
    stream.read_all(bytes, "values");
    if (values.capacity() < values.size() + bytes.size() / width) {
      values.reserve(static_cast<std::size_t>(
          std::min(count, std::max<std::uint64_t>(2 * values.size(), kFirstGrowth))));
    }
    for (std::size_t i = 0; i < bytes.size(); i += width) values.push_back(convert(&bytes[i]));
  }
  return values;
}

}  // namespace quern
