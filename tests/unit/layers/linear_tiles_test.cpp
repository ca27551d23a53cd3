// SPDX-License-Identifier: Apache-2.0
#include "layers/host/linear_tiles.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/block_tree.hpp"
#include "layers/host/tile_rounding.hpp"
#include "layers/reference/linear.hpp"
#include "support/fused_products.hpp"
#include "support/layer_run.hpp"
#include "support/random_values.hpp"
#include "support/tiles.hpp"

namespace quern::test {
namespace {

struct Case {
  int in, out, block_rows, num_blocks;
  bool has_bias = true;
  int rows() const { return block_rows * num_blocks; }
};

/// Rounded operands [rows, units], W [O, I], and a bias, zero where there is none.
struct Operands {
  Case size;
  std::vector<float> x, dy, weight, bias;

  explicit Operands(const Case& c, float scale = 1)
      : size(c),
        x(values(c.rows() * c.in, 1, 1)),
        dy(values(c.rows() * c.out, 2, scale)),
        weight(values(c.in * c.out, 3, 1)),
        bias(c.has_bias ? random_values(static_cast<std::size_t>(c.out), 4)
                        : std::vector<float>(static_cast<std::size_t>(c.out))) {}

  static std::vector<float> values(int count, std::uint64_t seed, float scale) {
    return rounded(random_values(static_cast<std::size_t>(count), seed, -scale, scale));
  }
  /// Of the micro-blocks [first, last).
  Operands part(int first, int last) const {
    Operands result = *this;
    result.size.num_blocks = last - first;
    const auto cut = [&](std::vector<float>& values, int units) {
      const std::ptrdiff_t block = std::ptrdiff_t{size.block_rows} * units;
      values = {values.begin() + first * block, values.begin() + last * block};
    };
    cut(result.x, size.in);
    cut(result.dy, size.out);
    return result;
  }
};

LinearShape shape_of(const Case& c) {
  const std::int64_t panel = std::int64_t{c.in} * kLanes;
  const std::int64_t end = round_up_to_lanes(c.out) / kLanes * panel;
  return {c.in, c.out, {0, kLanes, panel}, c.has_bias ? end : -1};
}

std::size_t parameter_floats(const Case& c) {
  const std::int64_t outs = round_up_to_lanes(c.out);
  return static_cast<std::size_t>(outs * c.in + (c.has_bias ? outs : 0));
}

std::int64_t weight_place(const Case& c, int in, int out) {
  return out / kLanes * shape_of(c).weight.panel + std::int64_t{in} * kLanes + out % kLanes;
}

std::vector<float> parameters_of(const Operands& operands) {
  const Case& c = operands.size;
  std::vector<float> block(parameter_floats(c));
  for (int o = 0; o < c.out; ++o) {
    for (int i = 0; i < c.in; ++i) {
      block[static_cast<std::size_t>(weight_place(c, i, o))] =
          operands.weight[static_cast<std::size_t>(o * c.in + i)];
    }
    if (!c.has_bias) continue;
    block[static_cast<std::size_t>(shape_of(c).bias + o)] =
        operands.bias[static_cast<std::size_t>(o)];
  }
  return block;
}

struct Results {
  std::vector<float> y;          ///< [rows, out], out of cn16c
  std::vector<float> y_tiles;    ///< the same out of tiles, whole tiles wide
  std::vector<float> y_read;     ///< the same handed over, whole tiles wide
  std::vector<float> dx;         ///< [rows, in], whole tiles wide
  std::vector<float> dx_floats;  ///< [rows, in], out of cn16c
  std::vector<float> gradients;  ///< the parameter block, of each partial sum
};

/// Its linear layer on a tile unit.
class LinearRun {
 public:
  LinearRun(Operands operands, const BlockSchedule& schedule,
            const host::TileUnit& unit = host::tile_unit())
      : unit_(unit),
        operands_(std::move(operands)),
        schedule_(schedule),
        parameters_(make_view(parameters_of(operands_))),
        x_(tiles_of(operands_.x, size().in, host::round_values)),
        dy_(tiles_of(operands_.dy, size().out, host::round_gradients)),
        forward_("test::forward", static_cast<std::size_t>(host::packed_bf16(shape()) / 2)),
        backward_("test::backward", static_cast<std::size_t>(host::packed_bf16(shape()) / 2)) {
    pack();
  }

