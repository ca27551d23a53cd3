// SPDX-License-Identifier: Apache-2.0
#include "io/shard_content.hpp"

#include <fmt/format.h>

namespace quern {

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

}  // namespace quern
