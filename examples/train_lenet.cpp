// SPDX-License-Identifier: Apache-2.0
// LeNet on as many ranks as the launcher starts: the weights do not depend on how many.
//
//   mpirun -n 4 train_lenet TRAIN_SHARDS TEST_SHARDS RUN_FOLDER     (shards: quern shard --help)
#include <quern/base/log.hpp>
#include <quern/comm/agree.hpp>
#include <quern/config/read_recipe.hpp>
#include <quern/runtime/ranks.hpp>
#include <quern/train/training_run.hpp>
#include <string>

constexpr const char* kLenet = R"(
name = "lenet"
data = {train = "?", test = "?", global_batch = 256}
loss = {type = "cross_entropy"}
optimizer = {type = "adam", lr = 1e-3}
train = {epochs = 10}

[network]
input = [1, 28, 28]
layers = [
  {type = "conv2d", channels = 20, kernel = 3}, {type = "relu"}, {type = "avg_pool2d", size = 2},
  {type = "conv2d", channels = 50, kernel = 5}, {type = "relu"}, {type = "avg_pool2d", size = 2},
  {type = "flatten"},
  {type = "linear", features = 128}, {type = "relu"},
  {type = "linear", features = 10},
])";

int main(int argc, char** argv) {
  if (argc != 4) {
    quern::log::error("usage: train_lenet TRAIN_SHARDS TEST_SHARDS RUN_FOLDER");
    return 2;
  }
  return static_cast<int>(quern::run_on_ranks([&](quern::Communicator& comm) {
    quern::Recipe recipe =
        quern::agree(comm, [] { return quern::parse_recipe(kLenet, "train_lenet"); });
    recipe.data.train = argv[1];
    recipe.data.test = argv[2];
    quern::TrainingRun run(comm, recipe, {.folder = argv[3]});
    const quern::ExitCode code = run.train();
    const double accuracy = 100 * run.evaluate().accuracy();
    quern::log::print("accuracy " + std::to_string(accuracy) + " % on " +
                      std::to_string(comm.size()) + " ranks");
    quern::log::print("checkpoints are in " + (run.folder() / "checkpoints").string());
    return code;
  }));
}