  Results run(bool relu, bool mask) {
    Results results;
    const Activation y = filled_activation({size().out}, Layout::cn16c, size().rows(), 777);
    const Activation y_tiles = tiles_to_fill({size().out}, size().rows(), size().block_rows);
    for (const Activation& to : {y, y_tiles}) {
      host::linear_forward(exec_, unit_, shape(), packed(forward_), parameters_.data(), relu, x_,
                           to, nullptr);
    }
    results.y_read = handed_over(relu);
    const Activation dx = tiles_to_fill({size().in}, size().rows(), size().block_rows);
    const Activation dx_floats = filled_activation({size().in}, Layout::cn16c, size().rows(), 777);
    const OperandTiles x(x_);
    for (const Activation& to : {dx, dx_floats}) {
      host::linear_input_gradient(exec_, unit_, shape(), packed(backward_), OperandTiles(dy_),
                                  mask ? &x : nullptr, to);
    }
    results.gradients = gradients({});
    results.y = values_of(y);
    EXPECT_EQ(padding_of(y), 0);
    results.y_tiles = in_both_orders(y_tiles, TileOrder::by_sample_of_values);
    results.dx = in_both_orders(dx, TileOrder::by_sample_of_gradients);
    results.dx_floats = values_of(dx_floats);
    EXPECT_EQ(padding_of(dx_floats), 0);
    return results;
  }

  /// [rows, out], whole tiles wide
  std::vector<float> handed_over(bool relu) const {
    const KeptOutput reader{
        OperandTiles(tiles_to_fill({size().out}, size().rows(), size().block_rows))};
    host::linear_forward(exec_, unit_, shape(), packed(forward_), parameters_.data(), relu, x_, {},
                         &reader);
    exec_.fence("test: read outputs");
    return reader.values();
  }

  /// With `update` they go there, and what returns is garbage.
  std::vector<float> gradients(const ParameterUpdate& update) {
    const std::size_t stride = parameter_floats(size());
    const GradientSums sums{
        make_view(
            std::vector<float>(stride * static_cast<std::size_t>(schedule_.num_partial_sums), 777)),
        static_cast<std::int64_t>(stride)};
    host::linear_parameter_gradients(exec_, unit_, shape(), schedule_, OperandTiles(x_),
                                     OperandTiles(dy_), sums, update, parameters_.data(),
                                     packed(forward_), packed(backward_));
    exec_.fence("test: read gradients");
    return read(sums.data, 0, stride * static_cast<std::size_t>(schedule_.num_partial_sums));
  }

  float* parameters() const { return parameters_.data(); }
  /// The packed weights as they are, for forward and for the input gradient.
  std::vector<std::vector<float>> packed_weights() const {
    return {to_vector(forward_), to_vector(backward_)};
  }
  /// Packs the parameters as they are.
  void pack() const {
    host::pack_linear_weights(exec_, shape(), parameters_.data(), packed(forward_),
                              packed(backward_));
    exec_.fence("test: read weights");
  }

 private:
  const Case& size() const { return operands_.size; }
  LinearShape shape() const { return shape_of(size()); }
  static std::uint16_t* packed(const FloatView& view) {
    return reinterpret_cast<std::uint16_t*>(view.data());
  }

  template <class Round>
  Activation tiles_of(const std::vector<float>& values, int units, Round&& round) const {
    const Activation tiles = tiles_to_fill({units}, size().rows(), size().block_rows);
    round(exec_, make_activation({units}, Layout::cn16c, size().rows(), values),
          OperandTiles(tiles));
    return tiles;
  }

  std::vector<float> in_both_orders(const Activation& tiles, TileOrder by_sample) const {
    exec_.fence("test: read tiles");
    const std::vector<float> values = values_in_tiles(tiles, TileOrder::by_unit);
    EXPECT_EQ(values, values_in_tiles(tiles, by_sample));
    EXPECT_EQ(behind_last_rows(tiles, by_sample), 0);
    return values;
  }

