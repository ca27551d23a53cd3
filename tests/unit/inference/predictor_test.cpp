// SPDX-License-Identifier: Apache-2.0
// A checkpoint answers in a program as it does in quern predict and quern evaluate.
#include "inference/predictor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "comm/serial/communicator.hpp"
#include "config/read_recipe.hpp"
#include "inference/prediction.hpp"
#include "samples/own_samples.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"
#include "support/train_samples.hpp"
#include "train/training_run.hpp"

namespace quern::test {

namespace {

constexpr int kCount = 70;

struct Regression {
  std::vector<float> inputs, targets;

  Regression() {
    for (int i = 0; i < kCount; ++i) {
      const float x = 50 + static_cast<float>(i);
      inputs.insert(inputs.end(), {x, 7 - x});
      targets.push_back(1000 + 3 * x);
    }
  }
  Samples samples() const { return make_target_samples({2}, inputs, 1, targets); }
};

// A run whose inputs and targets are normalized.
Evaluation train(Communicator& comm, const std::filesystem::path& folder, const Regression& data) {
  const Recipe recipe = parse_recipe(R"(
name = "line"
data = {source = "program", global_batch = 10, target = "values", normalize = "dataset", normalize_targets = "dataset"}
loss = {type = "mse"}
optimizer = {type = "adam", lr = 0.05}
train = {epochs = 20}
[network]
input = [2]
layers = [{type = "linear", features = 4}, {type = "tanh"}, {type = "batch_norm"}, {type = "linear", features = 1}]
)",
                                     "test");
  TrainingRun run(comm, recipe,
                  {.folder = folder, .train = data.samples(), .test = data.samples()});
  run.train();
  return run.evaluate();
}

double squared_error(const std::vector<float>& outputs, const std::vector<float>& targets) {
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i)
    sum += std::pow(double{outputs[i]} - double{targets[i]}, 2);
  return sum / static_cast<double>(targets.size());
}

}  // namespace

TEST(Predictor, AnswersInTheUnitsOfTheTargets) {
  const TempDir folder;
  SerialCommunicator comm;
  const Regression data;
  const Evaluation evaluated = train(comm, folder / "run", data);
  EXPECT_LT(evaluated.squared_error, 100) << "of targets between 1150 and 1360";

  Predictor predictor(comm, folder / "run", 16);
  EXPECT_EQ(predictor.input_shape(), Shape{2});
  EXPECT_EQ(predictor.output_shape(), Shape{1});
  EXPECT_EQ(predictor.recipe().name, "line");
  EXPECT_TRUE(predictor.class_names().empty());
  const std::vector<float> outputs = predictor.predict(data.inputs, kCount);
  ASSERT_EQ(outputs.size(), static_cast<std::size_t>(kCount));
  EXPECT_NEAR(squared_error(outputs, data.targets), evaluated.squared_error,
              1e-3 * evaluated.squared_error);
  // Fewer samples, and another call: the same answers.
  const std::vector<float> two = predictor.predict(std::span(data.inputs).first(4), 2);
  EXPECT_EQ(two, std::vector<float>(outputs.begin(), outputs.begin() + 2));
  EXPECT_TRUE(predictor.predict(std::span<const float>(), 0).empty());

  const Evaluation again = evaluate_checkpoint(comm, folder / "run", data.samples());
  EXPECT_EQ(again.samples, kCount);
  EXPECT_EQ(again.loss, evaluated.loss);
}

TEST(Predictor, ReadsBytesAsTheirShareOf255) {
  const TempDir folder;
  SerialCommunicator comm;
  train(comm, folder / "run", Regression());
  Predictor predictor(comm, folder / "run");
  const std::vector<std::uint8_t> bytes = {51, 255};
  EXPECT_EQ(predictor.predict(bytes, 1), predictor.predict(std::vector<float>{0.2f, 1.0f}, 1));
}

TEST(Predictor, WarnsOnceOfInputsThatAreNotAsInTraining) {
  const TempDir folder;
  SerialCommunicator comm;
  const auto warning_of = [](Predictor& predictor, const auto& values) {
    ::testing::internal::CaptureStderr();
    predictor.predict(values, 1);
    return ::testing::internal::GetCapturedStderr();
  };
  Recipe recipe = image_recipe(8);
  recipe.data.source = DataSource::program;
  recipe.data.train = "";
  TrainingRun(comm, recipe, {.folder = folder / "images", .train = image_samples(16, {1, 6, 6}, 5)})
      .train();
  Predictor images(comm, folder / "images");
  EXPECT_EQ(warning_of(images, std::vector<float>(36, 0.7f)), "") << "what bytes become";
  EXPECT_EQ(warning_of(images, std::vector<std::uint8_t>(36, 200)), "");
  const std::vector<float> large(36, 200.0f);
  EXPECT_THAT(warning_of(images, large), ::testing::HasSubstr("hold values that are not from 0"));
  EXPECT_EQ(warning_of(images, large), "") << "once";

  train(comm, folder / "run", Regression());
  Predictor numbers(comm, folder / "run");
  EXPECT_EQ(warning_of(numbers, std::vector<float>{300, -2}), "");
  EXPECT_THAT(warning_of(numbers, std::vector<std::uint8_t>{51, 255}),
              ::testing::HasSubstr("hold bytes, which it reads divided by 255"));
}

// A short batch takes less time, and counts where there is no other.
TEST(Predict, TellsTheTimesOfFullBatches) {
  SerialCommunicator comm;
  const Samples samples = image_samples(10, {1, 6, 6}, 5);
  for (const auto& [batch, full] : {std::pair(4, 2), {5, 2}, {10, 1}, {16, 1}}) {
    Model model(image_recipe(4));
    const int rows = predictor_rows(model, batch);
    model.allocate({rows, rows});
    std::vector<double> seconds;
    int count = 0;
    predict(
        comm, model, samples, batch, [&](const SampleOutputs&) { ++count; }, &seconds);
    EXPECT_EQ(count, 10);
    EXPECT_EQ(std::ssize(seconds), full) << batch;
  }
}

TEST(Predictor, RefusesWhatDoesNotFit) {
  const TempDir folder;
  SerialCommunicator comm;
  train(comm, folder / "run", Regression());
  Predictor predictor(comm, folder / "run");
  const auto refuse = [&](const std::vector<float>& values, std::int64_t count,
                          const std::string& words) {
    expect_error([&] { predictor.predict(values, count); }, ExitCode::bad_input, {words});
  };
  refuse({1, 2, 3}, 2, "the samples to predict: 3 values, expected 2 times the 2 of a sample [2]");
  refuse({1, 2}, -1, "2 values, expected -1 times");
  refuse({1, 2, 3, std::nanf("")}, 2, "the values of sample 1 hold nan");
  expect_error([&] { Predictor(comm, folder / "nowhere"); }, ExitCode::bad_input, {"nowhere"});
  expect_error([&] { Predictor(comm, folder / "run", 0); }, ExitCode::bad_input,
               {"a batch of 0 samples"});
  const std::vector<float> wide(9, 1), answers(3, 1);
  expect_error(
      [&] {
        evaluate_checkpoint(comm, folder / "run", make_target_samples({3}, wide, 1, answers));
      },
      ExitCode::bad_input, {"the samples to evaluate"});
}

}  // namespace quern::test
