// SPDX-License-Identifier: Apache-2.0
// Whatever the ranks have of the tree, and with however few floats: TreeReducer takes this way only
// where it is lighter.
#include "parallel/halving_exchange.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "mpi/parallel/leaf_gradients.hpp"
#include "parallel/reference/tree_sum.hpp"
#include "support/views.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::leaf_gradients;
using testing::world;

/// The partial sums of this rank, and an exchange that adds them to those of the others.
class Sum {
 public:
  Sum(const BatchPartition& partition, std::int64_t num_floats)
      : partition_(partition),
        num_floats_(num_floats),
        halving_(make_halving(partition, num_floats + 1, world().rank())),
        partial_sums_{make_partial_sums(partition, num_floats), round_up_to_lanes(num_floats + 1)},
        received_("test::received", static_cast<std::size_t>(HalvingExchange::received_floats(
                                        halving_, num_floats + 1, world().rank()))),
        exchange_(world(), halving_, partial_sums_, num_floats + 1, received_, 6) {}

  void expect_tree_sum() {
    const int first = partition_.first_block(world().rank());
    const int last = partition_.last_block(world().rank());
    const BlockTree tree(partition_.num_blocks());
    testing::write_partial_sums(leaf_gradients(num_floats_, first, last),
                                tree.traverse_blocks(first, last), partial_sums_);
    const auto vote = static_cast<std::size_t>(num_floats_);
    partial_sums_.data(vote) = static_cast<float>(world().rank() + 1);
    exchange_.add(ExecSpace());
    const std::vector<float> expected =
        reference::tree_sum(leaf_gradients(num_floats_, 0, partition_.num_blocks()));
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(partial_sums_.data(i), expected[i]) << partition_.num_blocks() << " blocks, " << i;
    EXPECT_EQ(partial_sums_.data(vote),
              static_cast<float>(world().size() * (world().size() + 1) / 2));
  }

 private:
  static FloatView make_partial_sums(const BatchPartition& partition, std::int64_t num_floats) {
    const auto count =
        std::max<std::size_t>(1, tree_partial_sums(partition, world().rank()).size());
    return {"test::partial_sums",
            count * static_cast<std::size_t>(round_up_to_lanes(num_floats + 1))};
  }

  BatchPartition partition_;
  std::int64_t num_floats_;
  Halving halving_;
  GradientSums partial_sums_;
  FloatView received_;
  HalvingExchange exchange_;
};

TEST(HalvingExchange, HasTheBitsOfTheTreeWhateverTheRanksHaveOfIt) {
  for (const std::int64_t num_floats : {1, 33, 5000}) {
    for (int blocks = 1; blocks <= 5 * world().size(); ++blocks) {
      Sum sum(BatchPartition(blocks, 1, world().size()), num_floats);
      for (int step = 0; step < 3; ++step) sum.expect_tree_sum();
    }
  }
}

TEST(HalvingExchange, TakesAnyShares) {
  const auto ranks = static_cast<std::size_t>(world().size());
  for (std::size_t most = 0; most < ranks; ++most) {
    std::vector<int> shares(ranks, 1);
    shares[most] = 13;
    shares[(most + 1) % ranks] = ranks > 1 ? 0 : 13;
    const int blocks = std::accumulate(shares.begin(), shares.end(), 0);
    Sum(BatchPartition(blocks, 1, shares), 100).expect_tree_sum();
  }
}

}  // namespace
}  // namespace quern
