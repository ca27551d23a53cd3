// SPDX-License-Identifier: Apache-2.0
#include "state/snapshot.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "comm/serial/communicator.hpp"
#include "state/restore.hpp"
#include "strategy/training_step.hpp"
#include "support/expect_error.hpp"
#include "support/train_samples.hpp"

namespace quern::test {

namespace {

// A model after some steps, so that its optimizer has something to remember.
struct Trained {
  explicit Trained(const std::vector<std::string>& overrides = {}, int steps = 2)
      : recipe(image_recipe(6, overrides)),
        samples(image_samples(12, kImage, 5)),
        model(recipe),
        step(recipe, comm, model, samples) {
    for (int i = 0; i < steps; ++i) step.run(ExecSpace(), false);
  }
  const ParameterTable& table() const { return model.network().table(); }
  void restore(const Snapshot& snapshot) {
    quern::restore(ProcessGrid(comm), &snapshot.state, table(), table(), step.state());
  }

  mutable SerialCommunicator comm;
  Recipe recipe;
  Samples samples;
  Model model;
  TrainingStep step;
};

void expect_refused(const Trained& from, Trained& to, std::initializer_list<std::string> parts) {
  const Snapshot snapshot(ProcessGrid(from.comm), from.table(), from.table(), from.step.state());
  const std::vector<float> before = to_vector(to.model.parameters());
  expect_error([&] { to.restore(snapshot); }, ExitCode::bad_input, parts);
  EXPECT_EQ(to_vector(to.model.parameters()), before);
}

}  // namespace

TEST(Snapshot, NamesAndShapesArePyTorchs) {
  const Trained trained;
  const Snapshot snapshot(ProcessGrid(trained.comm), trained.table(), trained.table(),
                          trained.step.state());
  const std::vector<NamedTensor>& model = snapshot.state.model;
  ASSERT_EQ(model.size(), 4u);
  EXPECT_EQ(model[0].name, "conv1.weight");
  EXPECT_EQ(model[0].shape, (std::vector<std::int64_t>{3, 1, 3, 3}));
  EXPECT_EQ(model[1].name, "conv1.bias");
  EXPECT_EQ(model[2].name, "fc1.weight");
  EXPECT_EQ(model[2].shape, (std::vector<std::int64_t>{5, 12}));
  EXPECT_EQ(model[3].values.size(), 5u);
  ASSERT_EQ(snapshot.state.optimizer.size(), 2u);
  EXPECT_EQ(snapshot.state.optimizer[0].name, "exp_avg");
  EXPECT_EQ(snapshot.state.optimizer[1].name, "exp_avg_sq");
  EXPECT_EQ(snapshot.state.optimizer[1].tensors.at(2).shape, model[2].shape);
}

TEST(Snapshot, RestoreGivesBackEveryBit) {
  const Trained trained;
  Trained other({"seed=4"}, 1);
  ASSERT_NE(to_vector(other.model.parameters()), to_vector(trained.model.parameters()));
  const Snapshot snapshot(ProcessGrid(trained.comm), trained.table(), trained.table(),
                          trained.step.state());
  other.restore(snapshot);
  EXPECT_EQ(to_vector(other.model.parameters()), to_vector(trained.model.parameters()));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(to_vector(other.step.state().optimizer[i].pieces.front()),
              to_vector(trained.step.state().optimizer[i].pieces.front()));
  }
}

TEST(Snapshot, IsACopy) {
  const Trained trained;
  TrainState model;
  model.parameters = trained.model.parameters();
  const Snapshot snapshot(ProcessGrid(trained.comm), trained.table(), trained.table(), model);
  const float before = snapshot.state.model[0].values[0];
  Kokkos::deep_copy(trained.model.parameters(), 7.0f);
  EXPECT_EQ(snapshot.state.model[0].values[0], before);
  EXPECT_TRUE(snapshot.state.optimizer.empty());
}

TEST(Snapshot, SeesWhatIsNotFinite) {
  const Trained trained;
  const auto finite = [&] {
    return Snapshot(ProcessGrid(trained.comm), trained.table(), trained.table(),
                    trained.step.state())
        .is_finite();
  };
  EXPECT_TRUE(finite());
  const FloatView state = trained.step.state().optimizer[1].pieces.front();
  Kokkos::deep_copy(Kokkos::subview(state, 3), std::numeric_limits<float>::infinity());
  EXPECT_FALSE(finite());
}

TEST(Snapshot, OtherNetworksAreRefused) {
  const Trained trained;
  Trained wider({"network.layers.conv1.channels=4"});
  expect_refused(trained, wider, {"another network", "'conv1.weight'", "[3, 1, 3, 3]"});
  Trained renamed({"network.layers.fc1.name=head"});
  expect_refused(trained, renamed, {"another network", "'head.weight'"});
  Trained shorter({"network.layers=[{type=\"flatten\"}, {type=\"linear\", features=5}]"});
  expect_refused(trained, shorter, {"another network", "4 tensors", "expected 2"});
}

TEST(Snapshot, OtherOptimizersAreRefused) {
  const Trained adam;
  Trained momentum({"optimizer={type=\"sgd\", lr=0.1, momentum=0.9}"});
  expect_refused(adam, momentum, {"another optimizer", "2 state arrays", "expected 1"});
  Trained plain({"optimizer={type=\"sgd\", lr=0.1}"});
  expect_refused(plain, momentum, {"another optimizer", "0 state arrays"});
}

}  // namespace quern::test
