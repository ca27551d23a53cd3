// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/safetensors_reader.hpp"

namespace quern {

namespace {

constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
constexpr std::string_view kZipSignature = "PK\x03\x04";  // torch.save writes such archives

std::string first_bytes(const std::filesystem::path& path) {
  std::string bytes(8, '\0');
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_read_failure(errno, fmt::format("cannot read '{}'", path.string()));
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw_system_failure(errno, fmt::format("'{}': it cannot be read", path.string()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

}  // namespace

void refuse_other_formats(const std::filesystem::path& file) {
  if (file.extension() == ".h5") return;
  const std::string first = first_bytes(file);
  if (first == kHdf5Signature) return;
  if (first.starts_with(kZipSignature)) {
    throw InputError(fmt::format(
        "'{}' is a file of torch.save, no checkpoint (expected one of Quern, or a run folder; "
        "analysis/quern_weights.py and then quern import make one of a state_dict)",
        file.string()));
  }
  throw InputError(fmt::format(
      "'{}' is no checkpoint (expected one of Quern, or a run folder; quern import makes a "
      "checkpoint of a safetensors file)",
      file.string()));
}

LoadedCheckpoint load_from(const std::filesystem::path& path,
                           std::vector<std::filesystem::path>* damaged) {
  const auto folder = checkpoint_folder_of(path);
  if (!folder) {
    refuse_other_formats(path);
    return read_checkpoint(path);
  }
  std::optional<LoadedCheckpoint> newest = load_newest(*folder, damaged);
  if (newest) return std::move(*newest);
  refuse_empty_folder(*folder);
}

LoadedCheckpoint read_weights(const std::filesystem::path& path) {
  if (checkpoint_folder_of(path)) return load_from(path);
  const std::string first = first_bytes(path);
  if (first == kHdf5Signature) return read_checkpoint(path);
  if (first.starts_with(kZipSignature)) {
    throw InputError(fmt::format(
        "'{}' is a file of torch.save, expected safetensors (analysis/quern_weights.py writes it "
        "from a state_dict)",
        path.string()));
  }
  return read_safetensors(path);
}

}  // namespace quern
