// SPDX-License-Identifier: Apache-2.0
#include "readers/sample_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/h5_numbers.hpp"
#include "readers/cifar_reader.hpp"
#include "readers/idx_reader.hpp"
#include "readers/image_folder.hpp"
#include "readers/npy_reader.hpp"
#include "readers/npz_reader.hpp"

namespace quern {

namespace {

constexpr std::array<std::pair<const char*, FileFormat>, 8> kFormats = {
    {{"idx", FileFormat::idx},
     {"npy", FileFormat::npy},
     {"npz", FileFormat::npz},
     {"hdf5", FileFormat::hdf5},
     {"csv", FileFormat::csv},
     {"cifar10", FileFormat::cifar10},
     {"cifar100", FileFormat::cifar100},
     {"folder", FileFormat::folder}}};

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

// In any case.
bool has_extension(const std::filesystem::path& path,
                   std::initializer_list<const char*> extensions) {
  std::filesystem::path name = lower_case(path.filename().string());
  if (name.extension() == ".gz") name = name.stem();
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const char* extension) { return name.extension() == extension; });
}

// CIFAR's files have no first bytes of their own, but a size.
std::optional<FileFormat> detect_cifar(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size == 0 || path.extension() != ".bin") return std::nullopt;
  if (size % record_bytes(Cifar::ten) == 0) return FileFormat::cifar10;
  if (size % record_bytes(Cifar::hundred) == 0) return FileFormat::cifar100;
  return std::nullopt;
}

FileFormat detect_format(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return FileFormat::folder;
  ByteSource source(path);
  std::array<std::uint8_t, 8> bytes{};
  const std::size_t count = source.read(bytes);
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), count);
  if (start.starts_with("\x93NUMPY")) return FileFormat::npy;
  if (start.starts_with("PK\x03\x04") && !source.is_gzip()) return FileFormat::npz;
  if (start == "\x89HDF\r\n\x1a\n" && !source.is_gzip()) return FileFormat::hdf5;
  if (begins_as_image(start) && !source.is_gzip()) return FileFormat::folder;
  if (const auto cifar = detect_cifar(path)) return *cifar;
  if (has_extension(path, {".csv", ".tsv", ".txt"})) return FileFormat::csv;
  if (count >= 4 && bytes[0] == 0 && bytes[1] == 0) return FileFormat::idx;
  if (count == 0) throw InputError(fmt::format("'{}' is empty", path.string()));
  std::vector<std::string> names;
  for (const auto& [name, format] : kFormats) names.emplace_back(name);
  throw InputError(fmt::format(
      "'{}': of no format that is known here (its first bytes are {:02x}), expected one of {} "
      "(--from takes these names, --from csv for a table of any ending)",
      path.string(), fmt::join(std::span(bytes).first(count), ""), fmt::join(names, ", ")));
}

FileFormat format_of(const SampleSource& source, const std::filesystem::path& path) {
  for (const auto& [name, format] : kFormats) {
    if (source.format == name) return format;
  }
  return detect_format(path);
}

SampleFile read_idx(const std::filesystem::path& path, const SampleSource& source, ArrayRole role,
                    const ChooseRange& choose) {
  SampleFile file;
  file.array.name = fmt::format("'{}'", path.string());
  if (role == ArrayRole::input) {
    IdxImages images = read_idx_images(path, source.sha256, choose);
    const Shape& shape = images.shape;
    file.array.shape = {images.count, shape.channels, shape.height, shape.width};
    file.array.values = std::move(images.pixels);
    file.sha256 = images.sha256;
  } else {
    IdxLabels labels = read_idx_labels(path, source.sha256, choose);
    file.array.shape = {static_cast<std::int64_t>(labels.labels.size())};
    file.array.values = std::move(labels.labels);
    file.sha256 = labels.sha256;
  }
  return file;
}

SampleFile read_npy_file(const std::filesystem::path& path, const std::string& sha256,
                         const ChooseRange& choose) {
  ByteSource bytes(path);
  SampleFile file;
  file.array = read_npy(seekable_stream_of(bytes, sha256), choose);
  file.sha256 = match_sha256(bytes, sha256);
  return file;
}

SampleFile read_npz_file(const Location& place, const std::string& sha256,
                         const ChooseRange& choose) {
  SampleFile file;
  file.sha256 = match_sha256(place.path, sha256);
  file.array = read_npz(place.path, place.part, choose);
  return file;
}

// A part of it takes two passes, the first of which counts lines.
SampleFile read_csv_file(const Location& place, const std::string& sha256, ArrayRole role,
                         const ChooseRange& choose, bool is_part) {
  const bool are_labels = role == ArrayRole::labels;
  ByteSource bytes(place.path);
  SampleFile file;
  if (!is_part) {
    file.array = read_csv(stream_of(bytes), place.part, are_labels);
    file.sha256 = match_sha256(bytes, sha256);
    choose(file.array.count());
    return file;
  }
  const TableLines lines = find_lines(stream_of(bytes));
  file.sha256 = match_sha256(bytes, sha256);
  ByteSource again(place.path);
  file.array = read_csv(seekable_stream_of(again, ""), place.part, are_labels, lines, choose);
  return file;
}

