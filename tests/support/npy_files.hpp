// SPDX-License-Identifier: Apache-2.0
// .npy files and ZIP archives for tests, in memory.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "support/idx_files.hpp"

namespace quern::test {

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline void append_number(Bytes& bytes, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> 8 * i));
}

/// `shape` as Python writes it: "(3, 4)".
inline Bytes npy(const std::string& descr, const std::string& shape, const Bytes& values,
                 bool fortran_order = false, int major = 1) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  header.resize((header.size() + 12 + 63) / 64 * 64 - 11, ' ');
  header.back() = '\n';
  Bytes file = {0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<std::uint8_t>(major), 0};
  append_number(file, header.size(), major == 1 ? 2 : 4);
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), values.begin(), values.end());
  return file;
}

inline Bytes deflate_raw(Bytes content) {
  Bytes packed = gzip(std::move(content));  // a header of 10 bytes, a trailer of 8
  return {packed.begin() + 10, packed.end() - 8};
}

inline Bytes zip(const std::vector<std::pair<std::string, Bytes>>& members, bool is_packed) {
  Bytes file;
  Bytes directory;
  for (const auto& [name, content] : members) {
    const Bytes packed = is_packed ? deflate_raw(content) : content;
    const auto offset = file.size();
    Bytes common;
    append_number(common, 20, 2);
    append_number(common, 0, 2);
    append_number(common, is_packed ? 8 : 0, 2);
    append_number(common, 0, 4);
    append_number(common, crc32_z(0, content.data(), content.size()), 4);
    append_number(common, packed.size(), 4);
    append_number(common, content.size(), 4);
    append_number(common, name.size(), 2);
    append_number(common, 0, 2);
    append_number(file, 0x04034b50, 4);
    file.insert(file.end(), common.begin(), common.end());
    file.insert(file.end(), name.begin(), name.end());
    file.insert(file.end(), packed.begin(), packed.end());
    append_number(directory, 0x02014b50, 4);
    append_number(directory, 20, 2);
    directory.insert(directory.end(), common.begin(), common.end());
    directory.insert(directory.end(), 10, 0);
    append_number(directory, offset, 4);
    directory.insert(directory.end(), name.begin(), name.end());
  }
  const auto offset = file.size();
  file.insert(file.end(), directory.begin(), directory.end());
  append_number(file, 0x06054b50, 4);
  append_number(file, 0, 4);
  append_number(file, members.size(), 2);
  append_number(file, members.size(), 2);
  append_number(file, directory.size(), 4);
  append_number(file, offset, 4);
  append_number(file, 0, 2);
  return file;
}

}  // namespace quern::test
