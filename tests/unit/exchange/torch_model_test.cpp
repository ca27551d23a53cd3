// SPDX-License-Identifier: Apache-2.0
#include "exchange/torch_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/read_recipe.hpp"
#include "support/expect_error.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;

std::string model_of(const std::string& layers, const std::string& weights = "") {
  const std::string text = R"(
name = "a \"name\""
[data]
source = "random"
samples = 8
global_batch = 8
target = "values"
[network]
input = [3, 8, 8]
layers = [)" + layers + R"(]
[loss]
type = "mse"
[optimizer]
type = "sgd"
lr = 0.1
)";
  return torch_model(parse_recipe(text, "test.toml", {}), weights, "images");
}

TEST(TorchModel, SaysWhatIsReadAgainAndWhatIsFlat) {
  const std::string text = model_of(R"(
  {type = "conv2d", channels = 5, kernel = 3, padding = 1, bias = false, trainable = false},
  {type = "relu"},
  {type = "conv2d", channels = 5, kernel = 1, name = "a.b"},
  {type = "add", inputs = ["relu1", "a.b"]},
  {type = "avg_pool2d", size = 2},
  {type = "flatten"},
  {type = "linear", features = 2},
  {type = "linear", features = 3, bias = false},
)",
                                    "w.safetensors");
  EXPECT_THAT(text, HasSubstr("# The network of the recipe \"a \\\"name\\\"\""));
  EXPECT_THAT(text, HasSubstr("floats [batch, 3, 8, 8]"));
  EXPECT_THAT(text, HasSubstr("nn.Conv2d(3, 5, 3, stride=1, padding=1, bias=False))"
                              ".requires_grad_(False)\n"));
  // What requires_grad_ is called on.
  EXPECT_THAT(text, HasSubstr("        owner._modules[last] = module\n        return module\n"));
  EXPECT_THAT(text, HasSubstr("self.put(\"a.b\", nn.Conv2d(5, 5, 1, "));
  EXPECT_THAT(text, HasSubstr("        x = torch.relu(x)\n        y1 = x  # relu1\n"));
  EXPECT_THAT(text, HasSubstr("        x = y1 + y2\n"));
  EXPECT_THAT(text, HasSubstr("functional.avg_pool2d(x, 2, stride=2, padding=0)"));
  EXPECT_THAT(text, HasSubstr("nn.Linear(80, 2)"));
  EXPECT_THAT(text, HasSubstr("nn.Linear(2, 3, bias=False)"));
  EXPECT_THAT(text, HasSubstr("def load(weights=pathlib.Path(__file__).with_name("
                              "\"w.safetensors\")):"));
}

TEST(TorchModel, JoinsChannelsAndEnlargesImages) {
  const std::string text = model_of(R"(
  {type = "conv2d", channels = 5, kernel = 3, padding = 1},
  {type = "max_pool2d", size = 2},
  {type = "upsample", factor = 2},
  {type = "concat", inputs = ["upsample1", "conv1", "input"]},
  {type = "conv2d", channels = 4, kernel = 8},
  {type = "concat", inputs = ["conv2", "conv2"]},
  {type = "upsample", factor = 3},
  {type = "conv2d", channels = 2, kernel = 3},
)");
  EXPECT_THAT(text, HasSubstr("functional.interpolate(x, scale_factor=2, mode=\"nearest\")"));
  EXPECT_THAT(text, HasSubstr("x = torch.cat([y3, y2, y1], 1)\n"));
  EXPECT_THAT(text, HasSubstr("nn.Conv2d(13, 4, 8, "));
  EXPECT_THAT(text, HasSubstr("torch.cat([torch.flatten(y4, 1), torch.flatten(y4, 1)], 1)"));
  EXPECT_THAT(text, HasSubstr("functional.interpolate(x[:, :, None, None], scale_factor=3"));
  EXPECT_THAT(text, HasSubstr("nn.Conv2d(8, 2, 3, "));
}

TEST(TorchModel, WithoutWeightsTheyHaveToBeNamed) {
  EXPECT_THAT(model_of(R"({type = "flatten"}, {type = "linear", features = 2})"),
              HasSubstr("def load(weights):"));
}

TEST(TorchModel, ALayerOfAProgramHasNoWord) {
  test::expect_error(
      [] { model_of(R"({type = "custom", kind = "swish"}, {type = "linear", features = 2})"); },
      ExitCode::bad_input, {"'custom1'", "PyTorch"});
}

}  // namespace
}  // namespace quern
