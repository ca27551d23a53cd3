// SPDX-License-Identifier: Apache-2.0
#include "tensor/kernel_choice.hpp"

#include <gtest/gtest.h>

namespace quern {
namespace {

constexpr auto kFp32 = OperandPrecision::fp32;
constexpr auto kTf32 = OperandPrecision::tf32;
constexpr auto kBf16 = OperandPrecision::bf16;
constexpr auto kPairs = OperandPrecision::bf16_pairs;

using Name = const char*();

const char* host() {
  return "host";
}
const char* host_bf16() {
  return "host_bf16";
}
const char* host_bf16_pairs() {
  return "host_bf16_pairs";
}
const char* host_winograd() {
  return "host_winograd";
}
const char* device() {
  return "device";
}
const char* device_tf32() {
  return "device_tf32";
}
const char* device_bf16() {
  return "device_bf16";
}
const char* vendor() {
  return "vendor";
}

TEST(KernelChoice, TakesTheSetOfThePrecision) {
  const KernelSets<Name> all{host,        host_bf16,   host_bf16_pairs, device,
                             device_tf32, device_bf16, nullptr,         nullptr};
  for (const bool any_order : {false, true}) {
    EXPECT_STREQ(choose_kernels(all, {kFp32, any_order, false})(), "host");
    EXPECT_STREQ(choose_kernels(all, {kBf16, any_order, false})(), "host_bf16");
    EXPECT_STREQ(choose_kernels(all, {kPairs, any_order, false})(), "host_bf16_pairs");
    EXPECT_STREQ(choose_kernels(all, {kPairs, any_order, true})(), "device_bf16");
    EXPECT_STREQ(choose_kernels(all, {kFp32, any_order, true})(), "device");
    EXPECT_STREQ(choose_kernels(all, {kTf32, any_order, true})(), "device_tf32");
    EXPECT_STREQ(choose_kernels(all, {kBf16, any_order, true})(), "device_bf16");
  }
  EXPECT_STREQ(choose_kernels(all, {kTf32, false, false})(), "host") << "no CPU rounds to it";
}

TEST(KernelChoice, TakesTheVendorsWhereOrderDoesNotMatter) {
  const KernelSets<Name> sets{.device = device, .device_bf16 = device_bf16, .vendor = vendor};
  for (const auto precision : {kFp32, kTf32, kBf16})
    EXPECT_STREQ(choose_kernels(sets, {precision, true, true})(), "vendor");
  EXPECT_STREQ(choose_kernels(sets, {kBf16, false, true})(), "device_bf16");
}

TEST(KernelChoice, TakesThoseOfFp32WhereNoneRound) {
  const KernelSets<Name> sets{.host = host, .device = device};
  EXPECT_STREQ(choose_kernels(sets, {kBf16, false, false})(), "host");
  EXPECT_STREQ(choose_kernels(sets, {kPairs, false, false})(), "host");
  EXPECT_STREQ(choose_kernels(sets, {kBf16, false, true})(), "device");
  EXPECT_EQ(choose_kernels<Name>({.host = host}, {kFp32, false, true}), nullptr);
}

TEST(KernelChoice, TakesWinogradsOnACpuInFp32) {
  const KernelSets<Name> sets{
      .host = host, .host_bf16 = host_bf16, .device = device, .host_winograd = host_winograd};
  EXPECT_STREQ(choose_kernels(sets, {kFp32, false, false, true})(), "host_winograd");
  EXPECT_STREQ(choose_kernels(sets, {kFp32, false, false, false})(), "host");
  EXPECT_STREQ(choose_kernels(sets, {kBf16, false, false, true})(), "host_bf16");
  EXPECT_STREQ(choose_kernels(sets, {kFp32, false, true, true})(), "device");
  EXPECT_STREQ(choose_kernels<Name>({.host = host}, {kFp32, false, false, true})(), "host");
}

TEST(KernelChoice, AsksWhichKernelsRun) {
  const KernelSets<Name> sets{.host = host, .device = device};
  EXPECT_STREQ(choose_kernels(sets)(), runs_device_kernels() ? "device" : "host");
  EXPECT_EQ(host_set<host>(), kHostExecution ? host : nullptr);
}

}  // namespace
}  // namespace quern
