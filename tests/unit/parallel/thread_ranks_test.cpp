// SPDX-License-Identifier: Apache-2.0
// The reducer through shared memory with threads as ranks: scripts/test --full runs this under the
// thread sanitizer, with a Kokkos that has no threads of its own.
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "parallel/shared_memory_reducer.hpp"
#include "support/thread_ranks.hpp"

namespace quern {
namespace {

// An instance of the rank's own where there can be several: one instance locks.
ExecSpace own_instance() {
#if defined(KOKKOS_ENABLE_SERIAL)
  if constexpr (std::is_same_v<ExecSpace, Kokkos::Serial>) {
    return ExecSpace(Kokkos::NewInstance{});
  }
#endif
  return ExecSpace();
}

TEST(ThreadRanks, ReduceToTheSumOfAllRanks) {
  constexpr std::int64_t kFloats = 1000;
  for (const int num_ranks : {2, 3}) {
    const BatchPartition full(13, 1, num_ranks);
    const BatchPartition last(2, 1, num_ranks);
    std::vector<int> wrong(static_cast<std::size_t>(num_ranks), -1);
    test::run_thread_ranks(num_ranks, [&](Communicator& comm) {
      SharedMemoryReducer reducer(comm, kFloats, SumOrder::tree);
      const ReductionPlan plans[] = {reducer.add_plan(full), reducer.add_plan(last)};
      reducer.allocate();
      const ExecSpace exec = own_instance();
      int& own_wrong = wrong[static_cast<std::size_t>(comm.rank())];
      own_wrong = 0;
      for (int round = 0; round < 10; ++round) {
        const BatchPartition& partition = round % 3 == 2 ? last : full;
        // Whole numbers: the sum does not depend on the order, which other tests look at.
        const int count = reducer.num_partial_sums(partition, comm.rank());
        for (int p = 0; p < count; ++p) {
          for (std::int64_t i = 0; i < kFloats; ++i) {
            reducer.partial_sums().data(p * reducer.partial_stride() + i) =
                static_cast<float>(round + 1);
          }
        }
        reducer.vote()(0) = comm.rank() == 0 ? 1.0f : 0.0f;
        const ReducedGradient reduced = reducer.reduce(exec, plans[round % 3 == 2]);
        int num_partial_sums = 0;
        for (int rank = 0; rank < num_ranks; ++rank) {
          num_partial_sums += reducer.num_partial_sums(partition, rank);
        }
        const auto expected = static_cast<float>((round + 1) * num_partial_sums);
        for (std::int64_t i = 0; i < kFloats; ++i) own_wrong += reduced.total(i) != expected;
        own_wrong += reduced.votes(0) != 1.0f;
      }
    });
    EXPECT_EQ(wrong, std::vector<int>(static_cast<std::size_t>(num_ranks), 0));
  }
}

}  // namespace
}  // namespace quern
