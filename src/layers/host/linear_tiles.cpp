// SPDX-License-Identifier: Apache-2.0
#include "layers/host/linear_tiles.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "linalg/host/bf16_tiles.hpp"
#include "linalg/host/operand_tiles.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

constexpr int kPair = 2 * kTileRows;  // rows or columns of two tiles
constexpr int kBlockFloats = 4 * kTileFloats;

constexpr int pairs_of(int count) {
  return ceil_div(count, kPair);
}

/// 32 rows of W^T of 16 outputs: those in the parameters, or where some are after W a copy with
/// zeros there.
class RowsOfPanel {
 public:
  RowsOfPanel(const LinearShape& shape, const float* parameters, int in, int out) {
    const int rows = out < shape.out ? std::min(kPair, shape.in - in) : 0;
    if (rows > 0) {
      rows_ = parameters + shape.weight.offset + out / kLanes * shape.weight.panel +
              std::int64_t{in} * kLanes;
    }
    if (rows == kPair) return;
    std::copy(rows_, rows_ + rows * kLanes, copy_);
    std::fill(copy_ + rows * kLanes, copy_ + kPair * kLanes, 0.0f);
    rows_ = copy_;
  }
  RowsOfPanel(const RowsOfPanel&) = delete;
  RowsOfPanel& operator=(const RowsOfPanel&) = delete;

  simd::Vector operator[](int row) const { return simd::load(rows_ + row * kLanes); }

 private:
  const float* rows_ = nullptr;
  alignas(64) float copy_[kPair * kLanes];
};

/// W of 32 inputs from `in` on and 32 outputs from `out` on.
void pack_block(const LinearShape& shape, const float* parameters, int in, int out, Bf16* forward,
                Bf16* backward) {
  const RowsOfPanel panels[] = {{shape, parameters, in, out},
                                {shape, parameters, in, out + kTileRows}};
  const std::int64_t in_steps = OperandTiles::round_up(shape.in) / kTileDepth;
  const std::int64_t out_steps = OperandTiles::round_up(shape.out) / kTileDepth;
  for (int j = 0; j < 2; ++j) {
    alignas(64) float pairs[kTileFloats];
    for (int i = 0; i < kTileDepth; i += 2) {
      simd::store(pairs + i / 2 * kLanes, simd::round_pairs(panels[j][i], panels[j][i + 1]));
    }
    Bf16* tile = forward + ((out / kTileRows + j) * in_steps + in / kTileDepth) * kTileBf16;
    simd::transpose_tile(pairs, kLanes, reinterpret_cast<float*>(tile), kLanes);
  }
  if (!backward) return;
  for (int i = 0; i < kPair; ++i) {
    Bf16* tile = backward + ((in + i) / kTileRows * out_steps + out / kTileDepth) * kTileBf16;
    simd::store_pairs(tile + i % kTileRows * kTileDepth,
                      simd::round_sequence(panels[0][i], panels[1][i]));
  }
}

/// The products with one operand of weights: C [32 units][the rows of a sample tile] of A tiles
/// [units / 16][depth / 32], tile (i, group) at number 2 i + group, or i where there is one group.
struct UnitProducts {
  const TileUnit* unit;
  const Bf16* weights;
  int depth;  // in steps

  void operator()(const OperandTiles& b, int tile, int first_unit, float* c) const {
    TileWalk walk;
    walk.a = weights + std::int64_t{first_unit / kTileRows} * depth * kTileBf16;
    walk.b = b.pairs(b.first_group(tile), 0);
    walk.a_row = std::int64_t{depth} * kTileBf16;
    walk.b_column = b.group_step();
    walk.inner = depth;
    unit->multiply(walk, {2, b.groups_of(tile), false}, c);
  }
};

/// The calls of f(first unit, sample tile), all units of a sample tile after those of the one
/// before, in parallel.
template <class F>
void for_each_product(const ExecSpace& exec, const char* label, int units,
                      const OperandTiles& samples, F&& f) {
  const int pairs = pairs_of(units);
  quern::parallel_for(label, RangePolicy(exec, 0, std::int64_t{samples.num_tiles()} * pairs),
                      [=](std::int64_t item) {
                        f(static_cast<int>(item % pairs) * kPair, static_cast<int>(item / pairs));
                      });
}

/// Where products go in cn16c: rows [16 units][16 rows] of one group of rows after the other.
struct FlatOutput {
  float* data;
  std::int64_t panel;
  int units;

  explicit FlatOutput(const Activation& a)
      : data(a.data.data()), panel(a.panel_stride()), units(a.shape.units()) {}

