// SPDX-License-Identifier: Apache-2.0
// The outputs for all samples as one array of float32, row-major: [n, f], or [n, c, h, w] where the
// network puts out images. Of a classifier they are the probabilities of its classes.
#pragma once

#include <string>
#include <vector>

#include "app/prediction_file.hpp"
#include "io/h5_file.hpp"
#include "io/output_file.hpp"
#include "io/pending_file.hpp"

namespace quern {

/// Gathers what is written at once.
class PredictionArray : public PredictionFile {
 public:
  explicit PredictionArray(const PredictionColumns& columns)
      : is_classifier_(columns.is_classifier) {}
  void add(const SampleOutputs& sample) override;

 protected:
  /// Writes the values that are still to be written, behind those of earlier calls.
  void write_rest();

 private:
  virtual void write(std::span<const float> values) = 0;

  bool is_classifier_;
  std::vector<float> values_;  // still to be written
};

/// A file of NumPy.
class NpyPredictions final : public PredictionArray {
 public:
  /// Fails as OutputFile.
  NpyPredictions(const PredictionColumns& columns, const std::string& out);
  void finish() override;

 private:
  void write(std::span<const float> values) override;

  OutputFile file_;
};

/// Dataset /probabilities of a classifier, else /values, /targets where samples have some, and
/// attributes of the root: `format`, `format_version`, and `class_names`, one a line, where there
/// are some.
class H5Predictions final : public PredictionArray {
 public:
  /// Fails as H5File::create.
  H5Predictions(const PredictionColumns& columns, const std::string& out);
  void add(const SampleOutputs& sample) override;
  void finish() override;

 private:
  void write(std::span<const float> values) override;
  void write_targets();

  PendingFile pending_;
  H5File file_;
  std::string dataset_;
  std::int64_t written_ = 0;  // values
  bool has_targets_;
  std::vector<float> targets_;  // still to be written
  std::int64_t written_targets_ = 0;
};

}  // namespace quern
