// SPDX-License-Identifier: Apache-2.0
#include "readers/zip_reader.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"
#include "readers/byte_source.hpp"

namespace quern {

namespace {

constexpr std::uint32_t kMemberHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kDirectoryEnd = 0x06054b50;
constexpr std::uint32_t kWideDirectoryEnd = 0x06064b50;
constexpr std::uint32_t kWideLocator = 0x07064b50;
constexpr std::uint32_t kLargest32 = 0xffffffff;
constexpr std::uint64_t kMaxDirectory = std::uint64_t{1} << 26;
constexpr std::uint64_t kBestRatio = 1032;  // of deflate

/// Little-endian numbers out of bytes; nothing beyond their end.
class Fields {
 public:
  Fields(std::span<const std::uint8_t> bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  bool is_good() const { return good_; }
  std::size_t at() const { return at_; }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  void skip(std::size_t count) { take(count); }
  std::span<const std::uint8_t> take(std::size_t count) {
    if (count > bytes_.size() - std::min(at_, bytes_.size())) {
      good_ = false;
      return {};
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }

 private:
  std::uint64_t number(std::size_t width) {
    std::uint64_t value = 0;
    const auto bytes = take(width);
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
    return value;
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_;
  bool good_ = true;
};

class File {
 public:
  explicit File(const std::filesystem::path& path) : path_(path) {
    std::error_code error;
    size_ = std::filesystem::file_size(path, error);
    errno = 0;
    stream_.open(path, std::ios::binary);
    if (error || !stream_) fail_reading(path, error ? error.value() : errno);
  }

  std::uint64_t size() const { return size_; }

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("'{}': {}", path_.string(), what));
  }

  std::vector<std::uint8_t> read(std::uint64_t offset, std::uint64_t count) {
    if (offset > size_ || count > size_ - offset) fail("a damaged ZIP archive: it is too short");
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
    read_some(offset, bytes);
    return bytes;
  }

  void read_some(std::uint64_t offset, std::span<std::uint8_t> bytes) {
    stream_.clear();
    errno = 0;
    if (!stream_.seekg(static_cast<std::streamoff>(offset))) fail_reading(path_, errno);
    stream_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (stream_.bad()) fail_reading(path_, errno);
    if (!stream_) fail("cannot be read to its end");
  }

 private:
  std::filesystem::path path_;
  std::ifstream stream_;
  std::uint64_t size_ = 0;
};

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

/// The end record lies in the last 64 KiB; a comment may follow it.
Directory find_directory(File& file) {
  constexpr std::uint64_t kEndBytes = 22;
  constexpr std::uint64_t kLocatorBytes = 20;
  const std::uint64_t tail = std::min<std::uint64_t>(file.size(), kEndBytes + 65535);
  const std::vector<std::uint8_t> bytes = file.read(file.size() - tail, tail);
  for (std::size_t at = bytes.size() < kEndBytes ? 0 : bytes.size() - kEndBytes + 1; at-- > 0;) {
    Fields end(bytes, at);
    if (end.u32() != kDirectoryEnd) continue;
    const std::uint16_t disk = end.u16();
    const std::uint16_t first_disk = end.u16();
    end.skip(2);
    Directory directory;
    directory.entries = end.u16();
    directory.bytes = end.u32();
    directory.offset = end.u32();
    const std::uint16_t comment = end.u16();
    if (!end.is_good() || end.at() + comment != bytes.size()) continue;
    if (disk != 0 || first_disk != 0) file.fail("a ZIP archive of several disks");
    const bool is_wide = directory.entries == 0xffff || directory.bytes == kLargest32 ||
                         directory.offset == kLargest32;
    if (!is_wide || at < kLocatorBytes) return directory;
    Fields locator(bytes, at - kLocatorBytes);
    if (locator.u32() != kWideLocator) return directory;
    locator.skip(4);
    const std::vector<std::uint8_t> wide = file.read(locator.u64(), 56);
    Fields fields(wide, 0);
    if (fields.u32() != kWideDirectoryEnd) file.fail("a damaged ZIP archive: no ZIP64 end record");
    fields.skip(20);
    fields.skip(8);
    directory.entries = fields.u64();
    directory.bytes = fields.u64();
    directory.offset = fields.u64();
    return directory;
  }
  file.fail("not a whole ZIP archive: it has no directory at its end (truncated?)");
}

/// Sizes that do not fit into 32 bits stand in an extra field.
bool read_wide_sizes(std::span<const std::uint8_t> extra, ZipMember& member) {
  Fields fields(extra, 0);
  const bool needs_any = member.bytes == kLargest32 || member.packed_bytes == kLargest32 ||
                         member.header_offset == kLargest32;
  while (needs_any && fields.is_good() && fields.at() < extra.size()) {
    const std::uint16_t id = fields.u16();
    const std::uint16_t size = fields.u16();
    const std::span<const std::uint8_t> content = fields.take(size);
    if (id != 1) continue;
    Fields wide(content, 0);
    for (std::uint64_t* value : {&member.bytes, &member.packed_bytes, &member.header_offset}) {
      if (*value == kLargest32) *value = wide.u64();
    }
    return wide.is_good();
  }
  return !needs_any;
}

ZipMember read_entry(const File& file, Fields& fields) {
  ZipMember member;
  if (fields.u32() != kDirectoryEntry) file.fail("a damaged ZIP archive: bad directory");
  fields.skip(4);
  const std::uint16_t flags = fields.u16();
  member.method = fields.u16();
  fields.skip(4);
  member.crc = fields.u32();
  member.packed_bytes = fields.u32();
  member.bytes = fields.u32();
  const std::uint16_t name_bytes = fields.u16();
  const std::uint16_t extra_bytes = fields.u16();
  const std::uint16_t comment_bytes = fields.u16();
  fields.skip(8);
  member.header_offset = fields.u32();
  const auto name = fields.take(name_bytes);
  member.name.assign(name.begin(), name.end());
  const auto extra = fields.take(extra_bytes);
  fields.skip(comment_bytes);
  if (!fields.is_good() || !read_wide_sizes(extra, member)) {
    file.fail("a damaged ZIP archive: bad directory");
  }
  if ((flags & 1) != 0)
    file.fail(fmt::format("its member '{}' is encrypted", printable(member.name)));
  if (member.method != 0 && member.method != 8) {
    file.fail(fmt::format("its member '{}' is packed by method {}, expected 0 or 8 (deflate)",
                          printable(member.name), member.method));
  }
  return member;
}

/// The content of one member, piece by piece.
class MemberReader {
 public:
  MemberReader(const std::filesystem::path& path, const ZipMember& member)
      : file_(path), member_(member), packed_(std::size_t{1} << 18) {
    const std::vector<std::uint8_t> bytes = file_.read(member.header_offset, 30);
    Fields header(bytes, 0);
    if (header.u32() != kMemberHeader) fail("has no header where the directory says");
    header.skip(22);
    const std::uint64_t name_bytes = header.u16();
    const std::uint64_t extra_bytes = header.u16();
    offset_ = member.header_offset + bytes.size() + name_bytes + extra_bytes;
    if (offset_ > file_.size() || member.packed_bytes > file_.size() - offset_) {
      fail("does not fit into the archive");
    }
    const bool is_stored = member.method == 0;
    const std::uint64_t most =
        is_stored ? member.packed_bytes
                  : std::min(member.packed_bytes,
                             std::numeric_limits<std::uint64_t>::max() / kBestRatio) *
                        kBestRatio;
    if (member.bytes > most || (is_stored && member.bytes != member.packed_bytes)) {
      fail(fmt::format("claims {} bytes, which {} packed bytes cannot hold", member.bytes,
                       member.packed_bytes));
    }
    if (!is_stored && inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw Error("cannot start zlib");
  }
  ~MemberReader() { inflateEnd(&stream_); }
  MemberReader(const MemberReader&) = delete;
  MemberReader& operator=(const MemberReader&) = delete;

  std::size_t read(std::span<std::uint8_t> bytes) {
    const auto left =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), member_.bytes - done_));
    const std::span<std::uint8_t> wanted = bytes.first(left);
    if (member_.method == 0) {
      if (left > 0) file_.read_some(offset_ + done_, wanted);
    } else {
      inflate_into(wanted);
    }
    crc_ = crc32_z(crc_, wanted.data(), wanted.size());
    done_ += left;
    return left;
  }

