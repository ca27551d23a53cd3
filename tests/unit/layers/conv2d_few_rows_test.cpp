// SPDX-License-Identifier: Apache-2.0
// A CPU's convolution of few samples, with channels in the lanes, gives the bits of that with 16
// samples in them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "layers/conv2d_kernels.hpp"
#include "layers/host/conv2d_few_rows.hpp"
#include "layers/host/scratch.hpp"
#include "support/random_values.hpp"
#include "unit/layers/conv_case.hpp"

namespace quern {
namespace {

using test::ConvCase;
using test::make_view;
using test::random_values;
using test::written;

// Blocks of one group, the last one short.
struct Samples {
  int block, last;
};

constexpr int kBlocks = 3;
constexpr Samples kSamples[] = {{1, 1}, {2, 1},   {3, 2},  {4, 4},   {5, 3},   {7, 6}, {8, 1},
                                {9, 8}, {11, 10}, {12, 5}, {14, 13}, {16, 15}, {16, 3}};

class Conv2dFewRows : public ::testing::TestWithParam<ConvCase> {
 protected:
  void SetUp() override {
    shape = GetParam().shape();
    weight = random_values(std::int64_t{shape.taps()} * shape.out_channels + 16, 3);
    weight_view = make_view(weight);
  }

  static BlockSchedule schedule_of(const Samples& samples) {
    // Of a larger batch, so that several partial sums remain.
    BlockSchedule schedule = make_block_schedule(1, 1 + kBlocks, kBlocks + 2, kLanes);
    schedule.block_samples = samples.block;
    schedule.last_samples = samples.last;
    return schedule;
  }
  static int samples_of(const Samples& samples, int group) {
    return group + 1 == kBlocks ? samples.last : samples.block;
  }

  // Zeros among them, as behind a ReLU; in empty lanes nothing but zeros if they are a gradient.
  static std::vector<float> values(std::int64_t group_floats, const Samples& samples, int seed,
                                   bool is_gradient) {
    std::vector<float> all = random_values(kBlocks * group_floats, seed);
    for (std::int64_t i = 0; i < kBlocks * group_floats; ++i) {
      const bool empty = i % kLanes >= samples_of(samples, static_cast<int>(i / group_floats));
      float& value = all[static_cast<std::size_t>(i)];
      if (i % 7 == 3) value = i % 2 == 0 ? 0.0f : -0.0f;
      if (empty && is_gradient) value = 0.0f;
    }
    return all;
  }

  // The bits of the rows with samples, and zeros in the others.
  static void expect_rows(const std::vector<float>& expected, const std::vector<float>& actual,
                          const Samples& samples, std::int64_t group_floats) {
    int different = 0;
    int filled = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const auto group = static_cast<int>(static_cast<std::int64_t>(i) / group_floats);
      const bool empty = static_cast<int>(i % kLanes) >= samples_of(samples, group);
      if (empty) {
        filled += actual[i] != 0.0f;
      } else {
        different += std::memcmp(&expected[i], &actual[i], sizeof(float)) != 0;
      }
    }
    EXPECT_EQ(different, 0) << GetParam() << ", samples " << samples.block;
    EXPECT_EQ(filled, 0) << GetParam() << ", samples " << samples.block;
  }

