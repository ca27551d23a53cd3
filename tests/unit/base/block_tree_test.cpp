// SPDX-License-Identifier: Apache-2.0
#include "base/block_tree.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quern {
namespace {

// Adds names instead of numbers: the result spells the shape of the tree.
std::string spell(const BlockTree::Traversal& traversal, std::vector<std::string> names,
                  std::vector<std::string>* roots = nullptr) {
  std::vector<std::string> stack;
  for (std::size_t i = 0; i < names.size(); ++i) {
    stack.push_back(names[i]);
    for (int m = 0; m < traversal.merges[i]; ++m) {
      const std::string right = stack.back();
      stack.pop_back();
      stack.back() = "(" + stack.back() + right + ")";
    }
  }
  if (roots) *roots = stack;
  std::string joined;
  for (const std::string& text : stack) joined += text;
  return joined;
}

std::vector<std::string> letters(int first, int last) {
  std::vector<std::string> names;
  for (int i = first; i < last; ++i) names.push_back(std::string(1, static_cast<char>('a' + i)));
  return names;
}

TEST(BlockTree, SmallShapesByHand) {
  EXPECT_EQ(spell(BlockTree(1).traverse_blocks(0, 1), letters(0, 1)), "a");
  EXPECT_EQ(spell(BlockTree(3).traverse_blocks(0, 3), letters(0, 3)), "((ab)c)");
  EXPECT_EQ(spell(BlockTree(6).traverse_blocks(0, 6), letters(0, 6)), "(((ab)(cd))(ef))");
  EXPECT_EQ(spell(BlockTree(7).traverse_blocks(0, 7), letters(0, 7)), "(((ab)(cd))((ef)g))");
}

TEST(BlockTree, AnyDivisionAmongRanksGivesTheSameTree) {
  for (int blocks = 1; blocks <= 26; ++blocks) {
    const BlockTree tree(blocks);
    const BlockTree::Traversal whole = tree.traverse_blocks(0, blocks);
    ASSERT_EQ(whole.roots.size(), 1u) << blocks;
    const std::string expected = spell(whole, letters(0, blocks));
    for (int per_rank = 1; per_rank <= blocks; ++per_rank) {
      std::vector<TreeNode> nodes;
      std::vector<std::string> names;
      for (int first = 0; first < blocks; first += per_rank) {
        const int last = std::min(blocks, first + per_rank);
        const BlockTree::Traversal part = tree.traverse_blocks(first, last);
        std::vector<std::string> roots;
        spell(part, letters(first, last), &roots);
        ASSERT_EQ(roots.size(), part.roots.size());
        nodes.insert(nodes.end(), part.roots.begin(), part.roots.end());
        names.insert(names.end(), roots.begin(), roots.end());
      }
      const BlockTree::Traversal joined = tree.traverse_nodes(nodes);
      EXPECT_EQ(joined.roots.size(), 1u);
      EXPECT_EQ(spell(joined, names), expected) << blocks << " blocks, " << per_rank << " each";
    }
  }
}

TEST(BlockTree, DepthGrowsWithTheLogarithm) {
  EXPECT_LE(BlockTree(1 << 15).traverse_blocks(0, 1 << 15).depth, 16);
}

}  // namespace
}  // namespace quern
