// SPDX-License-Identifier: Apache-2.0
// Samples out of shards on their way into the memory of a device.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/queue.hpp"
#include "io/sample_reader.hpp"
#include "io/shard_content.hpp"

namespace quern {

/// Arrays for so many samples of one content, in memory of `Space`.
template <class Space>
struct SampleMemory {
  template <class T>
  using Array = Kokkos::View<T*, Kokkos::LayoutRight, Space>;

  SampleMemory(const std::string& label, const ShardContent& content, std::int64_t num_samples) {
    const auto count = static_cast<std::size_t>(num_samples);
    const auto units = count * static_cast<std::size_t>(content.shape.units());
    if (content.has_pixels())
      images = Array<std::uint8_t>(label + "_images", units);
    else
      values = Array<float>(label + "_values", units);
    if (content.has_labels()) labels = Array<std::int32_t>(label + "_labels", count);
    if (content.has_targets()) {
      const auto target_units = static_cast<std::size_t>(content.target_shape.units());
      targets = Array<float>(label + "_targets", count * target_units);
    }
  }

  SampleArrays arrays() const {
    return {{images.data(), images.size()},
            {values.data(), values.size()},
            {labels.data(), labels.size()},
            {targets.data(), targets.size()}};
  }

  Array<std::uint8_t> images;
  Array<float> values;
  Array<std::int32_t> labels;
  Array<float> targets;
};

/// Reads into two buffers of pinned memory in turn: while one of them is filled, the samples of the
/// other one are copied to the device, beside its kernels. For one thread at a time, which need not
/// be the one that makes it.
class SampleUpload {
 public:
  /// `to`: arrays in kernel memory, which outlive it, as `set` does.
  SampleUpload(const ShardSet& set, const SampleArrays& to, std::int64_t buffer_samples);

  /// As of SampleReader.
  void announce(std::int64_t first, std::int64_t count) { reader_.announce(first, count); }
  /// As SampleReader::read(), to places in the arrays, which no kernel may read meanwhile. They are
  /// whole after finish(), for kernels that are launched then. After an error nothing else may be
  /// read: what is in the buffers would go to its places later.
  void read(std::int64_t first, std::int64_t count, std::int64_t place);
  void finish();

  /// What both buffers take of the host's memory.
  static std::int64_t num_bytes(const ShardContent& content, std::int64_t buffer_samples) {
    return 2 * buffer_samples * content.memory_bytes();
  }

 private:
  /// Neighbours in a buffer that become neighbours in the arrays.
  struct Piece {
    std::int64_t begin;  // in the buffer
    std::int64_t place;  // in the arrays
    std::int64_t count;
  };

  struct Buffer {
    Buffer(const ShardContent& content, std::int64_t num_samples)
        : memory("quern::samples::upload", content, num_samples) {}

    SampleMemory<Kokkos::SharedHostPinnedSpace> memory;
    CopyQueue queue;
    std::vector<Piece> pieces;
    std::int64_t used = 0;
  };

  void add_piece(std::int64_t place, std::int64_t count);
  void send();

  const ShardContent& content_;
  SampleArrays to_;
  std::int64_t buffer_samples_;
  std::array<Buffer, 2> buffers_;
  std::size_t filling_ = 0;
  SampleReader reader_;  // the last member: it fills the buffers
};

}  // namespace quern
