// SPDX-License-Identifier: Apache-2.0
#include "state/spread_array.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "support/world.hpp"

namespace quern::test {
namespace {

// Ranges of odd sizes that go round the ranks; the last rank has none where there are three or
// more.
std::vector<std::vector<BlockRange>> owners_of(int ranks, std::int64_t size) {
  std::vector<std::vector<BlockRange>> owners(static_cast<std::size_t>(ranks));
  const int with_some = ranks > 2 ? ranks - 1 : ranks;
  std::int64_t begin = 0;
  for (int n = 0; begin < size; ++n) {
    const std::int64_t end = std::min(size, begin + 1 + (5 * n) % 7);
    owners[static_cast<std::size_t>(n % with_some)].push_back({begin, end});
    begin = end;
  }
  return owners;
}

TEST(SpreadArray, IsWholeOnRankZeroAndComesBackInPiecesOfAnySize) {
  Communicator& comm = quern::testing::world();
  constexpr std::int64_t kSize = 101;
  const auto owners = owners_of(comm.size(), kSize);
  const std::vector<BlockRange>& own = owners[static_cast<std::size_t>(comm.rank())];
  std::vector<FloatView> pieces;
  for (const BlockRange& range : own) {
    pieces.emplace_back("piece", static_cast<std::size_t>(range.size()));
    const auto host = Kokkos::create_mirror_view(pieces.back());
    for (std::int64_t i = 0; i < range.size(); ++i)
      host(static_cast<std::size_t>(i)) = static_cast<float>(range.begin + i);
    Kokkos::deep_copy(pieces.back(), host);
  }
  std::vector<float> expected(kSize);
  std::iota(expected.begin(), expected.end(), 0.0f);

  for (const std::int64_t at_once :
       {std::int64_t{1}, std::int64_t{7}, std::int64_t{24}, kCollectedAtOnce}) {
    const HostFloats whole = collect_array(comm, owners, pieces, kSize, at_once);
    const std::vector<float> found(whole.data(), whole.data() + whole.extent(0));
    EXPECT_EQ(found, comm.rank() == 0 ? expected : std::vector<float>()) << at_once << " at once";
  }

  for (const std::size_t at_once : {1, 13, 200}) {
    for (const FloatView& piece : pieces) Kokkos::deep_copy(piece, -1.0f);
    std::vector<float> buffer(at_once);
    distribute_array(comm, owners, comm.rank() == 0 ? expected : std::vector<float>(), kSize,
                     pieces, buffer);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), pieces[i]);
      for (std::int64_t k = 0; k < own[i].size(); ++k)
        EXPECT_EQ(host(static_cast<std::size_t>(k)), static_cast<float>(own[i].begin + k));
    }
  }
}

}  // namespace
}  // namespace quern::test
