// SPDX-License-Identifier: Apache-2.0
#include "readers/cifar_reader.hpp"

#include <fmt/format.h>

#include <utility>

namespace quern {

namespace {

constexpr std::size_t kPixels = std::size_t{3} * 32 * 32;

std::size_t label_bytes(Cifar kind) {
  return kind == Cifar::ten ? 1 : 2;
}

}  // namespace

std::size_t record_bytes(Cifar kind) {
  return label_bytes(kind) + kPixels;
}

CifarFile read_cifar(const ByteStream& stream, Cifar kind) {
  const int classes = kind == Cifar::ten ? 10 : 100;
  std::vector<std::uint8_t> record(record_bytes(kind));
  std::vector<std::uint8_t> pixels;
  CifarFile file;
  for (;;) {
    const std::size_t got = stream.read(record);
    if (got == 0) break;
    const std::string where = fmt::format("record {}", file.labels.size());
    if (got < record.size()) {
      stream.fail(fmt::format("truncated: {} has {} bytes, expected {} of CIFAR-{}", where, got,
                              record.size(), classes));
    }
    const int label = record[label_bytes(kind) - 1];
    if (label >= classes) {
      stream.fail(fmt::format("label {} of {} is out of range, expected 0 to {} of CIFAR-{}", label,
                              where, classes - 1, classes));
    }
    file.labels.push_back(label);
    pixels.insert(pixels.end(), record.end() - kPixels, record.end());
  }
  if (file.labels.empty()) stream.fail("empty, expected records of CIFAR");
  file.images.name = stream.name;
  file.images.shape = {static_cast<std::int64_t>(file.labels.size()), 3, 32, 32};
  file.images.values = std::move(pixels);
  return file;
}

}  // namespace quern
