// SPDX-License-Identifier: Apache-2.0
#include "io/shard_content.hpp"

#include <fmt/format.h>

#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace quern {

namespace {

bool is_line_of_utf8(const std::string& name) {
  const bool is_line = name.find_first_of(std::string("\n\0", 2)) == std::string::npos;
  return !name.empty() && is_line && is_utf8(name);
}

void check_feature_names(const ShardContent& content) {
  if (!content.feature_names.empty() &&
      std::ssize(content.feature_names) != content.shape.units()) {
    throw InputError(fmt::format("{} for samples of {} numbers, expected one name for each",
                                 count_text(std::ssize(content.feature_names), "name"),
                                 content.shape.units()));
  }
  for (const std::string& name : content.feature_names) {
    if (is_line_of_utf8(name)) continue;
    throw InputError(
        fmt::format("'{}' is no name for a feature, expected one line of UTF-8", printable(name)));
  }
}

void check_class_names(const ShardContent& content) {
  if (!content.class_names.empty() &&
      content.class_names.size() != static_cast<std::size_t>(content.classes)) {
    throw InputError(fmt::format("{} classes, but the classes have {} names, expected one for each",
                                 content.classes, content.class_names.size()));
  }
  for (const std::string& name : content.class_names) {
    if (is_line_of_utf8(name)) continue;
    throw InputError(
        fmt::format("'{}' is no name for a class, expected one line of UTF-8 (of images, their "
                    "folder gives it)",
                    printable(name)));
  }
}

}  // namespace

std::int64_t bytes_of(StoredType type) {
  switch (type) {
    case StoredType::uint8:
      return 1;
    case StoredType::float16:
      return 2;
    case StoredType::int32:
    case StoredType::float32:
      break;
  }
  return 4;
}

const char* to_string(StoredType type) {
  switch (type) {
    case StoredType::uint8:
      return "uint8";
    case StoredType::int32:
      return "int32";
    case StoredType::float16:
      return "float16";
    case StoredType::float32:
      break;
  }
  return "float32";
}

const char* to_string(Answer answer) {
  switch (answer) {
    case Answer::labels:
      return "labels";
    case Answer::targets:
      return "targets";
    case Answer::none:
      break;
  }
  return "none";
}

std::string to_string(const ShardContent& content) {
  const std::string input = fmt::format("{} {} {}", to_string(content.input), content.input_name(),
                                        to_string(content.shape));
  if (content.has_labels()) {
    return fmt::format("{} with {} labels of {} classes", input, to_string(content.answer_type),
                       content.classes);
  }
  if (content.has_targets()) {
    return fmt::format("{} with {} targets {}", input, to_string(content.answer_type),
                       to_string(content.target_shape));
  }
  return input + " alone";
}

std::optional<Shape> shape_of_sample(std::span<const std::int64_t> array_shape) {
  if (array_shape.empty()) return std::nullopt;
  std::int64_t units = 1;
  for (const std::int64_t extent : array_shape.subspan(1)) {
    if (extent < 1 || extent > kMaxUnits / units) return std::nullopt;
    units *= extent;
  }
  const auto extent = [&](std::size_t axis) { return static_cast<int>(array_shape[axis]); };
  if (array_shape.size() == 3) return Shape{1, extent(1), extent(2)};
  if (array_shape.size() == 4) return Shape{extent(1), extent(2), extent(3)};
  return Shape{static_cast<int>(units), 1, 1};
}

std::int64_t ShardContent::memory_bytes() const {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  std::int64_t bytes = has_pixels() ? shape.units() : kFloat * shape.units();
  if (has_labels()) bytes += static_cast<std::int64_t>(sizeof(std::int32_t));
  if (has_targets()) bytes += kFloat * target_shape.units();
  return bytes;
}

std::int64_t ShardContent::answer_bytes() const {
  if (answer == Answer::none) return 0;
  return bytes_of(answer_type) * (has_targets() ? target_shape.units() : 1);
}

std::int64_t format_version_of(const ShardContent& content) {
  const bool is_simple =
      content.has_pixels() && content.has_labels() && content.answer_type == StoredType::uint8;
  return is_simple ? 1 : 2;
}

void check_names(const ShardContent& content) {
  check_class_names(content);
  check_feature_names(content);
}

}  // namespace quern
