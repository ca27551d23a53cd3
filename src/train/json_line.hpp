// SPDX-License-Identifier: Apache-2.0
// Numbers of JSON, and what an object of metrics.jsonl or events.jsonl has under a name, where it
// is of the right kind.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace quern {

/// Numbers that JSON does not have become words: "nan", "inf", "-inf".
nlohmann::ordered_json json_number(double value);

std::optional<std::int64_t> integer_of(const nlohmann::json& line, const char* key);
/// Of json_number().
std::optional<double> real_of(const nlohmann::json& line, const char* key);
/// "" where there is none.
std::string word_of(const nlohmann::json& line, const char* key);

}  // namespace quern
