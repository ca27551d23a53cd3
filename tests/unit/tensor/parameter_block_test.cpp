// SPDX-License-Identifier: Apache-2.0
#include "tensor/parameter_block.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace quern {
namespace {

TEST(ParameterTable, PutsEveryTransposedWeightInItsOwnPlace) {
  for (const std::int64_t panel : {16, 32, 48}) {
    for (const std::int64_t out : {1, 16, 17, 33}) {
      const std::int64_t in = 5;
      ParameterTable table;
      table.add("bias", {3}, 1, ParameterKind::bias);
      const std::int64_t offset = table.add_transposed("weight", out, in, panel);
      const ParameterEntry& entry = table.entries().back();
      std::set<std::int64_t> places;
      for (std::int64_t o = 0; o < out; ++o) {
        for (std::int64_t i = 0; i < in; ++i) {
          // Outputs lie side by side in a panel, inputs below each other.
          const std::int64_t place = offset + o / panel * (in * panel) + i * panel + o % panel;
          EXPECT_EQ(entry.position(o * in + i), place);
          places.insert(place);
        }
      }
      EXPECT_EQ(places.size(), static_cast<std::size_t>(out * in));
      EXPECT_GE(*places.begin(), 16);
      EXPECT_LT(*places.rbegin(), table.block_size());
      EXPECT_EQ(table.block_size() % kLanes, 0);
    }
  }
}

TEST(ParameterTable, TensorsComeBackInPytorchsOrder) {
  ParameterTable table;
  table.add_transposed("weight", 19, 7, kLanes);
  std::vector<float> values(19 * 7);
  std::iota(values.begin(), values.end(), 1.0f);
  std::vector<float> block(static_cast<std::size_t>(table.block_size()));
  write_tensor(table.entries()[0], values, block);
  EXPECT_NE(std::vector<float>(block.begin(), block.begin() + 19 * 7), values);
  EXPECT_EQ(read_tensor(table.entries()[0], block), values);
}

TEST(RowFloats, AreWholeLaneGroupsThatShareNoCacheSets) {
  EXPECT_EQ(row_floats(1), 16);
  EXPECT_EQ(row_floats(17), 32);
  EXPECT_EQ(row_floats(64), 64);
  EXPECT_EQ(row_floats(127), 144);
  EXPECT_EQ(row_floats(128), 144);
  EXPECT_EQ(row_floats(129), 144);
  EXPECT_EQ(row_floats(784), 784);
  EXPECT_EQ(row_floats(1024), 1040);
}

}  // namespace
}  // namespace quern
