// SPDX-License-Identifier: Apache-2.0
// As conv2d_weight_gradient.cpp, for blocks of few samples. A work item has the weights between
// some vectors of output channels and some input channels. Each sample is a chain of its own over
// the pixels of the block, as it is in its lane there; then the samples are added as those lanes
// are, the empty ones as zeros.
#include <algorithm>

#include "layers/host/block_sums.hpp"
#include "layers/host/conv2d_few_panels.hpp"
#include "layers/host/conv2d_few_rows.hpp"
#include "layers/host/conv2d_weight_gradient.hpp"
#include "layers/host/scratch.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::Known;
using simd::kRows;
using simd::kVectors;
using simd::Tile;
using simd::Vector;

// Floats of the sums of an item's samples, about.
constexpr int kItemSums = 64 * 1024;

// Where a tile's taps and pixels lie in its panels.
struct TilePixels {
  int rows;
  int columns;
  std::int64_t tap;  // from one tap of x to the next
  std::int64_t pixel;
  std::int64_t x_row;
  std::int64_t dy_row;
  std::int64_t dy_vector;
};

// R taps by 16 V output channels of a sample go on over the pixels of a part, or begin with it.
template <int R, int V>
[[gnu::noinline]] void few_weight_gradient_tile(const TilePixels& at, const float* x,
                                                const float* dy, bool begins, float* sums) {
  Tile<R, V> tile;
  if (begins) {
    tile.clear();
  } else {
    tile.restore(sums);
  }
  for (int row = 0; row < at.rows; ++row) {
    tile.multiply_add(at.columns, x, at.tap, at.pixel, dy, Known<kLanes>(), at.dy_vector);
    x += at.x_row;
    dy += at.dy_row;
  }
  tile.save(sums);
}

// The sum of a vector's samples, `next` floats apart, in the order of simd::sum_lanes().
inline Vector sum_samples(const float* sums, int samples, std::int64_t next) {
  Vector lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = l < samples ? simd::load(sums + l * next) : Vector{};
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] = lanes[l] + lanes[l + half];
  }
  return lanes[0];
}

// ChannelRange and their gradients, sample by sample: panel [vectors, samples, pixels, 16] of
// `columns` columns of `rows` rows of dy, whose planes lie `plane` floats apart.
template <int Samples>
void copy_gradients(const float* dy, int channels, std::int64_t plane, std::int64_t row_floats,
                    int rows, int columns, float* panel) {
  constexpr int kBlock = simd::kRegisterLanes;
  using simd::Register;
  const std::int64_t sample = std::int64_t{kLanes} * rows * columns;
  for (int o = 0; o < channels; o += kLanes, panel += Samples * sample) {
    const int count = std::min(kLanes, channels - o);
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        const float* from = dy + o * plane + row * row_floats + std::int64_t{kLanes} * column;
        float* to = panel + std::int64_t{kLanes} * (row * columns + column);
        for (int i = 0; i < kLanes; i += kBlock) {
          for (int j = 0; j < Samples; j += kBlock) {
            Register block[kBlock];
            QUERN_UNROLL
            for (int r = 0; r < kBlock; ++r)
              block[r] =
                  i + r < count ? simd::load<Register>(from + (i + r) * plane + j) : Register{};
            simd::transpose(block);
            for (int r = 0; r < std::min(kBlock, Samples - j); ++r)
              simd::store(to + (j + r) * sample + i, block[r]);
          }
        }
      }
    }
  }
}

struct ChannelRange {
  int begin;
  int count;
};

class FewItem {
 public:
  FewItem(const ConvShape& shape, const PanelGrid& parts, int depth, int most_samples,
          ChannelRange out, ChannelRange in)
      : shape_(shape),
        parts_(parts),
        out_(out),
        in_(in),
        one_part_(parts.count() == 1),
        taps_(in.count * shape.kernel * shape.kernel),
        blocks_(depth, weights()) {
    const PanelPlace largest = parts_.largest();
    sum_floats_ = one_part_ ? tile_floats(most_samples) : weights() * most_samples;
    x_floats_ = round_up_to_lanes(window(largest, most_samples).floats(in.count));
    dy_floats_ = std::int64_t{kLanes} * vectors() * most_samples * largest.rows * largest.columns;
  }

  // Of scratch().
  std::int64_t scratch_floats() const {
    return sum_floats_ + blocks_.floats() + x_floats_ + dy_floats_;
  }

  // Before all that follows.
  void take_scratch() {
    sums_ = scratch(scratch_floats());
    blocks_.take(sums_ + sum_floats_);
    x_ = sums_ + sum_floats_ + blocks_.floats();
    dy_ = x_ + x_floats_;
  }

