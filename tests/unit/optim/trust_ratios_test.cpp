// SPDX-License-Identifier: Apache-2.0
#include "optim/trust_ratios.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "optim/reference/trusted_optimizer.hpp"
#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

using Ranges = std::vector<std::vector<SpreadRange>>;
using Ratios = std::map<std::string, float>;

OptimizerSpec spec_of(OptimizerType type) {
  OptimizerSpec spec;
  spec.type = type;
  spec.weight_decay = 0.01;
  spec.trust_coefficient = 0.02;
  return spec;
}

/// Tensors of odd sizes, that begin and end inside chunks.
ParameterTable odd_table() {
  ParameterTable table;
  table.add("a.bias", {5}, 1, ParameterKind::bias);
  table.add_transposed("b.weight", 19, 70, kLanes);  // with gaps
  table.add("c.weight", {3, 3001}, 1, ParameterKind::weight);
  table.add("c.scale", {33}, 1, ParameterKind::scale);
  table.add("c.shift", {33}, 1, ParameterKind::shift);
  table.add("d.weight", {4096}, 1, ParameterKind::weight);
  table.add("e.weight", {7}, 1, ParameterKind::weight);
  return table;
}

/// Values of tensors, and zeros in the gaps.
std::vector<float> random_block(const ParameterTable& table, std::uint64_t seed) {
  std::vector<float> block(static_cast<std::size_t>(table.block_size()));
  for (const ParameterEntry& entry : table.entries())
    write_tensor(entry, test::random_values(static_cast<std::size_t>(entry.count), ++seed), block);
  return block;
}

Ratios ratios_of(const TrustRatios& ratios, const ParameterTable& table) {
  const TrustedPart part = ratios.part(table, 0, table.trained_size());
  const auto tensors = test::to_vector(part.tensor_of_group);
  const auto values = test::to_vector(part.ratios);
  Ratios result;
  for (const ParameterEntry& entry : table.entries()) {
    const auto group = static_cast<std::size_t>(entry.offset / kLanes);
    const float value = values.at(static_cast<std::size_t>(tensors.at(group)));
    const auto [at, is_new] = result.emplace(entry.name, value);
    EXPECT_EQ(at->second, value) << "slices of " << entry.name;
  }
  return result;
}

/// The step's gradient is multiplied by 0.25.
StepScalarsView scalars() {
  const StepScalarsView view("test::scalars");
  StepScalars values;
  values.gradient_scale = 0.25f;
  Kokkos::deep_copy(view, values);
  return view;
}

void add(const TrustRatios& ratios, const std::vector<float>& weights,
         const std::vector<float>& other) {
  const ExecSpace exec;
  const FloatView w = test::to_view(weights);
  const FloatView o = test::to_view(other);
  const auto share = ratios.squares().share({0, static_cast<std::int64_t>(weights.size())});
  ratios.squares().add(exec, "test::squares", share, {2, {w.data(), o.data()}});
  exec.fence("test: squares");
}

Ratios ratios_of(const OptimizerSpec& spec, const ParameterTable& table,
                 const std::vector<float>& weights, const std::vector<float>& other) {
  const TrustRatios ratios(spec, table);
  add(ratios, weights, other);
  ratios.combine(ExecSpace(), scalars());
  return ratios_of(ratios, table);
}

const OptimizerType kTypes[] = {OptimizerType::lars, OptimizerType::lamb};

TEST(TrustRatios, HaveTheBitsOfTheReference) {
  const ParameterTable table = odd_table();
  const auto weights = random_block(table, 1);
  const auto other = random_block(table, 2);
  for (const OptimizerType type : kTypes) {
    const OptimizerSpec spec = spec_of(type);
    const Ratios ratios = ratios_of(spec, table, weights, other);
    for_each_trained(table, [&](const ParameterEntry& entry, const BlockRange& range) {
      float expected = 1;
      if (entry.kind == ParameterKind::weight) {
        const auto begin = static_cast<std::size_t>(range.begin);
        const auto end = static_cast<std::size_t>(range.end);
        expected = static_cast<float>(
            reference::trust_ratio(spec, 0.25, reference::squares_in_block(weights, begin, end),
                                   reference::squares_in_block(other, begin, end)));
        EXPECT_NE(expected, 1);
      }
      EXPECT_EQ(ratios.at(entry.name), expected) << entry.name;
    });
  }
}

TEST(TrustRatios, AreOneWithoutANorm) {
  ParameterTable table;
  for (const char* name : {"no.weight", "no.gradient", "neither", "both"})
    table.add(name, {20}, 1, ParameterKind::weight);
  std::vector<float> weights(static_cast<std::size_t>(table.block_size()));
  std::vector<float> other = weights;
  weights[32] = weights[96] = 3;
  other[0] = other[96] = 2;
  OptimizerSpec lars = spec_of(OptimizerType::lars);
  EXPECT_EQ(ratios_of(spec_of(OptimizerType::lamb), table, weights, other),
            (Ratios{{"no.weight", 1}, {"no.gradient", 1}, {"neither", 1}, {"both", 1.5f}}));
  const auto both = static_cast<float>(0.02 * 3 / (0.25 * 2 + 0.01 * 3));
  EXPECT_EQ(ratios_of(lars, table, weights, other),
            (Ratios{{"no.weight", 1}, {"no.gradient", 2}, {"neither", 1}, {"both", both}}));
  lars.weight_decay = 0;
  EXPECT_EQ(ratios_of(lars, table, weights, other).at("no.gradient"), 1);
}

