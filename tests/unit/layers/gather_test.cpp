// SPDX-License-Identifier: Apache-2.0
#include "layers/gather.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <type_traits>

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

std::vector<Window> scattered_windows(int rows, int crop) {
  std::vector<Window> windows;
  for (int s = 0; s < rows; ++s)
    windows.push_back({s * 5 % (2 * crop + 1) - crop, s * 3 % (2 * crop + 1) - crop, s % 3 == 1});
  return windows;
}

template <class T>
void expect_windows(const Shape& shape, Layout layout, int rows, int crop, std::vector<T> data,
                    float divisor) {
  SCOPED_TRACE(to_string(shape) + ", " + std::to_string(rows) + " rows");
  const std::vector<std::int64_t> samples = scattered_samples(rows);
  const std::vector<Window> windows = scattered_windows(rows, crop);
  const Activation y = test::filled_activation(shape, layout, rows, 777);
  const ExecSpace exec;
  if constexpr (std::is_same_v<T, float>)
    gather_values(exec, test::to_view(data), test::to_view(samples), y, test::to_view(windows));
  else
    gather_images(exec, test::to_view(data), test::to_view(samples), y, test::to_view(windows));
  exec.fence("test: read y");
  const std::vector<T> seen =
      reference::cut_windows<T>(data, shape, std::span(samples), std::span(windows));
  std::vector<std::int64_t> rows_of_seen(samples.size());
  for (std::size_t s = 0; s < samples.size(); ++s)
    rows_of_seen[s] = samples[s] < 0 ? -1 : static_cast<std::int64_t>(s);
  EXPECT_EQ(test::values_of(y), reference::gather<T>(seen, static_cast<std::size_t>(shape.units()),
                                                     rows_of_seen, divisor));
  EXPECT_EQ(test::padding_of(y), 0);
  EXPECT_EQ(test::to_vector(y.data)[static_cast<std::size_t>(y.size())], 777.0f);
}

TEST(Gather, WindowsMatchTheReferenceOnOddSizes) {
  for (const Shape& shape : {Shape{1, 3, 2}, Shape{3, 5, 7}, Shape{2, 16, 16}, Shape{1, 17, 33}}) {
    const int crop = std::min(shape.height, shape.width) / 2;
    const std::vector<std::uint8_t> bytes = random_bytes(shape.units());
    const auto values =
        test::random_values(static_cast<std::size_t>(kSamples * shape.units()), 4, -1, 1);
    for (const int rows : {1, 3, 17, 33})
      for (const Layout layout : test::flat_layouts()) {
        expect_windows(shape, layout, rows, crop, bytes, 255);
        expect_windows(shape, layout, rows, crop, values, 1);
      }
    expect_windows(shape, Layout::nchw16n, 48, crop, bytes, 255);
    expect_windows(shape, Layout::nchw16n, 48, crop, values, 1);
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
