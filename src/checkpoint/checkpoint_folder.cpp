// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_folder.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string_view>
#include <system_error>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/host_name.hpp"
#include "base/system_failure.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "ckpt-";
constexpr std::string_view kSuffix = ".h5";
constexpr std::string_view kTemporary = ".h5.tmp.";
constexpr std::size_t kStepDigits = 10;
// Far longer than a checkpoint takes; of a process on another machine nothing else is known.
constexpr std::chrono::hours kStaleElsewhere{1};

/// The number that makes up all of `digits`: no sign, no blank.
std::optional<std::int64_t> parse_digits(std::string_view digits) {
  std::int64_t value = 0;
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

struct Writer {
  std::string host;
  pid_t pid;
};

/// Who writes a temporary file, by its name.
std::optional<Writer> writer_of_temporary(const std::string& name) {
  const std::size_t at = name.find(kTemporary);
  if (at == std::string::npos) return std::nullopt;
  if (!step_of_name(name.substr(0, at) + std::string(kSuffix))) return std::nullopt;
  const std::string_view writer = std::string_view(name).substr(at + kTemporary.size());
  const std::size_t dot = writer.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto pid = parse_digits(writer.substr(dot + 1));
  if (!pid || *pid <= 0 || *pid != static_cast<pid_t>(*pid)) return std::nullopt;
  return Writer{std::string(writer.substr(0, dot)), static_cast<pid_t>(*pid)};
}

bool is_alive(pid_t pid) {
  return kill(pid, 0) == 0 || errno != ESRCH;
}

bool is_stale(const fs::path& file, const Writer& writer) {
  if (writer.host == host_name()) return writer.pid == getpid() || !is_alive(writer.pid);
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  return !error && fs::file_time_type::clock::now() - written > kStaleElsewhere;
}

/// The regular files of a folder.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return files;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    if (entry->symlink_status(gone).type() == fs::file_type::regular) files.push_back(*entry);
  }
  if (error) {
    const std::string cannot_list = fmt::format("cannot list the folder '{}'", folder.string());
    throw_system_failure(error.value(), cannot_list);
    throw InputError(fmt::format("{}: {}", cannot_list, error.message()));
  }
  return files;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  expect(step >= 0, "a step is not negative");
  return fmt::format("{}{:0{}}{}", kPrefix, step, kStepDigits, kSuffix);
}

std::optional<std::int64_t> step_of_name(const std::string& name) {
  const std::string_view text = name;
  if (!text.starts_with(kPrefix) || !text.ends_with(kSuffix)) return std::nullopt;
  if (text.size() < kPrefix.size() + kStepDigits + kSuffix.size()) return std::nullopt;
  const auto step =
      parse_digits(text.substr(kPrefix.size(), text.size() - kPrefix.size() - kSuffix.size()));
  if (!step || checkpoint_name(*step) != name) return std::nullopt;
  return step;
}

std::vector<CheckpointFile> list_checkpoints(const fs::path& folder) {
  std::vector<CheckpointFile> checkpoints;
  for (const fs::path& file : files_of(folder)) {
    const auto step = step_of_name(file.filename().string());
    if (step) checkpoints.push_back({*step, file});
  }
  std::sort(checkpoints.begin(), checkpoints.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.step < b.step; });
  return checkpoints;
}

std::vector<fs::path> remove_stale_temporaries(const fs::path& folder) {
  std::vector<fs::path> removed;
  for (const fs::path& file : files_of(folder)) {
    const auto writer = writer_of_temporary(file.filename().string());
    if (!writer || !is_stale(file, *writer)) continue;
    std::error_code error;
    if (fs::remove(file, error)) removed.push_back(file);
  }
  std::sort(removed.begin(), removed.end());
  return removed;
}

std::optional<fs::path> checkpoint_folder_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw InputError(fmt::format("there is no checkpoint or folder '{}'", path.string()));
  }
  if (!fs::is_directory(status)) return std::nullopt;
  return fs::is_directory(path / "checkpoints", error) ? path / "checkpoints" : path;
}

bool is_gone(const fs::path& file) {
  std::error_code error;
  return fs::status(file, error).type() == fs::file_type::not_found;
}

fs::path checkpoint_file_of(const fs::path& path) {
  const auto folder = checkpoint_folder_of(path);
  if (!folder) return path;
  const std::vector<CheckpointFile> checkpoints = list_checkpoints(*folder);
  if (checkpoints.empty()) {
    throw InputError(fmt::format("no checkpoint in '{}': expected files named like {}",
                                 folder->string(), checkpoint_name(0)));
  }
  return checkpoints.back().path;
}

}  // namespace quern
