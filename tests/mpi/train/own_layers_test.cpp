// SPDX-License-Identifier: Apache-2.0
// What a layer of a program may get wrong, on one rank or on all: refused before anything is
// written.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "comm/exchange.hpp"
#include "config/read_recipe.hpp"
#include "network/custom_layer.hpp"
#include "network/network.hpp"
#include "samples/own_samples.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"
#include "support/world.hpp"
#include "train/training_run.hpp"

namespace quern::test {

using quern::testing::world;

namespace {

// What one test wants the layer "odd" to be like.
struct Wishes {
  int outputs = 4;
  std::vector<std::string> tensors = {};
  std::int64_t floats = 0;
};

class Odd final : public Layer {
 public:
  Odd(const std::string& name, const Shape& input, const Wishes& wishes)
      : Layer(name, input, Shape{wishes.outputs}), wishes_(wishes) {}
  void add_parameters(ParameterTable& table) override {
    for (const std::string& tensor : wishes_.tensors)
      table.add(tensor, {2}, 1, ParameterKind::shift);
  }
  std::int64_t own_floats(const BatchLimit&) const override { return wishes_.floats; }
  void forward(const ExecSpace&, const StepContext&, const LayerArrays&) const override {}
  void backward(const ExecSpace&, const StepContext&, const LayerArrays&) const override {}

 private:
  Wishes wishes_;
};

void refuse(const std::string& kind, const Wishes& wishes,
            std::initializer_list<std::string> words) {
  const TempDir own;
  const std::filesystem::path folder = broadcast_string(world(), (own / "run").string());
  register_layer(kind, [wishes](const LayerSpec& spec, const Shape& input) {
    return std::make_unique<Odd>(spec.name, input, wishes);
  });
  const Recipe recipe = parse_recipe(R"(
name = "own"
data = {source = "program", global_batch = 4, target = "values"}
loss = {type = "mse"}
optimizer = {type = "sgd", lr = 0.1}
network = {input = [4], layers = [{type = "custom", kind = ")" +
                                         kind + R"("}, {type = "linear", features = 1}]}
)",
                                     "test");
  const std::vector<float> values(16);
  const std::vector<float> targets(4);
  expect_error(
      [&] {
        TrainingRun run(world(), recipe,
                        {.folder = folder, .train = make_target_samples({4}, values, 1, targets)});
      },
      ExitCode::bad_input, words);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace

TEST(OwnLayers, MustHaveTheSameShapesOnAllRanks) {
  if (world().size() == 1) return;
  const int rank = world().rank();
  refuse("outputs", {.outputs = 4 + 16 * rank},
         {"rank 1 on ", "the network: fc1.weight [1, 20], and on rank 0 fc1.weight [1, 4]"});
  refuse("tensors",
         {.tensors = rank == 0 ? std::vector<std::string>{} : std::vector{std::string("p.w")}},
         {"rank 1 on ", "the network: p.w [2], and on rank 0 fc1.weight [1, 4]"});
}

TEST(OwnLayers, TensorsMustHaveNamesThatACheckpointCanHold) {
  refuse("parts", {.tensors = {"p.w", "p.w.x"}}, {"a tensor 'p.w' and one of its parts, 'p.w.x'"});
  refuse("empty", {.tensors = {"p.w."}}, {"a tensor cannot be stored under the name 'p.w.'"});
  refuse("slash", {.tensors = {"p/../w"}}, {"a tensor cannot be stored under the name 'p/../w'"});
}

TEST(OwnLayers, MemoryCannotBeNegative) {
  refuse("negative", {.floats = -5}, {"the layer 'custom1' asks for a negative number of floats"});
}

TEST(OwnLayers, ANetworkHasLayers) {
  expect_error([] { Network network(NetworkSpec{.input = {4}}); }, ExitCode::bad_input,
               {"network.layers: there is none"});
}

}  // namespace quern::test
