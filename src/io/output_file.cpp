// SPDX-License-Identifier: Apache-2.0
#include "io/output_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "io/folder_files.hpp"

namespace quern {

namespace {

namespace fs = std::filesystem;

// A file of its own, or one that is not there yet: not /dev/stdout, whatever it leads to.
bool becomes_file(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  const std::string name = path.string();
  const bool is_of_system =
      (name.starts_with("/dev/") && !name.starts_with("/dev/shm/")) || name.starts_with("/proc/");
  return (type == fs::file_type::not_found || type == fs::file_type::regular) && !is_of_system;
}

}  // namespace

OutputFile::OutputFile(const fs::path& path) : path_(path) {
  if (becomes_file(path)) {
    pending_.emplace(file_behind(path));
    remove_abandoned(pending_->path());
  }
  errno = 0;
  stream_.open(pending_ ? pending_->temporary() : path, std::ios::binary | std::ios::trunc);
  if (!stream_) throw_write_failure("cannot write '" + path.string() + "'", errno);
}

void OutputFile::write(std::string_view bytes) {
  errno = 0;
  stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
  if (!stream_) fail();
}

void OutputFile::finish(const std::function<void()>& check) {
  errno = 0;
  stream_.close();
  if (!stream_) fail();
  if (pending_) pending_->commit(check);
}

// errno as the failed call left it.
void OutputFile::fail() const {
  throw Error("cannot write '" + path_.string() +
              "': " + (errno != 0 ? std::generic_category().message(errno) : "unknown cause"));
}

void write_whole_file(const fs::path& path, std::string_view bytes,
                      const std::function<void()>& check) {
  OutputFile file(path);
  file.write(bytes);
  file.finish(check);
}

void shorten_file(const fs::path& path, std::int64_t num_bytes) {
  if (::truncate(path.c_str(), num_bytes) != 0)
    throw_write_failure("cannot write '" + path.string() + "'", errno);
  sync_path(path);
}

}  // namespace quern
