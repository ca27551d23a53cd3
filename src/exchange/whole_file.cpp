// SPDX-License-Identifier: Apache-2.0
#include "exchange/whole_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/error.hpp"
#include "io/pending_file.hpp"

namespace quern {

void write_whole_file(const std::filesystem::path& path, std::string_view bytes) {
  PendingFile pending(path);
  errno = 0;
  std::ofstream file(pending.temporary(), std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    throw Error("cannot write '" + path.string() +
                "': " + (errno != 0 ? std::generic_category().message(errno) : "unknown cause"));
  }
  pending.commit();
}

}  // namespace quern
