// SPDX-License-Identifier: Apache-2.0
#include "network/custom_layer.hpp"

#include <gtest/gtest.h>

#include "network/gradient_check.hpp"
#include "network/network.hpp"
#include "support/expect_error.hpp"
#include "support/layer_specs.hpp"

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

  Layout input_layout(Layout) const override { return Layout::rows; }

  void forward(const ExecSpace& exec, const StepContext&, const Activation& x,
               const Activation& y) override {
    multiply(exec, x, y, 3);
  }
  void backward(const ExecSpace& exec, const StepContext&, const Activation&, const Activation&,
                const Activation& dy, const Activation& dx) override {
    if (!dx.empty()) multiply(exec, dy, dx, wrong_ ? 2.9f : 3);
  }

 private:
  bool wrong_;
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
  expect_error([] { register_layer("scale", {}); }, ExitCode::failure, {"'scale' already"});
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

TEST(GradientError, TellsRightFromWrong) {
  Scale right("right", {7});
  EXPECT_LT(gradient_error(right), 1e-4);
  Scale wrong("wrong", {7}, true);
  EXPECT_GT(gradient_error(wrong), 1e-2);
}

}  // namespace quern::test
