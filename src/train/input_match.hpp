// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quern {

/// Bytes of images enter a network divided by 255, values as they are: a network that was trained
/// on the one seldom knows the other. A sentence where `trained` and `found` ("images" or "values")
/// differ, else "", as where one is "". `data`: whose samples were found, "'data/test'".
std::string input_difference(const std::string& trained, const std::string& found,
                             const std::string& data);

}  // namespace quern
