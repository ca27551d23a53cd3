// SPDX-License-Identifier: Apache-2.0
// Layers with trainable = false: they stay as they began, and all others get the bits that they get
// without, on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "comm/serial/communicator.hpp"
#include "runtime/host_staged_transport.hpp"
#include "strategy/training_step.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"
#include "train/snapshot.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

using Names = std::vector<std::string>;
using Tensors = std::map<std::string, std::vector<float>>;

// At the front, inside, at the end; alone and all but one.
const std::vector<Names> kFrozen = {{"conv1", "bn1"},
                                    {"bn1"},
                                    {"conv2"},
                                    {"bn2"},
                                    {"ln1"},
                                    {"fc1"},
                                    {"fc2"},
                                    {"fc3"},
                                    {"fc2", "fc3"},
                                    {"conv1", "bn1", "conv2", "bn2", "ln1"},
                                    {"conv1", "bn1", "conv2", "bn2", "ln1", "fc1", "fc3"}};

Recipe recipe_of(const Names& frozen, const std::vector<std::string>& more) {
  std::string layers = "network.layers=[";
  const auto add = [&](const std::string& name, const std::string& keys) {
    const bool is_frozen = std::find(frozen.begin(), frozen.end(), name) != frozen.end();
    layers += "{name=\"" + name + "\", " + keys + (is_frozen ? ", trainable=false" : "") + "}, ";
  };
  add("conv1", "type=\"conv2d\", channels=3, kernel=3, padding=1");
  add("bn1", "type=\"batch_norm\", statistics=\"block\"");
  layers += "{type=\"relu\"}, {type=\"max_pool2d\", size=2}, ";
  add("conv2", "type=\"conv2d\", channels=17, kernel=2");
  layers += "{type=\"relu\"}, ";
  add("bn2", "type=\"batch_norm\", statistics=\"block\"");
  layers += "{type=\"flatten\"}, ";
  add("ln1", "type=\"layer_norm\"");
  add("fc1", "type=\"linear\", features=33");
  layers += "{type=\"relu\"}, ";
  add("fc2", "type=\"linear\", features=20");
  layers += "{type=\"tanh\"}, ";
  add("fc3", "type=\"linear\", features=5");
  std::vector<std::string> sets = {layers + "]", "train.micro_block=2"};
  sets.insert(sets.end(), more.begin(), more.end());
  return image_recipe(8, sets);
}

Tensors tensors_of(const Model& model) {
  const std::vector<float> block = to_vector(model.parameters());
  Tensors tensors;
  for (const ParameterEntry& entry : model.network().table().entries())
    tensors[entry.name] = read_tensor(entry, block);
  return tensors;
}

struct Result {
  Tensors before;
  Tensors after;
};

Result run_steps(Communicator& comm, const Recipe& recipe, int steps) {
  const Samples samples = image_samples(18, kImage, 5);
  Model model(recipe);
  HostStagedTransport staged(comm);
  TrainingStep step(recipe, comm, model, samples,
                    kHostExecution || comm.size() == 1 ? nullptr : &staged);
  Result result;
  result.before = tensors_of(model);
  for (int i = 0; i < steps; ++i) {
    if (i % 3 == 0) step.set_position({.step = i, .epoch = i / 3});
    EXPECT_FALSE(step.run(ExecSpace(), false).diverged);
  }
  result.after = tensors_of(model);
  return result;
}

bool is_of(const std::string& tensor, const Names& layers) {
  const std::string layer = tensor.substr(0, tensor.find('.'));
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}

bool is_buffer(const std::string& tensor) {
  return tensor.find("running_") != std::string::npos;
}

std::string text_of(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += name + " ";
  return text;
}

const std::string kSgd = "optimizer={type=\"sgd\", lr=0.05}";
const std::string kMomentum =
    "optimizer={type=\"sgd\", lr=0.05, momentum=0.9, weight_decay=0.1, clip_norm=0.5}";
const std::string kAdamw =
    "optimizer={type=\"adamw\", lr=0.01, weight_decay=0.1, decay=\"weights\"}";

}  // namespace

TEST(Frozen, OneStepChangesTheOthersAsWithoutAndNothingElse) {
  for (const char* precision : {"train.precision=fp32", "train.precision=bf16"}) {
    if (!kHostExecution && precision[16] == 'b') continue;  // asks for tensor cores
    SerialCommunicator alone;
    const Tensors all = run_steps(alone, recipe_of({}, {kSgd, precision}), 1).after;
    for (const Names& frozen : kFrozen) {
      SCOPED_TRACE(text_of(frozen) + precision);
      const Result result = run_steps(alone, recipe_of(frozen, {kSgd, precision}), 1);
      ASSERT_EQ(result.after.size(), all.size());
      for (const auto& [name, values] : result.after) {
        const bool stays = is_of(name, frozen) && !is_buffer(name);
        EXPECT_EQ(values, stays ? result.before.at(name) : all.at(name)) << name;
        EXPECT_EQ(values != result.before.at(name), !stays) << name;
      }
    }
  }
}

TEST(Frozen, SameBitsOnAllNumbersOfRanksAndByAllWaysOfUpdating) {
  for (const std::string& optimizer : {kMomentum, kAdamw}) {
    for (const Names& frozen : kFrozen) {
      SCOPED_TRACE(text_of(frozen) + optimizer);
      SerialCommunicator alone;
      const Result expected = run_steps(alone, recipe_of(frozen, {optimizer}), 7);
      for (const char* more : {"parallel.shard_optimizer=false", "parallel.shard_optimizer=true",
                               "parallel.micro_batches=2"}) {
        const Result actual = run_steps(world(), recipe_of(frozen, {optimizer, more}), 7);
        EXPECT_EQ(actual.after, expected.after) << more;
      }
      for (const auto& [name, values] : expected.after) {
        const bool stays = is_of(name, frozen) && !is_buffer(name);
        EXPECT_EQ(values == expected.before.at(name), stays) << name;
      }
    }
  }
}

TEST(Frozen, KeepNoOptimizerStateAndNoGradient) {
  const Recipe recipe = recipe_of({"conv1", "bn1", "fc1"}, {kAdamw});
  const Samples samples = image_samples(18, kImage, 5);
  Model model(recipe);
  HostStagedTransport staged(world());
  const TrainingStep step(recipe, world(), model, samples,
                          kHostExecution || world().size() == 1 ? nullptr : &staged);
  const Snapshot snapshot(world(), model.network().table(), step.state());
  for (const OptimizerTensors& array : snapshot.state.optimizer) {
    for (const NamedTensor& tensor : array.tensors)
      EXPECT_FALSE(is_of(tensor.name, {"conv1", "bn1", "fc1"})) << tensor.name;
    EXPECT_EQ(array.tensors.size(), 10u);
  }
  EXPECT_EQ(snapshot.state.model.size(), 20u);

  const Network all(recipe_of({}, {}).network);
  EXPECT_EQ(model.network().forward_macs(), all.forward_macs());
  // Nothing goes back into the first layers, and no weight gradient of the third product.
  EXPECT_LT(model.network().training_macs(), all.training_macs());
  EXPECT_FALSE(model.network().graph().value(1).wants_gradient);
}

TEST(Frozen, SomethingHasToBeTrained) {
  const Names all = {"conv1", "bn1", "conv2", "bn2", "ln1", "fc1", "fc2", "fc3"};
  EXPECT_THROW(Network(recipe_of(all, {}).network), InputError);
}

}  // namespace quern::test
