// SPDX-License-Identifier: Apache-2.0
// A work item has the weights between some output channels and some input channels. It runs over
// the tiles of a block in parts: it transforms x and dy of a part, and multiplies them at each of
// the 16 positions. A product's lanes, chains over the part's tiles, are added at the end of the
// part; the parts are added in their order, and the block's 16 sums become 9 weight gradients,
// which go into the block tree. TileParts depend on the layer and on the rows of a block only, so
// the bits do not depend on threads or ranks.
#include <algorithm>

#include "base/ceil_div.hpp"
#include "layers/host/block_sums.hpp"
#include "layers/host/conv2d_loops.hpp"
#include "layers/host/conv2d_winograd.hpp"
#include "layers/host/scratch.hpp"
#include "layers/host/winograd_transforms.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::FixedSplit;
using simd::kWidth;
using simd::Register;
using simd::Vector;

constexpr int kGradientTaps = 9;
constexpr int kWinogradItemChannels = 64;
// Sums of lanes of a register tile, whole vectors.
constexpr int kTileSums = round_up(simd::kWeightTile, kWidth);
// Input channels of a register tile.
constexpr int kTileColumns = simd::kWeightTile >= 25 ? 5 : 3;

struct WinogradChannels {
  int begin;
  int count;
};

// Tiles of a part: more make adding the lanes cheaper, fewer stay in the caches.
int part_tiles(const ConvShape& s) {
  const int channels = std::min(s.in_channels, kWinogradItemChannels) +
                       std::min(s.out_channels, kWinogradItemChannels);
  return std::max(16, 2048 / channels);
}

// How a block's tiles are cut: into rows of tiles of a group, or whole groups.
class TileParts {
 public:
  TileParts(const ConvShape& s, int block_groups)
      : tile_columns_((s.out_width + 1) / 2),
        tile_rows_((s.out_height + 1) / 2),
        rows_(tile_rows_, std::max(1, part_tiles(s) / tile_columns_)),
        groups_(block_groups, std::max(1, part_tiles(s) / (tile_columns_ * tile_rows_))) {}

  int count() const { return rows_.pieces * groups_.pieces; }
  int first_group(int part) const { return groups_.begin(part / rows_.pieces); }
  int groups(int part) const { return groups_.size(part / rows_.pieces); }
  TilePart tiles(int part) const {
    const int row = part % rows_.pieces;
    return {rows_.begin(row), rows_.size(row), 0, tile_columns_};
  }
  int most_tiles() const {
    return std::min(groups_.extent, groups_.largest) * rows_.size(0) * tile_columns_;
  }

 private:
  int tile_columns_;
  int tile_rows_;
  EvenSplit rows_;
  FixedSplit groups_;
};

class WinogradItem {
 public:
  WinogradItem(const ConvShape& shape, int depth, WinogradChannels out, WinogradChannels in)
      : shape_(shape),
        out_(out),
        in_(in),
        out_tiles_(out.count, largest_channels(kTileColumns)),
        in_tiles_(in.count, kTileColumns),
        blocks_(depth, std::int64_t{out.count} * in.count * kGradientTaps) {}

  std::int64_t scratch_floats(int most_tiles) const {
    return zero_floats() + sum_floats() + blocks_.floats() +
           TilePositions{nullptr, in_.count, most_tiles}.floats() +
           TilePositions{nullptr, out_.count, most_tiles}.floats();
  }

  // Before all that follows.
  void take_scratch(int most_tiles) {
    zeros_ = scratch(scratch_floats(most_tiles));
    sums_ = zeros_ + zero_floats();
    blocks_.take(sums_ + sum_floats());
    operands_ = sums_ + sum_floats() + blocks_.floats();
    std::fill_n(zeros_, zero_floats(), 0.0f);
  }

  // x and dy: of the block.
  void add_part(const TileParts& parts, int part, const float* x, const float* dy) {
    const TilePart at = parts.tiles(part);
    const int groups = parts.groups(part);
    const int tiles = groups * at.tiles();
    const TilePositions inputs{operands_, in_.count, tiles};
    const TilePositions gradients{operands_ + inputs.floats(), out_.count, tiles};
    for (int g = 0; g < groups; ++g) {
      const int group = parts.first_group(part) + g;
      winograd_transform_input(
          {x + group * shape_.image_group() + shape_.image(in_.begin, 0, 0), in_.count,
           shape_.image_height(), shape_.image_width(), shape_.padding},
          at, zeros_, inputs, g * at.tiles());
      winograd_transform_gradient({dy + group * shape_.out_group() + shape_.out(out_.begin, 0, 0),
                                   out_.count, shape_.out_height, shape_.out_width, 0},
                                  at, zeros_, gradients, g * at.tiles());
    }
    const std::int64_t plane = std::int64_t{kWidth} * tiles;
    for (int position = 0; position < kWinogradPositions; ++position) {
      const float* v = inputs.data + position * inputs.position();
      const float* u = gradients.data + position * gradients.position();
      for_each_tile([&]<int C, int T>(int tile, int o, int i) {
        Vector lanes[C * T];
        simd::conv_weight_gradient_product<C, T, true>(v + i * plane, u + o * plane, plane, tiles,
                                                       lanes);
        float fresh[kTileSums];
        simd::sum_lanes<C * T>(lanes, fresh);
        std::fill_n(fresh + C * T, kTileSums - C * T, 0.0f);
        float* sums = sums_of(position, tile);
        for (int k = 0; k < kTileSums; ++k) sums[k] = part == 0 ? fresh[k] : sums[k] + fresh[k];
      });
    }
  }

