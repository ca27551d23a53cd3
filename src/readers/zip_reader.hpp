// SPDX-License-Identifier: Apache-2.0
// ZIP archives, as far as NumPy's .npz need them: members stored or deflated, also above 4 GiB
// (ZIP64), one disk, no encryption. (PKWARE, APPNOTE.TXT 6.3.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "readers/byte_stream.hpp"

namespace quern {

struct ZipMember {
  std::string name;
  int method = 0;                   ///< 0: stored, 8: deflated
  std::uint32_t crc = 0;            ///< CRC-32 of the content
  std::uint64_t packed_bytes = 0;   ///< in the archive
  std::uint64_t bytes = 0;          ///< of the content
  std::uint64_t header_offset = 0;  ///< of the member's own header
};

/// What the archive's directory says. InputError when it is no archive of this kind, truncated or
/// damaged; SystemFailure, as of the call below, where a disk or a file server fails.
std::vector<ZipMember> list_zip(const std::filesystem::path& path);

/// Hands the content of a member to `read`, which has to read all of it; InputError where it is
/// damaged (its CRC-32 is checked), or what `read` throws.
void read_zip_member(const std::filesystem::path& path, const ZipMember& member,
                     const std::string& stream_name,
                     const std::function<void(const ByteStream&)>& read);

}  // namespace quern
