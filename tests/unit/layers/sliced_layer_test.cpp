// SPDX-License-Identifier: Apache-2.0
// Layers cut over the ranks of a tensor group, whose exchanges are played here one rank after the
// other: against the whole layer, and against the sum over the slices.
#include "layers/sliced_layer.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <utility>

#include "device/tensor_cores.hpp"
#include "layers/conv2d.hpp"
#include "layers/linear.hpp"
#include "linalg/rounding.hpp"
#include "support/layer_run.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

using test::LayerRun;
using test::random_values;

std::vector<float> tree_sum(const std::vector<std::vector<float>>& values) {
  if (values.size() == 1) return values.front();
  const std::size_t left = std::bit_floor(values.size() - 1);
  const std::vector<float> a = tree_sum({values.begin(), values.begin() + left});
  std::vector<float> b = tree_sum({values.begin() + left, values.end()});
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = a[i] + b[i];
  return b;
}

void write(const FloatView& view, const std::vector<float>& values) {
  Kokkos::deep_copy(view, Kokkos::View<const float*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                              values.data(), values.size()));
}

/// What every rank has handed over. Runs go twice: first they hand over, then they get.
struct Handed {
  std::vector<std::vector<float>> units;
  std::vector<std::vector<float>> sums;
};

class PlayedExchange final : public TensorExchange {
 public:
  PlayedExchange(Handed& handed, int rank, bool gets) : handed_(handed), rank_(rank), gets_(gets) {}

  void gather(const ExecSpace&, const FloatView& all, std::span<const std::int64_t> shares,
              std::int64_t share_floats) override {
    std::int64_t begin = 0;
    for (int r = 0; r < static_cast<int>(shares.size()); ++r) {
      const auto part = Kokkos::subview(all, std::pair(begin, begin + shares[r] * share_floats));
      begin += shares[r] * share_floats;
      if (!gets_ && r == rank_) handed_.units.at(r) = test::read(part, 0, part.extent(0));
      if (gets_ && r != rank_) write(part, handed_.units.at(r));
    }
    EXPECT_EQ(begin, static_cast<std::int64_t>(all.extent(0)));
  }

  void sum(const ExecSpace&, const FloatView& values) override {
    if (gets_)
      write(values, tree_sum(handed_.sums));
    else
      handed_.sums.at(rank_) = test::read(values, 0, values.extent(0));
  }

 private:
  Handed& handed_;
  int rank_;
  bool gets_;
};

struct Case {
  const char* name;
  bool is_conv;
  Shape input;
  int channels;  // or features
  int kernel, stride, padding;
  int samples, block;
  int slices;
  OperandPrecision precision = OperandPrecision::fp32;
};

LayerSpec spec_of(const Case& c, int channels) {
  LayerSpec spec;
  spec.name = "layer";
  spec.features = spec.channels = channels;
  spec.kernel = c.kernel;
  spec.stride = c.stride;
  spec.padding = c.padding;
  spec.bias = true;
  return spec;
}

std::unique_ptr<Layer> make_whole(const Case& c, int channels) {
  const KernelChoice choice{.precision = c.precision};
  if (c.is_conv) return std::make_unique<Conv2d>(spec_of(c, channels), c.input, choice);
  return std::make_unique<Linear>(spec_of(c, channels), c.input, choice);
}

class SlicedLayers : public ::testing::TestWithParam<Case> {
 protected:
  SlicedLayers()
      : c_(GetParam()),
        whole_(make_whole(c_, c_.channels)),
        output_(whole_->output_shape()),
        bounds_(slice_bounds(c_.channels, c_.is_conv ? 1 : kLanes, c_.slices)) {
    const std::size_t taps = static_cast<std::size_t>(
        c_.is_conv ? c_.input.channels * c_.kernel * c_.kernel : c_.input.units());
    x_ = random_values(static_cast<std::size_t>(c_.samples) * c_.input.units(), 1);
    dy_ = random_values(static_cast<std::size_t>(c_.samples) * output_.units(), 2);
    parameters_["layer.weight"] = random_values(c_.channels * taps, 3);
    parameters_["layer.bias"] = random_values(static_cast<std::size_t>(c_.channels), 4);
  }

  std::vector<LayerRun> run_group(int ranks, const LayerSetup& setup) const {
    Handed handed{std::vector<std::vector<float>>(static_cast<std::size_t>(ranks)),
                  std::vector<std::vector<float>>(static_cast<std::size_t>(ranks))};
    std::vector<LayerRun> runs;
    for (const bool gets : {false, true}) {
      for (int rank = 0; rank < ranks; ++rank) {
        SlicedLayer layer("layer", c_.input, output_, {c_.slices, ranks, rank}, bounds_,
                          [&](int channels) { return make_whole(c_, channels); });
        PlayedExchange exchange(handed, rank, gets);
        const LayerRun run = test::run_layer(layer, c_.samples, c_.block, x_, dy_, parameters_,
                                             setup, ranks > 1 ? &exchange : nullptr);
        if (gets) runs.push_back(run);
      }
    }
    return runs;
  }

