// SPDX-License-Identifier: Apache-2.0
#include "base/large_pages.hpp"

#include <cstdint>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace quern {

void prefer_large_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t kPage = std::size_t{2} << 20;
  const std::size_t skipped = (kPage - reinterpret_cast<std::uintptr_t>(begin) % kPage) % kPage;
  if (bytes < skipped + kPage) return;
  // Refused where there are none: then pages are small.
  (void)madvise(static_cast<char*>(begin) + skipped, (bytes - skipped) / kPage * kPage,
                MADV_HUGEPAGE);
#endif
}

void use_large_pages_for_arrays() {
#if defined(__GLIBC__)
  constexpr int kMiB = 1 << 20;
  constexpr int kLargestArray = 16 * kMiB;
  constexpr int kTogether = 64 * kMiB;
  if (mallopt(M_MMAP_THRESHOLD, kLargestArray) == 0) return;
  mallopt(M_TRIM_THRESHOLD, 2 * kTogether);
  // The heap grows once, by what the array does not need as well; then it is there for others.
  mallopt(M_TOP_PAD, kTogether);
  void* const array = std::malloc(kMiB);
  mallopt(M_TOP_PAD, kMiB);
  auto* const begin = static_cast<char*>(array);
  auto* const end = static_cast<char*>(sbrk(0));
  const bool is_in_heap = array != nullptr && begin < end && end - begin <= 2 * kTogether;
  if (is_in_heap) prefer_large_pages(begin, static_cast<std::size_t>(end - begin));
  std::free(array);
#endif
}

}  // namespace quern
