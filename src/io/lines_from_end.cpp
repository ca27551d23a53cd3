// SPDX-License-Identifier: Apache-2.0
#include "io/lines_from_end.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "base/system_failure.hpp"
#include "io/read_at.hpp"

namespace quern {

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 18;

}  // namespace

LinesFromEnd::LinesFromEnd(std::filesystem::path file) : path_(std::move(file)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    if (errno == ENOENT) return;
    fail();
  }
  struct stat state {};
  const bool is_known = ::fstat(descriptor_, &state) == 0;
  const std::int64_t end = is_known ? state.st_size : 0;
  begin_ = std::max<std::int64_t>(0, end - static_cast<std::int64_t>(kReadBytes));
  try {
    if (!is_known) fail();
    bytes_ = read(begin_, kReadBytes);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

LinesFromEnd::~LinesFromEnd() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<LinesFromEnd::Line> LinesFromEnd::next() {
  if (bytes_.empty() && begin_ == 0) return std::nullopt;
  const auto end_of_line_before = [&] {
    return bytes_.size() < 2 ? std::string::npos : bytes_.rfind('\n', bytes_.size() - 2);
  };
  std::size_t before = end_of_line_before();
  while (before == std::string::npos && begin_ > 0) {
    // More for longer lines, so that each byte is moved a few times only.
    const auto count = static_cast<std::size_t>(
        std::min(begin_, static_cast<std::int64_t>(std::max(kReadBytes, bytes_.size()))));
    std::string front = read(begin_ - static_cast<std::int64_t>(count), count);
    if (front.size() < count) fail();  // the file has become shorter meanwhile
    begin_ -= static_cast<std::int64_t>(count);
    bytes_.insert(0, front);
    before = end_of_line_before();
  }
  const std::size_t first = before == std::string::npos ? 0 : before + 1;
  Line line{bytes_.substr(first), begin_ + static_cast<std::int64_t>(first), true};
  bytes_.resize(first);
  line.is_ended = line.text.ends_with('\n');
  if (line.is_ended) line.text.pop_back();
  return line;
}

// Fewer bytes where the file ends.
std::string LinesFromEnd::read(std::int64_t begin, std::size_t count) const {
  std::string bytes(count, '\0');
  errno = 0;
  const auto done = read_at(descriptor_, begin, std::as_writable_bytes(std::span(bytes)));
  if (!done) fail();
  bytes.resize(*done);
  return bytes;
}

void LinesFromEnd::fail() const {
  throw_read_failure(errno, "cannot read '" + path_.string() + "'");
}

}  // namespace quern
