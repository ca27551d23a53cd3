// SPDX-License-Identifier: Apache-2.0
#include "app/network_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/unit_text.hpp"

namespace quern {

namespace {

constexpr std::size_t kColumns = 7;
using Line = std::array<std::string, kColumns>;

constexpr std::size_t kFirstNumber = 4;  // the columns from here on are numbers

// Nothing for 0.
std::string parameters_text(std::int64_t count) {
  return count == 0 ? "" : grouped_text(count);
}

// Below each other, with a place for the letter; nothing for 0.
std::string macs_text(std::int64_t count) {
  if (count == 0) return "";
  return scaled_text(static_cast<double>(count)) + (count < 1000 ? " " : "");
}

std::string memory_text(std::int64_t bytes) {
  return bytes == 0 ? "" : bytes_text(bytes);
}

std::string join_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " + ") + name;
  return text;
}

/// The first line has the titles.
std::string table_text(const std::vector<Line>& lines) {
  std::array<std::size_t, kColumns> widths{};  // 0: nothing stands below the column's title
  for (std::size_t i = 0; i < kColumns; ++i) {
    for (std::size_t l = 1; l < lines.size(); ++l)
      widths[i] = std::max(widths[i], lines[l][i].size());
    if (widths[i] > 0) widths[i] = std::max(widths[i], lines[0][i].size());
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < kColumns; ++i) {
      if (widths[i] == 0) continue;
      if (!row.empty()) row += "  ";
      row += i < kFirstNumber ? fmt::format("{:<{}}", line[i], widths[i])
                              : fmt::format("{:>{}}", line[i], widths[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace

std::string network_text(const NetworkSummary& network) {
  std::vector<Line> lines = {
      {"layer", "type", "reads", "output", "parameters", "multiply-adds", "memory"},
      {"input", "", "", to_string(network.input), "", "", memory_text(network.input_bytes)}};
  for (const LayerSummary& layer : network.layers) {
    const std::string type = layer.type + (layer.is_frozen ? ", frozen" : "");
    lines.push_back({layer.name, type, join_names(layer.inputs), to_string(layer.output),
                     parameters_text(layer.parameters), macs_text(layer.macs),
                     memory_text(layer.bytes)});
  }
  if (network.segment_bytes > 0)
    lines.push_back({"computed again", "", "", "", "", "", memory_text(network.segment_bytes)});
  lines.push_back({"total", "", "", "", parameters_text(network.parameters),
                   macs_text(network.macs), memory_text(network.activation_bytes)});
  return "# Network (multiply-adds and memory: forward, of one sample)\n" + table_text(lines) +
         fmt::format("Training takes {} more for the gradients of these outputs.",
                     bytes_text(network.gradient_bytes));
}

}  // namespace quern
