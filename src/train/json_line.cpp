// SPDX-License-Identifier: Apache-2.0
#include "train/json_line.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace quern {

nlohmann::ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
}

std::optional<std::int64_t> integer_of(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<double> real_of(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  const std::string word = word_of(line, key);
  if (word == "nan") return std::nan("");
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::string word_of(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace quern