  template <class Rows>
  void store(int first_group, int groups, int unit, const Rows& rows) const {
    if (unit >= units) return;
    float* to = data + unit / kLanes * panel + std::int64_t{first_group} * kTileFloats;
    for (int g = 0; g < groups; ++g) {
      alignas(64) float tile[kTileFloats];
      for (int u = 0; u < kLanes; u += 2) {
        const UnitPair pair = rows(g, u);
        simd::store(tile + u * kLanes, pair.first);
        simd::store(tile + (u + 1) * kLanes, pair.second);
      }
      simd::transpose_tile(tile, kLanes, to + g * kTileFloats, kLanes);
    }
  }
};

bool is_in_tiles(const Activation& a) {
  expect(a.layout == Layout::tiles || a.layout == Layout::cn16c, "tiles or cn16c");
  return a.layout == Layout::tiles;
}

/// Rows of 16 units of products, as they are.
struct Products {
  const float* c;  ///< [groups][16 units][16 rows]

  UnitPair operator()(int g, int u) const {
    const float* row = c + g * kTileFloats + u * kLanes;
    return {simd::load(row), simd::load(row + kLanes)};
  }
};

/// With the bias of each unit added, then max(, 0) if `with_relu`.
struct BiasedProducts {
  Products products;
  const float* bias;
  bool with_relu;

  UnitPair operator()(int g, int u) const {
    const UnitPair c = products(g, u);
    const simd::Vector first = c.first + simd::broadcast(bias[u]);
    const simd::Vector second = c.second + simd::broadcast(bias[u + 1]);
    if (!with_relu) return {first, second};
    return {simd::relu(first), simd::relu(second)};
  }
};

/// The outputs of 32 units.
struct BiasedUnits {
  UnitProducts products;
  const float* bias;  ///< or null
  int units;
  bool with_relu;

  /// Calls f(first unit, BiasedProducts) for either half of the units from `unit` on.
  template <class F>
  void operator()(const OperandTiles& in, int tile, int unit, const F& f) const {
    alignas(64) float c[kBlockFloats];
    alignas(64) float own_bias[kPair] = {};
    if (bias) std::copy(bias + unit, bias + std::min(unit + kPair, units), own_bias);
    products(in, tile, unit, c);
    for (int i = 0; i < 2; ++i) {
      const int first = i * kTileRows;
      f(unit + first,
        BiasedProducts{{c + i * in.groups_of(tile) * kTileFloats}, own_bias + first, with_relu});
    }
  }
};

/// All outputs of a sample tile.
void hand_over(const BiasedUnits& outputs, const OperandTiles& in, int tile,
               const OutputReader& reader) {
  alignas(64) float state[OutputReader::kStateFloats];
  for (int unit = 0; unit < outputs.units; unit += kPair) {
    outputs(in, tile, unit, [&](int first_unit, const BiasedProducts& rows) {
      alignas(64) float y[2 * kTileFloats];
      // Products with the zeros after W are not zero where x is infinite.
      const int units = std::clamp(outputs.units - first_unit, 0, kLanes);
      for (int g = 0; g < in.groups_of(tile); ++g) {
        float* const to = y + g * kTileFloats;
        for (int u = 0; u < units; u += 2) {
          const UnitPair pair = rows(g, u);
          simd::store(to + u * kLanes, pair.first);
          simd::store(to + (u + 1) * kLanes, pair.second);
        }
        std::fill(to + units * kLanes, to + kTileFloats, 0.0f);
      }
      reader.read(tile, first_unit, y, state);
    });
  }
}

/// Zero where the unit of x is not above 0.
struct MaskedProducts {
  Products products;
  const OperandTiles* x;
  int first_group;
  int unit;

  UnitPair operator()(int g, int u) const {
    const UnitPair c = products(g, u);
    const simd::Vector pairs = simd::load_pairs(x->pairs(first_group + g, unit + u));
    return {simd::relu_backward(simd::first_of_pairs(pairs), c.first),
            simd::relu_backward(simd::second_of_pairs(pairs), c.second)};
  }
};

struct ParameterGradients {
  const TileUnit* unit;
  LinearShape shape;
  BlockSchedule schedule;
  OperandTiles x;
  OperandTiles dy;
  GradientSums sums;
  ParameterUpdate update;
  const float* parameters;
  Bf16* forward;  // packed weights, where `update` changes them
  Bf16* backward;

  int in_pairs() const { return pairs_of(shape.in); }
  int out_pairs() const { return pairs_of(shape.out); }
  int pairs_of_panel() const { return in_pairs() + (shape.has_bias() ? 1 : 0); }

