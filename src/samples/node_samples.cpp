// SPDX-License-Identifier: Apache-2.0
#include "samples/node_samples.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/check_same.hpp"
#include "comm/node_shared.hpp"
#include "device/inventory.hpp"
#include "runtime/memory.hpp"
#include "samples/own_sample_checks.hpp"
#include "tensor/host_values.hpp"

namespace quern {

namespace {

template <class T>
View<const T> where_kernels_read(std::span<const T> values) {
  if constexpr (kHostExecution) {
    return View<const T>(values.data(), values.size());
  } else {
    return copy_to_kernels("quern::samples::samples", values);
  }
}

// One array after the other, each on a cache line of its own.
class Divider {
 public:
  template <class T>
  std::span<T> take(std::int64_t count, std::span<std::byte> from = {}) {
    const auto begin = static_cast<std::size_t>(bytes_);
    const auto size = static_cast<std::size_t>(count) * sizeof(T);
    constexpr std::int64_t kCacheLine = 64;
    bytes_ += round_up(static_cast<std::int64_t>(size), kCacheLine);
    if (from.empty()) return {};
    return {reinterpret_cast<T*>(from.data() + begin), static_cast<std::size_t>(count)};
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

// `from`: empty to learn how much is needed. -> the arrays in it.
SampleArrays divide(Divider& divider, const ShardContent& content, std::int64_t count,
                    std::span<std::byte> from) {
  SampleArrays arrays;
  const std::int64_t units = count * content.shape.units();
  if (content.has_pixels())
    arrays.images = divider.take<std::uint8_t>(units, from);
  else
    arrays.values = divider.take<float>(units, from);
  if (content.has_labels()) arrays.labels = divider.take<std::int32_t>(count, from);
  if (content.has_targets())
    arrays.targets = divider.take<float>(count * content.target_shape.units(), from);
  return arrays;
}

// In the memory of a node.
struct NodeMemory {
  SampleArrays arrays;
  std::span<char> hash;  // room for one that the node's ranks share
};

NodeMemory divide_all(Divider& divider, const ShardContent& content, std::int64_t count,
                      std::span<std::byte> from) {
  constexpr std::int64_t kHashLength = 64;
  return {divide(divider, content, count, from), divider.take<char>(kHashLength, from)};
}

Samples allocate(Communicator& comm, const std::string& name, std::int64_t count,
                 const ShardContent& content, NodeMemory& memory) {
  Divider needed;
  divide_all(needed, content, count, {});
  agree(comm, [&] {
    check_address_space(needed.bytes(), name);
    if (comm.node_rank() == 0) {
      check_memory(needed.bytes(), name);
      if (comm.node_size() > 1)
        check_shared_memory(needed.bytes(), name, free_shared_memory_bytes());
    }
    check_device_data(needed.bytes(), name, available_device_memory());
  });
  Samples samples;
  samples.storage = comm.allocate_node_shared(static_cast<std::size_t>(needed.bytes()));
  samples.count = count;
  samples.shape = content.shape;
  samples.classes = content.classes;
  samples.class_names = content.class_names;
  samples.feature_names = content.feature_names;
  Divider divider;
  memory = divide_all(divider, content, count, samples.storage->bytes());
  return samples;
}

void fill_with(Communicator& comm, const FillSamples& fill, const SampleArrays& arrays,
               Samples& samples) {
  agree(comm, [&] { fill(arrays); });
  samples.storage->publish();
  samples.images = where_kernels_read<std::uint8_t>(arrays.images);
  samples.values = where_kernels_read<float>(arrays.values);
  samples.labels = where_kernels_read<std::int32_t>(arrays.labels);
  samples.targets = where_kernels_read<float>(arrays.targets);
}

void check_content(const std::string& name, std::int64_t count, const ShardContent& content) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
  if (count < 1 || !is_shape_of_samples(content.shape) ||
      (content.has_targets() && !is_shape_of_samples(content.target_shape)) ||
      count > kMostBytes / content.memory_bytes()) {
    throw InputError(name + ": " + std::to_string(count) + " samples, " + to_string(content) +
                     ", expected extents from 1 on, and as many samples as memory can hold");
  }
  if (content.has_labels() && content.classes < 1) {
    throw InputError(name + ": labels of " + std::to_string(content.classes) +
                     " classes, expected at least one (ShardContent::classes)");
  }
  try {
    check_names(content);
  } catch (const InputError& error) {
    throw InputError(name + ": " + error.what());
  }
}

// By the ranks of a node together.
void check_node_samples(Communicator& comm, const std::string& name, std::int64_t count,
                        const ShardContent& content, const SampleArrays& arrays) {
  const auto begin = [&](int rank) { return count * rank / comm.node_size(); };
  const ConstSampleArrays samples{arrays.images, arrays.values, arrays.labels, arrays.targets};
  agree(comm, [&] {
    check_own_samples(samples, content, begin(comm.node_rank()), begin(comm.node_rank() + 1), name);
  });
}

std::string hash_of(const SampleArrays& arrays) {
  return hash_of_samples(
      arrays.values.empty() ? std::as_bytes(arrays.images) : std::as_bytes(arrays.values),
      arrays.labels.empty() ? std::as_bytes(arrays.targets) : std::as_bytes(arrays.labels));
}

}  // namespace

Samples make_known_node_samples(Communicator& comm, const std::string& name, std::int64_t count,
                                const ShardContent& content, const FillSamples& fill) {
  NodeMemory memory;
  Samples samples = allocate(comm, name, count, content, memory);
  fill_with(comm, fill, memory.arrays, samples);
  return samples;
}

Samples make_node_samples(Communicator& comm, const std::string& name, std::int64_t count,
                          const ShardContent& content, const FillSamples& fill) {
  agree(comm, [&] { check_content(name, count, content); });
  check_same(comm, name,
             std::to_string(count) + " samples, " + to_string(content) + ", of " +
                 std::to_string(content.classes) + " classes");
  NodeMemory memory;
  Samples samples = allocate(comm, name, count, content, memory);
  fill_with(comm, fill, memory.arrays, samples);
  check_node_samples(comm, name, count, content, memory.arrays);
  if (samples.storage->is_leader()) {
    const std::string hash = hash_of(memory.arrays);
    std::copy_n(hash.begin(), memory.hash.size(), memory.hash.begin());
  }
  samples.storage->publish();
  samples.data_hash.assign(memory.hash.begin(), memory.hash.end());
  return samples;
}

}  // namespace quern
