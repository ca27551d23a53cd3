// SPDX-License-Identifier: Apache-2.0
#include "io/h5_numbers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <system_error>
#include <utility>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "base/text.hpp"
#include "io/h5_file.hpp"
#include "io/h5_raw.hpp"

namespace quern {

namespace {

constexpr std::uint64_t kBestRatio = 1032;  // of deflate, HDF5's usual filter
constexpr std::size_t kMaxListed = 50;

/// What is read at once of a dataset: entries of the first axis, and of the second.
struct Place {
  std::int64_t first;
  std::int64_t entries;
  std::int64_t left;
  std::int64_t second;
};

/// How a dataset is cut into such places.
struct Boxes {
  std::int64_t entries = 1;
  std::int64_t second = 1;
  std::int64_t border = 1;        ///< no box reaches across its multiples on the first axis
  std::uint64_t chunk_bytes = 0;  ///< unpacked, of the chunks that are read box by box
};

/// One dataset, opened for reading whatever it holds.
class Reader {
 public:
  Reader(const std::filesystem::path& path, const std::string& object, hid_t file)
      : path_(path),
        object_(object),
        file_(file),
        dataset_(H5Dopen2(file, object.c_str(), H5P_DEFAULT), H5Dclose),
        type_(dataset_.valid() ? H5Dget_type(dataset_.get()) : -1, H5Tclose) {
    if (!dataset_.valid() || !type_.valid()) fail("cannot be opened: " + h5_reason());
    expect_own_data();
    read_shape();
  }

  H5Numbers read(const ChooseEntries& choose, const SeeOriginals& see) {
    if (choose) keep(choose(shape_[0]));
    H5Numbers numbers;
    numbers.shape = shape_;
    const H5T_class_t kind = H5Tget_class(type_.get());
    const std::size_t width = H5Tget_size(type_.get());
    const bool is_integer = kind == H5T_INTEGER || kind == H5T_ENUM;  // h5py's bool is an enum
    if ((!is_integer && kind != H5T_FLOAT) || width > sizeof(std::int64_t)) {
      fail("holds no numbers of at most 64 bits");
    }
    const bool is_signed = H5Tget_sign(type_.get()) != H5T_SGN_NONE;
    if (kind == H5T_ENUM && width != 1) fail("holds an enumeration, expected numbers");
    if (kind == H5T_FLOAT) {
      numbers.is_float16 = width == 2;
      numbers.values =
          see && width == sizeof(double) ? read_doubles(see) : read_as<float>(H5T_NATIVE_FLOAT);
    } else if (kind == H5T_ENUM) {
      // An enumeration is converted to itself alone. Its numbers are no bytes of an image.
      const std::vector<std::uint8_t> bytes = read_as<std::uint8_t>(type_.get());
      numbers.values = std::vector<std::int64_t>(bytes.begin(), bytes.end());
    } else if (width == 1 && !is_signed) {
      numbers.values = read_as<std::uint8_t>(H5T_NATIVE_UINT8);
    } else {
      numbers.values = read_as<std::int64_t>(H5T_NATIVE_INT64);
    }
    return numbers;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw_system_failure(h5_system_failure(),
                         fmt::format("'{}:{}' cannot be read", path_.string(), object_));
    throw InputError(fmt::format("'{}:{}' {}", path_.string(), object_, what));
  }

  void expect_own_data() const {
    const H5Handle properties(H5Dget_create_plist(dataset_.get()), H5Pclose);
    if (!properties.valid()) fail("cannot be read: " + h5_reason());
    const H5D_layout_t layout = H5Pget_layout(properties.get());
    if (layout == H5D_VIRTUAL || H5Pget_external_count(properties.get()) != 0) {
      fail("has its data in another file");
    }
  }

