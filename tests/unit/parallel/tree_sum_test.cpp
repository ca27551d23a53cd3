// SPDX-License-Identifier: Apache-2.0
#include "parallel/tree_sum.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "parallel/reference/tree_sum.hpp"

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

// Every second leaf lies in `own`, the others in `received`, each behind three floats of nobody.
std::vector<float> sum_with_kernel(const Leaves& leaves) {
  const auto count = static_cast<std::int64_t>(leaves[0].size());
  const std::int64_t pitch = count + 3;
  const auto num_leaves = static_cast<std::int64_t>(leaves.size());
  const FloatView received("received", static_cast<std::size_t>(num_leaves * pitch));
  const FloatView own("own", static_cast<std::size_t>(num_leaves * pitch));
  std::vector<std::int64_t> offsets;
  for (std::int64_t leaf = 0; leaf < num_leaves; ++leaf) {
    const std::int64_t offset = leaf * pitch + 3;
    const FloatView& buffer = leaf % 2 == 1 ? own : received;
    std::copy(leaves[leaf].begin(), leaves[leaf].end(), buffer.data() + offset);
    offsets.push_back(leaf % 2 == 1 ? ~offset : offset);
  }
  const BlockTree::Walk walk =
      BlockTree(static_cast<int>(num_leaves)).walk_blocks(0, static_cast<int>(num_leaves));
  const FloatView sum("sum", static_cast<std::size_t>(count + 1));
  const ExecSpace exec;
  tree_sum(exec, make_tree_sum_plan(offsets, walk), received, own, sum, count);
  exec.fence();
  EXPECT_EQ(sum(static_cast<std::size_t>(count)), 0.0f) << "wrote behind the end";
  return {sum.data(), sum.data() + count};
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

TEST(TreeSum, RefusesAWalkThatDoesNotFit) {
  EXPECT_THROW(make_tree_sum_plan({0, 1}, BlockTree(3).walk_blocks(0, 3)), Error);
  EXPECT_THROW(make_tree_sum_plan({0, 1, 2}, BlockTree(4).walk_blocks(0, 3)), Error);
}

TEST(PackSlices, LaysEverySliceOutForItsOwner) {
  const GradientSlices slices(40, 2);  // 32 and 8 floats
  const GradientPartials partials{FloatView("partials", 3 * 48), 48};
  for (int i = 0; i < 3 * 48; ++i) partials.data(i) = static_cast<float>(i);
  const FloatView packed("packed", 3 * 40 + 1);
  const ExecSpace exec;
  pack_slices(exec, partials, 3, slices, 0, packed);
  exec.fence();
  for (int i = 0; i < 3 * 32; ++i) EXPECT_EQ(packed(i), 0.0f) << "own slice stays";
  for (int partial = 0; partial < 3; ++partial) {
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(packed(3 * 32 + partial * 8 + i), static_cast<float>(partial * 48 + 32 + i));
    }
  }
  EXPECT_EQ(packed(3 * 40), 0.0f);
}

}  // namespace
}  // namespace quern
