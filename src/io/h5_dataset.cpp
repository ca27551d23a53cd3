// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "io/h5_file.hpp"
#include "io/h5_lookup.hpp"
#include "io/h5_raw.hpp"

namespace quern {

namespace {

constexpr int kMaxRank = 8;

// IEEE 754 binary16, little-endian: HDF5 before 1.14.4 has no name for it. Lives as long as the
// program.
hid_t half_type() {
  static const hid_t type = [] {
    const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
    const bool good = half >= 0 && H5Tset_fields(half, 15, 10, 5, 0, 10) >= 0 &&
                      H5Tset_size(half, 2) >= 0 && H5Tset_ebias(half, 15) >= 0;
    expect(good, "HDF5's type for half precision");
    return half;
  }();
  return type;
}

// H5T_STD_* are expressions that start the library, so these cannot be constants.
hid_t file_type(H5Type type) {
  switch (type) {
    case H5Type::uint8:
      return H5T_STD_U8LE;
    case H5Type::int32:
      return H5T_STD_I32LE;
    case H5Type::int64:
      return H5T_STD_I64LE;
    case H5Type::float16:
      return half_type();
    case H5Type::float32:
      return H5T_IEEE_F32LE;
    case H5Type::other:
      break;
  }
  return H5I_INVALID_HID;
}

hid_t memory_type(H5Type type) {
  switch (type) {
    case H5Type::uint8:
      return H5T_NATIVE_UINT8;
    case H5Type::float32:
      return H5T_NATIVE_FLOAT;
    case H5Type::int64:
      return H5T_NATIVE_INT64;
    default:
      return H5I_INVALID_HID;
  }
}

H5Type classify(hid_t type) {
  const auto is = [&](hid_t other) { return H5Tequal(type, other) > 0; };
  if (is(H5T_STD_U8LE) || is(H5T_STD_U8BE)) return H5Type::uint8;
  if (is(H5T_STD_I32LE) || is(H5T_STD_I32BE)) return H5Type::int32;
  if (is(H5T_STD_I64LE) || is(H5T_STD_I64BE)) return H5Type::int64;
  if (is(H5T_IEEE_F32LE) || is(H5T_IEEE_F32BE)) return H5Type::float32;
  if (is(half_type())) return H5Type::float16;
  return H5Type::other;
}

// -> a complaint, or nothing when every element has its place inside this file.
std::string complain_about_storage(hid_t dataset, H5DatasetInfo& info, std::uintmax_t file_bytes) {
  const H5Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  if (!properties.valid()) return h5_reason();
  if (H5Pget_layout(properties.get()) != H5D_CONTIGUOUS) {
    return "it is not stored contiguously (h5repack -l CONTI makes it so)";
  }
  if (H5Pget_external_count(properties.get()) != 0) return "its data is in another file";
  if (info.bytes == 0) return "";
  const auto bytes = static_cast<std::uintmax_t>(info.bytes);
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) return "it has no data";
  if (H5Dget_storage_size(dataset) != bytes || offset > file_bytes || bytes > file_bytes - offset) {
    return fmt::format("its {} bytes do not fit into the {} bytes of the file", bytes, file_bytes);
  }
  info.offset = static_cast<std::int64_t>(offset);
  return "";
}

// -> a complaint, or nothing and `info` filled in.
std::string inspect(hid_t dataset, H5DatasetInfo& info) {
  const H5Handle type(H5Dget_type(dataset), H5Tclose);
  const H5Handle space(H5Dget_space(dataset), H5Sclose);
  if (!type.valid() || !space.valid()) return h5_reason();
  const H5S_class_t space_class = H5Sget_simple_extent_type(space.get());
  if (space_class != H5S_SIMPLE && space_class != H5S_SCALAR) return "it has no shape";
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0 || rank > kMaxRank) {
    return fmt::format("it has {} dimensions, expected at most {}", rank, kMaxRank);
  }
  std::array<hsize_t, kMaxRank> extents{};
  if (H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) < 0) return h5_reason();

  info.type = classify(type.get());
  info.is_little_endian = H5Tget_order(type.get()) != H5T_ORDER_BE;
  info.bytes = static_cast<std::int64_t>(H5Tget_size(type.get()));
  for (int axis = 0; axis < rank; ++axis) {
    const hsize_t extent = extents[static_cast<std::size_t>(axis)];
    if (__builtin_mul_overflow(info.elements, extent, &info.elements) ||
        __builtin_mul_overflow(info.bytes, extent, &info.bytes)) {
      return "its shape overflows";
    }
    info.shape.push_back(static_cast<std::int64_t>(extent));
  }
  return "";
}

}  // namespace

