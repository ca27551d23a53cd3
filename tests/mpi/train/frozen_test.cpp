// SPDX-License-Identifier: Apache-2.0
// Layers with trainable = false: they stay as they began, and all others get the bits that they get
// without, on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "comm/serial/communicator.hpp"
#include "runtime/host_staged_transport.hpp"
#include "state/snapshot.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/training_step.hpp"
#include "support/lone_nodes.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"

namespace quern::test {

namespace {

using quern::testing::LoneNodes;
using quern::testing::world;

using Names = std::vector<std::string>;
using Tensors = std::map<std::string, std::vector<float>>;

// At the front, inside, at the end; alone and all but one.
const std::vector<Names> kFrozen = {{"conv1", "bn1"},
                                    {"bn1"},
                                    {"conv2"},
                                    {"bn2"},
                                    {"ln1"},
                                    {"gn1"},
                                    {"fc1"},
                                    {"fc2"},
                                    {"fc3"},
                                    {"fc2", "fc3"},
                                    {"conv1", "bn1", "gn1", "conv2", "bn2", "ln1"},
                                    {"conv1", "bn1", "gn1", "conv2", "bn2", "ln1", "fc1", "fc3"}};

Recipe recipe_of(const Names& frozen, const std::vector<std::string>& more) {
  std::string layers = "network.layers=[";
  const auto add = [&](const std::string& name, const std::string& keys) {
    const bool is_frozen = std::find(frozen.begin(), frozen.end(), name) != frozen.end();
    layers += "{name=\"" + name + "\", " + keys + (is_frozen ? ", trainable=false" : "") + "}, ";
  };
  add("conv1", "type=\"conv2d\", channels=3, kernel=3, padding=1");
  add("bn1", "type=\"batch_norm\", statistics=\"block\"");
  layers += "{type=\"relu\"}, {type=\"max_pool2d\", size=2}, ";
  add("gn1", "type=\"group_norm\", groups=3");
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

Result run_steps(Communicator& comm, const Recipe& recipe, int steps, bool by_transport = false) {
  const Samples samples = image_samples(18, kImage, 5);
  Model model(recipe);
  HostStagedTransport staged(comm);
  const bool is_direct = kHostExecution && !by_transport;
  TrainingStep step(recipe, comm, model, samples,
                    is_direct || comm.size() == 1 ? nullptr : &staged);
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

// A front, a branch, a block, all but a block: `stem` and `main` read the batch, `norm` is one
// kernel with the sum and its ReLU, and where they alone are frozen no gradient goes to them.
const std::vector<Names> kFrozenOfResidual = {{"main", "norm"},
                                              {"stem"},
                                              {"layer1"},
                                              {"layer2", "fc"},
                                              {"stem", "main", "norm"},
                                              {"stem", "main", "norm", "layer1"},
                                              {"stem", "main", "norm", "layer1", "layer2"}};

Recipe residual_recipe(const Names& frozen, const std::vector<std::string>& more,
                       const std::string& statistics) {
  std::string layers = "network.layers=[";
  const auto add = [&](const std::string& name, const std::string& keys) {
    const bool is_frozen = std::find(frozen.begin(), frozen.end(), name) != frozen.end();
    layers += "{name=\"" + name + "\", " + keys + (is_frozen ? ", trainable=false" : "") + "}, ";
  };
  const std::string of_batch = ", statistics=\"" + statistics + "\"";
  add("stem", "type=\"conv2d\", channels=6, kernel=3, padding=1");
  add("main", "type=\"conv2d\", channels=6, kernel=3, padding=1, input=\"input\"");
  add("norm", "type=\"batch_norm\"" + of_batch);
  layers += "{type=\"add\", inputs=[\"norm\", \"stem\"]}, {type=\"relu\"}, ";
  add("layer1", "type=\"basic_block\", channels=6, repeat=2" + of_batch);
  add("layer2", "type=\"basic_block\", channels=19, stride=2" + of_batch);
  layers += "{type=\"global_avg_pool\"}, ";
  add("fc", "type=\"linear\", features=5");
  std::vector<std::string> sets = {layers + "]", "train.micro_block=2"};
  sets.insert(sets.end(), more.begin(), more.end());
  return image_recipe(8, sets);
}

/// What a checkpoint would hold after some steps on a grid; on rank 0, nothing elsewhere.
Tensors train_on_grid(Communicator& comm, const Recipe& recipe, int steps) {
  const Samples samples = image_samples(18, kImage, 5);
  const ProcessGrid grid = make_grid(comm, recipe);
  Model model(recipe, stage_of(grid), slices_of(grid, recipe));
  HostStagedTransport staged(comm);
  TrainingStep step(recipe, grid, model, samples,
                    kHostExecution || comm.size() == 1 ? nullptr : &staged);
  for (int i = 0; i < steps; ++i) {
    if (i % 3 == 0) step.set_position({.step = i, .epoch = i / 3});
    EXPECT_FALSE(step.run(ExecSpace(), false).diverged);
  }
  const Snapshot taken(grid, model.whole().table(), model.network().table(), step.state());
  Tensors tensors;
  if (comm.rank() > 0) return tensors;
  for (const NamedTensor& tensor : taken.state.model)
    tensors[tensor.name] = {tensor.values.begin(), tensor.values.end()};
  for (const OptimizerTensors& array : taken.state.optimizer)
    for (const NamedTensor& tensor : array.tensors)
      tensors[array.name + " " + tensor.name] = {tensor.values.begin(), tensor.values.end()};
  return tensors;
}

const std::string kSgd = "optimizer={type=\"sgd\", lr=0.05}";
const std::string kMomentum =
    "optimizer={type=\"sgd\", lr=0.05, momentum=0.9, weight_decay=0.1, clip_norm=0.5}";
const std::string kNoClip = "optimizer={type=\"sgd\", lr=0.05, momentum=0.9, weight_decay=0.1}";
const std::string kAdamw =
    "optimizer={type=\"adamw\", lr=0.01, weight_decay=0.1, decay=\"weights\"}";
const std::string kLamb = "optimizer={type=\"lamb\", lr=0.01, weight_decay=0.1}";

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
  for (const std::string& optimizer : {kMomentum, kAdamw, kLamb}) {
    for (const Names& frozen : kFrozen) {
      SCOPED_TRACE(text_of(frozen) + optimizer);
      SerialCommunicator alone;
      const Result expected = run_steps(alone, recipe_of(frozen, {optimizer}), 7);
      for (const char* more : {"parallel.shard_optimizer=false", "parallel.shard_optimizer=true",
                               "parallel.micro_batches=2"}) {
        const Result actual = run_steps(world(), recipe_of(frozen, {optimizer, more}), 7);
        EXPECT_EQ(actual.after, expected.after) << more;
        const Result carried = run_steps(world(), recipe_of(frozen, {optimizer, more}), 7, true);
        EXPECT_EQ(carried.after, expected.after) << more << ", through a transport";
        if (!kHostExecution) continue;
        LoneNodes nodes(world());
        const Result sent = run_steps(nodes, recipe_of(frozen, {optimizer, more}), 7);
        EXPECT_EQ(sent.after, expected.after) << more << ", by messages";
      }
      for (const auto& [name, values] : expected.after) {
        const bool stays = is_of(name, frozen) && !is_buffer(name);
        EXPECT_EQ(values == expected.before.at(name), stays) << name;
      }
    }
  }
}

TEST(Frozen, BranchesAndBlocksOfAResidualNetworkStayAndTheOthersGetTheSameStep) {
  SerialCommunicator alone;
  for (const char* statistics : {"global", "block"}) {
    const Tensors all = run_steps(alone, residual_recipe({}, {kSgd}, statistics), 1).after;
    for (const Names& frozen : kFrozenOfResidual) {
      SCOPED_TRACE(text_of(frozen) + statistics);
      const Result result = run_steps(alone, residual_recipe(frozen, {kSgd}, statistics), 1);
      ASSERT_EQ(result.after.size(), all.size());
      for (const auto& [name, values] : result.after) {
        const bool stays = is_of(name, frozen) && !is_buffer(name);
        EXPECT_EQ(values, stays ? result.before.at(name) : all.at(name)) << name;
      }
    }
  }
}

TEST(Frozen, SameBitsWhereActivationsAreComputedAgain) {
  for (const char* statistics : {"global", "block"}) {
    for (const Names& frozen : kFrozenOfResidual) {
      SCOPED_TRACE(text_of(frozen) + statistics);
      SerialCommunicator alone;
      const Tensors expected =
          train_on_grid(alone, residual_recipe(frozen, {kMomentum}, statistics), 4);
      for (const char* shard :
           {"parallel.shard_optimizer=false", "parallel.shard_optimizer=true"}) {
        const Tensors actual = train_on_grid(
            world(),
            residual_recipe(frozen, {kMomentum, "train.recompute=true", shard}, statistics), 4);
        if (world().rank() == 0) {
          EXPECT_EQ(actual, expected) << shard;
        }
      }
    }
  }
}

TEST(Frozen, SameBitsInStages) {
  if (world().size() % 2 != 0) return;  // two stages
  for (const Names& frozen : kFrozenOfResidual) {
    SCOPED_TRACE(text_of(frozen));
    SerialCommunicator alone;
    const Tensors expected = train_on_grid(alone, residual_recipe(frozen, {kNoClip}, "block"), 4);
    for (const char* more : {"train.recompute=false", "train.recompute=true",
                             "parallel.shard_optimizer=true", "parallel.micro_batches=2"}) {
      const Tensors actual = train_on_grid(
          world(), residual_recipe(frozen, {kNoClip, "parallel.pipeline=2", more}, "block"), 4);
      if (world().rank() == 0) {
        EXPECT_EQ(actual, expected) << more;
      }
    }
  }
}

TEST(Frozen, SameBitsOfSlices) {
  if (world().size() % 2 != 0) return;  // two ranks share the slices
  for (const Names& frozen : kFrozen) {
    SCOPED_TRACE(text_of(frozen));
    SerialCommunicator alone;
    const std::string slices = "parallel.tensor_slices=2";
    const Tensors expected = train_on_grid(alone, recipe_of(frozen, {kAdamw, slices}), 4);
    for (const char* more : {"parallel.shard_optimizer=false", "parallel.shard_optimizer=true"}) {
      const Tensors actual =
          train_on_grid(world(), recipe_of(frozen, {kAdamw, slices, "parallel.tensor=2", more}), 4);
      if (world().rank() == 0) {
        EXPECT_EQ(actual, expected) << more;
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
  const Snapshot snapshot(ProcessGrid(world()), model.network().table(), model.network().table(),
                          step.state());
  for (const OptimizerTensors& array : snapshot.state.optimizer) {
    for (const NamedTensor& tensor : array.tensors)
      EXPECT_FALSE(is_of(tensor.name, {"conv1", "bn1", "fc1"})) << tensor.name;
    EXPECT_EQ(array.tensors.size(), 12u);
  }
  EXPECT_EQ(snapshot.state.model.size(), world().rank() == 0 ? 22u : 0u);

  const Network all(recipe_of({}, {}).network);
  EXPECT_EQ(model.network().forward_macs(), all.forward_macs());
  // Nothing goes back into the first layers, and no weight gradient of the third product.
  EXPECT_LT(model.network().training_macs(), all.training_macs());
  EXPECT_FALSE(model.network().graph().value(1).wants_gradient);
}

TEST(Frozen, SomethingHasToBeTrained) {
  const Names all = {"conv1", "bn1", "gn1", "conv2", "bn2", "ln1", "fc1", "fc2", "fc3"};
  EXPECT_THROW(Network(recipe_of(all, {}).network), InputError);
}

}  // namespace quern::test