  const Conv2dKernels& full = host::conv2d_kernels();
  const Conv2dFewRowsKernels& few = host::conv2d_few_rows_kernels();
  const ExecSpace exec;
  ConvShape shape;
  std::vector<float> weight;
  FloatView weight_view;
};

TEST_P(Conv2dFewRows, HasTheBitsOfFullGroupsForward) {
  const FloatView packed = make_view(std::vector<float>(full.forward_floats(shape)));
  full.pack_forward(exec, shape, weight_view.data(), packed.data());
  const FloatView few_packed = make_view(std::vector<float>(few.forward_floats(shape), 9.0f));
  few.pack_forward(exec, shape, weight_view.data(), few_packed.data());
  const FloatView bias = make_view(random_values(shape.out_channels + 16, 4));
  const std::int64_t size = kBlocks * shape.out_group();
  for (const Samples& samples : kSamples) {
    const FloatView x = make_view(values(shape.image_group(), samples, 1, false));
    for (const bool relu : {false, true}) {
      const float* b = relu ? bias.data() : nullptr;
      const auto expected = written(size, [&](float* y) {
        full.forward(exec, shape, kBlocks * kLanes, x.data(), packed.data(), b, relu, y);
      });
      const auto actual = written(size, [&](float* y) {
        few.forward(exec, shape, {schedule_of(samples), 0, samples.block}, x.data(),
                    few_packed.data(), b, relu, y);
      });
      expect_rows(expected, actual, samples, shape.out_group());
    }
  }
}

TEST_P(Conv2dFewRows, HasTheBitsOfFullGroupsInputGradient) {
  const FloatView packed = make_view(std::vector<float>(full.gradient_floats(shape)));
  full.pack_gradient(exec, shape, weight_view.data(), packed.data());
  const FloatView few_packed = make_view(std::vector<float>(few.gradient_floats(shape), 9.0f));
  few.pack_gradient(exec, shape, weight_view.data(), few_packed.data());
  const std::int64_t size = kBlocks * shape.image_group();
  for (const Samples& samples : kSamples) {
    const FloatView dy = make_view(values(shape.out_group(), samples, 2, true));
    const FloatView x = make_view(values(shape.image_group(), samples, 5, false));
    for (const bool masked : {false, true}) {
      const float* mask = masked ? x.data() : nullptr;
      const auto expected = written(size, [&](float* dx) {
        full.input_gradient(exec, shape, kBlocks * kLanes, dy.data(), packed.data(), mask, dx);
      });
      const auto actual = written(size, [&](float* dx) {
        few.input_gradient(exec, shape, {schedule_of(samples), 0, samples.block}, dy.data(),
                           few_packed.data(), mask, dx);
      });
      expect_rows(expected, actual, samples, shape.image_group());
    }
  }
}

TEST_P(Conv2dFewRows, HasTheBitsOfFullGroupsWeightGradient) {
  const BlockSchedule schedule = schedule_of({kLanes, kLanes});
  const std::int64_t stride = std::int64_t{shape.taps()} * shape.out_channels + 16;
  const std::int64_t size = stride * schedule.num_partial_sums;
  for (const Samples& samples : kSamples) {
    const FloatView x = make_view(values(shape.image_group(), samples, 1, false));
    const FloatView dy = make_view(values(shape.out_group(), samples, 2, true));
    const auto expected = written(size, [&](float* out) {
      full.weight_gradient(exec, shape, schedule, x.data(), dy.data(),
                           {FloatView(out, static_cast<std::size_t>(size)), stride}, 0, {});
    });
    const auto actual = written(size, [&](float* out) {
      host::conv2d_few_weight_gradient(exec, shape, schedule_of(samples), x.data(), dy.data(),
                                       {FloatView(out, static_cast<std::size_t>(size)), stride}, 0);
    });
    EXPECT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(float)), 0)
        << GetParam() << ", samples " << samples.block;
  }
}

// Only the groups behind the full ones, whose outputs stay as they are.
TEST_P(Conv2dFewRows, StartsBehindTheFullGroups) {
  const Samples samples{kLanes, 3};
  const BlockSchedule schedule = schedule_of(samples);
  const int first = schedule.first_group_of_few(4);
  ASSERT_EQ(first, kBlocks - 1);
  const FloatView packed = make_view(std::vector<float>(few.forward_floats(shape)));
  few.pack_forward(exec, shape, weight_view.data(), packed.data());
  const FloatView x = make_view(values(shape.image_group(), samples, 1, false));
  const auto from = [&](int group) {
    return written(kBlocks * shape.out_group(), [&](float* y) {
      few.forward(exec, shape, {schedule, group, kLanes}, x.data(), packed.data(), nullptr, false,
                  y);
    });
  };
  std::vector<float> expected = from(0);
  std::fill_n(expected.begin(), first * shape.out_group(), 7.0f);
  EXPECT_EQ(from(first), expected);
}