const char* to_string(H5Type type) {
  switch (type) {
    case H5Type::uint8:
      return "uint8";
    case H5Type::int32:
      return "int32";
    case H5Type::int64:
      return "int64";
    case H5Type::float16:
      return "float16";
    case H5Type::float32:
      return "float32";
    case H5Type::other:
      break;
  }
  return "another type";
}

H5DatasetInfo H5File::dataset_info(const std::string& path) const {
  if (!has_dataset(path)) fail_reading(fmt::format("no dataset '{}'", path));
  const H5Handle dataset(H5Dopen2(id_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) {
    fail_reading(fmt::format("cannot open dataset '{}': {}", path, h5_reason()));
  }
  H5DatasetInfo info;
  std::string complaint = inspect(dataset.get(), info);
  if (complaint.empty()) {
    complaint = complain_about_storage(dataset.get(), info, num_bytes());
  }
  if (!complaint.empty()) fail_reading(fmt::format("cannot use dataset '{}': {}", path, complaint));
  return info;
}

namespace {

// `reason`: of HDF5, where it was asked before; else it is asked now.
std::string cannot_write(const std::string& path, const std::string& reason) {
  return fmt::format("cannot write dataset '{}': {}", path, reason.empty() ? h5_reason() : reason);
}

// Of `stored` type; invalid where HDF5 fails, which is asked why before anything else is closed.
H5Handle make_dataset(hid_t file, const std::string& path, std::span<const std::int64_t> shape,
                      hid_t stored, std::string& reason) {
  expect(shape.size() <= kMaxRank, "at most 8 dimensions");
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  const H5Handle space(
      shape.empty() ? H5Screate(H5S_SCALAR)
                    : H5Screate_simple(static_cast<int>(shape.size()), extents.data(), nullptr),
      H5Sclose);
  const H5Handle properties = h5_without_times(H5P_DATASET_CREATE);
  H5Handle dataset(H5Dcreate2(file, path.c_str(), stored, space.get(), H5P_DEFAULT,
                              properties.get(), H5P_DEFAULT),
                   H5Dclose);
  if (!dataset.valid()) reason = h5_reason();
  return dataset;
}

// Writes to the rows from the one that element `first` begins, as many as `count` elements fill.
bool write_rows(hid_t dataset, std::int64_t first, std::int64_t count, const float* values,
                std::string& reason) {
  const H5Handle space(H5Dget_space(dataset), H5Sclose);
  std::array<hsize_t, kMaxRank> extents{};
  const int rank = H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  if (rank < 1) return false;
  std::int64_t row = 1;
  for (int axis = 1; axis < rank; ++axis)
    row *= static_cast<std::int64_t>(extents[static_cast<std::size_t>(axis)]);
  expect(first % row == 0 && count % row == 0, "whole rows of the dataset");
  std::array<hsize_t, kMaxRank> start{static_cast<hsize_t>(first / row)};
  extents[0] = static_cast<hsize_t>(count / row);
  const H5Handle memory(H5Screate_simple(rank, extents.data(), nullptr), H5Sclose);
  const bool good =
      H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extents.data(),
                          nullptr) >= 0 &&
      H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, values) >= 0;
  if (!good) reason = h5_reason();
  return good;
}

}  // namespace

