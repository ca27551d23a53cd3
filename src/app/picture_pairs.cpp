// SPDX-License-Identifier: Apache-2.0
#include "app/picture_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

namespace quern {

namespace {

std::string stem_of(const std::string& path) {
  return std::filesystem::path(path).stem().string();
}

/// What the names of one side have around what tells its pictures apart.
struct Affixes {
  std::string begin;
  std::string end;

  std::optional<std::string> core_of(const std::string& stem) const {
    if (stem.size() < begin.size() + end.size() || !stem.starts_with(begin) || !stem.ends_with(end))
      return std::nullopt;
    return stem.substr(begin.size(), stem.size() - begin.size() - end.size());
  }
  bool has_digits() const { return (begin + end).find_first_of("0123456789") != std::string::npos; }
};

struct Rule {
  Affixes picture;
  Affixes answer;

  bool holds(const std::string& picture_stem, const std::string& answer_stem) const {
    const std::optional<std::string> core = picture.core_of(picture_stem);
    return core && core == answer.core_of(answer_stem);
  }
};

/// Around the longest text that both have; nothing where they share none.
std::optional<Rule> rule_of(const std::string& picture, const std::string& answer) {
  std::string_view longest;
  std::size_t in_answer = 0;
  for (std::size_t begin = 0; begin < picture.size(); ++begin) {
    for (std::size_t size = longest.size() + 1; begin + size <= picture.size(); ++size) {
      const std::string_view part = std::string_view(picture).substr(begin, size);
      const std::size_t found = answer.find(part);
      if (found == std::string::npos) break;
      longest = part;
      in_answer = found;
    }
  }
  if (longest.empty()) return std::nullopt;
  const auto in_picture = static_cast<std::size_t>(longest.data() - picture.data());
  return Rule{{picture.substr(0, in_picture), picture.substr(in_picture + longest.size())},
              {answer.substr(0, in_answer), answer.substr(in_answer + longest.size())}};
}

[[noreturn]] void fail(const std::string& picture, const std::string& answer) {
  throw InputError(fmt::format(
      "'{}' would be paired with '{}': pictures and their answers are paired in the order of their "
      "names, expected the same name for both, or one that differs by the same beginning or end in "
      "all pairs, as '001.png' and '001_mask.png'",
      printable(picture), printable(answer)));
}

}  // namespace

void check_pairs(const std::vector<std::string>& pictures,
                 const std::vector<std::string>& answers) {
  const std::size_t count = std::min(pictures.size(), answers.size());
  if (count == 0) return;
  const std::optional<Rule> rule = rule_of(stem_of(pictures[0]), stem_of(answers[0]));
  if (!rule) fail(pictures[0], answers[0]);
  for (std::size_t i = 1; i < count; ++i) {
    if (rule->holds(stem_of(pictures[i]), stem_of(answers[i]))) continue;
    // Of "000" and "001" the last digit looked like an end.
    const bool is_first = rule->picture.has_digits() || rule->answer.has_digits();
    fail(pictures[is_first ? 0 : i], answers[is_first ? 0 : i]);
  }
}

}  // namespace quern
