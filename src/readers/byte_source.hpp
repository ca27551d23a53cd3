// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/sha256.hpp"

namespace quern {

/// The bytes of a file from first to last; a gzip file (known by its first two bytes) is unpacked
/// on the way, and its checksums are checked. All errors name the file: SystemFailure where a disk
/// or a file server fails, else InputError.
class ByteSource {
 public:
  explicit ByteSource(std::filesystem::path path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool is_gzip() const { return inflater_ != nullptr; }

  /// No content can be longer than this: the size of the file, times the best ratio that gzip can
  /// reach. (Content that claims to be longer need not be allocated for.)
  std::uint64_t longest_content() const;

  /// Overwrites `bytes` from the start with what comes next; -> how many. Fewer than asked for:
  /// the content ends there.
  std::size_t read(std::span<std::uint8_t> bytes);

  /// Leaves out up to so many bytes of what comes next; -> how many, fewer at the end. From then on
  /// the checksums below are of no use. Not of a gzip file.
  std::uint64_t skip(std::uint64_t count);

  /// SHA-256 of the file as it lies on the disk, and of what read() gave; after the end only.
  std::string file_sha256();
  std::string content_sha256();

 private:
  struct Inflater;

  bool refill();
  std::size_t read_plain(std::span<std::uint8_t> bytes);
  std::size_t read_gzip(std::span<std::uint8_t> bytes);
  bool begin_next_member();

  std::filesystem::path path_;
  std::ifstream file_;
  std::uint64_t file_bytes_ = 0;
  std::vector<std::uint8_t> buffer_;
  std::span<const std::uint8_t> unread_;  // the part of buffer_ that nobody has had yet
  std::unique_ptr<Inflater> inflater_;
  Sha256 file_hash_;
  Sha256 content_hash_;
};

/// Throws "cannot read 'PATH': what the system says", as ByteSource does. `error` is a value of
/// errno.
[[noreturn]] void fail_reading(const std::filesystem::path& path, int error);

}  // namespace quern
