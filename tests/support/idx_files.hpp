// SPDX-License-Identifier: Apache-2.0
// IDX files for tests, in memory.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace quern::test {

using Bytes = std::vector<std::uint8_t>;

/// 0, 1, 2, ... modulo `modulus`.
inline Bytes counting(std::size_t count, std::size_t modulus = 251) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i % modulus);
  return bytes;
}

/// An IDX file of uint8.
inline Bytes idx(std::initializer_list<std::uint32_t> extents, const Bytes& values) {
  Bytes file = {0, 0, 8, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      file.push_back(static_cast<std::uint8_t>(extent >> shift));
    }
  }
  file.insert(file.end(), values.begin(), values.end());
  return file;
}

inline Bytes gzip(Bytes content) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("cannot start zlib");
  }
  Bytes packed(deflateBound(&stream, content.size()));
  stream.next_in = content.data();
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.erase(packed.begin() + static_cast<std::ptrdiff_t>(stream.total_out), packed.end());
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("cannot pack");
  return packed;
}

inline void write_file(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write a test file");
}

inline Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace quern::test
