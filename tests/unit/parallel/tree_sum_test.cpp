// SPDX-License-Identifier: Apache-2.0
#include "parallel/tree_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "parallel/reference/tree_sum.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

using Leaves = std::vector<std::vector<float>>;

// Numbers of very different size, so that every order of addition gives other bits.
Leaves random_leaves(int num_leaves, int count) {
  Leaves leaves;
  for (int leaf = 0; leaf < num_leaves; ++leaf) {
    leaves.emplace_back();
    for (int i = 0; i < count; ++i) {
      const PhiloxBlock random = random_block(
          1, RandomUse::samples, static_cast<std::uint32_t>(leaf), static_cast<std::uint64_t>(i));
      leaves.back().push_back((uniform01(random.word[0]) - 0.5f) *
                              static_cast<float>(1 << (random.word[1] % 20)));
    }
  }
  return leaves;
}

// Every second leaf lies in `own`, the others in `received`, each after three floats of nobody.
std::vector<float> sum_with_kernel(const Leaves& leaves) {
  const auto count = static_cast<std::int64_t>(leaves[0].size());
  const std::int64_t pitch = count + 3;
  const auto num_leaves = static_cast<std::int64_t>(leaves.size());
  std::vector<float> received(static_cast<std::size_t>(num_leaves * pitch));
  std::vector<float> own(received.size());
  std::vector<std::int64_t> offsets;
  for (std::int64_t leaf = 0; leaf < num_leaves; ++leaf) {
    const std::int64_t offset = leaf * pitch + 3;
    std::vector<float>& buffer = leaf % 2 == 1 ? own : received;
    std::copy(leaves[leaf].begin(), leaves[leaf].end(), buffer.begin() + offset);
    offsets.push_back(leaf % 2 == 1 ? ~offset : offset);
  }
  const BlockTree::Traversal traversal =
      BlockTree(static_cast<int>(num_leaves)).traverse_blocks(0, static_cast<int>(num_leaves));
  const FloatView sum_view("sum", static_cast<std::size_t>(count + 1));
  const ExecSpace exec;
  tree_sum(exec, make_tree_sum_plan(offsets, traversal), test::to_view(received),
           test::to_view(own), sum_view, count);
  exec.fence();
  std::vector<float> sum = test::to_vector(sum_view);
  EXPECT_EQ(sum.back(), 0.0f) << "wrote past the end";
  sum.pop_back();
  return sum;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(TreeSum, HasTheBitsOfItsReference) {
  for (int num_leaves = 1; num_leaves <= 40; ++num_leaves) {
    for (const int count : {1, 3, 16, 17, 1000}) {
      const Leaves leaves = random_leaves(num_leaves, count);
      EXPECT_TRUE(same_bits(sum_with_kernel(leaves), reference::tree_sum(leaves)))
          << num_leaves << " leaves of " << count;
    }
  }
}

// What an update is given, piece by piece.
struct Pieces final : ParameterUpdater {
  explicit Pieces(std::size_t count) : gradient(count), calls(count) {}

  void update_pieces(std::int64_t begin, std::int64_t end, const float* piece) const override {
    EXPECT_EQ(begin % kLanes, 0);
    for (std::int64_t i = begin; i < end; ++i) {
      gradient.at(static_cast<std::size_t>(i)) = piece[i - begin];
      ++calls.at(static_cast<std::size_t>(i));
    }
  }

  mutable std::vector<float> gradient;
  mutable std::vector<int> calls;  // for each float
};

TEST(TreeSum, GoesToTheUpdatePieceByPiece) {
  if constexpr (kHostExecution) {
    constexpr std::int64_t kFirst = 32;  // of a rank's slice
    for (const int num_leaves : {1, 2, 3, 7, 40}) {
      for (const int count : {0, 1, 17, 256, 513, 5000}) {
        const Leaves leaves = random_leaves(num_leaves, std::max(count, 1));
        std::vector<float> received;
        std::vector<std::int64_t> offsets;
        for (const std::vector<float>& leaf : leaves) {
          offsets.push_back(static_cast<std::int64_t>(received.size()));
          received.insert(received.end(), leaf.begin(), leaf.end());
        }
        const FloatView parameters("parameters", static_cast<std::size_t>(kFirst + count));
        const Pieces pieces(parameters.extent(0));
        const ExecSpace exec;
        host::tree_sum_update(
            exec, make_tree_sum_plan(offsets, BlockTree(num_leaves).traverse_blocks(0, num_leaves)),
            test::to_view(received), kFirst, count, {&pieces, parameters.data()});
        exec.fence();
        std::vector<float> expected(kFirst, 0.0f);
        std::vector<int> once(kFirst, 0);
        if (count > 0) {
          const std::vector<float> sum = reference::tree_sum(leaves);
          expected.insert(expected.end(), sum.begin(), sum.end());
          once.resize(expected.size(), 1);
        }
        EXPECT_TRUE(same_bits(pieces.gradient, expected)) << num_leaves << ", " << count;
        EXPECT_EQ(pieces.calls, once) << num_leaves << ", " << count;
      }
    }
  }
}

// The reference can tell orders apart: otherwise equal bits would prove nothing.
TEST(TreeSum, OrderMatters) {
  const Leaves leaves = random_leaves(7, 1000);
  std::vector<float> naive = leaves[0];
  for (std::size_t leaf = 1; leaf < leaves.size(); ++leaf) {
    for (std::size_t i = 0; i < naive.size(); ++i) naive[i] += leaves[leaf][i];
  }
  EXPECT_FALSE(same_bits(naive, reference::tree_sum(leaves)));
  EXPECT_EQ(reference::tree_sum(Leaves{{1e8f}, {1.0f}, {-1e8f}, {1.0f}}),
            (std::vector<float>{0.0f}));
  EXPECT_EQ(sum_with_kernel({{1e8f}, {1.0f}, {-1e8f}, {1.0f}}), (std::vector<float>{0.0f}));
  EXPECT_EQ(sum_with_kernel({{1e8f}, {-1e8f}, {1.0f}, {1.0f}}), (std::vector<float>{2.0f}));
}

TEST(TreeSum, RefusesATraversalThatDoesNotFit) {
  EXPECT_THROW(make_tree_sum_plan({0, 1}, BlockTree(3).traverse_blocks(0, 3)), Error);
  EXPECT_THROW(make_tree_sum_plan({0, 1, 2}, BlockTree(4).traverse_blocks(0, 3)), Error);
}

TEST(PackSlices, LaysEverySliceOutForItsOwner) {
  const GradientSlices slices(40, 2);  // 32 and 8 floats
  const GradientSums partial_sums{FloatView("partials", 3 * 48), 48};
  std::vector<float> values(3 * 48);
  std::iota(values.begin(), values.end(), 0.0f);
  test::overwrite(partial_sums.data, values);
  const FloatView packed("packed", 3 * 40 + 1);
  const ExecSpace exec;
  pack_slices(exec, partial_sums, 3, slices, 0, packed);
  exec.fence();
  std::vector<float> expected(3 * 32, 0.0f);  // the own slice stays
  for (int partial = 0; partial < 3; ++partial) {
    for (int i = 0; i < 8; ++i) expected.push_back(static_cast<float>(partial * 48 + 32 + i));
  }
  expected.push_back(0.0f);
  EXPECT_EQ(test::to_vector(packed), expected);
}

}  // namespace
}  // namespace quern
