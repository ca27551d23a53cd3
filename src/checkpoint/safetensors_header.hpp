// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file, which may come from anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// Where the values of a tensor lie: bytes [begin, end) of what follows the header.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< "F32"
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What Quern puts into the metadata of its files, and others may: any text, or none.
struct SafetensorsTexts {
  std::string recipe;
  std::string class_names;
  std::string feature_names;
  std::string input;
};

/// Longer headers the format does not allow.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// The entries of the JSON text `header`, in the order of their values, which fill `data_bytes`
/// bytes without a gap or an overlap. Names occur once and are plain text, types are known, and
/// shapes have as many values as there are bytes for. Throws Error, which does not name the file.
/// `texts`, if there, gets those of these names in the metadata.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view header,
                                                       std::uint64_t data_bytes,
                                                       SafetensorsTexts* texts = nullptr);

/// Bytes of a value of this type ("F16": 2); 0: no such type.
std::uint64_t safetensors_value_bytes(const std::string& dtype);

}  // namespace quern
