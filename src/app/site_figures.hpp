// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace quern {

/// What a plan takes a site's nodes for (jobs/sites/figures.txt): published figures and
/// assumptions, none of them measured.
struct SiteFigures {
  int ranks = 1;                  ///< of a node
  double node_flops = 0;          ///< multiply-add peak of a node in float32
  double memory_bytes_per_s = 0;  ///< of a node
  double message_s = 0;           ///< what each message costs
  double node_bytes_per_s = 0;    ///< network, each direction
};

/// The row of `site`. InputError, naming the file: no such site (with those that there are), a row
/// that does not fit.
SiteFigures read_site_figures(const std::filesystem::path& file, const std::string& site);

/// jobs/sites/figures.txt of what is installed with the program, or else of the current folder.
std::filesystem::path site_figures_file();

}  // namespace quern
