// SPDX-License-Identifier: Apache-2.0
// Sizes that no int can index are refused before anything is allocated.
#include <vector>

#include "network/network.hpp"
#include "support/expect_error.hpp"
#include "support/layer_specs.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern::test {

namespace {

constexpr int kLarge = 1 << 24;  // the largest extent that a recipe may state

void expect_refused(const NetworkSpec& spec, std::initializer_list<std::string> parts) {
  expect_error([&] { Network network(spec); }, ExitCode::bad_input, parts);
}

}  // namespace

TEST(NetworkLimits, InputWhoseProductOverflows) {
  expect_refused(network_of({kLarge, kLarge, kLarge}, {conv2d(1, 1)}),
                 {"network.input", "[16777216, 16777216, 16777216]", "1073741824"});
  expect_refused(network_of({1 << 16, 1 << 16, 1}, {conv2d(1, 1)}), {"network.input"});
}

TEST(NetworkLimits, OutputOfAConvolutionThatOverflows) {
  expect_refused(network_of({1, 64, 64}, {conv2d(kLarge, 1)}),
                 {"'conv2d1'", "recipe line 1", "[16777216, 64, 64]", "too large"});
}

TEST(NetworkLimits, PaddedInputThatOverflows) {
  expect_refused(network_of({64, 1, 1}, {conv2d(1, 8193, 4096, 4096)}),
                 {"'conv2d1'", "padded", "[64, 8193, 8193]", "too large"});
}

TEST(NetworkLimits, TensorWithMoreElementsThanAnInt) {
  expect_refused(network_of({kLarge, 1, 1}, {linear(128)}),
                 {"'linear1.weight'", "2147483648", "at most 2147483647"});
  expect_refused(network_of({1 << 15, 2, 2}, {conv2d(1 << 16, 1)}), {"'conv2d1.weight'"});
}

TEST(NetworkLimits, LargestSizesAreStillDescribed) {
  const Network network(network_of({kLarge, 1, 1}, {linear(127)}));
  EXPECT_EQ(network.table().num_parameters(), std::int64_t{kLarge} * 127 + 127);
  EXPECT_GT(network.memory_bytes(1 << 20), std::int64_t{kLarge} * (1 << 20) * 4);
}

TEST(NetworkLimits, LargestKernelsAreCutIntoItems) {
  for (const NetworkSpec& spec : {network_of({1, 5, 7}, {conv2d(1, 4096, 1, 2048)}),
                                  network_of({1, 2048, 2048}, {conv2d(64, 2048)}),
                                  network_of({32, 4096, 4096}, {conv2d(3, 4096)})}) {
    const Network network(spec);
    EXPECT_GT(network.memory_bytes(32), 0);
  }
}

// Kernels of devices that round keep places in a group of 16 samples in an int.
TEST(NetworkLimits, ImageTooLargeForLessPrecision) {
  const auto build = [](const NetworkSpec& spec, const KernelChoice& choice) {
    const Network network(build_graph(spec, choice), {});
  };
  const NetworkSpec large = network_of({1 << 7, 1 << 10, 1 << 10}, {conv2d(1, 1)});
  const NetworkSpec almost = network_of({1, 1 << 10, 1 << 10}, {conv2d((1 << 7) - 1, 1)});
  EXPECT_NO_THROW(build(large, {}));
  for (const auto precision : {OperandPrecision::tf32, OperandPrecision::bf16}) {
    const KernelChoice on_device{.precision = precision, .on_device = true};
    expect_error([&] { build(large, on_device); }, ExitCode::bad_input,
                 {"'conv2d1'", "134217728", "train.precision"});
    EXPECT_NO_THROW(build(almost, on_device));
  }
  if (runs_device_kernels()) return;
  EXPECT_NO_THROW(build(large, {.precision = OperandPrecision::bf16}));
}

TEST(NetworkLimits, MoreLayersThanDropoutCanTellApart) {
  NetworkSpec spec = network_of({4, 1, 1}, {linear(4)});
  spec.layers.resize(1024, simple(LayerType::relu));
  EXPECT_NO_THROW(Network network(spec));
  spec.layers.push_back(dropout(0.5));
  expect_refused(spec, {"1025 layers", "at most 1024"});
}

}  // namespace quern::test