// The plan of a run counts it. How many sums of blocks are open at once, and how many groups a
// block has, is not known then: it may be several times as much.
TEST_P(Conv2dFewRows, TakesNoMoreScratchThanItSays) {
  const BatchLimit most(kBlocks * kLanes, kLanes);
  const std::int64_t size = std::max(kBlocks * std::max(shape.image_group(), shape.out_group()),
                                     2 * kLanes * std::int64_t{shape.taps()} * shape.out_channels);
  const FloatView x = make_view(std::vector<float>(static_cast<std::size_t>(size), 1.0f));
  const FloatView out = make_view(std::vector<float>(static_cast<std::size_t>(size), 1.0f));
  const std::int64_t stride = std::int64_t{shape.taps()} * shape.out_channels + 16;
  for (const Conv2dKernels* kernels : {&full, &host::conv2d_bf16_kernels()}) {
    const FloatView packed = make_view(std::vector<float>(
        std::max(kernels->forward_floats(shape), kernels->gradient_floats(shape))));
    host::scratch_memory() = {};
    kernels->pack_gradient(exec, shape, weight_view.data(), packed.data());
    kernels->forward(exec, shape, most.rows, x.data(), packed.data(), nullptr, false, out.data());
    kernels->input_gradient(exec, shape, most.rows, x.data(), packed.data(), nullptr, out.data());
    for (const Samples& samples : kSamples) {
      const BlockSchedule schedule = schedule_of(samples);
      const FloatView sums = make_view(
          std::vector<float>(static_cast<std::size_t>(stride * schedule.num_partial_sums)));
      kernels->weight_gradient(exec, shape, schedule, x.data(), x.data(), {sums, stride}, 0, {});
      if (!kernels->few_rows) continue;
      const FloatView few_packed = make_view(
          std::vector<float>(std::max(few.forward_floats(shape), few.gradient_floats(shape))));
      if (samples.block <= few.most_forward(shape)) {
        few.forward(exec, shape, {schedule, 0, samples.block}, x.data(), few_packed.data(), nullptr,
                    false, out.data());
      }
      if (samples.block <= few.most_gradient(shape)) {
        few.input_gradient(exec, shape, {schedule, 0, samples.block}, x.data(), few_packed.data(),
                           nullptr, out.data());
      }
    }
    const std::int64_t said = kernels->scratch_floats(exec.concurrency(), shape, most);
    EXPECT_LE(host::scratch_memory().floats, said) << GetParam();
    EXPECT_GE(6 * host::scratch_memory().floats, said) << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(OddSizes, Conv2dFewRows, ::testing::ValuesIn(test::odd_convolutions()));

// Channels, height, width, out, kernel, stride, padding.
INSTANTIATE_TEST_SUITE_P(
    Vectors, Conv2dFewRows,
    ::testing::Values(ConvCase{1, 1, 1, 1, 1, 1, 0}, ConvCase{17, 8, 7, 33, 3, 2, 1},
                      ConvCase{16, 6, 5, 16, 1, 1, 0}, ConvCase{35, 5, 7, 70, 1, 2, 0},
                      ConvCase{20, 2, 2, 19, 3, 1, 1}, ConvCase{4, 9, 8, 20, 8, 1, 2},
                      ConvCase{1030, 2, 3, 90, 1, 1, 0}, ConvCase{5, 4, 75, 140, 3, 2, 1},
                      ConvCase{3, 4, 601, 65, 3, 1, 0}));

}  // namespace
}  // namespace quern