  void finish() const {
    if (done_ == member_.bytes && crc_ != member_.crc) fail("is damaged: its CRC-32 differs");
  }

  [[noreturn]] void fail(const std::string& what) const {
    file_.fail(fmt::format("its member '{}' {}", printable(member_.name), what));
  }

 private:
  void inflate_into(std::span<std::uint8_t> bytes) {
    std::size_t count = 0;
    while (count < bytes.size()) {
      if (stream_.avail_in == 0 && taken_ < member_.packed_bytes) refill();
      stream_.next_out = bytes.data() + count;
      stream_.avail_out = static_cast<uInt>(
          std::min<std::size_t>(bytes.size() - count, std::numeric_limits<uInt>::max()));
      const std::size_t wanted = stream_.avail_out;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      count += wanted - stream_.avail_out;
      const bool is_stuck = status == Z_BUF_ERROR && taken_ == member_.packed_bytes;
      const bool is_short = status == Z_STREAM_END && count < bytes.size();
      if (is_stuck || is_short ||
          (status != Z_OK && status != Z_BUF_ERROR && status != Z_STREAM_END)) {
        fail(fmt::format("is damaged: {}", stream_.msg ? stream_.msg : "its data ends early"));
      }
    }
  }

  void refill() {
    const auto count = static_cast<std::size_t>(
        std::min<std::uint64_t>(packed_.size(), member_.packed_bytes - taken_));
    file_.read_some(offset_ + taken_, std::span(packed_).first(count));
    taken_ += count;
    stream_.next_in = packed_.data();
    stream_.avail_in = static_cast<uInt>(count);
  }

  File file_;
  ZipMember member_;
  std::vector<std::uint8_t> packed_;
  std::uint64_t offset_ = 0;  // of the packed content
  std::uint64_t taken_ = 0;   // packed bytes that zlib has had
  std::uint64_t done_ = 0;    // bytes of the content that were handed out
  uLong crc_ = 0;
  z_stream stream_{};
};

}  // namespace

std::vector<ZipMember> list_zip(const std::filesystem::path& path) {
  File file(path);
  const Directory directory = find_directory(file);
  if (directory.bytes > kMaxDirectory) {
    file.fail(fmt::format("a ZIP archive with a directory of {} bytes", directory.bytes));
  }
  const std::vector<std::uint8_t> bytes = file.read(directory.offset, directory.bytes);
  Fields fields(bytes, 0);
  std::vector<ZipMember> members;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    members.push_back(read_entry(file, fields));
  }
  return members;
}

void read_zip_member(const std::filesystem::path& path, const ZipMember& member,
                     const std::string& stream_name,
                     const std::function<void(const ByteStream&)>& read) {
  MemberReader reader(path, member);
  read({stream_name, member.bytes,
        [&](std::span<std::uint8_t> bytes) { return reader.read(bytes); }});
  reader.finish();
}

}  // namespace quern
