// SPDX-License-Identifier: Apache-2.0
// The decisions only: what a device has free is made up.
#include "train/memory.hpp"

#include "support/expect_error.hpp"
#include "tensor/memory.hpp"
#include "tensor/types.hpp"

namespace quern {
namespace {

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
                     {"data needs 0.0 KiB (1 bytes)"});
}

TEST(DeviceMemory, NobodyKnows) {
  check_device_data(std::int64_t{1} << 60, "anything", std::nullopt);
  check_device_memory({0, std::int64_t{1} << 60, 0}, std::nullopt);
}

TEST(DeviceMemory, IsKnownWhereThereIsADevice) {
  EXPECT_EQ(available_device_memory().has_value(), !kHostExecution);
}

}  // namespace
}  // namespace quern
