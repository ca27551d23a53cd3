// SPDX-License-Identifier: Apache-2.0
#include "tensor/parameter_block.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "support/expect_error.hpp"

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

TEST(ParameterTable, RefusesTensorsWithoutAShape) {
  ParameterTable table;
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{}, {0}, {-4}, {2, 0}, {-2, -2}}) {
    test::expect_error([&] { table.add("p.w", shape, 1, ParameterKind::weight); },
                       ExitCode::bad_input,
                       {"the tensor 'p.w' has the shape [", "a scalar is [1]"});
    test::expect_error([&] { table.add_buffer("p.mean", shape, {}); }, ExitCode::bad_input,
                       {"the tensor 'p.mean' has the shape ["});
  }
  test::expect_error([&] { table.add("p.w", {3}, 0, ParameterKind::weight); }, ExitCode::bad_input,
                     {"a fan-in of 0"});
  EXPECT_TRUE(table.entries().empty());
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

TEST(ParameterTable, BuffersComeAfterAllThatIsTrained) {
  ParameterTable table;
  table.add("a.weight", {17}, 1, ParameterKind::scale);
  EXPECT_EQ(table.add_buffer("a.mean", {17}, {0.0f, 0.1f}), 0);
  EXPECT_EQ(table.add_buffer("a.var", {17}, {1.0f, 0.1f}), 32);
  EXPECT_EQ(table.add_transposed("b.weight", 3, 5, 16), 32);
  EXPECT_EQ(table.add("b.bias", {3}, 5, ParameterKind::bias), 32 + 5 * 16);
  EXPECT_EQ(table.add_buffer("c.mean", {1}, {0.0f, 0.1f}), 64);

  EXPECT_EQ(table.trained_size(), 32 + 5 * 16 + 16);
  EXPECT_EQ(table.block_size(), table.trained_size() + 80);
  EXPECT_EQ(table.num_parameters(), 17 + 15 + 3);
  std::set<std::int64_t> places;
  for (const ParameterEntry& entry : table.entries()) {
    for (std::int64_t i = 0; i < entry.count; ++i) {
      EXPECT_EQ(entry.position(i) >= table.trained_size(), entry.is_buffer()) << entry.name;
      places.insert(entry.position(i));
    }
  }
  EXPECT_EQ(places.size(), 17u + 17 + 17 + 15 + 3 + 1);
  EXPECT_EQ(table.entries()[1].name, "a.mean");
  EXPECT_EQ(table.entries()[2].offset, table.trained_size() + 32);
}

TEST(ParameterTable, WhatIsFrozenComesAfterTheBuffers) {
  ParameterTable table;
  EXPECT_EQ(table.add_transposed("a.weight", 3, 5, 16, Training::frozen), 0);
  EXPECT_EQ(table.add("a.bias", {3}, 5, ParameterKind::bias, Training::frozen), 5 * 16);
  table.add("b.weight", {17}, 1, ParameterKind::scale);
  table.add_buffer("b.mean", {17}, {0.0f, 0.1f});
  EXPECT_EQ(table.add("c.weight", {1}, 1, ParameterKind::scale, Training::frozen), 6 * 16);
  table.add("d.weight", {2}, 1, ParameterKind::weight);

  EXPECT_EQ(table.trained_size(), 32 + 16);
  EXPECT_EQ(table.reduced_size(), 48 + 32);
  EXPECT_EQ(table.block_size(), 80 + 7 * 16);
  EXPECT_EQ(table.num_parameters(), 15 + 3 + 17 + 1 + 2);
  EXPECT_EQ(table.num_trained(), 17 + 2);
  std::set<std::int64_t> places;
  for (const ParameterEntry& entry : table.entries()) {
    for (std::int64_t i = 0; i < entry.count; ++i) {
      const std::int64_t place = entry.position(i);
      EXPECT_EQ(place < table.trained_size(), entry.is_trained()) << entry.name;
      EXPECT_EQ(place >= table.reduced_size(), entry.is_frozen) << entry.name;
      EXPECT_LT(place, table.block_size());
      places.insert(place);
    }
  }
  EXPECT_EQ(places.size(), 15u + 3 + 17 + 17 + 1 + 2);
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
