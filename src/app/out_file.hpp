// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace quern {

/// InputError where `path` cannot become a new file: it exists and `force` is not given, it is a
/// folder, or its folder does not exist. Of a link, that which it leads to, there or not.
void check_out_file(const std::filesystem::path& path, bool force);

}  // namespace quern
