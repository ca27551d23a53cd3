// SPDX-License-Identifier: Apache-2.0
#include "readers/sample_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "readers/idx_reader.hpp"
#include "readers/npy_reader.hpp"
#include "readers/npz_reader.hpp"

namespace quern {

namespace {

constexpr std::array<std::pair<const char*, FileFormat>, 3> kFormats = {
    {{"idx", FileFormat::idx}, {"npy", FileFormat::npy}, {"npz", FileFormat::npz}}};

/// A path and the part of the file that is meant, perhaps none.
struct Location {
  std::filesystem::path path;
  std::string part;
};

/// The last colon is part of the name where such a file exists.
Location locate(const std::string& text) {
  std::error_code error;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || std::filesystem::exists(text, error)) {
    return {text, ""};
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

FileFormat detect_format(const std::filesystem::path& path) {
  ByteSource source(path);
  std::array<std::uint8_t, 8> bytes{};
  const std::size_t count = source.read(bytes);
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), count);
  if (start.starts_with("\x93NUMPY")) return FileFormat::npy;
  if (start.starts_with("PK\x03\x04") && !source.is_gzip()) return FileFormat::npz;
  if (count >= 4 && bytes[0] == 0 && bytes[1] == 0) return FileFormat::idx;
  std::vector<std::string> names;
  for (const auto& [name, format] : kFormats) names.emplace_back(name);
  throw InputError(fmt::format(
      "'{}': of no format that is known here (its first bytes are {:02x}), expected one of {}",
      path.string(), fmt::join(std::span(bytes).first(count), ""), fmt::join(names, ", ")));
}

FileFormat format_of(const SampleSource& source, const std::filesystem::path& path) {
  for (const auto& [name, format] : kFormats) {
    if (source.format == name) return format;
  }
  return detect_format(path);
}

SampleFile read_idx(const std::filesystem::path& path, const SampleSource& source, ArrayRole role) {
  SampleFile file;
  file.array.name = fmt::format("'{}'", path.string());
  if (role == ArrayRole::input) {
    IdxImages images = read_idx_images(path, source.sha256);
    const Shape& shape = images.shape;
    file.array.shape = {images.count, shape.channels, shape.height, shape.width};
    file.array.values = std::move(images.pixels);
    file.sha256 = images.sha256;
  } else {
    IdxLabels labels = read_idx_labels(path, source.sha256);
    file.array.shape = {static_cast<std::int64_t>(labels.labels.size())};
    file.array.values = std::move(labels.labels);
    file.sha256 = labels.sha256;
  }
  return file;
}

}  // namespace

std::vector<std::string> file_format_names() {
  std::vector<std::string> names = {"auto"};
  for (const auto& [name, format] : kFormats) names.emplace_back(name);
  return names;
}

SampleFile read_sample_file(const SampleSource& source, ArrayRole role) {
  check_is_sha256(source.sha256);
  const Location place = locate(source.path);
  const FileFormat format = format_of(source, place.path);
  if (!place.part.empty() && format != FileFormat::npz) {
    throw InputError(fmt::format("'{}': ':{}' names a part, which only .npz archives have",
                                 source.path, place.part));
  }
  switch (format) {
    case FileFormat::idx:
      return read_idx(place.path, source, role);
    case FileFormat::npy: {
      ByteSource bytes(place.path);
      Array array = read_npy(stream_of(bytes));
      return {std::move(array), match_sha256(bytes, source.sha256)};
    }
    case FileFormat::npz:
      break;
  }
  const Sha256Match match = match_sha256(place.path, source.sha256);
  return {read_npz(place.path, place.part), match};
}

}  // namespace quern
