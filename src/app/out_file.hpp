// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quern {

/// InputError where `path` cannot become a new file: it exists and `force` is not given, it is a
/// folder, or its folder does not exist. Of a link, that which it leads to, there or not.
void check_out_file(const std::filesystem::path& path, bool force);

/// InputError where writing to `path` would replace one of `inputs`, by whatever name, or where it
/// has the name or the folder of a checkpoint. Empty names are none.
void refuse_input_as_output(const std::filesystem::path& path,
                            const std::vector<std::string>& inputs);

}  // namespace quern
