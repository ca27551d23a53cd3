// SPDX-License-Identifier: Apache-2.0
#include "app/sample_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "app/answer_columns.hpp"
#include "app/image_pairs.hpp"
#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/shard_format.hpp"
#include "readers/byte_source.hpp"
#include "readers/byte_stream.hpp"
#include "readers/image_folder.hpp"
#include "readers/text_lines.hpp"

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

// Of a part of the samples as of all of them.
Shape shape_of_part(Array& array, std::int64_t count) {
  const std::int64_t held = std::exchange(array.shape[0], count);
  const Shape shape = shape_of(array);
  array.shape[0] = held;
  return shape;
}

void set_input(Array array, bool as_values, SampleSet& set) {
  set.content.shape = shape_of_part(array, set.count);
  set.content.feature_names = std::move(array.column_names);
  if (array.type == NumberType::uint8 && !as_values) {
    set.content.input = StoredType::uint8;
    set.images = std::get<std::vector<std::uint8_t>>(std::move(array.values));
    return;
  }
  set.content.input = array.type == NumberType::float16 ? StoredType::float16 : StoredType::float32;
  set.input_sums = original_sums(array);
  set.values = to_floats(std::move(array));
}

std::vector<std::int32_t> labels_of(Array array, const SampleFile& file) {
  if (!array.shape.empty()) array.shape[0] = file.count;  // as messages tell it
  return to_labels(array, file.range.first);
}

void set_labels(std::vector<std::int32_t> labels, int classes, SampleSet& set) {
  set.labels = std::move(labels);
  set.content.answer = Answer::labels;
  if (classes == 0 && !set.labels.empty()) classes = 1 + std::ranges::max(set.labels);
  set_classes(set, classes);
}

std::vector<std::string> read_lines(const std::string& path) {
  ByteSource source(path);
  const ByteStream stream{fmt::format("'{}'", path), source.longest_content(),
                          [&](std::span<std::uint8_t> bytes) { return source.read(bytes); }};
  TextLines lines(stream);
  std::vector<std::string> texts;
  while (const std::optional<std::string_view> line = lines.next()) texts.emplace_back(*line);
  return texts;
}

// As many classes as there are names, also where the last ones have no samples.
void set_class_names(const SampleSetSource& source, SampleSet& set) {
  std::vector<std::string> names = read_lines(source.class_names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty() && is_utf8(names[i])) continue;
    throw InputError(fmt::format("'{}': line {} is {}, expected the name of class {}",
                                 source.class_names, i + 1, names[i].empty() ? "empty" : "no UTF-8",
                                 i));
  }
  const auto count = static_cast<int>(names.size());
  if (set.content.classes > count || (source.classes > 0 && source.classes != count)) {
    throw InputError(
        fmt::format("'{}' names {} classes, but there are {} (expected a line for each)",
                    source.class_names, count, set.content.classes));
  }
  set_classes(set, count);
  set.content.class_names = std::move(names);
}

void set_targets(Array array, SampleSet& set) {
  set.content.answer = Answer::targets;
  set.content.answer_type = StoredType::float32;
  set.content.target_shape = shape_of_part(array, set.count);
  set.target_sums = original_sums(array);
  set.targets = to_floats(std::move(array));
}

bool are_grey(const SampleFile& file) {
  return file.are_images && file.array.shape[1] == 1;
}

// Grey images and others become alike.
void match_colours(SampleFile& one, SampleFile& other) {
  if (!one.are_images || !other.are_images || are_grey(one) == are_grey(other)) return;
  to_colour(are_grey(one) ? one.array : other.array);
}

void check_alike(const SampleFile& more, const std::string& first_path, const SampleFile& all) {
  const auto sample_shape = [](const Array& array) {
    return std::vector<std::int64_t>(array.shape.begin() + 1, array.shape.end());
  };
  if (more.are_images && all.are_images && sample_shape(more.array) != sample_shape(all.array)) {
    const auto size_text = [](const Array& array) {
      return fmt::format("{} x {} pixels", array.shape[3], array.shape[2]);
    };
    throw InputError(fmt::format("{} has {}, expected {} as '{}' has", more.array.name,
                                 size_text(more.array), size_text(all.array), first_path));
  }
  const auto& names = all.array.column_names;
  const auto other = std::ranges::mismatch(more.array.column_names, names);
  if (!names.empty() && other.in1 != more.array.column_names.end() && other.in2 != names.end()) {
    throw InputError(
        fmt::format("{} has the column '{}' where '{}' has '{}', expected the same columns in the "
                    "same order",
                    more.array.name, printable(*other.in1), first_path, printable(*other.in2)));
  }
  if (more.array.type != all.array.type || sample_shape(more.array) != sample_shape(all.array) ||
      more.class_names != all.class_names || more.classes != all.classes) {
    const auto text_of = [](const SampleFile& file) {
      const std::string samples = description(file.array);
      return file.classes > 0 ? fmt::format("{} of {} classes", samples, file.classes) : samples;
    };
    throw InputError(
        fmt::format("{} holds {}, expected samples like those of '{}': {}{}", more.array.name,
                    text_of(more), first_path, text_of(all),
                    more.class_names == all.class_names ? "" : " with the same names"));
  }
}

