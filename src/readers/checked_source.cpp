// SPDX-License-Identifier: Apache-2.0
#include "readers/checked_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

namespace quern {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw InputError(fmt::format("'{}': {}", path.string(), what));
}

}  // namespace

void check_is_sha256(const std::string& text) {
  const bool hexadecimal =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!text.empty() && (text.size() != 64 || !hexadecimal)) {
    throw InputError(fmt::format("'{}' is not a SHA-256, expected 64 hexadecimal digits", text));
  }
}

Sha256Match match_sha256(ByteSource& source, const std::string& expected) {
  if (expected.empty()) return Sha256Match::not_asked;
  const std::string wanted = lower_case(expected);
  const std::string of_file = source.file_sha256();
  if (of_file == wanted) return Sha256Match::file;
  const std::string of_content = source.content_sha256();
  if (of_content == wanted) return Sha256Match::content;
  fail(source.path(),
       source.is_gzip()
           ? fmt::format("SHA-256 is {} (unpacked {}), expected {}", of_file, of_content, wanted)
           : fmt::format("SHA-256 is {}, expected {}", of_file, wanted));
}

Sha256Match match_sha256(const std::filesystem::path& file, const std::string& expected) {
  if (expected.empty()) return Sha256Match::not_asked;
  const std::string of_file = sha256_of_file(file);
  if (of_file == lower_case(expected)) return Sha256Match::file;
  fail(file, fmt::format("SHA-256 is {}, expected {}", of_file, lower_case(expected)));
}

ByteStream stream_of(ByteSource& source) {
  return {fmt::format("'{}'", source.path().string()), source.longest_content(),
          [&source](std::span<std::uint8_t> bytes) { return source.read(bytes); }};
}

ByteStream seekable_stream_of(ByteSource& source, const std::string& expected_sha256) {
  ByteStream stream = stream_of(source);
  if (expected_sha256.empty() && !source.is_gzip())
    stream.skip = [&source](std::uint64_t count) { return source.skip(count); };
  return stream;
}

}  // namespace quern
