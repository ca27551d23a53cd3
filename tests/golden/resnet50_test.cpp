// SPDX-License-Identifier: Apache-2.0
// ResNet-50 against PyTorch's: the names and shapes of torchvision's state_dict, and the outputs
// with the weights that make_resnet50.py draws.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "io/h5_file.hpp"
#include "network/network.hpp"
#include "support/layer_specs.hpp"
#include "support/source_folder.hpp"
#include "support/test_step.hpp"

namespace quern::test {

namespace {

constexpr int kImages = 4;
constexpr Shape kInput{3, 64, 64};
constexpr int kClasses = 1000;

// drawn() of make_resnet50.py.
std::vector<float> drawn(const std::string& name, std::size_t count, double low, double high) {
  std::uint32_t start = 2166136261u;
  for (const char byte : "quern" + name) start = (start ^ std::uint32_t(byte)) * 16777619u;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t h = static_cast<std::uint32_t>(i) * 0x9E3779B1u + start;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    h ^= h >> 16;
    values[i] = static_cast<float>(low + (high - low) * (h / 4294967296.0));
  }
  return values;
}

// Of the ranges of range_of() there.
std::vector<float> drawn(const ParameterEntry& entry) {
  const auto count = static_cast<std::size_t>(entry.count);
  const auto draw = [&](double low, double high) { return drawn(entry.name, count, low, high); };
  if (entry.name.ends_with("running_mean") || entry.name.ends_with("bias")) return draw(-0.2, 0.2);
  if (entry.name.ends_with("running_var")) return draw(0.5, 1.5);
  if (entry.shape.size() == 1) return draw(0.6, 1.2);
  const double bound = std::sqrt(6 / static_cast<double>(entry.count / entry.shape.at(0)));
  return draw(-bound, bound);
}

// The layers of a residual network, in the order in which they are appended.
class Layers {
 public:
  std::string append(LayerSpec layer, const std::string& name, std::vector<std::string> inputs) {
    layer.name = name;
    layer.inputs = std::move(inputs);
    spec_.layers.push_back(layer);
    return name;
  }
  std::string convolution(const std::string& name, const std::string& norm,
                          const std::string& input, int channels, int kernel, int stride) {
    LayerSpec layer = conv2d(channels, kernel, stride, kernel / 2);
    layer.bias = false;
    append(layer, name, {input});
    return append(simple(LayerType::batch_norm), norm, {name});
  }
  std::string bottleneck(const std::string& name, const std::string& input, int width, int stride,
                         bool convolves_beside) {
    const std::string to = name + ".";
    std::string last = convolution(to + "conv1", to + "bn1", input, width, 1, 1);
    last = append(relu, to + "relu1", {last});
    last = convolution(to + "conv2", to + "bn2", last, width, 3, stride);
    last = append(relu, to + "relu2", {last});
    last = convolution(to + "conv3", to + "bn3", last, 4 * width, 1, 1);
    std::string beside = input;
    if (convolves_beside) {
      beside = convolution(to + "downsample.0", to + "downsample.1", input, 4 * width, 1, stride);
    }
    append(simple(LayerType::add), to + "add", {last, beside});
    return append(relu, to + "relu3", {to + "add"});
  }

  NetworkSpec spec_;
};

NetworkSpec resnet50() {
  Layers layers;
  layers.spec_.input = kInput;
  std::string last = layers.convolution("conv1", "bn1", "input", 64, 7, 2);
  last = layers.append(relu, "relu", {last});
  LayerSpec maximum = pool(LayerType::max_pool2d, 3, 2);
  maximum.padding = 1;
  last = layers.append(maximum, "maxpool", {last});
  const std::vector<int> blocks = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < blocks[static_cast<std::size_t>(stage)]; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      const int stride = stage > 0 && block == 0 ? 2 : 1;
      last = layers.bottleneck(name, last, 64 << stage, stride, block == 0);
    }
  }
  last = layers.append(simple(LayerType::global_avg_pool), "avgpool", {last});
  layers.append(linear(kClasses), "fc", {last});
  return layers.spec_;
}

std::set<std::string> names_and_shapes(const ParameterTable& table) {
  std::set<std::string> lines;
  for (const ParameterEntry& entry : table.entries()) {
    std::string line = entry.name;
    for (const std::int64_t extent : entry.shape) line += " " + std::to_string(extent);
    lines.insert(line);
  }
  return lines;
}

H5File golden_file() {
  return H5File::open_read(source_folder() / "tests/golden/resnet50.h5");
}

}  // namespace

TEST(GoldenResnet50, HasTheNamesAndShapesOfTorchvision) {
  std::istringstream text(golden_file().read_string("/", "tensors"));
  std::set<std::string> expected;
  for (std::string line; std::getline(text, line);) expected.insert(line);
  ASSERT_EQ(expected.size(), 267u);
  EXPECT_EQ(names_and_shapes(Network(resnet50()).table()), expected);
  EXPECT_EQ(Network(resnet50()).table().num_parameters(), 25557032);
}

TEST(GoldenResnet50, ForwardIsThatOfPyTorch) {
  const Network network(resnet50());
  const TestBatch batch{kImages, kImages, 16};
  Activations arrays = network.allocate(batch.rows());
  arrays.set_rows(batch.rows());
  StepContext step = make_test_step(batch);
  step.mode = Mode::evaluate;
  std::vector<float> parameters(static_cast<std::size_t>(network.table().block_size()));
  for (const ParameterEntry& entry : network.table().entries()) {
    write_tensor(entry, drawn(entry), parameters);
  }
  step.parameters = to_view(parameters);
  std::vector<float> images =
      drawn("images", static_cast<std::size_t>(kImages * kInput.units()), 0, 1);
  images.resize(static_cast<std::size_t>(batch.rows() * kInput.units()));
  set_values(arrays.input(), images);
  network.forward(ExecSpace(), step, arrays);

  std::vector<float> expected(std::size_t{kImages} * kClasses);
  golden_file().read_dataset("/outputs", std::span<float>(expected));
  const std::vector<float> actual = values_of(arrays.output());
  double largest = 0;
  for (const float value : expected) largest = std::max(largest, double{std::abs(value)});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 1e-5 * largest) << "image " << i / kClasses;
  }
}

}  // namespace quern::test
