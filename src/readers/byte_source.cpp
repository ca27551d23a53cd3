// SPDX-License-Identifier: Apache-2.0
#include "readers/byte_source.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "io/folder_files.hpp"

namespace quern {

namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::uint64_t kBestGzipRatio = 1032;  // zlib's technical details: 1032:1 for zeros
constexpr int kGzipOnly = 16 + MAX_WBITS;

bool begins_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

}  // namespace

void fail_reading(const std::filesystem::path& path, int error) {
  throw_read_failure(error, fmt::format("cannot read '{}'", path.string()));
}

struct ByteSource::Inflater {
  Inflater() {
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw Error("cannot start zlib");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  bool at_end = false;
};

ByteSource::ByteSource(std::filesystem::path path) : path_(std::move(path)) {
  const std::filesystem::file_status status = status_of(path_);
  if (!std::filesystem::exists(status))
    throw InputError(fmt::format("no file '{}'", path_.string()));
  if (!std::filesystem::is_regular_file(status)) {
    throw InputError(fmt::format("'{}' is not a file", path_.string()));
  }
  std::error_code error;
  file_bytes_ = std::filesystem::file_size(path_, error);
  errno = 0;
  file_.open(path_, std::ios::binary);
  if (error || !file_) fail_reading(path_, error ? error.value() : errno);
  buffer_.resize(kBufferBytes);
  refill();
  if (begins_gzip(unread_)) inflater_ = std::make_unique<Inflater>();
}

ByteSource::~ByteSource() = default;

std::uint64_t ByteSource::longest_content() const {
  if (!is_gzip()) return file_bytes_;
  const bool fits = file_bytes_ < std::numeric_limits<std::uint64_t>::max() / kBestGzipRatio;
  return fits ? file_bytes_ * kBestGzipRatio : std::numeric_limits<std::uint64_t>::max();
}

std::size_t ByteSource::read(std::span<std::uint8_t> bytes) {
  const std::size_t count = is_gzip() ? read_gzip(bytes) : read_plain(bytes);
  content_hash_.update(std::as_bytes(bytes.first(count)));
  return count;
}

std::uint64_t ByteSource::skip(std::uint64_t count) {
  const std::size_t buffered = std::min<std::uint64_t>(count, unread_.size());
  unread_ = unread_.subspan(buffered);
  if (buffered == count) return count;
  // The buffer is empty; a file that could be sought beyond its end has nothing there.
  const auto at = file_.eof() ? file_bytes_ : static_cast<std::uint64_t>(file_.tellg());
  const std::uint64_t sought = std::min(count - buffered, file_bytes_ - std::min(at, file_bytes_));
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(at + sought));
  return buffered + sought;
}

std::string ByteSource::file_sha256() {
  return file_hash_.hex_digest();
}

std::string ByteSource::content_sha256() {
  return content_hash_.hex_digest();
}

// Whatever is left unread moves to the front. -> false at the end of the file.
bool ByteSource::refill() {
  std::copy(unread_.begin(), unread_.end(), buffer_.begin());
  const std::size_t kept = unread_.size();
  errno = 0;
  file_.read(reinterpret_cast<char*>(buffer_.data() + kept),
             static_cast<std::streamsize>(buffer_.size() - kept));
  const auto fresh = static_cast<std::size_t>(file_.gcount());
  if (file_.bad()) fail_reading(path_, errno);
  file_hash_.update(std::as_bytes(std::span(buffer_).subspan(kept, fresh)));
  unread_ = std::span(buffer_).first(kept + fresh);
  return fresh > 0;
}

std::size_t ByteSource::read_plain(std::span<std::uint8_t> bytes) {
  std::size_t count = 0;
  while (count < bytes.size() && (!unread_.empty() || refill())) {
    const std::size_t piece = std::min(unread_.size(), bytes.size() - count);
    std::copy_n(unread_.begin(), piece, bytes.begin() + static_cast<std::ptrdiff_t>(count));
    unread_ = unread_.subspan(piece);
    count += piece;
  }
  return count;
}

std::size_t ByteSource::read_gzip(std::span<std::uint8_t> bytes) {
  z_stream& stream = inflater_->stream;
  std::size_t count = 0;
  while (count < bytes.size() && !inflater_->at_end) {
    if (unread_.empty() && !refill()) {
      throw InputError(fmt::format("'{}' is truncated: the gzip data ends early", path_.string()));
    }
    const std::size_t wanted =
        std::min<std::size_t>(bytes.size() - count, std::numeric_limits<uInt>::max());
    // zlib reads through this pointer only.
    stream.next_in = const_cast<Bytef*>(unread_.data());
    stream.avail_in = static_cast<uInt>(unread_.size());
    stream.next_out = bytes.data() + count;
    stream.avail_out = static_cast<uInt>(wanted);
    const int status = inflate(&stream, Z_NO_FLUSH);
    count += wanted - stream.avail_out;
    unread_ = unread_.last(stream.avail_in);
    if (status == Z_STREAM_END) {
      inflater_->at_end = !begin_next_member();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw InputError(fmt::format("'{}' is damaged: {}", path_.string(),
                                   stream.msg != nullptr ? stream.msg : "bad gzip data"));
    }
  }
  return count;
}

// gzip files may be concatenated. -> false at the end of the file.
bool ByteSource::begin_next_member() {
  if (unread_.size() < 2) refill();
  if (unread_.empty()) return false;
  if (!begins_gzip(unread_)) {
    throw InputError(fmt::format("'{}' has trailing bytes after its gzip data", path_.string()));
  }
  if (inflateReset2(&inflater_->stream, kGzipOnly) != Z_OK) throw Error("cannot restart zlib");
  return true;
}

}  // namespace quern
