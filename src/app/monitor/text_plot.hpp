// SPDX-License-Identifier: Apache-2.0
// A curve for a terminal, in Braille patterns: two by four dots a character.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace quern {

struct TextPlot {
  int columns = 72;  ///< with the numbers at the left
  int rows = 10;     ///< without the line below
};

/// `points`: x rising. Points that are not finite are left out; "" when fewer than two are left.
/// Several points of a column of dots are averaged. Ends in the line with the ends of x.
std::string text_plot(const std::vector<std::pair<double, double>>& points, const TextPlot& size,
                      const std::string& x_name);

/// `share` from 0 to 1 as a bar of so many characters.
std::string text_bar(double share, int columns);

}  // namespace quern
