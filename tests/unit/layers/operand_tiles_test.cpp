// SPDX-License-Identifier: Apache-2.0
// Between floats and tiles of bfloat16: rounding, both orders, zeros where there is nothing.
#include "tensor/operand_tiles.hpp"

#include <gtest/gtest.h>

#include "layers/gather.hpp"
#include "layers/host/tile_rounding.hpp"
#include "support/random_values.hpp"
#include "support/tiles.hpp"

namespace quern::test {
namespace {

struct Size {
  int units, rows, block_rows;
};

std::vector<Size> sizes() {
  std::vector<Size> all;
  for (const int units : {1, 5, 16, 17, 33, 64, 784})
    for (const int block_rows : {16, 32, 48, 64})
      for (const int blocks : {1, 3}) all.push_back({units, blocks * block_rows, block_rows});
  return all;
}

std::string text_of(const Size& size) {
  return std::to_string(size.units) + " units, " + std::to_string(size.rows) +
         " rows in blocks of " + std::to_string(size.block_rows);
}

void expect_tiles(const Activation& tiles, const std::vector<float>& values, TileOrder by_sample) {
  const std::vector<float> expected = padded_to_tiles(rounded(values), tiles.shape.units());
  EXPECT_EQ(values_in_tiles(tiles, TileOrder::by_unit), expected);
  EXPECT_EQ(values_in_tiles(tiles, by_sample), expected);
  EXPECT_EQ(behind_last_rows(tiles, by_sample), 0);
  EXPECT_EQ(to_vector(tiles.data)[static_cast<std::size_t>(tiles.size())], 777.0f);
}

TEST(OperandTiles, ValuesAndGradientsAreRoundedIntoBothOrdersAndBack) {
  for (const Size& size : sizes()) {
    SCOPED_TRACE(text_of(size));
    const auto values = random_values(static_cast<std::size_t>(size.units * size.rows), 3);
    const Activation flat = make_activation({size.units}, Layout::cn16c, size.rows, values);
    const Activation tiles = tiles_to_fill({size.units}, size.rows, size.block_rows);
    const Activation gradients = tiles_to_fill({size.units}, size.rows, size.block_rows);
    const Activation back = filled_activation({size.units}, Layout::cn16c, size.rows, 777);
    const ExecSpace exec;
    host::round_values(exec, flat, OperandTiles(tiles));
    host::round_gradients(exec, flat, OperandTiles(gradients));
    host::unround(exec, OperandTiles(tiles), back);
    exec.fence("test: read tiles");
    expect_tiles(tiles, values, TileOrder::by_sample_of_values);
    expect_tiles(gradients, values, TileOrder::by_sample_of_gradients);
    EXPECT_EQ(values_of(back), rounded(values));
    EXPECT_EQ(padding_of(back), 0);
  }
}

// Against gather into cn16c, whose reference is elsewhere.
class GatherTiles : public ::testing::Test {
 protected:
  static constexpr int kSamples = 40;

  static std::vector<std::int64_t> scattered_samples(int rows) {
    std::vector<std::int64_t> samples;
    for (int s = 0; s < rows; ++s) samples.push_back(s % 5 == 3 ? -1 : (s * 37 + 11) % kSamples);
    return samples;
  }
  static std::vector<Window> scattered_windows(int rows, int crop) {
    std::vector<Window> windows;
    for (int s = 0; s < rows; ++s)
      windows.push_back({s * 5 % (2 * crop + 1) - crop, s * 3 % (2 * crop + 1) - crop, s % 3 == 1});
    return windows;
  }

  template <class Gather>
  static void expect_same(const Shape& shape, const Size& size, Gather&& gather) {
    SCOPED_TRACE(to_string(shape) + ", " + text_of(size));
    const auto samples = to_view(scattered_samples(size.rows));
    const Activation flat = filled_activation(shape, Layout::cn16c, size.rows, 777);
    const Activation tiles = tiles_to_fill(shape, size.rows, size.block_rows);
    gather(samples, flat);
    gather(samples, tiles);
    ExecSpace().fence("test: read y");
    expect_tiles(tiles, values_of(flat), TileOrder::by_sample_of_values);
  }

  static void expect_all(const Shape& shape, const Size& size, const View<const Window>& windows) {
    const auto count = static_cast<std::size_t>(kSamples * shape.units());
    const auto values = to_view(random_values(count, 4));
    std::vector<std::uint8_t> pixels;
    for (const float value : random_values(count, 5, 0, 256))
      pixels.push_back(static_cast<std::uint8_t>(value));
    const auto images = to_view(pixels);
    const ExecSpace exec;
    expect_same(shape, size, [&](const View<const std::int64_t>& samples, const Activation& y) {
      gather_values(exec, values, samples, y, windows);
    });
    expect_same(shape, size, [&](const View<const std::int64_t>& samples, const Activation& y) {
      gather_images(exec, images, samples, y, windows);
    });
  }
};

TEST_F(GatherTiles, RoundWhatIsGathered) {
  for (const Size& size : sizes()) expect_all({size.units}, size, {});
  // Longer than what is gathered at once.
  for (const int units : {511, 512, 545, 1024, 1025, 1500})
    expect_all({units}, {units, 48, 48}, {});
}

TEST_F(GatherTiles, RoundEveryPixel) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < kSamples * 256; ++i) pixels.push_back(static_cast<std::uint8_t>(i));
  const auto images = to_view(pixels);
  expect_same({256}, {256, 32, 32},
              [&](const View<const std::int64_t>& samples, const Activation& y) {
                gather_images(ExecSpace(), images, samples, y);
              });
}

TEST_F(GatherTiles, RoundWhatWindowsShow) {
  for (const Shape& shape : {Shape{1, 3, 2}, Shape{3, 5, 7}, Shape{1, 17, 33}, Shape{3, 16, 16}}) {
    const int crop = std::min(shape.height, shape.width) / 2;
    for (const int block_rows : {16, 48}) {
      const Size size{shape.units(), 2 * block_rows, block_rows};
      expect_all(shape, size, to_view(scattered_windows(size.rows, crop)));
    }
  }
}

}  // namespace
}  // namespace quern::test
