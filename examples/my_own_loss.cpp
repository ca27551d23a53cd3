// SPDX-License-Identifier: Apache-2.0
// A loss of your own: the pinball loss, with which a network learns a quantile. What value are 90 %
// of the measurements below, at each place x? (Koenker, Bassett: "Regression quantiles", 1978.)
//
//   my_own_loss RUN_FOLDER                       (or mpirun -n 2 my_own_loss ...)
#include <cmath>
#include <memory>
#include <quern/base/log.hpp>
#include <quern/comm/agree.hpp>
#include <quern/config/read_recipe.hpp>
#include <quern/inference/predictor.hpp>
#include <quern/loss/custom_loss.hpp>
#include <quern/runtime/ranks.hpp>
#include <quern/samples/own_samples.hpp>
#include <quern/train/training_run.hpp>
#include <string>
#include <utility>
#include <vector>

constexpr float kQuantile = 0.9f;

// For a prediction x and a measurement t: q (t - x) where x is below t, else (1 - q) (x - t).
class Pinball final : public quern::Loss {
 public:
  explicit Pinball(const quern::Shape& prediction) : Loss(prediction) {}

  // Of each row its own loss, and unless it is empty the gradient: of the mean over the whole
  // batch, of which inverse_count is one divided by its samples. Rows without a sample have zeros.
  void evaluate_rows(const quern::ExecSpace& exec, const quern::LossContext& step,
                     const quern::Activation& prediction, const quern::LossTarget& target,
                     const quern::Activation& d_prediction,
                     const quern::FloatView& values) const override {
    const quern::FloatView x = prediction.data, t = target.values.data, dx = d_prediction.data;
    const auto sample_of_row = step.sample_of_row;
    const auto scalars = step.scalars;
    const quern::ActivationIndex at(prediction);  // the targets and the gradient lie as it does
    const int units = prediction.shape.units();
    const float mean = 1 / static_cast<float>(units);
    const bool wants_gradient = !d_prediction.empty();  // not in evaluations
    Kokkos::parallel_for(
        "my::pinball", Kokkos::RangePolicy<quern::ExecSpace>(exec, 0, prediction.rows),
        KOKKOS_LAMBDA(int row) {
          const bool is_empty = sample_of_row(row) < 0;
          float sum = 0;
          for (int u = 0; u < units; ++u) {
            const float error = x(at(row, u)) - t(at(row, u));
            const float slope = error < 0 ? -kQuantile : 1 - kQuantile;
            sum += slope * error;
            if (wants_gradient)
              dx(at(row, u)) = is_empty ? 0 : slope * mean * scalars().inverse_count;
          }
          values(row * kColumns + kLoss) = is_empty ? 0 : sum * mean;
          values(row * kColumns + kCorrect) = 0;
        });
  }
};

constexpr const char* kRecipe = R"(
name = "quantile"
data = {source = "program", global_batch = 64, target = "values"}
loss = {type = "custom", kind = "pinball"}
optimizer = {type = "adam", lr = 0.005}
train = {epochs = 60}
checkpoint = {every_epochs = 60}

[network]
input = [1]
layers = [
  {type = "linear", features = 32}, {type = "tanh"},
  {type = "linear", features = 1},
])";

struct Measurements {
  std::vector<float> x;
  std::vector<float> y;
};

// sin(3 x), and on it noise from 0 to 1 + x.
Measurements measure(int count, int first) {
  Measurements all;
  for (int i = first; i < first + count; ++i) {
    const double place = std::fmod(i * 0.6180339887, 1.0);
    const double noise = std::fmod(i * 0.7548776662, 1.0);
    all.x.push_back(static_cast<float>(2 * place - 1));
    all.y.push_back(static_cast<float>(std::sin(3 * all.x.back()) + 2 * place * noise));
  }
  return all;
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "runs/quantile";
  quern::register_loss("pinball", [](const quern::Shape& prediction) {
    return std::make_unique<Pinball>(prediction);
  });
  return static_cast<int>(quern::run_on_ranks([&](quern::Communicator& comm) {
    const Measurements train = measure(4096, 0);
    const Measurements test = measure(1000, 4096);
    quern::RunOptions options{.folder = folder};
    const quern::Recipe recipe = quern::agree(comm, [&] {
      options.train = quern::make_target_samples({1}, train.x, 1, train.y);
      return quern::parse_recipe(kRecipe, "my_own_loss");
    });
    const quern::ExitCode code = quern::TrainingRun(comm, recipe, std::move(options)).train();
    quern::Predictor predictor(comm, folder);
    const std::vector<float> quantiles =
        predictor.predict(test.x, static_cast<std::int64_t>(test.x.size()));
    int below = 0;
    for (std::size_t i = 0; i < quantiles.size(); ++i) below += test.y[i] < quantiles[i] ? 1 : 0;
    quern::log::print(std::to_string(100.0 * below / static_cast<double>(test.y.size())) +
                      " % of the measurements are below the learned quantile");
    return code;
  }));
}
