// SPDX-License-Identifier: Apache-2.0
#include "app/bench/scratch_folder.hpp"

#include <unistd.h>

#include <csignal>
#include <string>
#include <system_error>

#include "base/error.hpp"

namespace quern {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void note_interruption(int) {
  g_interrupted = 1;
}

}  // namespace

ScratchFolder::ScratchFolder(const std::filesystem::path& parent)
    : path_(parent / (".quern-bench-" + std::to_string(getpid()))) {
  if (!std::filesystem::is_directory(parent)) {
    throw InputError("'" + parent.string() + "' is no folder (expected one to write to)");
  }
  std::error_code error;
  std::filesystem::remove_all(path_, error);  // of a dead process of the same number
  if (!std::filesystem::create_directory(path_, error)) {
    throw InputError("cannot write to '" + parent.string() + "': " + error.message());
  }
  g_interrupted = 0;
  before_interrupt_ = std::signal(SIGINT, note_interruption);
  before_terminate_ = std::signal(SIGTERM, note_interruption);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  std::signal(SIGINT, before_interrupt_);
  std::signal(SIGTERM, before_terminate_);
}

void ScratchFolder::stop_if_interrupted() const {
  if (g_interrupted != 0) throw Error("interrupted");
}

}  // namespace quern