  // After the last part of a block.
  void end_block(int merges) {
    float* row = blocks_.next();
    for_each_tile([&]<int C, int T>(int tile, int o, int i) {
      float gradients[kGradientTaps][kTileSums];
      for (int lane = 0; lane < kTileSums; lane += simd::kRegisterLanes) {
        Register sums[kWinogradPositions];
        Register taps[kGradientTaps];
        for (int p = 0; p < kWinogradPositions; ++p)
          sums[p] = simd::load<Register>(sums_of(p, tile) + lane);
        winograd_weight_gradient(sums, taps);
        for (int tap = 0; tap < kGradientTaps; ++tap) simd::store(gradients[tap] + lane, taps[tap]);
      }
      for (int c = 0; c < C; ++c) {
        for (int t = 0; t < T; ++t) {
          float* to = row + (std::int64_t{o + c} * in_.count + i + t) * kGradientTaps;
          for (int tap = 0; tap < kGradientTaps; ++tap) to[tap] = gradients[tap][c * T + t];
        }
      }
    });
    blocks_.end_block(merges);
  }

  void store(const GradientSums& partial_sums, std::int64_t offset) const {
    const std::int64_t channel = std::int64_t{in_.count} * kGradientTaps;
    for (int p = 0; p < blocks_.count(); ++p) {
      float* gradient = partial_sums.data.data() + p * partial_sums.stride + offset;
      for (int o = 0; o < out_.count; ++o) {
        std::copy_n(blocks_[p] + o * channel, channel,
                    gradient + shape_.weight(out_.begin + o, in_.begin, 0, 0));
      }
    }
  }

 private:
  // Calls f<C, T>(number of the tile, o, i), channels from those of the item on.
  template <class F>
  void for_each_tile(F&& f) const {
    int tile = 0;
    for (int a = 0; a < out_tiles_.pieces; ++a) {
      for (int b = 0; b < in_tiles_.pieces; ++b, ++tile) {
        simd::with_constant<kTileColumns>(in_tiles_.size(b), [&]<int T>() {
          simd::with_constant<largest_channels(kTileColumns)>(out_tiles_.size(a), [&]<int C>() {
            f.template operator()<C, T>(tile, out_tiles_.begin(a), in_tiles_.begin(b));
          });
        });
      }
    }
  }

  int num_tiles() const { return out_tiles_.pieces * in_tiles_.pieces; }
  float* sums_of(int position, int tile) const {
    return sums_ + (std::int64_t{position} * num_tiles() + tile) * kTileSums;
  }
  std::int64_t sum_floats() const {
    return std::int64_t{kWinogradPositions} * num_tiles() * kTileSums;
  }
  std::int64_t zero_floats() const {
    return std::int64_t{kWidth} * std::max(shape_.image_width(), shape_.out_width);
  }

  ConvShape shape_;
  WinogradChannels out_;
  WinogradChannels in_;
  EvenSplit out_tiles_;
  EvenSplit in_tiles_;
  BlockSums blocks_;
  float* zeros_ = nullptr;
  float* sums_ = nullptr;  // [position][register tile][kTileSums]
  float* operands_ = nullptr;
};

// How the channels are cut into items.
struct WinogradItemGrid {
  EvenSplit out;
  EvenSplit in;

  WinogradItemGrid(const ConvShape& s, int threads)
      : out(s.out_channels, kWinogradItemChannels), in(s.in_channels, kWinogradItemChannels) {
    // All threads shall find items.
    while (threads > 1 && count() < std::int64_t{4} * threads && in.size(0) > 8) {
      EvenSplit& larger = out.size(0) > in.size(0) ? out : in;
      larger = EvenSplit(larger.extent, (larger.size(0) + 1) / 2);
    }
  }
  std::int64_t count() const { return std::int64_t{out.pieces} * in.pieces; }
};

}  // namespace

bool suits_winograd_gradient(const ConvShape& shape, int block_rows) {
  constexpr int kLeastTiles = 16;
  const int tiles = (shape.out_height + 1) / 2 * ((shape.out_width + 1) / 2);
  return suits_winograd(shape) && block_rows / kLanes * tiles >= kLeastTiles;
}

std::int64_t conv2d_winograd_gradient_scratch(int threads, const ConvShape& shape,
                                              const BatchLimit& most) {
  const WinogradItemGrid grid(shape, threads);
  const int depth = most_depth(std::min(most.blocks(), most.rows / kLanes));
  return WinogradItem(shape, depth, {0, grid.out.size(0)}, {0, grid.in.size(0)})
      .scratch_floats(TileParts(shape, most.rows / kLanes).most_tiles());
}

void conv2d_winograd_weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                                     const BlockSchedule& schedule, const float* x, const float* dy,
                                     const GradientSums& partial_sums, std::int64_t offset) {
  const int groups = schedule.block_rows / kLanes;
  const TileParts parts(shape, groups);
  const WinogradItemGrid grid(shape, exec.concurrency());
  Kokkos::parallel_for("quern::layers::conv2d_winograd_weight_gradient",
                       RangePolicy(exec, 0, grid.count()), [=](std::int64_t number) {
                         const int a = static_cast<int>(number / grid.in.pieces);
                         const int b = static_cast<int>(number % grid.in.pieces);
                         WinogradItem item(shape, schedule.depth,
                                           {grid.out.begin(a), grid.out.size(a)},
                                           {grid.in.begin(b), grid.in.size(b)});
                         item.take_scratch(parts.most_tiles());
                         for (std::int64_t block = 0; block < schedule.num_blocks; ++block) {
                           const float* block_x = x + block * groups * shape.image_group();
                           const float* block_dy = dy + block * groups * shape.out_group();
                           for (int part = 0; part < parts.count(); ++part)
                             item.add_part(parts, part, block_x, block_dy);
                           item.end_block(schedule.host_merges(static_cast<int>(block)));
                         }
                         item.store(partial_sums, offset);
                       });
}

}  // namespace quern::host
