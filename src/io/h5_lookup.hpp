// SPDX-License-Identifier: Apache-2.0
// Private to io/: what a path in an HDF5 file leads to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/h5_heap.hpp"

namespace quern {

enum class H5ObjectKind { missing, group, dataset, other };

/// "/a/b/c" gives "/a", "/a/b", "/a/b/c"; "/" gives nothing.
std::vector<std::string> h5_prefixes(const std::string& path);

/// Follows hard links only: an object behind a soft or external link is `other`.
H5ObjectKind h5_find(std::int64_t file, const std::string& path);

/// Where the raw data of a contiguous dataset lies; empty for any other.
ByteRange h5_data_range(std::int64_t file, const std::string& dataset);

}  // namespace quern
