// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "readers/byte_stream.hpp"

namespace quern {

/// The lines of a text without their ends ("\n" or "\r\n"), and without the byte-order mark that
/// some programs put before UTF-8. Memory grows with what is really there.
class TextLines {
 public:
  /// The stream must outlive it, and stand at its beginning.
  explicit TextLines(const ByteStream& stream) : stream_(stream) {}

  /// The next line, until the next call. InputError where one is longer than 64 MiB.
  std::optional<std::string_view> next();

  /// Of the line that came last, from 1.
  std::int64_t number() const { return number_; }
  /// Bytes of the text up to the line that comes next.
  std::uint64_t offset() const { return read_ - (text_.size() - begin_); }

  /// Goes on behind so many lines, which are so many bytes. Forward, or to the beginning while no
  /// more than one line was read. InputError where the text is shorter.
  void go_to(std::int64_t number, std::uint64_t offset);

 private:
  std::string_view take(std::size_t end, std::size_t next);
  bool refill();

  const ByteStream& stream_;
  std::string text_;
  std::uint64_t read_ = 0;   // bytes of the stream
  std::size_t begin_ = 0;    // of the line to come
  std::size_t scanned_ = 0;  // there is no end of a line before it
  std::int64_t number_ = 0;
};

}  // namespace quern