  void read_shape() {
    const H5Handle space(H5Dget_space(dataset_.get()), H5Sclose);
    constexpr int kMostDimensions = 32;
    const int rank = space.valid() ? H5Sget_simple_extent_ndims(space.get()) : -1;
    if (rank < 1 || rank > kMostDimensions) fail("is no array [n, ...]");
    std::array<hsize_t, kMostDimensions> extents{};
    if (H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) < 0) {
      fail("has no shape: " + h5_reason());
    }
    std::uint64_t bytes = H5Tget_size(type_.get());
    bool overflow = false;
    for (int axis = 0; axis < rank; ++axis) {
      const hsize_t extent = extents[static_cast<std::size_t>(axis)];
      overflow = overflow || extent > std::numeric_limits<std::int32_t>::max() * std::uint64_t{4} ||
                 __builtin_mul_overflow(bytes, std::uint64_t{extent}, &bytes);
      shape_.push_back(static_cast<std::int64_t>(extent));
      count_ *= overflow ? 1 : extent;
    }
    if (bytes == 0) fail(fmt::format("is empty: its shape is [{}]", fmt::join(shape_, ", ")));
    std::error_code error;
    const std::uintmax_t file_bytes = std::filesystem::file_size(path_, error);
    const std::uint64_t stored = H5Dget_storage_size(dataset_.get());
    if (overflow || error || stored > file_bytes || bytes / kBestRatio > stored) {
      fail(fmt::format("is truncated: its shape is [{}], but {} bytes of it are stored",
                       fmt::join(shape_, ", "), stored));
    }
  }

  void keep(const std::pair<std::int64_t, std::int64_t>& entries) {
    count_ =
        count_ / static_cast<std::uint64_t>(shape_[0]) * static_cast<std::uint64_t>(entries.second);
    first_ = entries.first;
    shape_[0] = entries.second;
  }

  template <class T>
  std::vector<T> read_as(hid_t memory_type) const {
    std::vector<T> values(static_cast<std::size_t>(count_));
    if (!values.empty())
      read_box<T>(memory_type, {first_, shape_[0], 0, extent_of_second()}, values);
    return values;
  }

  // One box after the other, so that all numbers are never there as float64.
  std::vector<float> read_doubles(const SeeOriginals& see) {
    std::vector<float> values(static_cast<std::size_t>(count_));
    if (values.empty()) return values;
    const Boxes boxes = plan_boxes();
    if (boxes.chunk_bytes > 0) open_with_room_for(boxes.chunk_bytes);
    const std::size_t columns = values.size() / static_cast<std::size_t>(shape_[0]);
    const auto of_second = static_cast<std::int64_t>(columns) / extent_of_second();
    std::vector<double> box;
    for (std::int64_t left = 0; left < extent_of_second(); left += boxes.second) {
      const std::int64_t second = std::min(boxes.second, extent_of_second() - left);
      const H5Columns shown{static_cast<std::size_t>(left * of_second),
                            static_cast<std::size_t>(second * of_second), columns};
      for (std::int64_t done = 0; done < shape_[0];) {
        const std::int64_t to_border = boxes.border - (first_ + done) % boxes.border;
        const std::int64_t entries = std::min({boxes.entries, to_border, shape_[0] - done});
        box.resize(static_cast<std::size_t>(entries) * shown.count);
        read_box<double>(H5T_NATIVE_DOUBLE, {first_ + done, entries, left, second}, box);
        see(box, shown);
        auto number = box.cbegin();
        for (std::int64_t entry = done; entry < done + entries; ++entry) {
          const auto row = values.begin() + entry * static_cast<std::int64_t>(columns);
          for (std::size_t column = 0; column < shown.count; ++column)
            row[static_cast<std::ptrdiff_t>(shown.first + column)] = static_cast<float>(*number++);
        }
        done += entries;
      }
    }
    return values;
  }

  std::int64_t extent_of_second() const { return shape_.size() > 1 ? shape_[1] : 1; }

  /// Of some MiB. HDF5 unpacks a chunk as a whole: a box holds whole chunks, or a part of those
  /// that share their place on the first two axes, which are kept unpacked until all is read.
  Boxes plan_boxes() const {
    constexpr std::uint64_t kBoxNumbers = std::uint64_t{1} << 20;
    const std::uint64_t columns = count_ / static_cast<std::uint64_t>(shape_[0]);
    const auto entries = [](std::uint64_t numbers_of_each) {
      return static_cast<std::int64_t>(std::max<std::uint64_t>(1, kBoxNumbers / numbers_of_each));
    };
    Boxes boxes{.entries = entries(columns), .second = extent_of_second()};
    boxes.border = boxes.entries;
    const H5Handle properties(H5Dget_create_plist(dataset_.get()), H5Pclose);
    std::vector<hsize_t> chunk(shape_.size());
    if (!properties.valid() || H5Pget_layout(properties.get()) != H5D_CHUNKED ||
        H5Pget_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data()) < 0)
      return boxes;
    const auto of_chunk = static_cast<std::int64_t>(chunk[0]);
    if (of_chunk <= boxes.entries) {
      boxes.entries -= boxes.entries % of_chunk;
      boxes.border = boxes.entries;
      return boxes;
    }
    boxes.border = of_chunk;
    std::uint64_t bytes = sizeof(double) * chunk[0];
    if (shape_.size() > 1) {
      boxes.second = std::min(boxes.second, static_cast<std::int64_t>(chunk[1]));
      boxes.entries = entries(columns / static_cast<std::uint64_t>(shape_[1]) *
                              static_cast<std::uint64_t>(boxes.second));
      bytes *= chunk[1];
    }
    for (std::size_t axis = 2; axis < chunk.size(); ++axis)
      bytes *= ceil_div(static_cast<hsize_t>(shape_[axis]), chunk[axis]) * chunk[axis];
    // Of chunks that are not packed, HDF5 reads a part.
    if (H5Pget_nfilters(properties.get()) > 0) boxes.chunk_bytes = bytes;
    return boxes;
  }

