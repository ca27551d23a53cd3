// SPDX-License-Identifier: Apache-2.0
#include "strategy/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "comm/serial/communicator.hpp"
#include "strategy/training_step.hpp"
#include "support/expect_error.hpp"
#include "support/train_samples.hpp"
#include "unit/tools/event_log.hpp"

namespace quern::test {

namespace {

const std::string kOneConvolution =
    "network.layers=[{type = \"conv2d\", channels = 5, kernel = 6}]";

}  // namespace

TEST(Model, AutoEncoderWhoseOutputIsNotItsInput) {
  expect_error(
      [] {
        Model(image_recipe(4, {"loss.type=mse", "data.target=input"}));
      },
      ExitCode::bad_input, {"data.target = \"input\"", "[5]", "[1, 6, 6]"});
}

TEST(Model, SamplesOfAnotherShape) {
  const Model model(image_recipe(4));
  expect_error(
      [&] {
        model.check_samples(image_samples(3, {1, 5, 6}, 5));
      },
      ExitCode::bad_input, {"network.input is [1, 6, 6]", "[1, 5, 6]"});
  expect_error(
      [&] {
        model.check_samples(image_samples(3, {3, 6, 6}, 5));
      },
      ExitCode::bad_input, {"[3, 6, 6]"});
}

TEST(Model, MoreClassesThanOutputs) {
  const Model model(image_recipe(4));
  EXPECT_NO_THROW(model.check_samples(image_samples(3, kImage, 5)));
  expect_error([&] { model.check_samples(image_samples(3, kImage, 6)); }, ExitCode::bad_input,
               {"[5]", "6 classes"});
}

TEST(Model, CrossEntropyOnAConvolutionWithoutFlatten) {
  // [5, 1, 1] is flat, but comes in nchw16n.
  SerialCommunicator comm;
  const Samples samples = image_samples(20, kImage, 5);
  const auto first_loss = [&](const std::string& layers) {
    const Recipe recipe = image_recipe(20, {layers});
    Model model(recipe);
    TrainingStep step(recipe, comm, model, samples);
    return step.run(ExecSpace(), false).loss;
  };
  const std::string flattened =
      kOneConvolution.substr(0, kOneConvolution.size() - 1) + ", {type = \"flatten\"}]";
  EXPECT_EQ(first_loss(kOneConvolution), first_loss(flattened));
}

TEST(Model, MseOnImagesNeedsNoCopyOfTheTarget) {
  SerialCommunicator comm;
  const Samples samples = image_samples(20, kImage, 5);
  const Recipe recipe = image_recipe(
      20, {"loss.type=mse", "data.target=input",
           "network.layers=[{type = \"conv2d\", channels = 1, kernel = 3, padding = 1}]"});
  Model model(recipe);
  TrainingStep step(recipe, comm, model, samples);
  Kokkos::deep_copy(model.parameters(), 0.0f);
  double expected = 0;  // of a network that puts out zeros
  for (const std::uint8_t pixel : to_vector(samples.images)) {
    expected += pixel / 255.0 * (pixel / 255.0) / 36;
  }
  EXPECT_NEAR(step.run(ExecSpace(), false).loss, expected, 1e-5 * expected);
}

// Of rounded inputs the loss of a CPU reads the target as pixels.
TEST(Model, AnAutoEncoderIsTrainedByPixelsAsByTheirValues) {
  SerialCommunicator comm;
  const Samples images = image_samples(20, kImage, 5);
  Samples values = images;
  std::vector<float> floats;
  for (const std::uint8_t pixel : to_vector(images.images)) floats.push_back(pixel / 255.0f);
  values.images = {};
  values.values = to_view(floats);
  for (const char* choice : {"train.precision=fp32", "train.precision=bf16",
                             "data.normalize={type = \"given\", mean = [0.3], std = [0.5]}"}) {
    const Recipe recipe = image_recipe(
        6, {"loss.type=mse", "data.target=input", "train.precision=bf16", choice,
            "network.layers=[{type = \"flatten\"}, {type = \"linear\", features = 20}, "
            "{type = \"relu\"}, {type = \"linear\", features = 36}]"});
    const auto train = [&](const Samples& samples) {
      Model model(recipe);
      TrainingStep step(recipe, comm, model, samples);
      std::vector<float> result;
      for (int i = 0; i < 5; ++i)
        result.push_back(static_cast<float>(step.run(ExecSpace(), false).loss));
      const std::vector<float> parameters = to_vector(model.parameters());
      result.insert(result.end(), parameters.begin(), parameters.end());
      return result;
    };
    const std::vector<float> expected = train(values);
    EventLog log;
    EXPECT_EQ(train(images), expected) << choice;
    const std::vector<Event> events = log.take();
    // Of one sample tile: a thread computes it whole, and the loss reads it there.
    const auto runs = [&](const char* label) {
      return std::ranges::any_of(events, [&](const Event& e) { return e.label == label; });
    };
    const bool is_alone = flat_layout() == Layout::cn16c && kernel_threads() == 1;
    const bool in_bf16 = choice != std::string("train.precision=fp32");
    EXPECT_EQ(runs("quern::layers::linear_forward_with_loss"), is_alone && in_bf16) << choice;
    const bool may_read_pixels = choice == std::string("train.precision=bf16");
    EXPECT_EQ(runs("quern::loss::regression_pixels"),
              may_read_pixels && flat_layout() == Layout::cn16c && !is_alone)
        << choice;
  }
}

}  // namespace quern::test
