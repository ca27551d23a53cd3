// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "checkpoint/best_checkpoint.hpp"
#include "io/folder_files.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "ckpt-";
constexpr std::string_view kSuffix = ".h5";
constexpr std::size_t kStepDigits = 10;

/// The number that makes up all of `digits`: no sign, no blank.
std::optional<std::int64_t> parse_digits(std::string_view digits) {
  std::int64_t value = 0;
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
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

namespace {

std::vector<CheckpointFile> read_folder(const fs::path& folder) {
  std::vector<CheckpointFile> checkpoints;
  for (const fs::path& file : regular_files(folder)) {
    const auto step = step_of_name(file.filename().string());
    if (step) checkpoints.push_back({*step, file});
  }
  std::sort(checkpoints.begin(), checkpoints.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.step < b.step; });
  return checkpoints;
}

}  // namespace

std::vector<CheckpointFile> list_checkpoints(const fs::path& folder) {
  // A run that goes on names a new checkpoint, then deletes the last one: who reads the folder
  // meanwhile may see neither.
  constexpr int kLooks = 3;
  std::vector<CheckpointFile> checkpoints = read_folder(folder);
  for (int look = 1; checkpoints.empty() && look < kLooks; ++look)
    checkpoints = read_folder(folder);
  return checkpoints;
}

std::vector<fs::path> remove_stale_temporaries(const fs::path& folder) {
  return remove_stale_files(folder, [](const std::string& name) {
    return step_of_name(name).has_value() || name == kBestCheckpointName;
  });
}

std::optional<fs::path> checkpoint_folder_of(const fs::path& path) {
  const fs::file_status status = status_of(path);
  if (!fs::exists(status)) {
    throw InputError(fmt::format("there is no checkpoint or folder '{}'", path.string()));
  }
  if (!fs::is_directory(status)) return std::nullopt;
  return fs::is_directory(status_of(path / "checkpoints")) ? path / "checkpoints" : path;
}

bool is_gone(const fs::path& file) {
  std::error_code error;
  return fs::status(file, error).type() == fs::file_type::not_found;
}

void refuse_empty_folder(const fs::path& folder) {
  const auto best = best_checkpoint_of(folder);
  throw InputError(fmt::format(
      "no checkpoint in '{}': expected a run folder, or files named like {}{}", folder.string(),
      checkpoint_name(0),
      best ? fmt::format(" (or that of the best evaluation, '{}', by its name)", best->string())
           : ""));
}

fs::path checkpoint_file_of(const fs::path& path) {
  const auto folder = checkpoint_folder_of(path);
  if (!folder) return path;
  const std::vector<CheckpointFile> checkpoints = list_checkpoints(*folder);
  if (checkpoints.empty()) refuse_empty_folder(*folder);
  return checkpoints.back().path;
}

}  // namespace quern
