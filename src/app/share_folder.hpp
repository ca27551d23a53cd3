// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace quern {

/// The share/quern that was installed with this program, wherever its prefix is now: recipes, job
/// templates, analysis, examples. Empty where there is none, as in a build folder.
std::filesystem::path share_folder();

}  // namespace quern
