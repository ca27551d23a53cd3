// SPDX-License-Identifier: Apache-2.0
#include "app/lines_file.hpp"

#include <cstddef>

#include "base/log.hpp"

namespace quern {

namespace {

constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 16;

}  // namespace

LinesFile::LinesFile(const std::string& path) {
  if (!path.empty()) file_.emplace(path);
}

void LinesFile::add_line(const std::string& line) {
  text_ += line;
  text_ += '\n';
  if (text_.size() >= kWrittenAtOnce) write();
}

void LinesFile::write() {
  if (text_.empty()) return;
  if (file_) {
    file_->write(text_);
  } else {
    text_.pop_back();
    log::print(text_);
  }
  text_.clear();
}

void LinesFile::finish() {
  write();
  if (file_) file_->finish();
}

}  // namespace quern
