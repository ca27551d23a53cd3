// SPDX-License-Identifier: Apache-2.0
// Many samples in one image.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/shard_set.hpp"

namespace quern {

/// A row for each class with its first samples, or without labels the first samples.
class ContactSheet {
 public:
  /// InputError unless the samples are images (height and width above 1).
  explicit ContactSheet(const ShardSet& set);

  /// Takes what it needs of the samples of one shard.
  void add(const SampleArrays& arrays, std::int64_t count);

  /// Writes a PNG file: three channels as colours, else the first channel in grey; values from the
  /// smallest to the largest shown. Throws InputError.
  void write(const std::filesystem::path& file) const;

 private:
  struct Cell {
    int row = 0;
    int column = 0;
    std::vector<float> values;  ///< [shown channels, height, width]
  };

  static constexpr int kColumns = 12;
  static constexpr int kMaxRows = 40;

  bool find_place(std::int32_t label, Cell& cell);

  ShardContent content_;
  int channels_;             ///< shown
  std::vector<int> filled_;  ///< cells of each row
  std::vector<Cell> cells_;
};

}  // namespace quern
