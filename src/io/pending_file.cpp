// SPDX-License-Identifier: Apache-2.0
#include "io/pending_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/host_name.hpp"

namespace quern {

PendingFile::PendingFile(std::filesystem::path path)
    : path_(std::move(path)),
      temporary_(path_.string() + ".tmp." + host_name() + "." + std::to_string(getpid())) {}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

PendingFile::~PendingFile() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

void PendingFile::commit(const std::function<void()>& check) {
  sync_path(temporary_);
  if (check) check();
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) {
    throw Error("cannot rename '" + temporary_.string() + "' to '" + path_.string() +
                "': " + error.message());
  }
  temporary_.clear();
  const std::filesystem::path folder = path_.parent_path();
  sync_path(folder.empty() ? "." : folder);
}

std::filesystem::path file_behind(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // of Linux
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (!error) return file;
  // What is not there has no canonical path, so a link to it is followed by hand.
  fs::path target = path;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(target, error)); ++i) {
    const fs::path next = fs::read_symlink(target, error);
    if (error) return path;
    target = target.parent_path() / next;
  }
  return target;
}

void throw_write_failure(const std::string& what, int error) {
  const std::string text = what + ": " + std::generic_category().message(error);
  for (const int refusal :
       {EACCES, EPERM, EROFS, ENOENT, EEXIST, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG})
    if (error == refusal) throw InputError(text);
  throw Error(text);
}

void sync_path(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    throw Error("cannot open '" + path.string() + "' to sync it: " + std::strerror(errno));
  }
  const int status = ::fsync(descriptor);
  const int reason = errno;
  ::close(descriptor);
  // Some file systems cannot sync a folder and say EINVAL; there is nothing better to do there.
  if (status != 0 && reason != EINVAL) {
    throw Error("cannot sync '" + path.string() + "' to disk: " + std::strerror(reason));
  }
}

}  // namespace quern
