// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz: a ZIP archive of .npy files.
#pragma once

#include <filesystem>
#include <string>

#include "readers/array.hpp"

namespace quern {

/// The array called `name`; empty: the only one that there is. InputError as of list_zip and
/// read_npy, and where there is no such array.
Array read_npz(const std::filesystem::path& path, const std::string& name,
               const ChooseRange& choose = {});

}  // namespace quern
