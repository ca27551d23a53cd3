// SPDX-License-Identifier: Apache-2.0
// What reducers say that they will take is what they take.
#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <string_view>

#include "parallel/bucket_reducer.hpp"
#include "parallel/plain_reducer.hpp"
#include "parallel/shared_memory_reducer.hpp"
#include "parallel/tree_reducer.hpp"
#include "runtime/host_staged_transport.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::world;

constexpr std::int64_t kFloats = 200003;
constexpr std::int64_t kSums = 2;
// Plans, sums and votes; and what Kokkos adds to each View.
constexpr std::int64_t kSmall = 16 << 10;

std::int64_t allocated = 0;

void note_allocation(Kokkos::Tools::SpaceHandle, const char* label, const void*,
                     std::uint64_t bytes) {
  if (std::string_view(label).starts_with("quern::parallel::")) {
    allocated += static_cast<std::int64_t>(bytes);
  }
}

// Bytes of the Views that allocate() makes on this rank.
std::int64_t allocate(GradientReducer& reducer) {
  allocated = 0;
  Kokkos::Tools::Experimental::set_allocate_data_callback(note_allocation);
  reducer.allocate();
  Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
  return allocated;
}

// Ranks with one partial sum, with several and with none.
void add_plans(GradientReducer& reducer) {
  for (const int num_blocks : {2, 8, 13}) {
    reducer.add_plan(BatchPartition(num_blocks, 1, world().size()));
  }
}

void expect_told(GradientReducer& reducer) {
  add_plans(reducer);
  const std::int64_t told = reducer.bytes();
  const std::int64_t taken = allocate(reducer);
  EXPECT_GE(taken, told);
  EXPECT_LE(taken, told + kSmall);
  EXPECT_EQ(reducer.bytes(), told);
}

TEST(ReducerBytes, AreWhatIsAllocated) {
  for (const Updaters& updaters : {Updaters{}, Updaters{true, kLanes}}) {
    TreeReducer tree(world(), kFloats, kSums, updaters);
    expect_told(tree);
    PlainReducer plain(world(), kFloats, kSums, updaters);
    expect_told(plain);
    HostStagedTransport transport(world());
    for (const SumOrder order : {SumOrder::tree, SumOrder::ranks}) {
      for (const std::int64_t bucket : {std::int64_t{1} << 20, std::int64_t{10000}}) {
        BucketReducer buckets(world(), transport, kFloats, order, kSums, bucket, updaters);
        expect_told(buckets);
      }
    }
  }
}

// What the node has once is not in Views: every rank counts its section of the partial sums, which
// it sees, and its share of the total.
TEST(ReducerBytes, SharedMemoryIsCountedOnce) {
  if (!SharedMemoryReducer::is_possible(world())) GTEST_SKIP() << "ranks of several nodes";
  SharedMemoryReducer reducer(world(), kFloats, SumOrder::tree, kSums);
  add_plans(reducer);
  const std::int64_t told = reducer.bytes();
  reducer.allocate();
  const std::int64_t total = (kFloats - kSums) / world().size();
  const auto section = static_cast<std::int64_t>(reducer.partial_sums().data.extent(0));
  EXPECT_NEAR(static_cast<double>(told), static_cast<double>((section + total) * 4), 4.0);
}

}  // namespace
}  // namespace quern
