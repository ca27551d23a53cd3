// SPDX-License-Identifier: Apache-2.0
#include "app/monitor/text_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace quern {

namespace {

constexpr int kLabel = 9;  // characters left of the plot, with a space
// Bits of the dots of a Braille pattern, [row][column] (Unicode, U+2800 and on).
constexpr std::array<std::array<int, 2>, 4> kDots = {
    {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};

std::string braille(int dots) {
  const int code = 0x2800 + dots;
  return {static_cast<char>(0xe0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

/// The mean of the points of each column of dots.
std::vector<std::optional<double>> columns_of(const std::vector<std::pair<double, double>>& points,
                                              int count) {
  std::vector<double> sums(static_cast<std::size_t>(count));
  std::vector<int> numbers(static_cast<std::size_t>(count));
  const double begin = points.front().first;
  const double span = std::max(points.back().first - begin, 1e-300);
  for (const auto& [x, y] : points) {
    const auto place = static_cast<std::size_t>(
        std::lround(std::clamp((x - begin) / span, 0.0, 1.0) * (count - 1)));
    sums[place] += y;
    numbers[place] += 1;
  }
  std::vector<std::optional<double>> means(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < means.size(); ++i)
    if (numbers[i] > 0) means[i] = sums[i] / numbers[i];
  return means;
}

// Few points of a long axis are joined.
void join(std::vector<std::optional<double>>& values) {
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    for (std::size_t j = last.value_or(i) + 1; j < i; ++j) {
      const double share = static_cast<double>(j - *last) / static_cast<double>(i - *last);
      values[j] = *values[*last] + share * (*values[i] - *values[*last]);
    }
    last = i;
  }
}

}  // namespace

std::string text_plot(const std::vector<std::pair<double, double>>& points, const TextPlot& size,
                      const std::string& x_name) {
  std::vector<std::pair<double, double>> finite;
  for (const auto& point : points)
    if (std::isfinite(point.first) && std::isfinite(point.second)) finite.push_back(point);
  if (finite.size() < 2) return "";
  const int width = std::max(10, size.columns - kLabel - 1);
  const int rows = std::max(2, size.rows);
  std::vector<std::optional<double>> values = columns_of(finite, 2 * width);
  join(values);

  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const auto& value : values) {
    if (!value) continue;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  const double span = high > low ? high - low : 1;
  std::vector<std::vector<int>> cells(static_cast<std::size_t>(rows),
                                      std::vector<int>(static_cast<std::size_t>(width)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    const int dot = static_cast<int>(std::lround((high - *values[i]) / span * (4 * rows - 1)));
    cells[static_cast<std::size_t>(dot / 4)][i / 2] |=
        kDots[static_cast<std::size_t>(dot % 4)][i % 2];
  }

  std::string text;
  for (int row = 0; row < rows; ++row) {
    const bool is_end = row == 0 || row == rows - 1;
    text += is_end ? fmt::format("{:>{}.4g} ┤", row == 0 ? high : low, kLabel - 1)
                   : fmt::format("{:{}} │", "", kLabel - 1);
    for (const int dots : cells[static_cast<std::size_t>(row)])
      text += dots == 0 ? " " : braille(dots);
    text += '\n';
  }
  const std::string first = fmt::format("{:.6g}", finite.front().first);
  const std::string last = fmt::format("{} {:.6g}", x_name, finite.back().first);
  const int between = std::max(1, width - static_cast<int>(first.size() + last.size()));
  return text + fmt::format("{:{}}{}{:{}}{}", "", kLabel + 1, first, "", between, last);
}

std::string text_bar(double share, int columns) {
  static constexpr std::array<const char*, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * columns * 8));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  if (eighths % 8 > 0) bar += kParts[static_cast<std::size_t>(eighths % 8)];
  const int used = eighths / 8 + (eighths % 8 > 0 ? 1 : 0);
  return bar + std::string(static_cast<std::size_t>(std::max(0, columns - used)), ' ');
}

}  // namespace quern
