// SPDX-License-Identifier: Apache-2.0
#include "readers/cifar_reader.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <span>
#include <string>
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

/// One record after the other, from the `first` on; label() and pixels() are those of the last.
class Records {
 public:
  Records(const ByteStream& stream, Cifar kind, std::int64_t first)
      : stream_(stream), kind_(kind), number_(first), record_(record_bytes(kind)) {}

  /// -> false where the stream ends. InputError as of read_cifar().
  bool next() {
    const int classes = kind_ == Cifar::ten ? 10 : 100;
    const std::size_t got = stream_.read(record_);
    if (got == 0) return false;
    const std::string where = fmt::format("record {}", number_++);
    if (got < record_.size()) {
      stream_.fail(fmt::format("truncated: {} has {} bytes, expected {} of CIFAR-{}", where, got,
                               record_.size(), classes));
    }
    if (label() < classes) return true;
    stream_.fail(fmt::format("label {} of {} is out of range, expected 0 to {} of CIFAR-{}",
                             label(), where, classes - 1, classes));
  }

  int label() const { return record_[label_bytes(kind_) - 1]; }
  std::span<const std::uint8_t> pixels() const { return std::span(record_).last(kPixels); }
  /// Of the record that comes.
  std::int64_t number() const { return number_; }

 private:
  const ByteStream& stream_;
  Cifar kind_;
  std::int64_t number_;
  std::vector<std::uint8_t> record_;
};

/// Until the stream ends, or `most`.
CifarFile read_records(Records records, std::int64_t most, const std::string& name) {
  std::vector<std::uint8_t> pixels;
  CifarFile file;
  while (std::ssize(file.labels) < most && records.next()) {
    file.labels.push_back(records.label());
    pixels.insert(pixels.end(), records.pixels().begin(), records.pixels().end());
  }
  file.images.name = name;
  file.images.shape = {std::ssize(file.labels), 3, 32, 32};
  file.images.values = std::move(pixels);
  return file;
}

void check_any(const ByteStream& stream, std::int64_t count) {
  if (count == 0) stream.fail("empty, expected records of CIFAR");
}

}  // namespace

CifarFile read_cifar(const ByteStream& stream, Cifar kind) {
  CifarFile file =
      read_records(Records(stream, kind, 0), std::numeric_limits<std::int64_t>::max(), stream.name);
  check_any(stream, file.images.count());
  return file;
}

std::int64_t count_cifar_records(const ByteStream& stream, Cifar kind) {
  Records records(stream, kind, 0);
  while (records.next()) {
  }
  check_any(stream, records.number());
  return records.number();
}

CifarFile read_cifar_part(const ByteStream& stream, Cifar kind, const SampleRange& range) {
  stream.skip_all(static_cast<std::uint64_t>(range.first) * record_bytes(kind), "records");
  CifarFile file = read_records(Records(stream, kind, range.first), range.count, stream.name);
  if (file.images.count() < range.count) stream.fail("truncated: it ends within its records");
  return file;
}

}  // namespace quern
