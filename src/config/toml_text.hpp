// SPDX-License-Identifier: Apache-2.0
// Values as TOML text, exact and the same on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

std::string to_toml_text(bool value);
std::string to_toml_text(std::int64_t value);
/// The shortest decimal that reads back as the same double, always recognisable as a float.
std::string to_toml_text(double value);
/// A basic string in double quotes; quotes, backslashes and control characters are escaped.
std::string to_toml_text(std::string_view value);
/// An array of such strings.
std::string to_toml_text(const std::vector<std::string>& values);

/// "2 GiB", "1536 MiB", "100 B": exact, in the largest unit that divides it. Not a TOML value.
std::string size_text(std::int64_t bytes);

/// The bytes of a size, at least 1: "2 GiB", "1.5 MB". Nothing where the text is none.
std::optional<std::int64_t> parse_size(std::string_view text);

/// What parse_size() expects.
inline constexpr const char* kSizeWords =
    "a number and one of B, KB, KiB, MB, MiB, GB, GiB, TB, TiB";

std::string join(const std::vector<std::string>& words, const std::string& separator);

/// "a", "b" or "c".
std::string list_choices(const std::vector<std::string>& values);

}  // namespace quern
