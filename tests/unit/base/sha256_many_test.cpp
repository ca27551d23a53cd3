// SPDX-License-Identifier: Apache-2.0
#include "base/sha256_many.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/sha256.hpp"

namespace quern {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * i / 7 + i / 256);
  return bytes;
}

std::vector<std::string> one_by_one(std::span<const Sha256Message> messages) {
  std::vector<std::string> digests;
  for (const Sha256Message& message : messages)
    digests.push_back(
        Sha256(sha256_blocks_portable).update(message.head).update(message.tail).hex_digest());
  return digests;
}

// Every way alone, and none.
std::vector<std::vector<Sha256Lanes>> choices() {
  std::vector<std::vector<Sha256Lanes>> all{{}, sha256_lanes_of_processor()};
  for (const Sha256Lanes& way : sha256_lanes_of_processor()) all.push_back({way});
  return all;
}

// Whatever the numbers of messages, and the lengths around the ends of blocks.
TEST(Sha256OfEach, IsTheDigestOfEach) {
  const std::vector<std::byte> bytes = some_bytes(40 * 400 + 500);
  for (const std::vector<Sha256Lanes>& ways : choices()) {
    for (const std::size_t count : {1u, 2u, 3u, 5u, 6u, 7u, 16u, 17u, 33u}) {
      for (const std::size_t head : {0u, 1u, 54u, 55u, 56u, 63u, 64u, 65u, 128u, 391u}) {
        for (const std::size_t tail : {0u, 1u, 9u, 64u, 70u}) {
          std::vector<Sha256Message> messages;
          for (std::size_t i = 0; i < count; ++i)
            messages.push_back({std::span(bytes).subspan(i * 391, head),
                                std::span(bytes).subspan(i * 7 + 3, tail)});
          ASSERT_EQ(sha256_of_each(messages, ways), one_by_one(messages))
              << count << " messages of " << head << " and " << tail << " bytes, "
              << (ways.empty() ? 1 : ways.front().lanes) << " at a time";
        }
      }
    }
  }
}

TEST(Sha256OfEach, LengthsMayDiffer) {
  const std::vector<std::byte> bytes = some_bytes(9000);
  std::vector<Sha256Message> messages;
  for (const std::size_t length : {500u, 500u, 500u, 20u, 20u, 500u, 77u, 0u, 0u})
    messages.push_back({std::span(bytes).subspan(messages.size() * 600, length), {}});
  for (int i = 0; i < 40; ++i) messages.push_back({std::span(bytes).first(640), {}});
  messages.push_back({std::span(bytes).first(300), std::span(bytes).first(40)});
  for (const std::vector<Sha256Lanes>& ways : choices())
    EXPECT_EQ(sha256_of_each(messages, ways), one_by_one(messages));
}

TEST(Sha256OfEach, UsesWhatTheProcessorHas) {
#if defined(__x86_64__)
  // Linux knows the processor by another way.
  std::ifstream info("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(info), {}};
  const auto has = [&](const char* flag) { return text.find(flag) != std::string::npos; };
  std::vector<int> expected;
  if (has(" avx512bw")) expected.push_back(16);
  if (has(" sha_ni")) expected.push_back(2);
  std::vector<int> lanes;
  for (const Sha256Lanes& way : sha256_lanes_of_processor()) lanes.push_back(way.lanes);
  EXPECT_EQ(lanes, expected);
#else
  EXPECT_TRUE(sha256_lanes_of_processor().empty());
#endif
}

}  // namespace
}  // namespace quern