void append(SampleFile more, const std::string& first_path, SampleFile& all) {
  match_colours(more, all);
  check_alike(more, first_path, all);
  std::visit(
      [&](auto& values) {
        const auto& added = std::get<std::decay_t<decltype(values)>>(more.array.values);
        values.insert(values.end(), added.begin(), added.end());
      },
      all.array.values);
  add(more.array.sums, all.array.sums);
  all.array.shape[0] += more.array.shape[0];
  all.labels.insert(all.labels.end(), more.labels.begin(), more.labels.end());
  all.image_files.insert(all.image_files.end(), more.image_files.begin(), more.image_files.end());
  all.all_image_files.insert(all.all_image_files.end(), more.all_image_files.begin(),
                             more.all_image_files.end());
  all.losses.add(more.losses);
}

SampleFile read_input(const SampleSetSource& source, const std::string& path,
                      const ChooseRange& choose) {
  SampleFile file =
      read_sample_file({path, source.format, source.sha256}, ArrayRole::input, choose);
  if (file.array.shape.empty()) {
    throw InputError(fmt::format("{}: a single number", file.array.name));
  }
  return file;
}

/// Those samples of a file that are wanted of all of them, which begin with its `first`.
SampleRange overlap(const SampleRange& wanted, std::int64_t first, std::int64_t count) {
  const std::int64_t begin = std::clamp(wanted.first, first, first + count);
  const std::int64_t end = std::clamp(wanted.first + wanted.count, begin, first + count);
  return {begin - first, end - begin};
}

/// Adds those samples that are wanted of all, by the number of each file's.
void add_chosen(const SampleSetSource& source, const std::vector<std::int64_t>& counts,
                const ChooseRange& choose, SampleFile& all) {
  all.range = choose(all.count);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const SampleRange own = overlap(all.range, first, counts[i]);
    first += counts[i];
    if (own.count == 0) continue;
    const auto choose_own = [&](std::int64_t count) {
      if (count == counts[i]) return own;
      throw InputError(fmt::format("'{}' was changed while it was read", source.inputs[i]));
    };
    SampleFile file = read_input(source, source.inputs[i], choose_own);
    file.all_image_files.clear();  // are in `all`
    append(std::move(file), source.inputs.front(), all);
  }
}

// How many samples each file has must be known before some are chosen of all: the files are opened
// twice.
SampleFile read_inputs(const SampleSetSource& source, const ChooseRange& choose) {
  const std::string& first_path = source.inputs.front();
  if (source.inputs.size() == 1) return read_input(source, first_path, choose);
  if (!source.sha256.empty()) {
    throw InputError("--sha256 is of one file, but there are several");
  }
  const auto choose_none = [](std::int64_t) { return SampleRange{}; };
  std::vector<std::int64_t> counts;
  SampleFile all;
  for (const std::string& path : source.inputs) {
    SampleFile file = read_input(source, path, choose ? ChooseRange(choose_none) : choose);
    file.array.shape[0] = file.count;  // as messages tell it
    counts.push_back(file.count);
    if (&path == &first_path)
      all = std::move(file);
    else
      append(std::move(file), first_path, all);
  }
  all.count = all.array.count();
  all.range = {0, all.count};
  if (!choose) return all;
  all.array.shape[0] = 0;
  add_chosen(source, counts, choose, all);
  return all;
}

void check_columns(const SampleSetSource& source, const std::string& answers,
                   const char* answer_name) {
  for (const std::string& path : source.inputs)
    check_answers_are_no_inputs({path, source.format}, {answers, source.format}, answer_name);
}

void check_named_classes(const SampleSetSource& source, const SampleFile& input) {
  if (input.class_names.empty() || source.classes <= input.classes) return;
  throw InputError(fmt::format(
      "--classes {}, but {} has folders for {} (of '{}'), expected a folder for each class, which "
      "may be empty",
      source.classes, input.array.name, input.classes,
      printable(fmt::format("{}", fmt::join(input.class_names, "', '")))));
}

void check_counts(const SampleSet& set, const SampleSetSource& source, std::int64_t count,
                  const std::string& path) {
  if (count == set.count) return;
  throw InputError(fmt::format(
      "'{}' holds {}, but '{}' holds {}", fmt::join(source.inputs, "', '"),
      count_text(set.count, set.content.has_pixels() ? "image" : "sample"), path,
      source.targets.path.empty() ? count_text(count, "label")
                                  : fmt::format("targets of {}", count_text(count, "sample"))));
}

}  // namespace

