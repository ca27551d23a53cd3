// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange.hpp"

#include <cstdint>

namespace quern {

std::string broadcast_string(Communicator& comm, std::string text, int root) {
  const auto length = broadcast_value(comm, static_cast<std::int64_t>(text.size()), root);
  text.resize(static_cast<std::size_t>(length));
  comm.broadcast(std::as_writable_bytes(std::span(text.data(), text.size())), root);
  return text;
}

std::vector<std::string> all_gather_strings(Communicator& comm, const std::string& text) {
  const std::vector<std::int64_t> lengths =
      all_gather_value(comm, static_cast<std::int64_t>(text.size()));
  std::int64_t total = 0;
  for (const std::int64_t length : lengths) total += length;
  std::string joined(static_cast<std::size_t>(total), '\0');
  comm.all_gather_v(std::as_bytes(std::span(text.data(), text.size())),
                    std::as_writable_bytes(std::span(joined.data(), joined.size())), lengths);
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::int64_t length : lengths) {
    texts.push_back(joined.substr(begin, static_cast<std::size_t>(length)));
    begin += static_cast<std::size_t>(length);
  }
  return texts;
}

}  // namespace quern
