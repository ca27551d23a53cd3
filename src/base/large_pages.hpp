// SPDX-License-Identifier: Apache-2.0
// Memory in pages of 2 MiB where the system has them for those who ask ("transparent huge pages",
// setting `madvise`): a step that walks through more arrays than the processor has entries for
// pages of 4 KiB waits for their addresses. With the setting `never`, or without Linux, nothing
// changes.
#pragma once

#include <cstddef>

namespace quern {

/// Asks for such pages for what is not touched yet of [begin, begin + bytes).
void prefer_large_pages(void* begin, std::size_t bytes);

/// Lets arrays of up to 16 MiB, 64 MiB together, lie side by side in such pages, not each in a
/// mapping of its own, which is too small for one. Once, before they are allocated. Where the
/// allocator is not glibc's, nothing happens.
void use_large_pages_for_arrays();

}  // namespace quern
