// SPDX-License-Identifier: Apache-2.0
#include "comm/serial/node_shared.hpp"

#include <cstring>
#include <new>

#include "base/large_pages.hpp"

namespace quern {

namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kLargePage = std::size_t{2} << 20;

// Aligned to a cache line, or to a large page where it fills some; zero-filled.
std::byte* allocate_zeros(std::size_t bytes) {
  const std::size_t alignment = bytes < kLargePage ? kCacheLine : kLargePage;
  const std::size_t whole = (bytes / alignment + 1) * alignment;
  void* memory = std::aligned_alloc(alignment, whole);
  if (memory == nullptr) throw std::bad_alloc();
  prefer_large_pages(memory, whole);
  std::memset(memory, 0, bytes);
  return static_cast<std::byte*>(memory);
}

}  // namespace

SerialNodeShared::SerialNodeShared(std::size_t bytes)
    : memory_(allocate_zeros(bytes)), size_(bytes) {}

}  // namespace quern