  ExecSpace exec_;
  const host::TileUnit& unit_;
  Operands operands_;
  BlockSchedule schedule_;
  FloatView parameters_;
  Activation x_;
  Activation dy_;
  FloatView forward_;
  FloatView backward_;
};

Results run_whole(const Operands& operands, bool relu, bool mask,
                  const host::TileUnit& unit = host::tile_unit()) {
  const Case& c = operands.size;
  return LinearRun(operands, make_block_schedule(0, c.num_blocks, c.num_blocks, c.block_rows), unit)
      .run(relu, mask);
}

/// The same, one element after the other, with the same bits.
class Elements {
 public:
  Elements(const Operands& operands, OperandPrecision precision)
      : o_(operands), c_(operands.size), precision_(precision) {}

  std::vector<float> y(bool relu) const {
    std::vector<float> y;
    for (int s = 0; s < c_.rows(); ++s) {
      for (int o = 0; o < c_.out; ++o) {
        const float sum =
            sum_tile_steps(row(o_.weight, o, c_.in), row(o_.x, s, c_.in), 0, precision_) +
            o_.bias[static_cast<std::size_t>(o)];
        y.push_back(relu && !(sum > 0) ? 0 : sum);
      }
    }
    return y;
  }

  std::vector<float> dx(bool mask) const {
    std::vector<float> dx;
    for (int s = 0; s < c_.rows(); ++s) {
      for (int i = 0; i < c_.in; ++i) {
        const bool is_off = mask && o_.x[static_cast<std::size_t>(s * c_.in + i)] <= 0;
        const float sum = sum_tile_steps(column(o_.weight, i, c_.in, 0, c_.out),
                                         row(o_.dy, s, c_.out), 0, precision_);
        dx.push_back(is_off ? 0 : sum);
      }
    }
    return dx;
  }

  /// The parameter block, padding as it is in the array `like`.
  std::vector<float> gradients(std::vector<float> like) const {
    for (int o = 0; o < c_.out; ++o) {
      for (int i = 0; i < c_.in; ++i)
        like[static_cast<std::size_t>(weight_place(c_, i, o))] = gradient(o, i);
      if (c_.has_bias) like[static_cast<std::size_t>(shape_of(c_).bias + o)] = gradient(o, -1);
    }
    return like;
  }

 private:
  static std::vector<float> row(const std::vector<float>& values, int r, int units) {
    return sample_of(values, units, r);
  }
  static std::vector<float> column(const std::vector<float>& values, int unit, int units, int first,
                                   int last) {
    std::vector<float> result;
    for (int r = first; r < last; ++r)
      result.push_back(values[static_cast<std::size_t>(r * units + unit)]);
    return result;
  }

  /// Of W [out][in], or of the bias (in < 0): blocks by the tree.
  float gradient(int out, int in) const {
    const BlockSchedule schedule =
        make_block_schedule(0, c_.num_blocks, c_.num_blocks, c_.block_rows);
    std::vector<float> stack;
    for (int block = 0; block < c_.num_blocks; ++block) {
      const int first = block * c_.block_rows;
      const int last = first + c_.block_rows;
      const std::vector<float> x =
          in < 0 ? std::vector<float>(static_cast<std::size_t>(c_.block_rows), 1)
                 : column(o_.x, in, c_.in, first, last);
      stack.push_back(sum_tile_steps(x, column(o_.dy, out, c_.out, first, last), 0, precision_));
      for (int merge = 0; merge < schedule.host_merges(block); ++merge) {
        const float right = stack.back();
        stack.pop_back();
        stack.back() += right;
      }
    }
    return stack.at(0);
  }

