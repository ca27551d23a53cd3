// SPDX-License-Identifier: Apache-2.0
#include "readers/text_lines.hpp"

#include <fmt/format.h>

namespace quern {

namespace {

constexpr std::size_t kMaxLine = std::size_t{1} << 26;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

std::optional<std::string_view> TextLines::next() {
  for (;;) {
    const std::size_t end = text_.find('\n', scanned_);
    if (end != std::string::npos) return take(end, end + 1);
    scanned_ = text_.size();
    if (text_.size() - begin_ > kMaxLine) {
      stream_.fail(fmt::format("line {} is longer than {} bytes", number_ + 1, kMaxLine));
    }
    if (!refill()) break;
  }
  if (begin_ == text_.size()) return std::nullopt;
  return take(text_.size(), text_.size());
}

void TextLines::go_to(std::int64_t number, std::uint64_t offset) {
  const std::uint64_t first = read_ - text_.size();  // byte of text_
  if (offset <= read_) {
    begin_ = static_cast<std::size_t>(offset - first);
  } else {
    stream_.skip_all(offset - read_, "lines");
    text_.clear();
    read_ = offset;
    begin_ = 0;
  }
  scanned_ = begin_;
  number_ = number;
}

std::string_view TextLines::take(std::size_t end, std::size_t next) {
  std::string_view line(text_.data() + begin_, end - begin_);
  if (number_ == 0 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  begin_ = scanned_ = next;
  ++number_;
  return line;
}

bool TextLines::refill() {
  text_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  const std::size_t kept = text_.size();
  text_.resize(kept + (std::size_t{1} << 20));
  const std::size_t got =
      stream_.read({reinterpret_cast<std::uint8_t*>(text_.data()) + kept, text_.size() - kept});
  text_.resize(kept + got);
  read_ += got;
  return got > 0;
}

}  // namespace quern
