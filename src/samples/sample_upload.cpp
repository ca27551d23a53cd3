// SPDX-License-Identifier: Apache-2.0
#include "samples/sample_upload.hpp"

#include <algorithm>
#include <span>

namespace quern {

namespace {

template <class T>
void copy_part(CopyQueue& queue, std::span<T> to, std::int64_t place, std::span<const T> from,
               std::int64_t begin, std::int64_t count, std::int64_t units) {
  if (to.empty()) return;
  queue.copy(to.data() + place * units, from.data() + begin * units,
             static_cast<std::size_t>(count * units) * sizeof(T));
}

}  // namespace

SampleUpload::SampleUpload(const ShardSet& set, const SampleArrays& to, std::int64_t buffer_samples)
    : content_(set.content()),
      to_(to),
      buffer_samples_(buffer_samples),
      buffers_{Buffer(content_, buffer_samples), Buffer(content_, buffer_samples)},
      reader_(set) {}

void SampleUpload::read(std::int64_t first, std::int64_t count, std::int64_t place) {
  while (count > 0) {
    if (buffers_[filling_].used == buffer_samples_) send();
    Buffer& buffer = buffers_[filling_];
    const std::int64_t here = std::min(count, buffer_samples_ - buffer.used);
    reader_.read(first, here, buffer.used, buffer.memory.arrays());
    add_piece(place, here);
    first += here;
    place += here;
    count -= here;
  }
}

void SampleUpload::add_piece(std::int64_t place, std::int64_t count) {
  Buffer& buffer = buffers_[filling_];
  if (!buffer.pieces.empty() && buffer.pieces.back().place + buffer.pieces.back().count == place)
    buffer.pieces.back().count += count;
  else
    buffer.pieces.push_back({buffer.used, place, count});
  buffer.used += count;
}

// Puts the copies on their way, and turns to the other buffer once its own are done.
void SampleUpload::send() {
  reader_.finish();
  Buffer& buffer = buffers_[filling_];
  const SampleArrays from = buffer.memory.arrays();
  for (const Piece& piece : buffer.pieces) {
    const auto copy = [&]<class T>(std::span<T> to, std::span<T> array, std::int64_t units) {
      copy_part<T>(buffer.queue, to, piece.place, array, piece.begin, piece.count, units);
    };
    copy(to_.images, from.images, content_.shape.units());
    copy(to_.values, from.values, content_.shape.units());
    copy(to_.labels, from.labels, 1);
    copy(to_.targets, from.targets, content_.target_shape.units());
  }
  filling_ = 1 - filling_;
  Buffer& next = buffers_[filling_];
  next.queue.wait();
  next.pieces.clear();
  next.used = 0;
}

void SampleUpload::finish() {
  send();
  for (Buffer& buffer : buffers_) buffer.queue.wait();
}

}  // namespace quern
