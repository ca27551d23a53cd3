// SPDX-License-Identifier: Apache-2.0
// Where the files are that tests read: recipes, golden files, documents.
#pragma once

#include <filesystem>

namespace quern::test {

/// The root of the source tree.
std::filesystem::path source_folder();

}  // namespace quern::test
