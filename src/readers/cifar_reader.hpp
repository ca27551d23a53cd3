// SPDX-License-Identifier: Apache-2.0
// The binary files of CIFAR-10 and CIFAR-100: records of one label (CIFAR-100: a coarse and a fine
// one) and 3072 bytes, the red, green and blue plane of 32 x 32 pixels. (A. Krizhevsky, "Learning
// multiple layers of features from tiny images", 2009.)
#pragma once

#include <cstdint>
#include <vector>

#include "readers/array.hpp"
#include "readers/byte_stream.hpp"

namespace quern {

enum class Cifar { ten, hundred };

/// Of the samples that are held.
struct CifarFile {
  Array images;                      ///< uint8 [n, 3, 32, 32]
  std::vector<std::int32_t> labels;  ///< [n]; of CIFAR-100 the fine ones
};

/// Bytes of a record.
std::size_t record_bytes(Cifar kind);

/// All records of a stream. InputError when it does not end with a record, holds none, or a label
/// is out of range.
CifarFile read_cifar(const ByteStream& stream, Cifar kind);

/// How many those are. InputError as above.
std::int64_t count_cifar_records(const ByteStream& stream, Cifar kind);

/// Records of the middle of a stream. InputError where there are fewer, or a label of these is out
/// of range.
CifarFile read_cifar_part(const ByteStream& stream, Cifar kind, const SampleRange& range);

}  // namespace quern
