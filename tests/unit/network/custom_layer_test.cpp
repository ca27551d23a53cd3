// SPDX-License-Identifier: Apache-2.0
#include "network/custom_layer.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "linalg/block_sum.hpp"
#include "network/gradient_check.hpp"
#include "network/network.hpp"
#include "support/expect_error.hpp"
#include "support/layer_specs.hpp"
#include "support/test_step.hpp"

namespace quern::test {

namespace {

void multiply(const ExecSpace& exec, const Activation& from, const Activation& to, float factor) {
  const FloatView in = from.data;
  const FloatView out = to.data;
  Kokkos::parallel_for(
      "test::scale", RangePolicy(exec, 0, from.size()),
      KOKKOS_LAMBDA(std::int64_t i) { out(i) = factor * in(i); });
}

// y = 3 x; `wrong` makes backward take another factor.
class Scale : public Layer {
 public:
  Scale(const std::string& name, const Shape& shape, bool wrong = false)
      : Layer(name, shape, shape), wrong_(wrong) {}

  Layout input_layout(Layout) const override { return Layout::nc; }

  void forward(const ExecSpace& exec, const StepContext&,
               const LayerArrays& arrays) const override {
    multiply(exec, arrays.x, arrays.y, 3);
  }
  void backward(const ExecSpace& exec, const StepContext&,
                const LayerArrays& arrays) const override {
    if (!arrays.dx.empty()) multiply(exec, arrays.dy, arrays.dx, wrong_ ? 2.9f : 3);
  }

 private:
  bool wrong_;
};

// y = x + a learned shift of every unit.
class Shift : public Layer {
 public:
  Shift(const std::string& name, const Shape& shape) : Layer(name, shape, shape) {}

  Layout input_layout(Layout) const override { return Layout::nc; }
  void add_parameters(ParameterTable& table) override {
    shift_ = table.add(name() + ".shift", {input_shape().units()}, 1, ParameterKind::shift);
  }
  void forward(const ExecSpace& exec, const StepContext&,
               const LayerArrays& arrays) const override {
    multiply(exec, arrays.x, arrays.y, 1);
  }
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override {
    const Activation& dy = arrays.dy;
    block_tree_sum(exec, "test::shift", step.schedule,
                   {dy.data.data(), dy.rows, input_shape().units(), dy.row_stride()},
                   step.gradients, shift_);
  }

 private:
  std::int64_t shift_ = 0;
};

LayerSpec custom(const std::string& kind) {
  LayerSpec spec;
  spec.type = LayerType::custom;
  spec.kind = kind;
  return spec;
}

}  // namespace

TEST(CustomLayer, TakesItsPlaceInANetwork) {
  register_layer("scale", [](const LayerSpec& spec, const Shape& input) {
    return std::make_unique<Scale>(spec.name, input);
  });
  const NetworkSpec spec = network_of({4}, {custom("scale"), linear(3), custom("scale")});
  const Network network(spec);
  ASSERT_EQ(network.layers().size(), 3u);
  EXPECT_EQ(network.layers()[0]->name(), "custom1");
  EXPECT_EQ(network.layers()[2]->name(), "custom2");
  EXPECT_EQ(network.output_shape(), Shape{3});
}

// Outside of run_on_ranks nobody would catch an exception of register_layer.
TEST(CustomLayer, RegisteredTwiceIsRefused) {
  for (int i = 0; i < 2; ++i) {
    register_layer("twice", [](const LayerSpec& spec, const Shape& input) {
      return std::make_unique<Scale>(spec.name, input);
    });
  }
  expect_error(
      [] {
        Network network(network_of({4}, {linear(4), custom("twice")}));
      },
      ExitCode::failure,
      {"layer 'custom1' (custom, recipe line 2)", "'twice'", "registers more than once"});
}

namespace {

// With the parameters that the test asks for.
class Named final : public Layer {
 public:
  Named(const std::string& name, const Shape& shape, std::vector<std::string> names)
      : Layer(name, shape, shape), names_(std::move(names)) {}
  void add_parameters(ParameterTable& table) override {
    for (const std::string& name : names_) table.add(name, {4}, 1, ParameterKind::shift);
  }
  void forward(const ExecSpace&, const StepContext&, const LayerArrays&) const override {}
  void backward(const ExecSpace&, const StepContext&, const LayerArrays&) const override {}

