// SPDX-License-Identifier: Apache-2.0
#include "base/sha256_many.hpp"

#include <algorithm>
#include <cstdint>

#include "base/sha256.hpp"

namespace quern {

namespace {

// Messages at the beginning that have the same lengths.
std::size_t equal_messages(std::span<const Sha256Message> messages) {
  const auto other = std::find_if(messages.begin(), messages.end(), [&](const Sha256Message& it) {
    return it.head.size() != messages.front().head.size() ||
           it.tail.size() != messages.front().tail.size();
  });
  return static_cast<std::size_t>(other - messages.begin());
}

// What follows the whole blocks of the head: its rest, the tail, and the padding.
std::vector<std::uint8_t> last_blocks(const Sha256Message& message) {
  const std::size_t rest = message.head.size() % 64;
  const std::size_t used = rest + message.tail.size();
  std::vector<std::uint8_t> bytes((used + 1 + 8 + 63) / 64 * 64);
  const auto append = [&](std::span<const std::byte> part, std::size_t at) {
    std::transform(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  };
  append(message.head.last(rest), 0);
  append(message.tail, rest);
  bytes[used] = 0x80;
  const std::uint64_t bits = (message.head.size() + message.tail.size()) * 8;
  for (std::size_t i = 0; i < 8; ++i)
    bytes[bytes.size() - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
  return bytes;
}

// Of at most as many messages as there are lanes, of the same lengths.
void add_digests(std::span<const Sha256Message> messages, const Sha256Lanes& way,
                 std::vector<std::string>& digests) {
  const auto lanes = static_cast<std::size_t>(way.lanes);
  std::vector<Sha256State> states(lanes, kSha256Start);
  std::vector<const std::uint8_t*> from(lanes);
  std::vector<std::vector<std::uint8_t>> ends(lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    // Lanes without a message of their own compute another's.
    const Sha256Message& message = messages[std::min(lane, messages.size() - 1)];
    from[lane] = reinterpret_cast<const std::uint8_t*>(message.head.data());
    ends[lane] = last_blocks(message);
  }
  way.put(states.data(), from.data(), messages.front().head.size() / 64);
  for (std::size_t lane = 0; lane < lanes; ++lane) from[lane] = ends[lane].data();
  way.put(states.data(), from.data(), ends.front().size() / 64);
  for (std::size_t i = 0; i < messages.size(); ++i) digests.push_back(hex_of(states[i]));
}

}  // namespace

std::vector<std::string> sha256_of_each(std::span<const Sha256Message> messages,
                                        std::span<const Sha256Lanes> ways) {
  std::vector<std::string> digests;
  digests.reserve(messages.size());
  while (!messages.empty()) {
    const std::size_t equal = equal_messages(messages);
    // Lanes that are mostly idle are slower than one message after the other.
    const auto way = std::find_if(ways.begin(), ways.end(), [&](const Sha256Lanes& it) {
      return 3 * equal >= static_cast<std::size_t>(it.lanes);
    });
    std::size_t count = 1;
    if (equal > 1 && way != ways.end()) {
      count = std::min(equal, static_cast<std::size_t>(way->lanes));
      add_digests(messages.first(count), *way, digests);
    } else {
      const Sha256Message& message = messages.front();
      digests.push_back(Sha256().update(message.head).update(message.tail).hex_digest());
    }
    messages = messages.subspan(count);
  }
  return digests;
}

}  // namespace quern