  /// Blocks of W^T down a panel of outputs, then of the bias, if there is one.
  void operator()(std::int64_t item) const {
    const int in = static_cast<int>(item % pairs_of_panel()) * kPair;
    const int out = static_cast<int>(item / pairs_of_panel()) * kPair;
    const bool is_bias = in >= in_pairs() * kPair;
    TileWalk walk;
    walk.a = is_bias ? kOne : x.value_rows(0, in);
    walk.a_row = is_bias ? 0 : kTileBf16;
    walk.a_inner = is_bias ? 0 : x.tile_step();
    walk.b = dy.gradient_tile(0, out);
    walk.b_column = kTileBf16;
    walk.b_inner = dy.tile_step();
    walk.inner = x.tiles_per_block;

    if (!is_bias && !update) ask_for(in, out);
    alignas(64) float stack[BlockSchedule::kMaxDepth * kBlockFloats];
    const TileBlock block{is_bias ? 1 : 2, 2, false, true};
    const int count = sum_blocks(walk, block, stack);
    if (update && count == 1) {
      update_parameters(is_bias, in, out, stack);
      return;
    }
    for (int p = 0; p < count; ++p) {
      float* gradient = sums.data.data() + p * sums.stride;
      const float* c = stack + p * kBlockFloats;
      if (is_bias)
        store_bias(c, out, gradient + shape.bias);
      else
        store_weights(c, in, out, gradient + shape.weight.offset);
    }
  }

  /// Does the tree add the next micro-block to this one first, and are both one step by tiles? Then
  /// one chain of two steps has the bits of that sum, c + (even + odd): c begins at +0, so it is
  /// never -0, and denormals are zeros in the tree's additions as well.
  bool adds_next(int block) const {
    return unit->precision == OperandPrecision::bf16 && x.tiles_per_block == 1 &&
           block + 1 < schedule.num_blocks && schedule.host_merges(block) == 0 &&
           schedule.host_merges(block + 1) > 0;
  }

  /// Returns how many partial sums are on the stack.
  int sum_blocks(const TileWalk& first, const TileBlock& block, float* stack) const {
    const int floats = block.rows * block.columns * kTileFloats;
    float* top = stack;
    for (int j = 0; j < schedule.num_blocks; ++j) {
      TileWalk walk = first;
      walk.a += j * first.inner * first.a_inner;
      walk.b += j * first.inner * first.b_inner;
      const bool is_chain = adds_next(j);
      if (is_chain) {
        walk.inner = 2;
        ++j;  // its first merge is done
      }
      unit->multiply(walk, block, top);
      top += kBlockFloats;
      for (int merge = is_chain ? 1 : 0; merge < schedule.host_merges(j); ++merge) {
        top -= kBlockFloats;
        float* left = top - kBlockFloats;
        for (int i = 0; i < floats; i += kLanes)
          simd::store(left + i, simd::load(left + i) + simd::load(top + i));
      }
    }
    return static_cast<int>((top - stack) / kBlockFloats);
  }

  /// Place in the block of the rows of W^T from `in` on, of 16 outputs.
  std::int64_t place(int in, int out) const {
    return shape.weight.offset + out / kLanes * shape.weight.panel + std::int64_t{in} * kLanes;
  }
  /// Floats of at most `rows` such rows.
  std::int64_t floats(int in, int rows) const {
    return std::int64_t{std::min(rows, shape.in - in)} * kLanes;
  }

  /// The lines of the gradient come while the sums are computed.
  void ask_for(int in, int out) const {
    for (int o = out; o < out + kPair && o < shape.out; o += kTileRows) {
      const float* to = sums.data.data() + place(in, o);
      for (std::int64_t i = 0; i < floats(in, kPair); i += kLanes) simd::prefetch_to_write(to + i);
    }
  }

  void update_parameters(bool is_bias, int in, int out, const float* c) const {
    for (int j = 0; j < 2 && out + j * kTileRows < shape.out; ++j) {
      const int o = out + j * kTileRows;
      if (is_bias) {
        update.updater->update_pieces(shape.bias + o, shape.bias + o + kLanes, c + j * kTileFloats);
        continue;
      }
      const std::int64_t begin = place(in, o);
      update.updater->update_pieces(begin, begin + floats(in, kPair), c + 2 * j * kTileFloats);
    }
    if (!is_bias) pack_block(shape, parameters, in, out, forward, backward);
  }

  void store_weights(const float* c, int in, int out, float* weights) const {
    for (int j = 0; j < 2 && out + j * kTileRows < shape.out; ++j) {
      float* panel = weights + (out / kLanes + j) * shape.weight.panel;
      for (int r = 0; r < kPair && in + r < shape.in; ++r) {
        simd::store(panel + std::int64_t{in + r} * kLanes,
                    simd::load(c + 2 * j * kTileFloats + r * kLanes));
      }
    }
  }

