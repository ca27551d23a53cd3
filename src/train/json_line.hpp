// SPDX-License-Identifier: Apache-2.0
// What an object of metrics.jsonl or events.jsonl has under a name, where it is of the right kind.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace quern {

std::optional<std::int64_t> integer_of(const nlohmann::json& line, const char* key);
/// Numbers that JSON does not have are words: "nan", "inf", "-inf".
std::optional<double> real_of(const nlohmann::json& line, const char* key);
/// "" where there is none.
std::string word_of(const nlohmann::json& line, const char* key);

}  // namespace quern
