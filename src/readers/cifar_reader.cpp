// SPDX-License-Identifier: Apache-2.0
#include "readers/cifar_reader.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
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

namespace {

/// `first`: the number of the first record that comes. -> until the stream ends, or `most` records.
CifarFile read_records(const ByteStream& stream, Cifar kind, std::int64_t first,
                       std::int64_t most) {
  const int classes = kind == Cifar::ten ? 10 : 100;
  std::vector<std::uint8_t> record(record_bytes(kind));
  std::vector<std::uint8_t> pixels;
  CifarFile file;
  while (std::ssize(file.labels) < most) {
    const std::size_t got = stream.read(record);
    if (got == 0) break;
    const std::string where = fmt::format("record {}", first + std::ssize(file.labels));
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
  file.images.name = stream.name;
  file.images.shape = {static_cast<std::int64_t>(file.labels.size()), 3, 32, 32};
  file.images.values = std::move(pixels);
  return file;
}

}  // namespace

CifarFile read_cifar(const ByteStream& stream, Cifar kind, const ChooseRange& choose) {
  const std::uint64_t record = record_bytes(kind);
  if (choose && stream.skip && stream.longest > 0 && stream.longest % record == 0) {
    const SampleRange range = choose(static_cast<std::int64_t>(stream.longest / record));
    stream.skip_all(static_cast<std::uint64_t>(range.first) * record, "records");
    return read_records(stream, kind, range.first, range.count);
  }
  CifarFile file = read_records(stream, kind, 0, std::numeric_limits<std::int64_t>::max());
  if (file.labels.empty()) stream.fail("empty, expected records of CIFAR");
  const SampleRange range = chosen(choose, std::ssize(file.labels));
  keep_samples(file.images, range);
  file.labels.erase(file.labels.begin() + range.first + range.count, file.labels.end());
  file.labels.erase(file.labels.begin(), file.labels.begin() + range.first);
  return file;
}

}  // namespace quern
