// SPDX-License-Identifier: Apache-2.0
#include "app/lines_file.hpp"

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/log.hpp"

namespace quern {

namespace {

constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 16;

// The file that a link leads to, so that the link stays.
std::filesystem::path file_behind(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  return error ? std::filesystem::path(path) : file;
}

// A file of its own, or one that is not there yet: not /dev/stdout, whatever it leads to.
bool becomes_file(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  using enum std::filesystem::file_type;
  return (type == not_found || type == regular) && !path.starts_with("/dev/") &&
         !path.starts_with("/proc/");
}

// errno as the failed call left it.
[[noreturn]] void fail_to_write(const std::string& path) {
  throw InputError("cannot write '" + path + "': " + std::generic_category().message(errno));
}

}  // namespace

LinesFile::LinesFile(const std::string& path) : path_(path) {
  if (path.empty()) return;
  if (becomes_file(path)) pending_.emplace(file_behind(path));
  file_.open(pending_ ? pending_->temporary() : std::filesystem::path(path), std::ios::trunc);
  if (!file_) fail_to_write(path);
}

void LinesFile::add_line(const std::string& line) {
  text_ += line;
  text_ += '\n';
  if (text_.size() >= kWrittenAtOnce) write();
}

void LinesFile::write() {
  if (text_.empty()) return;
  if (path_.empty()) {
    text_.pop_back();
    log::print(text_);
  } else {
    file_ << text_ << std::flush;
    if (!file_) fail_to_write(path_);
  }
  text_.clear();
}

void LinesFile::finish() {
  write();
  if (path_.empty()) return;
  file_.close();
  if (!file_) fail_to_write(path_);
  if (pending_) pending_->commit();
}

}  // namespace quern