  const Operands& o_;
  const Case& c_;
  OperandPrecision precision_;
};

std::string text_of(const Case& c) {
  return std::to_string(c.in) + " to " + std::to_string(c.out) + ", " +
         std::to_string(c.num_blocks) + " blocks of " + std::to_string(c.block_rows) + " rows" +
         (c.has_bias ? "" : ", without bias");
}

std::vector<Case> cases() {
  std::vector<Case> all;
  int next = 0;
  for (const int in : {1, 5, 16, 17, 33, 64}) {
    for (const int out : {1, 10, 16, 31, 128}) {
      all.push_back({in, out, 16 * (next % 4 + 1), next % 5 + 1});
      ++next;
    }
  }
  all.push_back({784, 10, 32, 2});
  all.push_back({784, 128, 48, 1});
  all.push_back({17, 31, 32, 3, false});
  all.push_back({33, 10, 48, 1, false});
  all.push_back({64, 16, 16, 4, false});
  return all;
}

void expect_same_bits(const std::vector<float>& expected, const std::vector<float>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(expected[i]), std::bit_cast<std::uint32_t>(actual[i]))
        << "element " << i << ": " << expected[i] << " and " << actual[i];
  }
}

TEST(LinearTiles, HasTheBitsOfOneElementAfterTheOtherOnEveryUnit) {
  QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  for (const Case& c : cases()) {
    SCOPED_TRACE(text_of(c));
    const Operands operands(c);
    for (const host::TileUnit* unit : tile_units()) {
      SCOPED_TRACE(unit->name);
      const Elements elements(operands, unit->precision);
      for (const bool relu : {false, true}) {
        const std::vector<float> y = elements.y(relu);
        const std::vector<float> dx = elements.dx(relu);
        const Results actual = run_whole(operands, relu, relu, *unit);
        expect_same_bits(y, actual.y);
        EXPECT_EQ(padded_to_tiles(rounded(y), c.out), actual.y_tiles);
        EXPECT_EQ(padded_to_tiles(y, c.out), actual.y_read);
        EXPECT_EQ(padded_to_tiles(rounded(dx), c.in), actual.dx);
        expect_same_bits(dx, actual.dx_floats);
        expect_same_bits(elements.gradients(actual.gradients), actual.gradients);
      }
    }
  }
}

// Zero times infinity is no number, and stands where W has ended.
TEST(LinearTiles, AnInfiniteInputIsNotHandedOverInUnitsBeyondTheLast) {
  Operands operands(Case{33, 21, 32, 1});
  operands.x[5] = std::numeric_limits<float>::infinity();
  const std::vector<float> y =
      LinearRun(operands, make_block_schedule(0, 1, 1, 32)).handed_over(false);
  EXPECT_FALSE(std::isfinite(y[0]));
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i % 32 >= 21) {
      ASSERT_EQ(y[i], 0) << i;
    }
  }
}

TEST(LinearTiles, AgreesWithTheReferenceOfLinearLayers) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text_of(c));
    const Operands o(c);
    const Results actual = run_whole(o, false, false);
    const auto expected = reference::linear_backward(c.rows(), c.in, c.out, o.x, o.weight, o.dy);
    std::vector<double> weight(parameter_floats(c));
    for (int out = 0; out < c.out; ++out) {
      for (int in = 0; in < c.in; ++in)
        weight[static_cast<std::size_t>(weight_place(c, in, out))] =
            expected.weight[static_cast<std::size_t>(out * c.in + in)];
      if (!c.has_bias) continue;
      weight[static_cast<std::size_t>(shape_of(c).bias + out)] =
          expected.bias[static_cast<std::size_t>(out)];
    }
    std::vector<float> dx;
    const std::size_t width = static_cast<std::size_t>(OperandTiles::round_up(c.in));
    for (std::size_t i = 0; i < actual.dx.size(); ++i)
      if (i % width < static_cast<std::size_t>(c.in)) dx.push_back(actual.dx[i]);
    EXPECT_LT(
        relative_difference(reference::linear_forward(c.rows(), c.in, c.out, o.x, o.weight, o.bias),
                            actual.y),
        2e-6);
    EXPECT_LT(relative_difference(expected.dx, dx), 1.0 / 256);
    EXPECT_LT(relative_difference(weight, actual.gradients), 2e-6);  // padding is zero in both
  }
}

