// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/chunks.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace quern {
namespace {

std::vector<std::size_t> sizes_of_chunks(std::size_t total, std::size_t limit) {
  std::vector<int> values(total);
  std::vector<std::size_t> sizes;
  int* next = values.data();
  for_each_chunk(
      std::span(values),
      [&](std::span<int> chunk) {
        EXPECT_EQ(chunk.data(), next);
        next += chunk.size();
        sizes.push_back(chunk.size());
      },
      limit);
  return sizes;
}

TEST(Chunks, CoverEverythingOnce) {
  EXPECT_EQ(sizes_of_chunks(0, 4), (std::vector<std::size_t>{}));
  EXPECT_EQ(sizes_of_chunks(3, 4), (std::vector<std::size_t>{3}));
  EXPECT_EQ(sizes_of_chunks(4, 4), (std::vector<std::size_t>{4}));
  EXPECT_EQ(sizes_of_chunks(9, 4), (std::vector<std::size_t>{4, 4, 1}));
}

TEST(Chunks, FitMpisCounts) {
  EXPECT_LE(kMaxChunk, static_cast<std::size_t>(std::numeric_limits<int>::max()));
}

}  // namespace
}  // namespace quern
