// SPDX-License-Identifier: Apache-2.0
#include "app/contact_sheet.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "readers/png_writer.hpp"

namespace quern {

namespace {

constexpr int kGap = 2;  // pixels between samples
constexpr int kSmallestSide = 32;

}  // namespace

ContactSheet::ContactSheet(const ShardSet& set)
    : content_(set.content()), channels_(set.shape().channels == 3 ? 3 : 1) {
  if (set.shape().height < 2 || set.shape().width < 2) {
    throw InputError("--contact-sheet: a sample is " + to_string(set.shape()) +
                     ", expected images [channels, height, width]");
  }
  filled_.resize(static_cast<std::size_t>(content_.has_labels() ? std::min(set.classes(), kMaxRows)
                                                                : kColumns));
}

bool ContactSheet::find_place(std::int32_t label, Cell& cell) {
  auto row = static_cast<std::size_t>(label);
  if (!content_.has_labels()) {
    row = 0;
    while (row < filled_.size() && filled_[row] == kColumns) ++row;
  }
  if (row >= filled_.size() || filled_[row] == kColumns) return false;
  cell.row = static_cast<int>(row);
  cell.column = filled_[row]++;
  return true;
}

void ContactSheet::add(const SampleArrays& arrays, std::int64_t count) {
  const auto shown = static_cast<std::size_t>(channels_) *
                     static_cast<std::size_t>(content_.shape.height * content_.shape.width);
  for (std::int64_t sample = 0; sample < count; ++sample) {
    Cell cell;
    const std::int32_t label =
        content_.has_labels() ? arrays.labels[static_cast<std::size_t>(sample)] : 0;
    if (!find_place(label, cell)) continue;
    const auto first = static_cast<std::size_t>(sample * content_.shape.units());
    if (content_.has_pixels()) {
      const auto part = arrays.images.subspan(first, shown);
      cell.values.assign(part.begin(), part.end());
    } else {
      const auto part = arrays.values.subspan(first, shown);
      cell.values.assign(part.begin(), part.end());
    }
    cells_.push_back(std::move(cell));
  }
}

void ContactSheet::write(const std::filesystem::path& file) const {
  float low = 0;
  float high = 255;
  if (!content_.has_pixels()) {
    low = std::numeric_limits<float>::infinity();
    high = -low;
    for (const Cell& cell : cells_) {
      const auto [least, most] = std::minmax_element(cell.values.begin(), cell.values.end());
      low = std::min(low, *least);
      high = std::max(high, *most);
    }
  }
  const float scale = high > low ? 255 / (high - low) : 0;
  const int height = content_.shape.height;
  const int width = content_.shape.width;
  const int zoom = std::max(1, ceil_div(kSmallestSide, std::min(height, width)));
  int rows = 0;
  int columns = 0;
  for (const Cell& cell : cells_) {
    rows = std::max(rows, cell.row + 1);
    columns = std::max(columns, cell.column + 1);
  }
  const int sheet_height = rows * (height * zoom + kGap) + kGap;
  const int sheet_width = columns * (width * zoom + kGap) + kGap;
  std::vector<std::uint8_t> pixels(
      static_cast<std::size_t>(sheet_height) * static_cast<std::size_t>(sheet_width * channels_),
      255);
  for (const Cell& cell : cells_) {
    const int top = kGap + cell.row * (height * zoom + kGap);
    const int left = kGap + cell.column * (width * zoom + kGap);
    for (int y = 0; y < height * zoom; ++y) {
      for (int x = 0; x < width * zoom; ++x) {
        for (int c = 0; c < channels_; ++c) {
          const auto from =
              static_cast<std::size_t>(c * height + y / zoom) * static_cast<std::size_t>(width) +
              static_cast<std::size_t>(x / zoom);
          const auto to =
              (static_cast<std::size_t>(top + y) * static_cast<std::size_t>(sheet_width) +
               static_cast<std::size_t>(left + x)) *
                  static_cast<std::size_t>(channels_) +
              static_cast<std::size_t>(c);
          pixels[to] = static_cast<std::uint8_t>(std::lround((cell.values[from] - low) * scale));
        }
      }
    }
  }
  write_png(file, channels_, sheet_height, sheet_width, pixels);
}

}  // namespace quern