  // One layer for each slice, on its own units.
  std::vector<float> expected_dx(const LayerSetup& setup) const {
    std::vector<std::vector<float>> all;
    const std::size_t plane = static_cast<std::size_t>(output_.height) * output_.width;
    for (int s = 0; s < c_.slices; ++s) {
      const std::size_t begin = static_cast<std::size_t>(bounds_[s]);
      const std::size_t end = static_cast<std::size_t>(bounds_[s + 1]);
      std::vector<float> dy;
      for (int i = 0; i < c_.samples; ++i) {
        const auto row = dy_.begin() + static_cast<std::int64_t>(i) * output_.units();
        dy.insert(dy.end(), row + begin * plane, row + end * plane);
      }
      std::map<std::string, std::vector<float>> parameters;
      for (const auto& [name, values] : parameters_) {
        const std::size_t width = values.size() / static_cast<std::size_t>(c_.channels);
        parameters[name] = {values.begin() + begin * width, values.begin() + end * width};
      }
      const auto layer = make_whole(c_, static_cast<int>(end - begin));
      all.push_back(
          test::run_layer(*layer, c_.samples, c_.block, x_, dy, parameters, setup, nullptr, true)
              .dx);
    }
    std::vector<float> sum = tree_sum(all);
    if (whole_->input_layout(flat_layout()) == Layout::tiles)
      for (float& value : sum) value = from_bfloat16(to_bfloat16(value));
    return sum;
  }

  const Case c_;
  std::unique_ptr<Layer> whole_;
  Shape output_;
  std::vector<int> bounds_;
  std::vector<float> x_, dy_;
  std::map<std::string, std::vector<float>> parameters_;
};

TEST_P(SlicedLayers, HaveTheBitsOfTheirSlicesOnAnyNumberOfRanks) {
  if (c_.precision != OperandPrecision::fp32 && !kHostExecution && !kTensorCores)
    GTEST_SKIP() << "a device without tensor cores";
  ASSERT_FALSE(bounds_.empty());
  for (const bool with_relu : {false, true}) {
    const LayerSetup setup{.with_relu = with_relu,
                           .with_input_relu = with_relu && whole_->traits().applies_input_relu,
                           .products = choose_products({.precision = c_.precision})};
    const auto whole = make_whole(c_, c_.channels);
    const LayerRun expected =
        test::run_layer(*whole, c_.samples, c_.block, x_, dy_, parameters_, setup);
    const std::vector<float> dx = expected_dx(setup);
    const std::vector<double> whole_dx(expected.dx.begin(), expected.dx.end());
    const bool is_exact = c_.precision == OperandPrecision::fp32;
    EXPECT_LT(test::relative_difference(whole_dx, dx), is_exact ? 1e-5 : 1.0 / 128);
    for (int ranks = 1; ranks <= c_.slices; ++ranks) {
      const int each = c_.slices / ranks;
      if (c_.slices % ranks != 0 || (ranks > 1 && !std::has_single_bit(unsigned(each)))) continue;
      SCOPED_TRACE(std::to_string(ranks) + " ranks");
      std::map<std::string, std::vector<float>> gradients;
      for (const LayerRun& run : run_group(ranks, setup)) {
        EXPECT_EQ(run.y, expected.y);
        EXPECT_EQ(run.dx, dx);
        for (const auto& [name, values] : run.gradients) {
          std::vector<float>& sum = gradients[name];
          sum.resize(values.size(), 0.0f);
          for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
        }
      }
      EXPECT_EQ(gradients, expected.gradients);
    }
  }
}

constexpr OperandPrecision kBf16 = OperandPrecision::bf16;
constexpr OperandPrecision kPairs = OperandPrecision::bf16_pairs;

INSTANTIATE_TEST_SUITE_P(
    OddSizes, SlicedLayers,
    ::testing::Values(Case{"linear", false, {33}, 130, 0, 1, 0, 7, 3, 8},
                      Case{"linear_four", false, {150}, 64, 0, 1, 0, 32, 8, 4},
                      Case{"linear_three_times_four", false, {5}, 200, 0, 1, 0, 3, 2, 12},
                      Case{"conv", true, {3, 9, 7}, 20, 3, 1, 0, 21, 16, 8},
                      Case{"conv_padded", true, {5, 6, 7}, 17, 3, 2, 1, 20, 8, 4},
                      Case{"conv_one", true, {20, 5, 5}, 50, 5, 1, 0, 16, 16, 6},
                      Case{"linear_bf16", false, {33}, 130, 0, 1, 0, 7, 3, 8, kBf16},
                      Case{"linear_bf16_of_two_tiles", false, {70}, 520, 0, 1, 0, 40, 20, 4, kBf16},
                      Case{"linear_pairs", false, {33}, 130, 0, 1, 0, 7, 3, 8, kPairs},
                      Case{"conv_bf16", true, {3, 9, 7}, 20, 3, 1, 0, 21, 16, 8, kBf16},
                      Case{"conv_pairs", true, {3, 9, 7}, 20, 3, 1, 0, 21, 16, 8, kPairs},
                      Case{"conv_bf16_padded", true, {17, 6, 7}, 33, 3, 2, 1, 20, 8, 4, kBf16}),
    [](const auto& test) { return test.param.name; });

TEST(SliceBounds, AreWholeGroupsAsEqualAsCanBe) {
  EXPECT_EQ(slice_bounds(120, 16, 8), (std::vector<int>{0, 16, 32, 48, 64, 80, 96, 112, 120}));
  EXPECT_EQ(slice_bounds(20, 1, 8), (std::vector<int>{0, 2, 5, 7, 10, 12, 15, 17, 20}));
  EXPECT_TRUE(slice_bounds(84, 16, 8).empty());
  EXPECT_EQ(slice_bounds(10, 16, 1), (std::vector<int>{0, 10}));
}

}  // namespace
}  // namespace quern
