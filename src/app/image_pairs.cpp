// SPDX-License-Identifier: Apache-2.0
#include "app/image_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

namespace quern {

namespace {

std::vector<std::string> stems_of(const std::vector<std::string>& paths) {
  std::vector<std::string> stems;
  for (const std::string& path : paths)
    stems.push_back(std::filesystem::path(path).stem().string());
  return stems;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::size_t common_begin(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::size_t common_end(std::string_view a, std::string_view b) {
  const auto same = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return static_cast<std::size_t>(same.first - a.rbegin());
}

/// What tells the names of one side apart: without the beginning and the end that all of them have.
/// Digits stay: of "img_001" and "img_002" that is "001" and "002".
std::vector<std::string> cores_of(const std::vector<std::string>& stems) {
  const std::string& first = stems.front();
  std::size_t begin = first.size();
  std::size_t end = first.size();
  std::size_t shortest = first.size();
  for (const std::string& stem : stems) {
    begin = std::min(begin, common_begin(first, stem));
    end = std::min(end, common_end(first, stem));
    shortest = std::min(shortest, stem.size());
  }
  while (begin > 0 && is_digit(first[begin - 1])) --begin;
  end = std::min(end, shortest - begin);
  while (end > 0 && is_digit(first[first.size() - end])) --end;
  std::vector<std::string> cores;
  for (const std::string& stem : stems)
    cores.push_back(stem.substr(begin, stem.size() - begin - end));
  return cores;
}

bool are_alike(const std::string& a, const std::string& b) {
  return a.find(b) != std::string::npos || b.find(a) != std::string::npos;
}

/// The pair to name where already the first ones do not agree: one odd name changes what all have
/// in common.
std::size_t first_unlike(const std::vector<std::string>& images,
                         const std::vector<std::string>& answers) {
  for (std::size_t i = 0; i < std::min(images.size(), answers.size()); ++i)
    if (!are_alike(images[i], answers[i])) return i;
  return 0;
}

bool are_the_same_in_another_order(std::vector<std::string> a, std::vector<std::string> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

}  // namespace

void check_pairs(const std::vector<std::string>& images, const std::vector<std::string>& answers) {
  const std::size_t count = std::min(images.size(), answers.size());
  if (count == 0) return;
  const std::vector<std::string> image_stems = stems_of(images);
  const std::vector<std::string> answer_stems = stems_of(answers);
  const std::vector<std::string> image_cores = cores_of(image_stems);
  const std::vector<std::string> answer_cores = cores_of(answer_stems);
  const auto wrong = static_cast<std::size_t>(std::ranges::mismatch(image_cores, answer_cores).in1 -
                                              image_cores.begin());
  if (wrong == count) return;
  if (are_the_same_in_another_order(image_cores, answer_cores)) {
    throw InputError(fmt::format(
        "'{}' would be paired with '{}': images and their targets are paired in the order of "
        "their names as texts, which is another one for the answers (expected numbers of one "
        "length, with leading zeros)",
        printable(images[wrong]), printable(answers[wrong])));
  }
  const std::size_t named = wrong > 0 ? wrong : first_unlike(image_stems, answer_stems);
  throw InputError(fmt::format(
      "'{}' would be paired with '{}': images and their targets are paired in the order of their "
      "names, expected the same name for both, or one that differs by the same beginning or end in "
      "all pairs, as '001.png' and '001_mask.png'",
      printable(images[named]), printable(answers[named])));
}

}  // namespace quern
