// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>

namespace quern {

namespace {

std::int64_t sum_of(const std::vector<std::int64_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

std::vector<std::string> parts_of(const std::string& joined,
                                  const std::vector<std::int64_t>& lengths) {
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::int64_t length : lengths) {
    texts.push_back(joined.substr(begin, static_cast<std::size_t>(length)));
    begin += static_cast<std::size_t>(length);
  }
  return texts;
}

}  // namespace

std::string broadcast_string(Communicator& comm, std::string text, int root) {
  const auto length = broadcast_value(comm, static_cast<std::int64_t>(text.size()), root);
  text.resize(static_cast<std::size_t>(length));
  comm.broadcast(std::as_writable_bytes(std::span(text.data(), text.size())), root);
  return text;
}

std::vector<std::string> broadcast_strings(Communicator& comm,
                                           const std::vector<std::string>& texts) {
  std::vector<std::int64_t> lengths(broadcast_value(comm, texts.size()));
  std::string joined;
  if (comm.rank() == 0) {
    std::ranges::transform(texts, lengths.begin(), [](const auto& t) { return std::ssize(t); });
    for (const std::string& text : texts) joined += text;
  }
  comm.broadcast(std::as_writable_bytes(std::span(lengths)), 0);
  return parts_of(broadcast_string(comm, joined), lengths);
}

std::vector<std::string> all_gather_strings(Communicator& comm, const std::string& text) {
  const std::vector<std::int64_t> lengths =
      all_gather_value(comm, static_cast<std::int64_t>(text.size()));
  std::string joined(static_cast<std::size_t>(sum_of(lengths)), '\0');
  comm.all_gather_v(std::as_bytes(std::span(text.data(), text.size())),
                    std::as_writable_bytes(std::span(joined.data(), joined.size())), lengths);
  return parts_of(joined, lengths);
}

std::vector<std::string> gather_strings(Communicator& comm, const std::string& text) {
  const std::vector<std::int64_t> lengths =
      all_gather_value(comm, static_cast<std::int64_t>(text.size()));
  std::string joined;
  if (comm.rank() == 0) joined.resize(static_cast<std::size_t>(sum_of(lengths)));
  comm.gather_v(std::as_bytes(std::span(text.data(), text.size())),
                std::as_writable_bytes(std::span(joined.data(), joined.size())), lengths);
  return comm.rank() == 0 ? parts_of(joined, lengths) : std::vector<std::string>();
}

}  // namespace quern
