// SPDX-License-Identifier: Apache-2.0
#include "io/read_at.hpp"

#include <unistd.h>

#include <cerrno>

namespace quern {

std::optional<std::size_t> read_at(int descriptor, std::int64_t offset,
                                   std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(descriptor, bytes.data() + done, bytes.size() - done,
                                offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace quern