  // x and dy of the block's group.
  void add_block(const float* x, const float* dy, int samples, int merges) {
    for (std::int64_t part = 0; part < parts_.count(); ++part)
      add_part(parts_[part], x, dy, samples, part == 0, part + 1 == parts_.count());
    blocks_.end_block(merges);
  }

  void store(const GradientSums& partial_sums, std::int64_t offset) const {
    for (int p = 0; p < blocks_.count(); ++p) {
      float* gradient = partial_sums.data.data() + p * partial_sums.stride + offset;
      for (int v = 0; v < vectors(); ++v) {
        const int o = kLanes * v;
        store_vector(blocks_[p] + std::int64_t{v} * taps_ * kLanes,
                     std::min(kLanes, out_.count - o),
                     gradient + shape_.weight(out_.begin + o, in_.begin, 0, 0));
      }
    }
  }

 private:
  int vectors() const { return count_vectors(out_.count); }
  std::int64_t weights() const { return std::int64_t{kLanes} * vectors() * taps_; }
  bool product() const { return shape_.kernel == 1; }
  // Taps of a tile.
  EvenSplit columns() const { return {product() ? in_.count : shape_.kernel, kRows}; }
  std::int64_t tile_floats(int samples) const {
    return std::int64_t{kLanes} * columns().size(0) * std::min(vectors(), kVectors) * samples;
  }

  SampleWindow window(const PanelPlace& at, int samples) const {
    const ConvShape& s = shape_;
    const auto extent = [&](int outputs) {
      return product() ? outputs : (outputs - 1) * s.stride + s.kernel;
    };
    const int step = product() ? s.stride : 1;
    return {samples,
            at.row * s.stride - s.padding,
            extent(at.rows),
            step,
            at.column * s.stride - s.padding,
            extent(at.columns),
            step,
            1};
  }

  void add_part(const PanelPlace& at, const float* x, const float* dy, int samples, bool first,
                bool last) {
    const ConvShape& s = shape_;
    const SampleWindow read = window(at, samples);
    copy_samples({x + s.image(in_.begin, 0, 0), in_.count, s.image_height(), s.image_width()}, read,
                 x_);
    simd::with_constant<kLanes>(samples, [&]<int Samples>() {
      copy_gradients<Samples>(dy + s.out(out_.begin, at.row, at.column), out_.count, s.out(1, 0, 0),
                              s.out(0, 1, 0), at.rows, at.columns, dy_);
    });
    const std::int64_t sample = std::int64_t{kLanes} * at.rows * at.columns;
    const int stride = product() ? 1 : s.stride;
    const TilePixels pixels{at.rows,
                            at.columns,
                            product() ? read.plane_floats() : samples,
                            std::int64_t{samples} * stride,
                            read.row_floats() * stride,
                            std::int64_t{kLanes} * at.columns,
                            sample * samples};
    float* top = blocks_.next();
    float* sums = sums_;
    for_each_tile([&]<int R, int V>(int vector, int i, int kh, int kw) {
      const float* x_tile =
          x_ + i * read.plane_floats() + kh * read.row_floats() + std::int64_t{kw} * samples;
      const float* dy_tile = dy_ + vector * samples * sample;
      constexpr int kFloats = Tile<R, V>::kFloats;
      for (int l = 0; l < samples; ++l)
        few_weight_gradient_tile<R, V>(pixels, x_tile + l, dy_tile + l * sample, first,
                                       sums + l * kFloats);
      if (last) {
        const int tap = (i * s.kernel + kh) * s.kernel + kw;
        for (int r = 0; r < R; ++r) {
          for (int v = 0; v < V; ++v) {
            simd::store(top + std::int64_t{kLanes} * ((vector + v) * taps_ + tap + r),
                        sum_samples(sums + kLanes * (r * V + v), samples, kFloats));
          }
        }
      }
      if (!one_part_) sums += std::int64_t{kFloats} * samples;
    });
  }

  // Calls f<R, V>(vector, i, kh, kw), counted from those of the item on. A tile has R kernel
  // columns, or of a product R input channels.
  template <class F>
  void for_each_tile(F&& f) const {
    const EvenSplit vector_split(vectors(), kVectors);
    const EvenSplit column_split = columns();
    const int rows = product() ? 1 : in_.count * shape_.kernel;
    for (int a = 0; a < vector_split.pieces; ++a) {
      simd::with_constant<kVectors>(vector_split.size(a), [&]<int V>() {
        for (int row = 0; row < rows; ++row) {
          for (int b = 0; b < column_split.pieces; ++b) {
            const int column = column_split.begin(b);
            simd::with_constant<kRows>(column_split.size(b), [&]<int R>() {
              f.template operator()<R, V>(
                  vector_split.begin(a), product() ? column : row / shape_.kernel,
                  product() ? 0 : row % shape_.kernel, product() ? 0 : column);
            });
          }
        }
      });
    }
  }