  /// Anew, because a dataset that is open keeps its settings.
  void open_with_room_for(std::uint64_t chunk_bytes) {
    constexpr std::size_t kSlots = 10007;  // a prime: the chunks of a box share none
    if (!dataset_.close()) fail("cannot be closed: " + h5_reason());
    const H5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    if (!access.valid() ||
        H5Pset_chunk_cache(access.get(), kSlots, chunk_bytes, H5D_CHUNK_CACHE_W0_DEFAULT) < 0)
      fail("cannot be set up: " + h5_reason());
    dataset_ = H5Handle(H5Dopen2(file_, object_.c_str(), access.get()), H5Dclose);
    if (!dataset_.valid()) fail("cannot be opened: " + h5_reason());
  }

  /// Into `values`, of just that size.
  template <class T>
  void read_box(hid_t memory_type, const Place& place, std::vector<T>& values) const {
    std::vector<hsize_t> begin(shape_.size(), 0);
    std::vector<hsize_t> extents(shape_.begin(), shape_.end());
    begin[0] = static_cast<hsize_t>(place.first);
    extents[0] = static_cast<hsize_t>(place.entries);
    if (shape_.size() > 1) {
      begin[1] = static_cast<hsize_t>(place.left);
      extents[1] = static_cast<hsize_t>(place.second);
    }
    const H5Handle file_space(H5Dget_space(dataset_.get()), H5Sclose);
    const H5Handle memory_space(
        H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
    if (!file_space.valid() || !memory_space.valid() ||
        H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, begin.data(), nullptr, extents.data(),
                            nullptr) < 0 ||
        H5Dread(dataset_.get(), memory_type, memory_space.get(), file_space.get(), H5P_DEFAULT,
                values.data()) < 0) {
      fail("cannot be read: " + h5_reason());
    }
  }

  const std::filesystem::path& path_;
  const std::string& object_;
  hid_t file_;
  H5Handle dataset_;
  H5Handle type_;
  std::vector<std::int64_t> shape_;
  std::uint64_t count_ = 1;
  std::int64_t first_ = 0;  // of the entries that are read
};

// `visits`: how many objects may still be looked at, because groups may form circles.
void list_below(const H5File& file, const std::string& group, int& visits,
                std::vector<std::string>& found) {
  for (const std::string& name : file.list_members(group)) {
    if (found.size() == kMaxListed || --visits < 0) return;
    const std::string path = (group == "/" ? "" : group) + "/" + name;
    if (file.has_dataset(path)) found.push_back(path);
    if (file.has_group(path)) list_below(file, path, visits, found);
  }
}

}  // namespace

H5Numbers read_h5_numbers(const std::filesystem::path& path, const std::string& object,
                          const ChooseEntries& choose, const SeeOriginals& see) {
  const H5File file = H5File::open_read(path);
  if (!file.has_dataset(object)) {
    throw InputError(
        fmt::format("'{}' has no dataset '{}', expected one of {}", path.string(), object,
                    printable(fmt::format("{}", fmt::join(list_h5_datasets(path), ", ")))));
  }
  return Reader(path, object, file.id()).read(choose, see);
}

std::vector<std::string> list_h5_datasets(const std::filesystem::path& path) {
  std::vector<std::string> found;
  int visits = 2000;
  list_below(H5File::open_read(path), "/", visits, found);
  return found;
}

}  // namespace quern