  void store_bias(const float* c, int out, float* bias) const {
    for (int j = 0; j < 2 && out + j * kTileRows < shape.out; ++j)
      simd::store(bias + out + j * kTileRows, simd::load(c + j * kTileFloats));
  }

  /// One unit that is always 1, whose weights the bias is; the other rows are zero.
  static const Bf16 kOne[kTileBf16];
};

constexpr Bf16 kBf16One = 0x3F80;

alignas(64) const Bf16 ParameterGradients::kOne[kTileBf16] = {
    kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One,
    kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One,
    kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One,
    kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One, kBf16One};

}  // namespace

void pack_linear_weights(const ExecSpace& exec, const LinearShape& shape, const float* parameters,
                         std::uint16_t* forward, std::uint16_t* backward) {
  const int pairs = pairs_of(shape.out);
  quern::parallel_for("quern::layers::pack_linear_weights",
                      RangePolicy(exec, 0, std::int64_t{pairs_of(shape.in)} * pairs),
                      [=](std::int64_t item) {
                        pack_block(shape, parameters, static_cast<int>(item / pairs) * kPair,
                                   static_cast<int>(item % pairs) * kPair, forward, backward);
                      });
}

void linear_forward(const ExecSpace& exec, const TileUnit& tile_unit, const LinearShape& shape,
                    const std::uint16_t* weights, const float* parameters, bool with_relu,
                    const Activation& x, const Activation& y, const OutputReader* reader) {
  const OperandTiles in(x);
  const BiasedUnits units{{&tile_unit, weights, in.units / kTileDepth},
                          shape.has_bias() ? parameters + shape.bias : nullptr,
                          shape.out,
                          with_relu};
  if (reader) {
    quern::parallel_for(
        "quern::layers::linear_forward_with_loss", RangePolicy(exec, 0, in.num_tiles()),
        [=](std::int64_t tile) { hand_over(units, in, static_cast<int>(tile), *reader); });
    return;
  }
  const OperandTiles out(y);
  const bool writes_tiles = is_in_tiles(y);
  const FlatOutput flat(y);
  for_each_product(exec, "quern::layers::linear_forward", shape.out, in, [=](int unit, int tile) {
    units(in, tile, unit, [&](int first_unit, const BiasedProducts& rows) {
      if (writes_tiles)
        store_values(out, tile, first_unit, rows);
      else
        flat.store(in.first_group(tile), in.groups_of(tile), first_unit, rows);
    });
  });
}

void linear_input_gradient(const ExecSpace& exec, const TileUnit& tile_unit,
                           const LinearShape& shape, const std::uint16_t* weights,
                           const OperandTiles& dy, const OperandTiles* x_mask,
                           const Activation& dx) {
  const OperandTiles out(dx);
  const bool writes_tiles = is_in_tiles(dx);
  const FlatOutput flat(dx);
  const UnitProducts products{&tile_unit, weights, dy.units / kTileDepth};
  const bool has_mask = x_mask != nullptr;
  const OperandTiles mask = has_mask ? *x_mask : OperandTiles();
  for_each_product(
      exec, "quern::layers::linear_input_gradient", shape.in, dy, [=](int unit, int tile) {
        alignas(64) float c[kBlockFloats];
        const int groups = dy.groups_of(tile);
        products(dy, tile, unit, c);
        const auto store = [&](int first_unit, const auto& rows) {
          if (writes_tiles)
            store_gradients(out, tile, first_unit, rows);
          else
            flat.store(dy.first_group(tile), groups, first_unit, rows);
        };
        for (int i = 0; i < 2; ++i) {
          const int first_unit = unit + i * kTileRows;
          const Products rows{c + i * groups * kTileFloats};
          if (has_mask)
            store(first_unit, MaskedProducts{rows, &mask, mask.first_group(tile), first_unit});
          else
            store(first_unit, rows);
        }
      });
}

void linear_parameter_gradients(const ExecSpace& exec, const TileUnit& tile_unit,
                                const LinearShape& shape, const BlockSchedule& schedule,
                                const OperandTiles& x, const OperandTiles& dy,
                                const GradientSums& partial_sums, const ParameterUpdate& update,
                                const float* parameters, std::uint16_t* forward,
                                std::uint16_t* backward) {
  expect(schedule.block_rows == x.groups_per_block * kLanes, "sample tiles of the schedule");
  expect(!update || schedule.num_partial_sums == 1, "one partial sum to update by");
  const ParameterGradients gradients{&tile_unit,   shape,  schedule,   x,       dy,
                                     partial_sums, update, parameters, forward, backward};
  quern::parallel_for(
      "quern::layers::linear_parameter_gradients",
      RangePolicy(exec, 0, std::int64_t{gradients.pairs_of_panel()} * gradients.out_pairs()),
      gradients);
}

}  // namespace quern::host
