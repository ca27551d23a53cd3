// SPDX-License-Identifier: Apache-2.0
// A trained network that answers, for programs of your own.
//
//   return quern::run_on_ranks([](quern::Communicator& comm) {
//     quern::Predictor predictor(comm, "runs/lenet");
//     const std::vector<float> outputs = predictor.predict(values, number_of_samples);
//     ...
//   });
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/shape.hpp"
#include "comm/communicator.hpp"
#include "inference/evaluation.hpp"
#include "spec/recipe.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// The ranks of a communicator predict together: each computes a part of the samples, or a stage or
/// a part of the layers where the network was trained so. For every rank to predict samples of its
/// own, each takes one on itself alone: `const auto alone = comm.split(comm.rank());`, and
/// Predictor(*alone, ...).
class Predictor {
 public:
  /// Collective. `checkpoint`: a file, or a run folder, of which the newest good one is taken.
  /// Layers of the program's own must have been registered. `batch`: samples that a rank takes at a
  /// time, and memory is allocated for. `comm` outlives it. AgreedError: exit 2 when there is no
  /// such checkpoint or not the memory, 93 when it is damaged.
  Predictor(Communicator& comm, const std::filesystem::path& checkpoint, int batch = 256);
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  ~Predictor();

  /// Collective: all ranks pass the same `count` samples, values [count, units of input_shape()],
  /// and get the outputs of all, [count, units of output_shape()]. Inputs are normalized as in
  /// training, and outputs are in the units of the targets; of a classifier they are the numbers
  /// before the softmax. A network that was trained on bytes wants values between 0 and 1.
  /// AgreedError (exit 2) when `values` has another size, or a sample is not finite.
  std::vector<float> predict(std::span<const float> values, std::int64_t count);
  /// The same of bytes, as images have them: read divided by 255.
  std::vector<float> predict(std::span<const std::uint8_t> pixels, std::int64_t count);

  const Recipe& recipe() const;  ///< that the network was trained with
  const Shape& input_shape() const;
  const Shape& output_shape() const;
  /// Of the outputs of a classifier, where the training data named them; else empty.
  const std::vector<std::string>& class_names() const;
  /// Of the inputs, where they were columns with names; else empty.
  const std::vector<std::string>& feature_names() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

/// Collective: loss and accuracy over all of `samples`, which are the same on all ranks
/// (samples/own_samples.hpp), of the network in `checkpoint`, as above. AgreedError as above, and
/// when the samples do not fit the network.
Evaluation evaluate_checkpoint(Communicator& comm, const std::filesystem::path& checkpoint,
                               const Samples& samples);

}  // namespace quern
