// SPDX-License-Identifier: Apache-2.0
// What a data set holds of every sample, and where a program keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/shape.hpp"

namespace quern {

/// How numbers lie in a shard, little-endian.
enum class StoredType { uint8, int32, float16, float32 };

std::int64_t bytes_of(StoredType type);  ///< of one number
const char* to_string(StoredType type);  ///< as in numpy: "float16"

/// The shape of one sample of an array [n, ...]: [n] is [1], [n, f] is [f], [n, h, w] is [1, h, w],
/// [n, c, h, w] is itself, and what has more axes is flat. Nothing for a scalar, and where a sample
/// has no values or more than a Shape can count.
std::optional<Shape> shape_of_sample(std::span<const std::int64_t> array_shape);

/// What a network is to answer for a sample.
enum class Answer { none, labels, targets };

const char* to_string(Answer answer);

struct ShardContent {
  StoredType input = StoredType::uint8;  ///< uint8: pixels, /images; float16, float32: /values
  Shape shape = {};                      ///< of one sample
  Answer answer = Answer::labels;
  StoredType answer_type = StoredType::uint8;  ///< labels: uint8 or int32; targets: float32
  Shape target_shape = {0, 1, 1};              ///< of the targets of one sample
  int classes = 0;                             ///< every label is below it; 0 without labels
  /// Of the classes, where they have names, in UTF-8; else empty. They name no data: the content
  /// hash leaves them out.
  std::vector<std::string> class_names = {};
  /// Of the numbers of a sample, where they were columns with names, in UTF-8; else empty. The
  /// content hash leaves them out, too.
  std::vector<std::string> feature_names = {};

  bool has_pixels() const { return input == StoredType::uint8; }
  bool has_labels() const { return answer == Answer::labels; }
  bool has_targets() const { return answer == Answer::targets; }
  const char* input_name() const { return has_pixels() ? "images" : "values"; }
  const char* answer_name() const { return has_targets() ? "targets" : "labels"; }

  /// Of one sample, as stored; answer_bytes() is 0 where there is no answer.
  std::int64_t input_bytes() const { return shape.units() * bytes_of(input); }
  std::int64_t answer_bytes() const;
  /// Of one sample in memory (SampleArrays).
  std::int64_t memory_bytes() const;

  friend bool operator==(const ShardContent&, const ShardContent&) = default;
};

/// "float32 values [3, 8, 8] with float32 targets [2]"
std::string to_string(const ShardContent& content);

/// InputError where there are names, but not one for each class or each number of a sample, or one
/// that is no line of UTF-8.
void check_names(const ShardContent& content);

/// Version 1 of the format has images of uint8 with labels of uint8, version 2 all of the above.
/// Shards are written in the version that suffices.
std::int64_t format_version_of(const ShardContent& content);

/// Samples in memory, one behind the other. What a data set does not have is empty.
template <class Byte, class Float, class Int>
struct BasicSampleArrays {
  std::span<Byte> images = {};    ///< [count, units], pixels
  std::span<Float> values = {};   ///< [count, units], instead of images
  std::span<Int> labels = {};     ///< [count]
  std::span<Float> targets = {};  ///< [count, target units]
};

using SampleArrays = BasicSampleArrays<std::uint8_t, float, std::int32_t>;
using ConstSampleArrays = BasicSampleArrays<const std::uint8_t, const float, const std::int32_t>;

}  // namespace quern
