// SPDX-License-Identifier: Apache-2.0
// Against synthetic /proc and /sys folders, as different kernels and containers show them.
#include "runtime/memory.hpp"

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

TEST_F(MemoryTest, TheAddressSpaceMayHaveALimit) {
  const auto write_limit = [&](const std::string& limit) {
    write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max data size             5                    unlimited            bytes     \n"
          "Max address space         " +
              limit + "            unlimited            bytes     \n");
  };
  const auto check = [&](std::int64_t bytes) {
    check_address_space(bytes, "training", folder_.path());
  };
  check(std::int64_t{1} << 40);
  write("proc/self/status", "Name:\tquern\nVmPeak:\t  9999 kB\nVmSize:\t    1000 kB\n");
  write_limit("unlimited");
  check(std::int64_t{1} << 40);
  write_limit("3024000");
  check(2000000);
  test::expect_error(
      [&] { check(2000001); }, ExitCode::bad_input,
      {"training needs 1.9 MiB (2000001 bytes)", "only 1.9 MiB (2000000 bytes)",
       "(expected more: 'ulimit -v unlimited', or ask the centre where the shell refuses that)"});
  write_limit("1000");
  test::expect_error([&] { check(1); }, ExitCode::bad_input, {"only 0 B are left"});
}

TEST_F(MemoryTest, TooMuchToShareIsRefused) {
  check_shared_memory(1000, "the data set", 1000);
  test::expect_error([&] { check_shared_memory(90 << 20, "data set 'x'", 64 << 20); },
                     ExitCode::bad_input,
                     {"data set 'x' needs 90.0 MiB", "64.0 MiB", "/dev/shm", "--shm-size"});
}

TEST_F(MemoryTest, ThisMachineHasMemory) {
  EXPECT_GT(available_memory().value_or(1), 0);
}

// Of devices the decisions only: what is free there is made up.
constexpr std::int64_t kGibi = std::int64_t{1} << 30;

TEST(DeviceMemory, SamplesFitUpToTheReserveOfLibraries) {
  check_device_data(2 * kGibi, "data", 2 * kGibi + kDeviceReserveBytes);
  test::expect_error(
      [] { check_device_data(2 * kGibi, "data 'x'", 2 * kGibi + kDeviceReserveBytes - 1); },
      ExitCode::bad_input,
      {"data 'x' needs 2.0 GiB (2147483648 bytes)", "only 2.2 GiB (2415919103 bytes) are free",
       "expected fewer samples"});
}

TEST(DeviceMemory, ActivationsAndParametersAreAddedAndSamplesAreThereAlready) {
  const DeviceMemoryNeeds needs{50 * kGibi, 3 * kGibi, 2 * kGibi};
  check_device_memory(needs, 5 * kGibi + kDeviceReserveBytes);
  test::expect_error([&] { check_device_memory(needs, 5 * kGibi); }, ExitCode::bad_input,
                     {"beside 50.0 GiB of samples, a rank needs 5.0 GiB (5368709120 bytes)",
                      "activations 3.0 GiB", "optimizer state 2.0 GiB",
                      "only 5.0 GiB (5368709120 bytes) are free", "smaller data.global_batch"});
}

TEST(DeviceMemory, ADeviceWithLessThanTheReserveHoldsNothing) {
  test::expect_error([] { check_device_data(1, "data", kDeviceReserveBytes); }, ExitCode::bad_input,
                     {"data needs 1 B on"});
}

TEST(DeviceMemory, NobodyKnows) {
  check_device_data(std::int64_t{1} << 60, "anything", std::nullopt);
  check_device_memory({0, std::int64_t{1} << 60, 0}, std::nullopt);
}

}  // namespace
}  // namespace quern
