// SPDX-License-Identifier: Apache-2.0
#include "inference/predictor.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/xxh3.hpp"
#include "comm/agree.hpp"
#include "comm/check_same.hpp"
#include "comm/exchange.hpp"
#include "inference/evaluator.hpp"
#include "inference/forward_model.hpp"
#include "inference/prediction.hpp"
#include "io/sample_checks.hpp"
#include "state/load_checkpoint.hpp"
#include "strategy/batch_rule.hpp"
#include "tensor/host_values.hpp"

namespace quern {

namespace {

constexpr const char* kPredicted = "the samples to predict";

}  // namespace

class Predictor::Parts {
 public:
  Parts(Communicator& comm, const std::filesystem::path& path, int batch)
      : Parts(comm, load_checkpoint(comm, path), batch) {}

  template <class Value>
  std::vector<float> predict(std::span<const Value> values, std::int64_t count);

  const Recipe& recipe() const { return recipe_; }
  const Network& network() { return forward_.model().whole(); }
  const std::vector<std::string>& class_names() const { return class_names_; }
  const std::vector<std::string>& feature_names() const { return feature_names_; }

 private:
  Parts(Communicator& comm, const SharedCheckpoint& checkpoint, int batch);

  void check_size(std::size_t size, std::int64_t count) const;
  template <class Value>
  void warn_of_other_inputs(std::span<const Value> values);

  Communicator& comm_;
  Recipe recipe_;
  int batch_;
  ForwardModel forward_;
  std::vector<std::string> class_names_;
  std::vector<std::string> feature_names_;
  std::string trained_on_;  // rank 0's; "" once a warning was given
};

Predictor::Parts::Parts(Communicator& comm, const SharedCheckpoint& checkpoint, int batch)
    : comm_(comm), recipe_(checkpoint.recipe), batch_(batch), forward_(comm, recipe_) {
  const std::string batch_text = "a batch of " + std::to_string(batch) + " samples";
  agree(comm, [&] {
    if (batch < 1) throw InputError("Predictor: " + batch_text + ", expected at least 1");
  });
  check_same(comm, "Predictor", batch_text);
  const CheckpointState* state = checkpoint.state();
  forward_.load(predictor_rows(forward_.model(), batch_), Samples{}, state);
  class_names_ = broadcast_strings(comm, state ? state->class_names : std::vector<std::string>{});
  feature_names_ =
      broadcast_strings(comm, state ? state->feature_names : std::vector<std::string>{});
  if (state) trained_on_ = state->input;
}

void Predictor::Parts::check_size(std::size_t size, std::int64_t count) const {
  const Shape& shape = recipe_.network.input;
  const auto values = static_cast<std::int64_t>(size);
  if (count >= 0 && values % shape.units() == 0 && values / shape.units() == count) return;
  throw InputError(std::string(kPredicted) + ": " + std::to_string(size) + " values, expected " +
                   std::to_string(count) + " times the " + std::to_string(shape.units()) +
                   " of a sample " + to_string(shape));
}

// Floats are what bytes are divided by 255, if they look so.
template <class Value>
void Predictor::Parts::warn_of_other_inputs(std::span<const Value> values) {
  if (trained_on_.empty()) return;
  const bool on_bytes = trained_on_ == "images";
  if constexpr (std::is_same_v<Value, float>) {
    const auto is_divided = [](float value) { return value >= 0 && value <= 1; };
    if (!on_bytes || std::all_of(values.begin(), values.end(), is_divided)) return;
    log::warn("the network was trained on bytes, which it read divided by 255, but " +
              std::string(kPredicted) + " hold values that are not from 0 to 1");
  } else {
    if (on_bytes) return;
    log::warn("the network was trained on values, which it read as they are, but " +
              std::string(kPredicted) + " hold bytes, which it reads divided by 255");
  }
  trained_on_.clear();
}

template <class Value>
std::vector<float> Predictor::Parts::predict(std::span<const Value> values, std::int64_t count) {
  if (comm_.size() > 1)
    check_same(comm_, kPredicted,
               std::to_string(count) + " with the XXH3 " + xxh3_128(std::as_bytes(values)));
  const Samples samples = agree(comm_, [&] {
    check_size(values.size(), count);
    if (count > 0) prediction_batches(batch_, forward_.grid().data().size(), count);
    Samples made;
    made.count = count;
    made.shape = recipe_.network.input;
    if constexpr (std::is_same_v<Value, float>) {
      refuse_input(kPredicted,
                   find_not_finite(values, "values", made.shape.units(), 0, StoredType::float32));
      made.values = copy_to_kernels<float>("quern::inference::predicted_values", values);
    } else {
      made.images = copy_to_kernels<std::uint8_t>("quern::inference::predicted_images", values);
    }
    return made;
  });
  if (count == 0) return {};
  warn_of_other_inputs(values);
  std::vector<float> outputs;
  const auto size = static_cast<std::size_t>(count * network().output_shape().units());
  outputs.reserve(size);
  quern::predict(forward_.grid(), forward_.model(), samples, batch_,
                 [&](const SampleOutputs& sample) {
                   outputs.insert(outputs.end(), sample.outputs.begin(), sample.outputs.end());
                 });
  outputs.resize(size);
  comm_.broadcast(std::as_writable_bytes(std::span(outputs)), 0);
  return outputs;
}

Predictor::Predictor(Communicator& comm, const std::filesystem::path& checkpoint, int batch)
    : parts_(std::make_unique<Parts>(comm, checkpoint, batch)) {}

Predictor::~Predictor() = default;

std::vector<float> Predictor::predict(std::span<const float> values, std::int64_t count) {
  return parts_->predict(values, count);
}
std::vector<float> Predictor::predict(std::span<const std::uint8_t> pixels, std::int64_t count) {
  return parts_->predict(pixels, count);
}

const Recipe& Predictor::recipe() const {
  return parts_->recipe();
}
const Shape& Predictor::input_shape() const {
  return parts_->network().input_shape();
}
const Shape& Predictor::output_shape() const {
  return parts_->network().output_shape();
}
const std::vector<std::string>& Predictor::class_names() const {
  return parts_->class_names();
}

const std::vector<std::string>& Predictor::feature_names() const {
  return parts_->feature_names();
}

Evaluation evaluate_checkpoint(Communicator& comm, const std::filesystem::path& path,
                               const Samples& samples) {
  const SharedCheckpoint checkpoint = load_checkpoint(comm, path);
  const Recipe& recipe = checkpoint.recipe;
  ForwardModel forward(comm, recipe);
  Model& model = forward.model();
  agree(comm, [&] { model.check_samples(samples, "the samples to evaluate"); });
  check_same(comm, "the samples to evaluate", "SHA-256 " + samples.data_hash);
  Evaluator evaluator(forward.grid(), model, samples,
                      evaluation_batches(recipe, checkpoint.global_batch, samples.count,
                                         recipe.parallel.micro_batches),
                      forward.transports());
  forward.load(evaluator.limit(), samples, checkpoint.state());
  return evaluator.run(ExecSpace());
}

}  // namespace quern
