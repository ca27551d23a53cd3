// SPDX-License-Identifier: Apache-2.0
#include "tensor/parallel_for.hpp"

#include <gtest/gtest.h>

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

TEST(SingleItem, RunsOnceWithAndWithoutAProfiler) {
  const ExecSpace exec;
  const FloatView value("test::value", 1);
  EXPECT_EQ(add_two(exec, value), 2);
  namespace tools = Kokkos::Tools::Experimental;
  const auto before = tools::get_callbacks();
  tools::set_begin_parallel_for_callback(note_kernel);
  EXPECT_EQ(add_two(exec, value), 4);
  tools::set_callbacks(before);
  EXPECT_EQ(g_kernels, std::vector<std::string>{"quern::tensor::test_add_two"});
  EXPECT_EQ(add_two(exec, value), 6);
}

}  // namespace
}  // namespace quern