/// The gradients of several ranks that share the micro-blocks, added as they would add them.
std::vector<float> gradients_of_ranks(const Operands& operands, const std::vector<int>& ends) {
  const Case& c = operands.size;
  const BlockTree tree(c.num_blocks);
  const std::size_t stride = parameter_floats(c);
  std::vector<TreeNode> nodes;
  std::vector<std::vector<float>> sums;
  int first = 0;
  for (const int last : ends) {
    const auto schedule = make_block_schedule(first, last, c.num_blocks, c.block_rows);
    const auto own = LinearRun(operands.part(first, last), schedule).gradients({});
    for (const TreeNode& node : tree.traverse_blocks(first, last).roots) nodes.push_back(node);
    for (std::size_t p = 0; p < own.size(); p += stride)
      sums.emplace_back(own.begin() + static_cast<std::ptrdiff_t>(p),
                        own.begin() + static_cast<std::ptrdiff_t>(p + stride));
    first = last;
  }
  const std::vector<int> merges = tree.traverse_nodes(nodes).merges;
  std::vector<std::vector<float>> stack;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    stack.push_back(sums[n]);
    for (int merge = 0; merge < merges[n]; ++merge) {
      const std::vector<float> right = stack.back();
      stack.pop_back();
      for (std::size_t i = 0; i < stride; ++i) stack.back()[i] += right[i];
    }
  }
  return stack.at(0);
}

void expect_rank_invariance(float scale) {
  for (const int block_rows : {16, 32, 48, 64}) {
    const Operands operands({33, 31, block_rows, 5}, scale);
    SCOPED_TRACE(text_of(operands.size));
    const std::vector<float> whole = gradients_of_ranks(operands, {5});
    for (const std::vector<int>& ends :
         {std::vector{1, 5}, std::vector{2, 5}, std::vector{3, 5}, std::vector{1, 2, 3, 4, 5}})
      expect_same_bits(whole, gradients_of_ranks(operands, ends));
  }
}

TEST(LinearTiles, GradientsOfRanksAddUpToTheBitsOfOne) {
  expect_rank_invariance(1);
}

TEST(LinearTiles, GradientsOfRanksAddUpToTheBitsOfOneWhereTheyAreDenormal) {
  expect_rank_invariance(0x1p-123f);
}

/// Notes what it is called with.
struct Recorder final : ParameterUpdater {
  mutable std::vector<float> gradients;
  mutable std::vector<int> times;

  explicit Recorder(std::size_t floats) : gradients(floats), times(floats) {}

  void update_pieces(std::int64_t begin, std::int64_t end, const float* gradient) const override {
    for (std::int64_t i = begin; i < end; ++i) {
      gradients[static_cast<std::size_t>(i)] = gradient[i - begin];
      ++times[static_cast<std::size_t>(i)];
    }
  }
};

/// Subtracts gradients from parameters.
struct Descent final : ParameterUpdater {
  float* parameters;

  explicit Descent(float* p) : parameters(p) {}

  void update_pieces(std::int64_t begin, std::int64_t end, const float* gradient) const override {
    for (std::int64_t i = begin; i < end; ++i) parameters[i] -= gradient[i - begin];
  }
};

TEST(LinearTiles, AnUpdateLeavesTheNewWeightsPacked) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text_of(c));
    LinearRun run(Operands(c), make_block_schedule(0, c.num_blocks, c.num_blocks, c.block_rows));
    const auto old = run.packed_weights();
    const Descent descent(run.parameters());
    run.gradients({&descent});
    const auto packed = run.packed_weights();
    run.pack();
    for (const std::size_t direction : {0, 1}) {
      expect_same_bits(run.packed_weights()[direction], packed[direction]);
      EXPECT_NE(bits_of(old[direction]), bits_of(packed[direction]));
    }
  }
}

TEST(LinearTiles, AnUpdateIsHandedEveryGradientOnce) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text_of(c));
    const auto schedule = make_block_schedule(0, c.num_blocks, c.num_blocks, c.block_rows);
    LinearRun run(Operands(c), schedule);
    const std::vector<float> expected = run.gradients({});
    Recorder recorder(parameter_floats(c));
    const std::vector<float> untouched = run.gradients({&recorder});
    EXPECT_EQ(recorder.times, std::vector<int>(parameter_floats(c), 1));
    expect_same_bits(expected, recorder.gradients);
    EXPECT_EQ(untouched, std::vector<float>(parameter_floats(c), 777));
  }
}

}  // namespace
}  // namespace quern::test
