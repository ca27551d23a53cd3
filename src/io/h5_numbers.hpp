// SPDX-License-Identifier: Apache-2.0
// A dataset of anybody's HDF5 file, of whatever type and storage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace quern {

struct H5Numbers {
  std::vector<std::int64_t> shape;  ///< of what is held
  bool is_float16 = false;          ///< as stored
  /// Row-major: uint8 as bytes, integers as int64, floats as float (those of float64 rounded).
  std::variant<std::vector<std::uint8_t>, std::vector<std::int64_t>, std::vector<float>> values;
};

/// Consecutive entries of the first axis, the first and how many; asked for with their number.
using ChooseEntries = std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t total)>;

/// Neighbouring numbers of each entry of the first axis.
struct H5Columns {
  std::size_t first;
  std::size_t count;
  std::size_t all;  ///< that an entry has
};

/// Is shown float64 numbers before they are rounded: these columns of some entries. Each column is
/// shown in the order of the entries.
using SeeOriginals = std::function<void(std::span<const double> numbers, const H5Columns& columns)>;

/// Reads the dataset at `object` ("/group/x"), also one that is stored in chunks or packed by
/// HDF5's own filters. InputError when there is none, it holds no integers or floats of at most 64
/// bits, is a single number or empty, claims more than a file of its size can hold, or lies in
/// another file. `choose`: of which entries; empty: of all. `see` may be empty.
H5Numbers read_h5_numbers(const std::filesystem::path& path, const std::string& object,
                          const ChooseEntries& choose = {}, const SeeOriginals& see = {});

/// The paths of all datasets in the file, at most 50 of them, sorted.
std::vector<std::string> list_h5_datasets(const std::filesystem::path& path);

}  // namespace quern
