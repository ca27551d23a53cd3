// SPDX-License-Identifier: Apache-2.0
#include "comm/check_same.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"

namespace quern {

namespace {

// The line with place `at`, or "nothing" beyond the end.
std::string line_at(const std::string& text, std::size_t at) {
  if (at >= text.size()) return "nothing";
  const std::size_t before = at > 0 ? text.rfind('\n', at - 1) : std::string::npos;
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

}  // namespace

void check_same(Communicator& comm, const std::string& what, const std::string& text) {
  if (comm.size() == 1) return;
  const std::string first = broadcast_string(comm, text);
  agree(comm, [&] {
    if (text == first) return;
    const auto place = static_cast<std::size_t>(
        std::mismatch(text.begin(), text.end(), first.begin(), first.end()).first - text.begin());
    throw InputError(what + ": " + line_at(text, place) + ", and on rank 0 " +
                     line_at(first, place) + " (expected the same on all ranks)");
  });
}

}  // namespace quern