void H5File::create_dataset(const std::string& path, std::span<const std::int64_t> shape) {
  std::string reason;
  H5Handle dataset = make_dataset(id_, path, shape, file_type(H5Type::float32), reason);
  if (dataset.valid() && dataset.close()) return;
  fail_writing(cannot_write(path, reason));
}

void H5File::write_values_at(const std::string& path, std::int64_t first,
                             std::span<const float> values) {
  std::string reason;
  H5Handle dataset(H5Dopen2(id_, path.c_str(), H5P_DEFAULT), H5Dclose);
  const bool good = dataset.valid() &&
                    write_rows(dataset.get(), first, std::ssize(values), values.data(), reason) &&
                    dataset.close();
  if (good) return;
  fail_writing(cannot_write(path, reason));
}

void H5File::write_values(const std::string& path, const void* values, std::size_t count,
                          std::span<const std::int64_t> shape, std::int64_t stored,
                          std::int64_t memory) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  expect(elements == static_cast<std::int64_t>(count), "as many values as the shape says");

  const std::vector<std::string> prefixes = h5_prefixes(path);
  if (prefixes.size() > 1) create_group(prefixes[prefixes.size() - 2]);
  std::string reason;
  H5Handle dataset = make_dataset(id_, path, shape, stored, reason);
  const bool good =
      dataset.valid() &&
      (count == 0 || H5Dwrite(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0) &&
      dataset.close();
  if (good) return;
  fail_writing(cannot_write(path, reason));
}

void H5File::read_values(const std::string& path, H5Type type, void* values, std::size_t count,
                         std::int64_t memory) const {
  const H5DatasetInfo info = dataset_info(path);
  if (info.type != type) {
    fail_reading(fmt::format("dataset '{}' is of {}, expected {}", path, to_string(info.type),
                             to_string(type)));
  }
  if (info.elements != static_cast<std::int64_t>(count)) {
    fail_reading(fmt::format("dataset '{}' has {} elements (shape [{}]), expected {}", path,
                             info.elements, fmt::join(info.shape, ", "), count));
  }
  if (count == 0) return;
  const H5Handle dataset(H5Dopen2(id_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid() ||
      H5Dread(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
    fail_reading(fmt::format("cannot read dataset '{}': {}", path, h5_reason()));
  }
}

void H5File::write_dataset(const std::string& path, std::span<const std::uint8_t> values,
                           std::span<const std::int64_t> shape) {
  write_values(path, values.data(), values.size(), shape, file_type(H5Type::uint8),
               memory_type(H5Type::uint8));
}

void H5File::write_dataset(const std::string& path, std::span<const float> values,
                           std::span<const std::int64_t> shape) {
  write_values(path, values.data(), values.size(), shape, file_type(H5Type::float32),
               memory_type(H5Type::float32));
}

void H5File::write_dataset(const std::string& path, std::span<const std::int64_t> values,
                           std::span<const std::int64_t> shape) {
  write_values(path, values.data(), values.size(), shape, file_type(H5Type::int64),
               memory_type(H5Type::int64));
}

void H5File::write_stored(const std::string& path, H5Type type, std::span<const std::byte> bytes,
                          std::span<const std::int64_t> shape) {
  const hid_t stored = file_type(type);
  write_values(path, bytes.data(), bytes.size() / H5Tget_size(stored), shape, stored, stored);
}

void H5File::read_dataset(const std::string& path, std::span<std::uint8_t> values) const {
  read_values(path, H5Type::uint8, values.data(), values.size(), memory_type(H5Type::uint8));
}

void H5File::read_dataset(const std::string& path, std::span<float> values) const {
  read_values(path, H5Type::float32, values.data(), values.size(), memory_type(H5Type::float32));
}

void H5File::read_dataset(const std::string& path, std::span<std::int64_t> values) const {
  read_values(path, H5Type::int64, values.data(), values.size(), memory_type(H5Type::int64));
}

void H5File::read_stored(const std::string& path, H5Type type, std::span<std::byte> bytes) const {
  const hid_t stored = file_type(type);
  read_values(path, type, bytes.data(), bytes.size() / H5Tget_size(stored), stored);
}

}  // namespace quern
