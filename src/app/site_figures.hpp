// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace quern {

/// What a plan takes a site's nodes for (jobs/sites/figures.txt): published figures and
/// assumptions, none of them measured. Of nodes with GPUs these are the GPUs' figures.
struct SiteFigures {
  int ranks = 1;                  ///< of a node; one for each of its GPUs
  double node_flops = 0;          ///< multiply-add peak of a node in float32
  double memory_bytes_per_s = 0;  ///< of a node
  double message_s = 0;           ///< what each message costs
  double node_bytes_per_s = 0;    ///< network, each direction
  // Of nodes with GPUs alone, else 0:
  double link_bytes_per_s = 0;  ///< out of a GPU to the others of its node
  double tf32_flops = 0;        ///< peak of a node; 0: it has none
  double bf16_flops = 0;        ///< likewise, summed in float32

  bool has_gpus() const { return link_bytes_per_s > 0; }
};

/// The row of `site`. InputError, naming the file: no such site (with those that there are), a row
/// that does not fit.
SiteFigures read_site_figures(const std::filesystem::path& file, const std::string& site);

/// jobs/sites/figures.txt of what is installed with the program, or else of the current folder.
std::filesystem::path site_figures_file();

}  // namespace quern
