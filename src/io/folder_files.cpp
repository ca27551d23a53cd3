// SPDX-License-Identifier: Apache-2.0
#include "io/folder_files.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/host_name.hpp"
#include "base/system_failure.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTemporary = ".tmp.";
// Far longer than between two writes.
constexpr std::chrono::hours kStale{1};

struct Writer {
  std::string of;  // the name that the file was to get
  std::string host;
  pid_t pid;
};

/// Who writes a temporary file, by its name (PendingFile).
std::optional<Writer> writer_of_temporary(const std::string& name) {
  const std::size_t at = name.find(kTemporary);
  const std::size_t dot = name.rfind('.');
  if (at == std::string::npos || dot < at + kTemporary.size()) return std::nullopt;
  const std::string_view digits = std::string_view(name).substr(dot + 1);
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (error != std::errc() || end != digits.data() + digits.size() || pid <= 0) return std::nullopt;
  const std::size_t host = at + kTemporary.size();
  return Writer{name.substr(0, at), name.substr(host, dot - host), pid};
}

/// Has it ended, although nobody has asked how? In a container whose first process does not ask, it
/// stays in the table for good. The file reads "4711 (name) Z ...", and a name may have a bracket.
bool is_zombie(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t state = text.rfind(')');
  return state != std::string::npos && text.compare(state, 3, ") Z") == 0;
}

bool is_alive(pid_t pid) {
  return (kill(pid, 0) == 0 || errno != ESRCH) && !is_zombie(pid);
}

bool is_old(const fs::path& file) {
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  return !error && fs::file_time_type::clock::now() - written > kStale;
}

bool is_of_dead(const Writer& writer) {
  return writer.host == host_name() && (writer.pid == getpid() || !is_alive(writer.pid));
}

// Of a process on another machine nothing else is known.
bool is_stale(const fs::path& file, const Writer& writer) {
  return writer.host == host_name() ? is_of_dead(writer) : is_old(file);
}

// A link counts as what it leads to. One that leads nowhere, and what the system cannot look at,
// are for those to refuse who open them.
bool may_be_file(const fs::directory_entry& entry) {
  std::error_code unknown;
  const fs::file_type type = entry.status(unknown).type();
  if (type == fs::file_type::not_found)
    return entry.symlink_status(unknown).type() == fs::file_type::symlink;
  return type == fs::file_type::regular || type == fs::file_type::none;
}

}  // namespace

fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none)
    throw_read_failure(error.value(), fmt::format("cannot read '{}'", path.string()));
  return status;
}

std::vector<fs::path> regular_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return files;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (may_be_file(*entry)) files.push_back(*entry);
  }
  if (error)
    throw_read_failure(error.value(), fmt::format("cannot list the folder '{}'", folder.string()));
  return files;
}

void remove_abandoned(const fs::path& path) {
  const std::string name = path.filename().string();
  try {
    for (const fs::path& file : regular_files(path.has_parent_path() ? path.parent_path() : ".")) {
      const auto writer = writer_of_temporary(file.filename().string());
      std::error_code error;
      if (writer && writer->of == name && is_of_dead(*writer) && is_old(file))
        fs::remove(file, error);
    }
  } catch (const Error&) {
    // A folder that may be written, but not listed.
  }
}

std::vector<fs::path> remove_stale_files(
    const fs::path& folder, const std::function<bool(const std::string& name)>& is_ours) {
  std::vector<fs::path> removed;
  for (const fs::path& file : regular_files(folder)) {
    const auto writer = writer_of_temporary(file.filename().string());
    if (!writer || !is_ours(writer->of) || !is_stale(file, *writer)) continue;
    std::error_code error;
    if (fs::remove(file, error)) removed.push_back(file);
  }
  std::sort(removed.begin(), removed.end());
  return removed;
}

}  // namespace quern
