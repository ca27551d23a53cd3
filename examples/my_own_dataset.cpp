// SPDX-License-Identifier: Apache-2.0
// A data set of your own: two spirals in the plane, told apart by a small network.
//
//   my_own_dataset RUN_FOLDER                   (or mpirun -n 2 my_own_dataset ...)
#include <cmath>
#include <numbers>
#include <quern/base/log.hpp>
#include <quern/comm/agree.hpp>
#include <quern/config/read_recipe.hpp>
#include <quern/runtime/ranks.hpp>
#include <quern/samples/own_samples.hpp>
#include <quern/train/training_run.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

// source = "program": the samples come from here, and not from shards.
constexpr const char* kRecipe = R"(
name = "spirals"
data = {source = "program", global_batch = 64}
loss = {type = "cross_entropy"}
optimizer = {type = "adam", lr = 0.01}
train = {epochs = 60}
checkpoint = {every_epochs = 60}

[network]
input = [2]
layers = [
  {type = "linear", features = 32}, {type = "tanh"},
  {type = "linear", features = 32}, {type = "tanh"},
  {type = "linear", features = 2},
])";

// Points (x, y) on two arms that wind around each other once, `shift` of a step further along.
quern::Samples make_spirals(int points_per_arm, float shift) {
  std::vector<float> points;
  std::vector<std::uint8_t> arms;
  for (int i = 0; i < points_per_arm; ++i) {
    const float way = (static_cast<float>(i) + shift) / static_cast<float>(points_per_arm);
    const float angle = 2 * std::numbers::pi_v<float> * way;
    for (const int arm : {0, 1}) {
      const float sign = arm == 0 ? 1.0f : -1.0f;
      points.insert(points.end(), {sign * way * std::cos(angle), sign * way * std::sin(angle)});
      arms.push_back(static_cast<std::uint8_t>(arm));
    }
  }
  return quern::make_labelled_samples({2}, points, arms, 2);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "runs/spirals";
  return static_cast<int>(quern::run_on_ranks([&](quern::Communicator& comm) {
    // agree: what is wrong on all ranks is reported once.
    quern::RunOptions options{.folder = folder};
    const quern::Recipe recipe = quern::agree(comm, [&] {
      options.train = make_spirals(512, 0.0f);
      options.test = make_spirals(128, 0.5f);
      return quern::parse_recipe(kRecipe, "my_own_dataset");
    });
    quern::TrainingRun run(comm, recipe, std::move(options));
    const quern::ExitCode code = run.train();
    quern::log::print("accuracy " + std::to_string(100 * run.evaluate().accuracy()) + " %");
    return code;
  }));
}
