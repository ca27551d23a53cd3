// SPDX-License-Identifier: Apache-2.0
// tests/e2e/training/onnx_test.py reads what is written; here is what cannot be.
#include "exchange/onnx_model.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/expect_error.hpp"

namespace quern {
namespace {

Recipe recipe_of(LayerType type) {
  Recipe recipe;
  recipe.network.input = Shape{4};
  LayerSpec layer;
  layer.type = type;
  layer.name = "layer1";
  layer.features = 2;
  recipe.network.layers = {layer};
  return recipe;
}

TEST(OnnxModel, HoldsTheWeightsAsTheyAre) {
  const std::vector<float> values = {1, -2, 0.5f, 3, 4, 5, 6, 7};
  CheckpointState state;
  state.model = {{"layer1.weight", {2, 4}, values}};
  const std::string bytes = onnx_model(recipe_of(LayerType::linear), state);
  const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  EXPECT_NE(bytes.find(raw), std::string::npos);
  EXPECT_NE(bytes.find("layer1.weight"), std::string::npos);
}

TEST(OnnxModel, ALayerOfAProgramHasNoWord) {
  test::expect_error([] { onnx_model(recipe_of(LayerType::custom), {}); }, ExitCode::bad_input,
                     {"'layer1'", "\"custom\"", "ONNX"});
}

TEST(OnnxModel, WhatIsTooLargeForTheFormatIsRefused) {
  CheckpointState state;
  // Nobody looks at the values before the size is known.
  const float value = 0;
  state.model = {{"layer1.weight", {2, 4}, std::span(&value, std::size_t{1} << 29)}};
  test::expect_error([&] { onnx_model(recipe_of(LayerType::linear), state); }, ExitCode::bad_input,
                     {"2147483648 bytes of weights", "less than 2 GiB"});
}

}  // namespace
}  // namespace quern
