// SPDX-License-Identifier: Apache-2.0
// The SHA-256 that a user expects of a file.
#pragma once

#include <filesystem>
#include <string>

#include "readers/byte_source.hpp"
#include "readers/byte_stream.hpp"

namespace quern {

/// What of the file had the SHA-256 that was asked for.
enum class Sha256Match {
  not_asked,
  file,     ///< the bytes on the disk
  content,  ///< the bytes after unpacking
};

/// InputError unless `text` is empty or 64 hexadecimal digits.
void check_is_sha256(const std::string& text);

/// After everything was read. `expected` (may be empty) may be that of the file or of its unpacked
/// content. InputError where it is neither.
Sha256Match match_sha256(ByteSource& source, const std::string& expected);

/// The same for a file that is not read from first to last. InputError.
Sha256Match match_sha256(const std::filesystem::path& file, const std::string& expected);

/// The source must outlive the stream.
ByteStream stream_of(ByteSource& source);

/// One that can leave out parts of a plain file, of which no checksum is wanted.
ByteStream seekable_stream_of(ByteSource& source, const std::string& expected_sha256);

}  // namespace quern
