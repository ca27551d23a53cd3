// SPDX-License-Identifier: Apache-2.0
// What `quern checkpoint` prints.
#pragma once

#include <filesystem>
#include <string>

#include "checkpoint/checkpoint_state.hpp"
#include "checkpoint/comparison.hpp"

namespace quern {

/// A line for each checkpoint of the folder, newest first, and what is wrong with damaged ones.
std::string list_report(const std::filesystem::path& folder);

/// Attributes, tensors with shapes, number of parameters and model hash.
std::string show_report(const LoadedCheckpoint& checkpoint);
std::string show_json(const LoadedCheckpoint& checkpoint);

/// A line for each tensor, for each attribute that differs, and for each key in which the recipes
/// differ. `comparison`: of the two.
std::string diff_report(const LoadedCheckpoint& first, const LoadedCheckpoint& second,
                        const Comparison& comparison);

}  // namespace quern
