// SPDX-License-Identifier: Apache-2.0
#include "layers/gather.hpp"

#include <gtest/gtest.h>

#include "layers/reference/gather.hpp"
#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

constexpr int kSamples = 50;

std::vector<std::int64_t> scattered_samples(int rows) {
  std::vector<std::int64_t> samples;
  for (int s = 0; s < rows; ++s) samples.push_back(s % 5 == 4 ? -1 : (s * 37 + 11) % kSamples);
  return samples;
}

std::vector<std::uint8_t> random_bytes(int units) {
  std::vector<std::uint8_t> bytes;
  for (const float value :
       test::random_values(static_cast<std::size_t>(kSamples * units), 4, 0, 256))
    bytes.push_back(static_cast<std::uint8_t>(value));
  return bytes;
}

void expect_images(Layout layout, int rows, int units) {
  SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(units) + " units");
  const std::vector<std::uint8_t> bytes = random_bytes(units);
  const std::vector<std::int64_t> samples = scattered_samples(rows);
  const Activation y = test::filled_activation({units}, layout, rows, 777);
  const ExecSpace exec;
  gather_images(exec, test::to_view(bytes), test::to_view(samples), y);
  exec.fence("test: read y");
  EXPECT_EQ(test::values_of(y),
            reference::gather<std::uint8_t>(bytes, static_cast<std::size_t>(units), samples, 255));
  EXPECT_EQ(test::padding_of(y), 0);
  EXPECT_EQ(test::to_vector(y.data)[static_cast<std::size_t>(y.size())], 777.0f);
}

TEST(Gather, ImagesMatchTheReferenceOnOddSizes) {
  for (const int units : {1, 3, 16, 17, 33, 257, 784}) {
    for (const int rows : {1, 3, 17, 33})
      for (const Layout layout : test::flat_layouts()) expect_images(layout, rows, units);
    for (const int rows : {16, 48}) expect_images(Layout::nchw16n, rows, units);
  }
}

TEST(Gather, ValuesMatchTheReference) {
  for (const Layout layout : test::all_layouts()) {
    const auto data = test::random_values(kSamples * 33, 4);
    const std::vector<std::int64_t> samples = scattered_samples(32);
    const Activation y = test::filled_activation({33}, layout, 32, 777);
    const ExecSpace exec;
    gather_values(exec, test::to_view(data), test::to_view(samples), y);
    exec.fence("test: read y");
    EXPECT_EQ(test::values_of(y), reference::gather<float>(data, 33, samples, 1));
  }
}

TEST(Gather, EveryByteIsDividedBy255AsInFloat) {
  std::vector<std::uint8_t> bytes;
  for (int value = 0; value < 256; ++value) bytes.push_back(static_cast<std::uint8_t>(value));
  for (const Layout layout : test::all_layouts()) {
    const Activation y = test::filled_activation({256}, layout, 16, 777);
    const ExecSpace exec;
    gather_images(exec, test::to_view(bytes), test::to_view(std::vector<std::int64_t>(16, 0)), y);
    exec.fence("test: read y");
    for (int value = 0; value < 256; ++value)
      ASSERT_EQ(test::values_of(y)[static_cast<std::size_t>(value)],
                static_cast<float>(value) / 255.0f);
  }
}

TEST(Gather, DataOfAnotherShapeIsRefused) {
  const Activation y = test::filled_activation({7}, Layout::nc, 2, 0);
  EXPECT_THROW(gather_values(ExecSpace(), FloatView("test::data", 20),
                             test::to_view(std::vector<std::int64_t>(2, 0)), y),
               std::exception);
}

}  // namespace
}  // namespace quern
