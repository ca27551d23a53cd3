// SPDX-License-Identifier: Apache-2.0
#include "app/site_figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include "app/share_folder.hpp"
#include "base/error.hpp"

namespace quern {

namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '|');) {
    const auto first = cell.find_first_not_of(" \t");
    const auto last = cell.find_last_not_of(" \t\r");
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

/// One number above 0 and nothing else.
double number(const std::string& text, const std::string& where) {
  std::istringstream stream(text);
  double value = 0;
  if (stream >> value && stream.eof() && value > 0) return value;
  throw InputError(fmt::format("{}: '{}' is no number above 0", where, text));
}

// The default is relative where the program is not installed.
[[noreturn]] void fail_unreadable(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  throw InputError(fmt::format(
      "cannot read the sites' figures '{}'{}, expected a file as jobs/sites/figures.txt of Quern's "
      "repository (--figures FILE)",
      file.string(), file.is_absolute() || error ? "" : fmt::format(" in '{}'", here.string())));
}

}  // namespace

SiteFigures read_site_figures(const std::filesystem::path& file, const std::string& site) {
  constexpr std::size_t kCells = 7;
  constexpr std::size_t kCellsOfGpus = 10;
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    throw InputError(fmt::format(
        "'{}' is a folder, expected a file of sites' figures (--figures FILE)", file.string()));
  }
  std::ifstream stream(file);
  if (!stream) fail_unreadable(file);
  std::vector<std::string> known;
  int number_of_line = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number_of_line;
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = cells_of(line);
    known.push_back(cells[0]);
    if (cells[0] != site) continue;
    const std::string where = fmt::format("{}:{}", file.string(), number_of_line);
    if (cells.size() != kCells && cells.size() != kCellsOfGpus) {
      throw InputError(fmt::format("{}: {} columns, expected {}, or {} for nodes with GPUs", where,
                                   cells.size(), kCells, kCellsOfGpus));
    }
    SiteFigures figures;
    figures.ranks = static_cast<int>(number(cells[1], where));
    figures.node_flops = 1e9 * number(cells[2], where);
    figures.memory_bytes_per_s = 1e9 * number(cells[3], where);
    figures.message_s = 1e-6 * number(cells[4], where);
    figures.node_bytes_per_s = 1e9 * number(cells[5], where);
    if (cells.size() == kCells) return figures;
    const auto peak = [&](const std::string& cell) {
      return cell == "-" ? 0 : 1e9 * number(cell, where);
    };
    figures.link_bytes_per_s = 1e9 * number(cells[6], where);
    figures.tf32_flops = peak(cells[7]);
    figures.bf16_flops = peak(cells[8]);
    return figures;
  }
  throw InputError(fmt::format("'{}' has no figures of the site '{}' (known: {})", file.string(),
                               site, fmt::join(known, ", ")));
}

std::filesystem::path site_figures_file() {
  return share_folder() / "jobs" / "sites" / "figures.txt";
}

}  // namespace quern
