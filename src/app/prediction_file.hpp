// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/shape.hpp"
#include "inference/prediction.hpp"
#include "spec/training_spec.hpp"

namespace quern {

/// What there is to say of every sample.
struct PredictionColumns {
  bool is_classifier = false;
  bool has_labels = false;
  bool has_probabilities = false;             ///< of a classifier, all of them
  LossSpec loss = {};                         ///< of a classifier
  int targets = 0;                            ///< of a sample, of other networks
  Shape outputs = {};                         ///< of the network
  std::int64_t samples = 0;                   ///< how many there are
  std::vector<std::string> files = {};        ///< of each sample, or empty
  std::vector<std::string> class_names = {};  ///< or empty
};

/// Where the outputs for one sample after the other go.
class PredictionFile {
 public:
  PredictionFile() = default;
  virtual ~PredictionFile() = default;
  PredictionFile(const PredictionFile&) = delete;
  PredictionFile& operator=(const PredictionFile&) = delete;

  virtual void add(const SampleOutputs& sample) = 0;
  /// After the last sample. A file that is not finished does not appear.
  virtual void finish() = 0;
};

/// InputError where the ending of `out` is that of another format than predictions are written in.
void check_prediction_ending(const std::string& out);

/// By the ending of `out`, in any case: an array of numbers (app/prediction_array.hpp) where it is
/// .npy, .h5 or .hdf5, else a table (app/prediction_table.hpp), on standard output where it is
/// empty. Fails as OutputFile.
std::unique_ptr<PredictionFile> make_prediction_file(PredictionColumns columns,
                                                     const std::string& out);

}  // namespace quern
