// SPDX-License-Identifier: Apache-2.0
// Pictures that belong together, as images and their masks: by their position, so their names have
// to agree.
#pragma once

#include <string>
#include <vector>

namespace quern {

/// All files of pictures and all of their answers. InputError for a pair whose names, without
/// folder and ending, differ in more than a beginning and an end that all of one side have:
/// "img_001.png" and "001_mask.png" agree.
void check_pairs(const std::vector<std::string>& images, const std::vector<std::string>& answers);

}  // namespace quern
