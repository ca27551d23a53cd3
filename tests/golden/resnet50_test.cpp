// SPDX-License-Identifier: Apache-2.0
// The shipped recipe of ResNet-50 against PyTorch: the names and shapes of torchvision's
// state_dict, and the outputs with the weights that make_resnet50.py draws.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "config/read_recipe.hpp"
#include "io/h5_file.hpp"
#include "network/network.hpp"
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

NetworkSpec resnet50() {
  const std::string size = std::to_string(kInput.height);
  const std::vector<std::string> sets = {"network.input=[3, " + size + ", " + size + "]"};
  return read_recipe(source_folder() / "recipes/resnet50.toml", sets).network;
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
