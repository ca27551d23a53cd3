// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/lines_file.hpp"
#include "app/prediction_file.hpp"

namespace quern {

/// CSV, a line for each sample: of a classifier its class and that class's probability, with labels
/// what they are and how far off the network is; else the outputs, and the targets if there are
/// some. New columns come last, because
/// scripts may take these by their place.
class PredictionTable final : public PredictionFile {
 public:
  /// `out`: as of LinesFile.
  PredictionTable(PredictionColumns columns, const std::string& out);

  void add(const SampleOutputs& sample) override;
  void finish() override { file_.finish(); }

 private:
  PredictionColumns columns_;
  LinesFile file_;
  std::vector<float> probabilities_;  // of one sample
  std::size_t count_ = 0;
};

}  // namespace quern
