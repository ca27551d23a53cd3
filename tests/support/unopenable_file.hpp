// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>

namespace quern::test {

/// What open() says of such a file.
inline constexpr const char* kUnopenable = "No such device or address";

/// Makes a socket: nobody can open it as a file, which counts as a failure of the system and is one
/// that anybody may cause.
inline void make_unopenable_file(const std::filesystem::path& path) {
  if (mknod(path.c_str(), S_IFSOCK | S_IRUSR | S_IWUSR, 0) != 0)
    throw std::runtime_error("cannot make a socket");
}

}  // namespace quern::test