TEST(TrustRatios, AreFinite) {
  ParameterTable table;
  table.add("w", {16}, 1, ParameterKind::weight);
  EXPECT_EQ(ratios_of(spec_of(OptimizerType::lamb), table, std::vector<float>(16, 1e30f),
                      std::vector<float>(16, 1e-30f))
                .at("w"),
            std::numeric_limits<float>::max());
  EXPECT_EQ(ratios_of(spec_of(OptimizerType::lamb), table, std::vector<float>(16, 1),
                      std::vector<float>(16, std::numeric_limits<float>::quiet_NaN()))
                .at("w"),
            1);
}

/// The floats that a rank has of the block, where they lie in its own, and NaN elsewhere.
std::vector<float> own_block(const std::vector<SpreadRange>& ranges,
                             const std::vector<float>& block) {
  std::vector<float> own(2 * block.size(), std::numeric_limits<float>::quiet_NaN());
  for (const SpreadRange& range : ranges)
    std::copy(block.begin() + range.range.begin, block.begin() + range.range.end,
              own.begin() + range.from);
  return own;
}

TEST(TrustRatios, HaveTheSameBitsWhereTheBlockIsSpread) {
  constexpr std::int64_t kChunk = SpreadChunks::kChunk;
  const ParameterTable table = odd_table();
  const std::int64_t size = table.trained_size();
  ASSERT_GT(size, 3 * kChunk + 64);
  const auto weights = random_block(table, 1);
  const auto other = random_block(table, 2);
  const Ranges whole_chunks = {
      {{{0, kChunk}, 0}, {{3 * kChunk, size}, 3 * kChunk}}, {{{kChunk, 3 * kChunk}, 16}}, {}};
  // Borders inside tensors and chunks, three in one of them.
  const Ranges shared_chunks = {
      {{{0, 16}, 0}, {{48, kChunk + 32}, 16}},
      {{{16, 48}, 160}, {{3 * kChunk - 16, 3 * kChunk + 64}, 512}},
      {{{kChunk + 32, 3 * kChunk - 16}, 32}, {{3 * kChunk + 64, size}, 2 * kChunk}}};
  // What two ranks have counts once.
  const Ranges overlapping = {{{{0, 2 * kChunk + 160}, 0}},
                              {{{kChunk, 3 * kChunk}, 0}, {{3 * kChunk, size}, 3 * kChunk}},
                              {{{kChunk + 48, 3 * kChunk + 16}, 96}}};
  for (const OptimizerType type : kTypes) {
    const OptimizerSpec spec = spec_of(type);
    const Ratios expected = ratios_of(spec, table, weights, other);
    for (const Ranges& ranges : {whole_chunks, shared_chunks, overlapping}) {
      std::vector<float> all_parts;
      for (const bool is_filled : {false, true}) {
        for (std::size_t rank = 0; rank < ranges.size(); ++rank) {
          const TrustRatios ratios(spec, table, ranges, static_cast<int>(rank));
          add(ratios, own_block(ranges[rank], weights), own_block(ranges[rank], other));
          ratios.combine(ExecSpace(), scalars(), [&](const FloatView& all) {
            const std::vector<float> floats = test::to_vector(all);
            const auto part = static_cast<std::ptrdiff_t>(floats.size() / ranges.size());
            const auto begin = floats.begin() + static_cast<std::ptrdiff_t>(rank) * part;
            if (is_filled)
              test::overwrite(all, all_parts);
            else
              all_parts.insert(all_parts.end(), begin, begin + part);
          });
          if (is_filled) {
            EXPECT_EQ(ratios_of(ratios, table), expected) << "rank " << rank;
          }
        }
      }
    }
  }
}

TEST(TrustRatios, AreThoseOfAllSlicesOfATensor) {
  ParameterTable table;
  for (int slice = 0; slice < 3; ++slice) {
    const std::size_t from = table.entries().size();
    table.add("w", {5, 30}, 30, ParameterKind::weight);
    table.add("b", {5}, 30, ParameterKind::bias);
    table.mark_parts(from, 5 * slice, 15);
  }
  const auto weights = random_block(table, 1);
  const auto other = random_block(table, 2);
  double squares[2] = {};
  for (std::size_t slice = 0; slice < 3; ++slice) {
    const std::size_t begin = slice * (160 + 16);
    squares[0] += reference::squares_in_block(weights, begin, begin + 160);
    squares[1] += reference::squares_in_block(other, begin, begin + 160);
  }
  for (const OptimizerType type : kTypes) {
    const OptimizerSpec spec = spec_of(type);
    const Ratios ratios = ratios_of(spec, table, weights, other);
    EXPECT_EQ(ratios.at("w"),
              static_cast<float>(reference::trust_ratio(spec, 0.25, squares[0], squares[1])));
    EXPECT_EQ(ratios.at("b"), 1);
  }
}

}  // namespace
}  // namespace quern
