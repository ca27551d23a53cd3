// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/lines_file.hpp"

namespace quern {

/// What there is to say of every sample.
struct PredictionColumns {
  bool is_classifier = false;
  bool has_labels = false;
  int outputs = 0;                            ///< of the network
  std::vector<std::string> files = {};        ///< of each sample, or empty
  std::vector<std::string> class_names = {};  ///< or empty
};

/// CSV, a line for each sample: of a classifier its class and that class's probability, with labels
/// what they are and how far off the network is; else the outputs. New columns come last, because
/// scripts may take these by their place.
class PredictionTable {
 public:
  /// `out`: as of LinesFile.
  PredictionTable(PredictionColumns columns, const std::string& out);

  /// `label` < 0: there is none.
  void add(std::span<const float> outputs, int label);
  void finish() { file_.finish(); }

 private:
  PredictionColumns columns_;
  LinesFile file_;
  std::size_t count_ = 0;
};

}  // namespace quern
