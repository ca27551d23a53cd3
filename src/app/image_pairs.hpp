// SPDX-License-Identifier: Apache-2.0
// Images and their targets, such as masks, belong together by their position, so their names have
// to agree.
#pragma once

#include <string>
#include <vector>

namespace quern {

/// All image files and all files of their targets. InputError for a pair whose names, without
/// folder and ending, differ in more than a beginning and an end that all of one side have:
/// "img_001.png" and "001_mask.png" agree.
void check_pairs(const std::vector<std::string>& images, const std::vector<std::string>& answers);

}  // namespace quern