  // sums [taps, 16] to [channels, taps of all input channels].
  void store_vector(const float* sums, int channels, float* to) const {
    const std::int64_t next = shape_.weight(1, 0, 0, 0);
    int tap = 0;
    if (channels == kLanes) {
      for (; tap + kLanes <= taps_; tap += kLanes)
        simd::transpose_tile(sums + std::int64_t{kLanes} * tap, kLanes, to + tap, next);
    }
    for (; tap < taps_; ++tap) {
      for (int c = 0; c < channels; ++c) to[c * next + tap] = sums[std::int64_t{kLanes} * tap + c];
    }
  }

  ConvShape shape_;
  PanelGrid parts_;
  ChannelRange out_;
  ChannelRange in_;
  bool one_part_;
  int taps_;
  BlockSums blocks_;
  std::int64_t sum_floats_;
  std::int64_t x_floats_;
  std::int64_t dy_floats_;
  float* sums_ = nullptr;  // of each sample of all tiles, or of one tile
  float* x_ = nullptr;
  float* dy_ = nullptr;
};

// How the channels are cut into items.
struct FewItemGrid {
  EvenSplit out;  // vectors
  EvenSplit in;

  FewItemGrid(const ConvShape& s, int samples, int threads)
      : out(count_vectors(s.out_channels), kVectors > 1 ? kVectors : 4),
        in(s.in_channels,
           std::max(1, static_cast<int>(kItemSums / (std::int64_t{s.kernel} * s.kernel *
                                                     out.size(0) * kLanes * samples)))) {
    // All threads shall find items.
    int largest = in.size(0);
    while (threads > 1 && largest > 1 && count() < std::int64_t{4} * threads)
      in = EvenSplit(s.in_channels, largest /= 2);
    largest = out.size(0);
    while (threads > 1 && largest > 1 && count() < std::int64_t{4} * threads)
      out = EvenSplit(count_vectors(s.out_channels), largest /= 2);
  }
  std::int64_t count() const { return std::int64_t{out.pieces} * in.pieces; }
};

// How the pixels of a group are cut into parts.
PanelGrid few_parts(const ConvShape& shape, const FewItemGrid& grid, int most_samples) {
  return {1, shape.out_height, shape.out_width, 1, [&](int rows, int columns) {
            const int stride = shape.kernel == 1 ? 1 : shape.stride;
            const std::int64_t x_pixels = std::int64_t{(rows - 1) * stride + shape.kernel} *
                                          ((columns - 1) * stride + shape.kernel);
            return most_samples * (grid.in.size(0) * x_pixels +
                                   std::int64_t{kLanes} * grid.out.size(0) * rows * columns);
          }};
}

FewItem few_item(const ConvShape& shape, const FewItemGrid& grid, int depth, int most_samples,
                 std::int64_t number) {
  const int a = static_cast<int>(number / grid.in.pieces);
  const int b = static_cast<int>(number % grid.in.pieces);
  const int o = kLanes * grid.out.begin(a);
  return {shape,
          few_parts(shape, grid, most_samples),
          depth,
          most_samples,
          {o, std::min(kLanes * grid.out.size(a), shape.out_channels - o)},
          {grid.in.begin(b), grid.in.size(b)}};
}

}  // namespace

std::int64_t conv2d_few_weight_gradient_scratch(int threads, const ConvShape& shape, int depth) {
  std::int64_t most = 0;
  for (int samples = 1; samples <= kLanes; ++samples) {
    const FewItemGrid grid(shape, samples, threads);
    most = std::max(most, few_item(shape, grid, depth, samples, 0).scratch_floats());
  }
  return most;
}

void conv2d_few_weight_gradient(const ExecSpace& exec, const ConvShape& given,
                                const BlockSchedule& schedule, const float* x, const float* dy,
                                const GradientSums& partial_sums, std::int64_t offset) {
  const ConvShape shape = as_product(given);
  const int most = std::max({1, schedule.block_samples, schedule.last_samples});
  const FewItemGrid grid(shape, most, exec.concurrency());
  Kokkos::parallel_for("quern::layers::conv2d_weight_gradient", RangePolicy(exec, 0, grid.count()),
                       [=](std::int64_t number) {
                         FewItem item = few_item(shape, grid, schedule.depth, most, number);
                         item.take_scratch();
                         for (int block = 0; block < schedule.num_blocks; ++block) {
                           item.add_block(x + block * shape.image_group(),
                                          dy + block * shape.out_group(),
                                          std::max(1, schedule.samples_of_group(block)),
                                          schedule.host_merges(block));
                         }
                         item.store(partial_sums, offset);
                       });
}

}  // namespace quern::host
