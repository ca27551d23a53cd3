// SPDX-License-Identifier: Apache-2.0
#include "tensor/parallel_for.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace quern {
namespace {

std::vector<std::string> g_kernels;

void note_kernel(const char* label, std::uint32_t, std::uint64_t*) {
  g_kernels.emplace_back(label);
}

float add_two(const ExecSpace& exec, const FloatView& value) {
  run_single_item(
      exec, "quern::tensor::test_add_two", KOKKOS_LAMBDA() { value(0) += 2; });
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), value);
  return host(0);
}

std::vector<int> calls_of_items(const ExecSpace& exec) {
  const View<int> calls("test::calls", 100);
  quern::parallel_for(
      "quern::tensor::test_items", RangePolicy(exec, 3, 97),
      KOKKOS_LAMBDA(std::int64_t i) { calls(i) += 1; });
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), calls);
  return {host.data(), host.data() + host.extent(0)};
}

TEST(ParallelFor, CallsEachItemOnceOnAnyNumberOfThreads) {
  std::vector<int> expected(100, 0);
  std::fill(expected.begin() + 3, expected.begin() + 97, 1);
  const ExecSpace exec;
  EXPECT_EQ(calls_of_items(exec), expected);
  namespace tools = Kokkos::Tools::Experimental;
  const auto before = tools::get_callbacks();
  g_kernels.clear();
  tools::set_begin_parallel_for_callback(note_kernel);
  EXPECT_EQ(calls_of_items(exec), expected);
  tools::set_callbacks(before);
  EXPECT_EQ(std::count(g_kernels.begin(), g_kernels.end(), "quern::tensor::test_items"), 1);
}

TEST(SingleItem, RunsOnceWithAndWithoutAProfiler) {
  const ExecSpace exec;
  const FloatView value("test::value", 1);
  EXPECT_EQ(add_two(exec, value), 2);
  namespace tools = Kokkos::Tools::Experimental;
  const auto before = tools::get_callbacks();
  g_kernels.clear();
  tools::set_begin_parallel_for_callback(note_kernel);
  EXPECT_EQ(add_two(exec, value), 4);
  tools::set_callbacks(before);
  EXPECT_EQ(g_kernels, std::vector<std::string>{"quern::tensor::test_add_two"});
  EXPECT_EQ(add_two(exec, value), 6);
}

}  // namespace
}  // namespace quern
