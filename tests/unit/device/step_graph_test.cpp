// SPDX-License-Identifier: Apache-2.0
// On a device the third run replays what the second recorded; on the host every run does the work.
// The results are the same.
#include "device/step_graph.hpp"

#include <gtest/gtest.h>

#include "device/queue.hpp"
#include "support/views.hpp"

namespace quern::test {

namespace {

using Input = Kokkos::View<int, Kokkos::SharedHostPinnedSpace>;

// nvcc takes no kernels inside a TEST.
void add(const ExecSpace& exec, const Input& input, const View<int>& sum) {
  Kokkos::parallel_for(
      "quern::test::add", RangePolicy(exec, 0, 1),
      KOKKOS_LAMBDA(std::int64_t) { sum(0) += input(); });
}

void double_up(const ExecSpace& exec, const View<int>& sum, const View<int>& twice) {
  Kokkos::parallel_for(
      "quern::test::double_up", RangePolicy(exec, 0, 1),
      KOKKOS_LAMBDA(std::int64_t) { twice(0) = 2 * sum(0); });
}

}  // namespace

TEST(StepGraph, EveryRunDoesTheWorkWithWhatMemoryHoldsThen) {
  const ExecSpace exec = make_instance();
  const ExecSpace other = make_instance();
  const Input input("input");
  const View<int> sum("sum", 1);
  const View<int> twice("twice", 1);
  StreamMark fork;
  StreamMark join;
  const auto work = [&] {
    add(exec, input, sum);
    fork.order(exec, other);
    double_up(other, sum, twice);
    join.order(other, exec);
  };
  StepGraph graph;
  int expected = 0;
  for (int i = 1; i <= 6; ++i) {
    exec.fence();
    input() = i;
    graph.run(exec, work);
    exec.fence();
    expected += i;
    EXPECT_EQ(to_vector(sum), std::vector<int>{expected});
    EXPECT_EQ(to_vector(twice), std::vector<int>{2 * expected});
    EXPECT_TRUE(is_idle(exec));
  }
}

TEST(StepGraph, IsOnlyWantedOnDevices) {
  if (kHostExecution) {
    EXPECT_FALSE(StepGraph::is_wanted());
  }
  setenv("QUERN_GRAPH", "0", 1);
  EXPECT_FALSE(StepGraph::is_wanted());
  unsetenv("QUERN_GRAPH");
}

}  // namespace quern::test