 private:
  std::vector<std::string> names_;
};

}  // namespace

// A checkpoint could not hold them.
TEST(CustomLayer, TwoParametersOfOneNameAreRefused) {
  const auto refuse = [](const std::string& kind, const std::vector<std::string>& names,
                         std::initializer_list<std::string> words) {
    register_layer(kind, [names](const LayerSpec& spec, const Shape& input) {
      return std::make_unique<Named>(spec.name, input, names);
    });
    expect_error(
        [&] {
          Network network(network_of({4}, {linear(4), custom(kind)}));
        },
        ExitCode::bad_input, words);
  };
  refuse("bias", {"linear1.bias"},
         {"layer 'custom1' (custom, recipe line 2)", "a parameter 'linear1.bias', which",
          "which layer 'linear1' (linear, recipe line 1) has"});
  refuse("two", {"custom1.a", "custom1.a"},
         {"layer 'custom1'", "a parameter 'custom1.a' twice", "expected a name of its own"});
}

TEST(CustomLayer, UnknownKind) {
  register_layer("known", [](const LayerSpec& spec, const Shape& input) {
    return std::make_unique<Scale>(spec.name, input);
  });
  expect_error(
      [] {
        Network network(network_of({4}, {linear(4), custom("swihs")}));
      },
      ExitCode::bad_input, {"layer 'custom1' (custom, recipe line 2)", "'swihs'", "'known'"});
}

TEST(CustomLayer, AnotherLayerThanAskedForIsRefused) {
  register_layer("other", [](const LayerSpec& spec, const Shape&) {
    return std::make_unique<Scale>(spec.name, Shape{5});
  });
  expect_error(
      [] {
        Network network(network_of({4}, {custom("other"), linear(4)}));
      },
      ExitCode::failure, {"'other'", "[4]"});
}

// It has no products, which Network once took for "nothing to train here and below".
TEST(CustomLayer, ParametersInFrontOfAllOthersAreTrained) {
  register_layer("shift", [](const LayerSpec& spec, const Shape& input) {
    return std::make_unique<Shift>(spec.name, input);
  });
  const TestBatch batch;
  const Network network(network_of({4}, {custom("shift"), linear(3)}));
  Activations arrays = network.allocate(batch.rows());
  arrays.set_rows(batch.rows());
  StepContext step = make_test_step(batch, network.table().block_size());
  step.parameters =
      to_view(std::vector<float>(static_cast<std::size_t>(network.table().block_size()) + 128, 1));
  const ExecSpace exec;
  const auto units = static_cast<std::size_t>(3 * batch.rows());
  network.forward(exec, step, arrays);
  set_values(arrays.d_output(), std::vector<float>(units, 1));
  network.backward(exec, step, arrays);
  exec.fence("test: read gradients");
  // dy of every sample is the sum of three ones.
  float sum = 0;
  const std::vector<float> gradients = to_vector(step.gradients.data);
  for (int p = 0; p < step.schedule.num_partial_sums; ++p) {
    const std::int64_t at = p * step.gradients.stride + network.table().entries()[0].offset;
    sum += gradients[static_cast<std::size_t>(at)];
  }
  EXPECT_EQ(sum, static_cast<float>(units));
}

TEST(GradientError, TellsRightFromWrong) {
  Scale right("right", {7});
  EXPECT_LT(gradient_error(right), 1e-4);
  Scale wrong("wrong", {7}, true);
  EXPECT_GT(gradient_error(wrong), 1e-2);
}

namespace {

// Does not ask whether anybody wants dx.
class WritesAlways final : public Scale {
 public:
  using Scale::Scale;
  void backward(const ExecSpace& exec, const StepContext&,
                const LayerArrays& arrays) const override {
    multiply(exec, arrays.dy, arrays.dx, 3);
  }
};

// Takes "nobody wants dx" for "nothing to do".
class StopsWithoutDx final : public Shift {
 public:
  using Shift::Shift;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override {
    if (arrays.dx.empty()) return;
    multiply(exec, arrays.dy, arrays.dx, 1);
    Shift::backward(exec, step, arrays);
  }
};

}  // namespace

TEST(GradientError, TriesBackwardWithoutDx) {
  WritesAlways writes("writes", {7});
  expect_error([&] { gradient_error(writes); }, ExitCode::failure,
               {"layer 'writes'", "writes dx where LayerArrays::dx.empty()"});
  StopsWithoutDx stops("stops", {7});
  EXPECT_GT(gradient_error(stops), 1e-2);
}

}  // namespace quern::test
