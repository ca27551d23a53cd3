// SPDX-License-Identifier: Apache-2.0
// Against made-up /proc and /sys folders, as different kernels and containers show them.
#include "dataset/memory.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

class MemoryTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  void write_meminfo(const std::string& kibibytes) {
    write("proc/meminfo", "MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:   " + kibibytes +
                              " kB\nBuffers:  5 kB\n");
  }

  std::int64_t available() { return available_memory(folder_.path()).value_or(-1); }

  test::TempDir folder_;
};

TEST_F(MemoryTest, WhatTheKernelSays) {
  write_meminfo("1000");
  EXPECT_EQ(available(), 1024000);
}

TEST_F(MemoryTest, NobodyKnows) {
  EXPECT_EQ(available_memory(folder_.path()), std::nullopt);
  check_memory(std::int64_t{1} << 60, "anything", folder_.path());
}

TEST_F(MemoryTest, ControlGroupsVersion2AndThoseAbove) {
  write_meminfo("1000");
  write("proc/self/cgroup", "0::/slurm/job_1\n");
  write("sys/fs/cgroup/slurm/job_1/memory.max", "max\n");
  write("sys/fs/cgroup/slurm/job_1/memory.current", "1000\n");
  EXPECT_EQ(available(), 1024000);
  write("sys/fs/cgroup/slurm/memory.max", "500000\n");
  write("sys/fs/cgroup/slurm/memory.current", "400000\n");
  EXPECT_EQ(available(), 100000);
  write("sys/fs/cgroup/slurm/memory.stat", "anon 1\ninactive_file 30000\nactive_file 20000\n");
  EXPECT_EQ(available(), 150000);
}

TEST_F(MemoryTest, ControlGroupsVersion1) {
  write_meminfo("1000");
  write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "2000\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
  EXPECT_EQ(available(), 7500);
}

TEST_F(MemoryTest, ContainersSeeTheirOwnGroupAsTheRoot) {
  write("proc/self/cgroup", "0::/docker/not-visible-here\n");
  write("sys/fs/cgroup/memory.max", "1000\n");
  write("sys/fs/cgroup/memory.current", "5000\n");
  EXPECT_EQ(available(), 0);
}

TEST_F(MemoryTest, TooMuchIsRefusedWithBothFigures) {
  write_meminfo("2097152");
  check_memory(std::int64_t{1} << 31, "the data set", folder_.path());
  test::expect_error([&] { check_memory(std::int64_t{7} << 30, "data set 'x'", folder_.path()); },
                     ExitCode::bad_input,
                     {"data set 'x' needs 7.0 GiB (7516192768 bytes)", "2.0 GiB"});
}

TEST_F(MemoryTest, ThisMachineHasMemory) {
  EXPECT_GT(available_memory().value_or(1), 0);
}

}  // namespace
}  // namespace quern
