// SPDX-License-Identifier: Apache-2.0
#include "app/sample_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "io/shard_format.hpp"

namespace quern {

namespace {

Shape shape_of(const Array& array) {
  const std::optional<Shape> shape = shape_of_sample(array.shape);
  if (shape && array.count() > 0) return *shape;
  throw InputError(
      fmt::format("{}: {} is too large or too small, expected samples [n, ...] of 1 "
                  "to {} numbers",
                  array.name, description(array), kMaxUnits));
}

void set_input(Array array, SampleSet& set) {
  set.count = array.count();
  set.content.shape = shape_of(array);
  if (array.type == NumberType::uint8) {
    set.content.input = StoredType::uint8;
    set.images = std::get<std::vector<std::uint8_t>>(std::move(array.values));
    return;
  }
  set.content.input = array.type == NumberType::float16 ? StoredType::float16 : StoredType::float32;
  set.values = to_floats(std::move(array));
}

void set_labels(const Array& array, int classes, SampleSet& set) {
  set.labels = to_labels(array);
  if (classes == 0) classes = 1 + *std::max_element(set.labels.begin(), set.labels.end());
  set.content.answer = Answer::labels;
  set.content.classes = classes;
  set.content.answer_type = classes > kMaxByteClasses ? StoredType::int32 : StoredType::uint8;
}

void set_targets(Array array, SampleSet& set) {
  set.content.answer = Answer::targets;
  set.content.answer_type = StoredType::float32;
  set.content.target_shape = shape_of(array);
  set.targets = to_floats(std::move(array));
}

void check_counts(const SampleSet& set, const SampleSetSource& source, const Array& answer,
                  const std::string& path) {
  if (answer.count() == set.count) return;
  throw InputError(fmt::format("'{}' holds {} {}, but '{}' holds {} {}", source.input.path,
                               set.count, set.content.input_name(), path, answer.count(),
                               source.targets.path.empty() ? "labels" : "targets"));
}

}  // namespace

SampleSet read_sample_set(const SampleSetSource& source) {
  const bool has_labels = !source.labels.path.empty();
  if (!has_labels && !source.labels.sha256.empty()) {
    throw InputError("--sha256-labels without --labels");
  }
  const SampleSource& answer_source = has_labels ? source.labels : source.targets;
  SampleFile answer;
  if (!answer_source.path.empty()) {
    answer = read_sample_file({answer_source.path, source.input.format, answer_source.sha256},
                              has_labels ? ArrayRole::labels : ArrayRole::targets);
  }
  SampleFile input = read_sample_file(source.input, ArrayRole::input);

  SampleSet set;
  set.input_sha256 = input.sha256;
  set.answer_sha256 = answer.sha256;
  set_input(std::move(input.array), set);
  set.content.answer = Answer::none;
  set.content.answer_type = StoredType::uint8;
  if (answer_source.path.empty()) return set;
  check_counts(set, source, answer.array, answer_source.path);
  if (has_labels)
    set_labels(answer.array, source.classes, set);
  else
    set_targets(std::move(answer.array), set);
  return set;
}

std::string image_text(const Shape& shape, bool has_pixels) {
  return has_pixels ? fmt::format("[{}, {}, {}]", shape.channels, shape.height, shape.width)
                    : to_string(shape);
}

}  // namespace quern
