// SPDX-License-Identifier: Apache-2.0
// Samples out of files, as shards and networks take them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/shard_content.hpp"
#include "io/shard_writer.hpp"
#include "readers/sample_file.hpp"

namespace quern {

/// What a user names on the command line. Labels and targets may be empty, and one of them is.
struct SampleSetSource {
  std::vector<std::string> inputs;  ///< files of alike samples, one after the other
  SampleSource labels;
  SampleSource targets;
  std::string format = "auto";  ///< of all files
  std::string sha256;           ///< expected of the one file of inputs
  int classes = 0;              ///< 0: as many as the format has, or the largest label + 1
  std::string class_names;      ///< a file with a line for each class; "": what the format has
  bool as_values = false;       ///< bytes are no pixels
  bool in_colour = false;       ///< grey images are to have three channels
};

struct SampleSet {
  std::int64_t count = 0;  ///< of all samples
  SampleRange range;       ///< of those that the arrays have
  ShardContent content;    ///< of the whole set
  std::vector<std::uint8_t> images;
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  std::vector<std::string> image_files;  ///< the files of the range, where each is an image
  std::string empty_class;               ///< the folder of a class without images, if any
  ImageLosses losses;                    ///< of the range
  /// As of ImageFolder, where the answers come from a file that has no names.
  std::pair<std::string, std::string> out_of_order;
  bool targets_are_bytes = false;  ///< of images, not divided by 255
  ColumnSums input_sums;           ///< of the range, as of original_sums()
  ColumnSums target_sums;
  Sha256Match input_sha256 = Sha256Match::not_asked;
  Sha256Match answer_sha256 = Sha256Match::not_asked;

  ConstSampleArrays arrays() const { return {images, values, labels, targets}; }
};

/// Bytes become images, unless they are values, other numbers values; what is not float16 becomes
/// float32. InputError, also where a column of a table is among the inputs and among the labels or
/// targets. `choose`: which samples to keep; empty: all. Of a file of labels the classes are then
/// those of the labels that are kept, unless the source says how many there are: see set_classes().
SampleSet read_sample_set(const SampleSetSource& source, const ChooseRange& choose = {});

/// Of a set with labels: how many classes all of its samples have.
void set_classes(SampleSet& set, int classes);

/// Labels come with the inputs unless a file of their own is named.
SampleOrigins origins_of(const SampleSetSource& source);

/// What a user may not expect: images that lost something, axes in another order.
std::vector<std::string> warnings_about(const SampleSet& set, const SampleSetSource& source);

/// "[1, 28, 28]", also of images of one pixel; values may be flat, "[128]".
std::string image_text(const Shape& shape, bool has_pixels);

}  // namespace quern
