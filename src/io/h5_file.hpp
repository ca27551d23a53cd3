// SPDX-License-Identifier: Apache-2.0
// One HDF5 file, through std types only. Not for several threads at once (HDF5 is not).
//
// Written files have library version bounds 1.8, so that everything from HDF5 1.8 on reads them,
// and their object headers carry checksums. Files are read with suspicion: type, rank and extents
// of a dataset are checked against the size of the file before anybody allocates for it; only
// contiguous data inside the file itself is read; links to other files are not followed.
//
// Reading problems are InputError, writing problems Error; both name the file and the object. Where
// a disk or a file server fails while a file is read: SystemFailure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace quern {

/// "1.10.8": the HDF5 library this program runs with.
std::string hdf5_version();

enum class H5Type { uint8, int32, int64, float16, float32, other };

/// "uint8", "int32", "int64", "float16", "float32" or "another type".
const char* to_string(H5Type type);

struct H5DatasetInfo {
  H5Type type = H5Type::other;
  bool is_little_endian = true;
  std::vector<std::int64_t> shape;  ///< empty for a scalar
  std::int64_t elements = 1;        ///< product of the shape
  std::int64_t bytes = 0;           ///< of the elements as stored
  std::int64_t offset = 0;          ///< of the first byte in the file; 0 when there are none
};

class H5File {
 public:
  /// Creates the file, or empties an existing one. InputError where a folder does not let anybody,
  /// Error where a disk or the system fails.
  static H5File create(const std::filesystem::path& path);
  static H5File open_read(const std::filesystem::path& path);

  H5File(H5File&& other) noexcept;
  H5File& operator=(H5File&&) = delete;
  /// Closes without reporting problems: call close() after writing.
  ~H5File();

  const std::filesystem::path& path() const { return path_; }
  std::int64_t id() const { return id_; }  ///< for io/ alone: hid_t

  bool has_group(const std::string& path) const;
  bool has_dataset(const std::string& path) const;
  /// Names of the datasets and groups in a group ("/" is the root), sorted by their bytes.
  std::vector<std::string> list_members(const std::string& group) const;
  /// Makes the group and all groups above it, as far as they do not exist.
  void create_group(const std::string& path);

  /// Contiguous, little-endian, row-major; groups above are created. The product of `shape` must
  /// be the number of values.
  void write_dataset(const std::string& path, std::span<const std::uint8_t> values,
                     std::span<const std::int64_t> shape);
  void write_dataset(const std::string& path, std::span<const float> values,
                     std::span<const std::int64_t> shape);
  void write_dataset(const std::string& path, std::span<const std::int64_t> values,
                     std::span<const std::int64_t> shape);

  /// The same for values of any type as they are to lie in the file, little-endian.
  void write_stored(const std::string& path, H5Type type, std::span<const std::byte> bytes,
                    std::span<const std::int64_t> shape);

  /// In a group that is there: a dataset of float32 whose values are written piece by piece.
  void create_dataset(const std::string& path, std::span<const std::int64_t> shape);
  /// The values of such a dataset from `first` on, in row-major order. They must be whole rows:
  /// parts of it along its first dimension.
  void write_values_at(const std::string& path, std::int64_t first, std::span<const float> values);

  /// Throws unless the dataset exists and all its elements are stored inside this file, so
  /// `bytes` is at most the size of the file.
  H5DatasetInfo dataset_info(const std::string& path) const;

  /// Overwrites `values` with the whole dataset, whose type and number of elements must be those
  /// of `values`.
  void read_dataset(const std::string& path, std::span<std::uint8_t> values) const;
  void read_dataset(const std::string& path, std::span<float> values) const;
  void read_dataset(const std::string& path, std::span<std::int64_t> values) const;

  /// The same for values of any type as they lie in the file, little-endian.
  void read_stored(const std::string& path, H5Type type, std::span<std::byte> bytes) const;

  /// Scalar attributes of a group or dataset ("/" is the root). Writing to an object that does not
  /// exist makes a group of that name; an attribute can be written once.
  void write_int64(const std::string& object, const std::string& name, std::int64_t value);
  void write_uint64(const std::string& object, const std::string& name, std::uint64_t value);
  void write_double(const std::string& object, const std::string& name, double value);
  /// Variable-length UTF-8 (h5py reads a str). `value` must not contain a zero byte.
  void write_string(const std::string& object, const std::string& name, const std::string& value);

  bool has_attribute(const std::string& object, const std::string& name) const;
  /// Integers of any width and sign are accepted when the value fits.
  std::int64_t read_int64(const std::string& object, const std::string& name) const;
  std::uint64_t read_uint64(const std::string& object, const std::string& name) const;
  double read_double(const std::string& object, const std::string& name) const;
  std::string read_string(const std::string& object, const std::string& name) const;

  /// Everything written so far is on the disk when this returns (H5Fflush alone ends in the
  /// kernel's cache).
  void flush_and_sync();
  /// Throws when the last bytes could not be written. Nothing else may be called afterwards.
  void close();

 private:
  enum class Mode { read, write };

  H5File(std::filesystem::path path, std::int64_t id, Mode mode)
      : path_(std::move(path)),
        id_(id),
        is_read_(mode == Mode::read),
        heaps_checked_(mode == Mode::write) {}

  void expect_system() const;
  [[noreturn]] void fail_reading(const std::string& what) const;
  [[noreturn]] void fail_writing(const std::string& what) const;
  [[noreturn]] void fail_attribute(const std::string& object, const std::string& name,
                                   const std::string& complaint) const;
  void confirm_written(const std::string& object, const std::string& name,
                       const std::string& complaint) const;
  void ensure_object(const std::string& path);
  void expect_attribute(const std::string& object, const std::string& name) const;
  void check_heaps() const;
  int descriptor() const;
  std::uint64_t num_bytes() const;
  void write_values(const std::string& path, const void* values, std::size_t count,
                    std::span<const std::int64_t> shape, std::int64_t stored, std::int64_t memory);
  void read_values(const std::string& path, H5Type type, void* values, std::size_t count,
                   std::int64_t memory) const;

  std::filesystem::path path_;
  std::int64_t id_;  // hid_t, which io/h5_raw.hpp alone knows
  bool is_read_;
  mutable bool heaps_checked_;  // see io/h5_heap.hpp
  // Of a file that is read: a file server is asked once. 0: it was not.
  mutable std::uint64_t num_bytes_ = 0;
};

}  // namespace quern