void set_classes(SampleSet& set, int classes) {
  set.content.classes = classes;
  set.content.answer_type = classes > kMaxByteClasses ? StoredType::int32 : StoredType::uint8;
}

SampleSet read_sample_set(const SampleSetSource& source, const ChooseRange& choose) {
  const bool has_labels = !source.labels.path.empty();
  if (!has_labels && !source.class_names.empty()) {
    throw InputError(
        "--class-names without --labels (a folder of images names its classes by its folders)");
  }
  if (!has_labels && !source.labels.sha256.empty()) {
    throw InputError("--sha256-labels without --labels");
  }
  const SampleSource& answer_source = has_labels ? source.labels : source.targets;
  SampleFile answer;
  if (!answer_source.path.empty()) {
    check_columns(source, answer_source.path, has_labels ? "labels" : "targets");
    answer = read_sample_file({answer_source.path, source.format, answer_source.sha256},
                              has_labels ? ArrayRole::labels : ArrayRole::targets, choose);
  }
  SampleFile input = read_inputs(source, choose);
  if (source.in_colour && are_grey(input)) to_colour(input.array);
  if (input.classes > 0 && has_labels) {
    throw InputError(
        fmt::format("{} comes with labels of its own, expected no --labels", input.array.name));
  }
  if (source.classes > 0 && !has_labels && input.classes == 0)
    throw InputError("--classes without --labels (these samples have no classes)");
  if (answer_source.path.empty()) check_named_classes(source, input);

  SampleSet set;
  if (std::ssize(input.image_files) == input.array.count())
    set.image_files = std::move(input.image_files);
  set.empty_class = std::move(input.empty_class);
  set.losses = input.losses;
  set.input_sha256 = input.sha256;
  set.answer_sha256 = answer.sha256;
  set.count = input.count;
  set.range = input.range;
  set_input(std::move(input.array), source.as_values, set);
  set.content.answer = Answer::none;
  set.content.answer_type = StoredType::uint8;
  if (!answer_source.path.empty()) {
    if (std::ssize(input.all_image_files) == set.count)
      check_pairs(input.all_image_files, answer.all_image_files);
    check_counts(set, source, answer.count, answer_source.path);
    if (!answer.are_images && source.inputs.size() == 1)
      set.out_of_order = std::move(input.out_of_order);
    if (has_labels) {
      set_labels(labels_of(std::move(answer.array), answer), source.classes, set);
      if (!source.class_names.empty()) set_class_names(source, set);
    } else {
      set.targets_are_bytes = answer.are_images;
      set_targets(std::move(answer.array), set);
    }
  } else if (input.classes > 0) {
    set_labels(std::move(input.labels), std::max(source.classes, input.classes), set);
    set.content.class_names = std::move(input.class_names);
  }
  return set;
}

SampleOrigins origins_of(const SampleSetSource& source) {
  SampleOrigins origins;
  origins.inputs = fmt::format("'{}'", fmt::join(source.inputs, "', '"));
  const std::string& answers =
      source.labels.path.empty() ? source.targets.path : source.labels.path;
  origins.answers = answers.empty() ? origins.inputs : fmt::format("'{}'", answers);
  return origins;
}

std::vector<std::string> warnings_about(const SampleSet& set, const SampleSetSource& source) {
  const std::string files = origins_of(source).inputs;
  std::vector<std::string> warnings;
  if (set.losses.depth) {
    warnings.push_back(
        fmt::format("{}: images of 16 bits were scaled to 8 bits (a .npy file of uint16 keeps "
                    "them, as values that are not divided by 255)",
                    files));
  }
  if (set.losses.transparency) {
    warnings.push_back(fmt::format(
        "{}: the transparency of images was left out; a pixel keeps the colour below it", files));
  }
  if (!set.out_of_order.first.empty()) {
    warnings.push_back(
        fmt::format("{}: images are taken in the order of their names as texts, '{}' before "
                    "'{}': is that the "
                    "order of {}? (numbers with leading zeros have one order)",
                    files, printable(set.out_of_order.first), printable(set.out_of_order.second),
                    origins_of(source).answers));
  }
  const Shape& shape = set.content.shape;
  const bool may_be_channels = shape.width == 1 || shape.width == 3 || shape.width == 4;
  if (may_be_channels && shape.channels > shape.width && shape.height > shape.width) {
    warnings.push_back(fmt::format(
        "{}: samples {} look like [height, width, channels], but are taken as [channels, height, "
        "width] (in NumPy, x.transpose(0, 3, 1, 2) moves the channels)",
        files, to_string(shape)));
  }
  return warnings;
}

std::string image_text(const Shape& shape, bool has_pixels) {
  return has_pixels ? fmt::format("[{}, {}, {}]", shape.channels, shape.height, shape.width)
                    : to_string(shape);
}

}  // namespace quern