// A plain file tells by its size how many records it has. A part of a packed one, or of one whose
// SHA-256 is asked for, takes two passes, the first of which counts.
SampleFile read_cifar_file(const std::filesystem::path& path, const std::string& sha256, Cifar kind,
                           const ChooseRange& choose, bool is_part) {
  ByteSource bytes(path);
  SampleFile file;
  CifarFile cifar;
  if (is_part) {
    const std::uint64_t size = bytes.longest_content();
    const bool is_told =
        !bytes.is_gzip() && sha256.empty() && size > 0 && size % record_bytes(kind) == 0;
    const std::int64_t count = is_told ? static_cast<std::int64_t>(size / record_bytes(kind))
                                       : count_cifar_records(stream_of(bytes), kind);
    file.sha256 = match_sha256(bytes, sha256);
    ByteSource again(path);
    cifar = read_cifar_part(seekable_stream_of(again, ""), kind, choose(count));
  } else {
    cifar = read_cifar(stream_of(bytes), kind);
    file.sha256 = match_sha256(bytes, sha256);
    choose(cifar.images.count());
  }
  file.array = std::move(cifar.images);
  file.labels = std::move(cifar.labels);
  file.classes = kind == Cifar::ten ? 10 : 100;
  return file;
}

SampleFile read_hdf5_file(const Location& place, const std::string& sha256,
                          const ChooseRange& choose) {
  if (place.part.empty()) {
    throw InputError(
        fmt::format("'{0}': expected {0}:/NAME with one of its datasets ({1})", place.path.string(),
                    printable(fmt::format("{}", fmt::join(list_h5_datasets(place.path), ", ")))));
  }
  SampleFile file;
  file.sha256 = match_sha256(place.path, sha256);
  const auto choose_entries = [&](std::int64_t total) {
    const SampleRange range = chosen(choose, total);
    return std::pair(range.first, range.count);
  };
  H5Numbers numbers =
      read_h5_numbers(place.path, place.part, choose_entries,
                      [&](std::span<const double> rows, const H5Columns& columns) {
                        add(rows, columns.first, columns.count, columns.all, file.array.sums);
                      });
  file.array.name = fmt::format("'{}:{}'", place.path.string(), place.part);
  file.array.shape = std::move(numbers.shape);
  // Of no samples, too: parts of several files are added.
  if (file.array.sums.empty()) file.array.sums = sums_for(file.array.shape);
  constexpr NumberType kTypes[] = {NumberType::uint8, NumberType::integer, NumberType::floating};
  file.array.type = numbers.is_float16 ? NumberType::float16 : kTypes[numbers.values.index()];
  file.array.values = std::move(numbers.values);
  return file;
}

SampleFile read_folder(const std::filesystem::path& path, const std::string& sha256,
                       const ChooseRange& choose) {
  if (!sha256.empty()) {
    throw InputError(
        fmt::format("'{}': --sha256 is of one file of samples, not of images", path.string()));
  }
  ImageFolder folder = read_image_folder(path, choose);
  SampleFile file;
  file.array = std::move(folder.images);
  file.are_images = true;
  if (!folder.labels.empty()) {
    const auto first = folder.labels.begin() + folder.range.first;
    file.labels.assign(first, first + folder.range.count);
  }
  const auto first_file = folder.files.begin() + folder.range.first;
  file.image_files.assign(first_file, first_file + folder.range.count);
  file.all_image_files = std::move(folder.files);
  file.classes = static_cast<int>(folder.class_names.size());
  file.class_names = std::move(folder.class_names);
  file.empty_class = std::move(folder.empty_class);
  file.out_of_order = std::move(folder.out_of_order);
  file.losses = folder.losses;
  return file;
}

bool has_parts(FileFormat format) {
  return format == FileFormat::npz || format == FileFormat::hdf5 || format == FileFormat::csv;
}

}  // namespace

std::vector<std::string> file_format_names() {
  std::vector<std::string> names = {"auto"};
  for (const auto& [name, format] : kFormats) names.emplace_back(name);
  return names;
}

namespace {

SampleFile read_format(const Location& place, FileFormat format, const SampleSource& source,
                       ArrayRole role, const ChooseRange& choose, bool is_part) {
  switch (format) {
    case FileFormat::idx:
      return read_idx(place.path, source, role, choose);
    case FileFormat::npy:
      return read_npy_file(place.path, source.sha256, choose);
    case FileFormat::npz:
      return read_npz_file(place, source.sha256, choose);
    case FileFormat::hdf5:
      return read_hdf5_file(place, source.sha256, choose);
    case FileFormat::csv:
      return read_csv_file(place, source.sha256, role, choose, is_part);
    case FileFormat::cifar10:
      return read_cifar_file(place.path, source.sha256, Cifar::ten, choose, is_part);
    case FileFormat::cifar100:
      return read_cifar_file(place.path, source.sha256, Cifar::hundred, choose, is_part);
    case FileFormat::folder:
      break;
  }
  return read_folder(place.path, source.sha256, choose);
}

}  // namespace

std::filesystem::path file_of(const SampleSource& source) {
  return locate(source.path).path;
}

std::optional<TableColumns> columns_of(const SampleSource& source) {
  const Location place = locate(source.path);
  if (format_of(source, place.path) != FileFormat::csv) return std::nullopt;
  ByteSource bytes(place.path);
  return find_columns(stream_of(bytes), place.part);
}

SampleFile read_sample_file(const SampleSource& source, ArrayRole role, const ChooseRange& choose) {
  check_is_sha256(source.sha256);
  const Location place = locate(source.path);
  const FileFormat format = format_of(source, place.path);
  if (!place.part.empty() && !has_parts(format)) {
    throw InputError(
        fmt::format("'{}': ':{}' names a part, which only .npz, HDF5 and CSV files have",
                    source.path, place.part));
  }
  SampleRange range;
  std::int64_t count = 0;
  const auto choose_and_note = [&](std::int64_t total) {
    count = total;
    return range = chosen(choose, total);
  };
  SampleFile file =
      read_format(place, format, source, role, choose_and_note, static_cast<bool>(choose));
  file.count = count;
  file.range = range;
  return file;
}

}  // namespace quern
