// SPDX-License-Identifier: Apache-2.0
#include "parallel/tensor_group.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "runtime/host_staged_transport.hpp"
#include "support/random_values.hpp"
#include "support/views.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using quern::testing::world;
using test::random_values;
using test::to_vector;
using test::to_view;

// Numbers of very different sizes: every order of additions gives another sum.
std::vector<float> values_of(int rank, std::size_t count) {
  std::vector<float> values = random_values(count, static_cast<std::uint64_t>(rank) + 1);
  for (std::size_t i = 0; i < count; ++i)
    values[i] *= (static_cast<std::size_t>(rank) + i) % 3 == 0 ? 1e4f : 1e-2f;
  return values;
}

std::vector<float> tree_sum_of(int first, int last, std::size_t count) {
  if (last - first == 1) return values_of(first, count);
  const int middle =
      first + static_cast<int>(std::bit_floor(static_cast<unsigned>(last - first - 1)));
  const std::vector<float> left = tree_sum_of(first, middle, count);
  std::vector<float> right = tree_sum_of(middle, last, count);
  for (std::size_t i = 0; i < count; ++i) right[i] = left[i] + right[i];
  return right;
}

TEST(TensorGroup, AddsInTheOrderOfTheTree) {
  HostStagedTransport transport(world());
  TensorGroup group(transport, 1000);
  for (const std::size_t count : {1000, 1, 16, 333, 1000, 0}) {
    SCOPED_TRACE(count);
    const FloatView values = to_view(values_of(world().rank(), count));
    group.sum(ExecSpace(), values);
    EXPECT_EQ(to_vector(values), tree_sum_of(0, world().size(), count));
  }
}

TEST(TensorGroup, GathersUnequalShares) {
  HostStagedTransport transport(world());
  TensorGroup group(transport, 0);
  std::vector<std::int64_t> shares;
  for (int rank = 0; rank < world().size(); ++rank) shares.push_back(rank % 3 + 1);
  for (const std::int64_t floats : {7, 0, 16}) {
    std::vector<float> expected;
    std::vector<float> own;
    for (int rank = 0; rank < world().size(); ++rank) {
      for (std::int64_t i = 0; i < shares[static_cast<std::size_t>(rank)] * floats; ++i) {
        expected.push_back(static_cast<float>(100 * rank + i));
        own.push_back(rank == world().rank() ? expected.back() : -1);
      }
    }
    const FloatView all = to_view(own);
    group.gather(ExecSpace(), all, shares, floats);
    EXPECT_EQ(to_vector(all), expected);
  }
}

}  // namespace
}  // namespace quern
