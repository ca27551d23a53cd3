// SPDX-License-Identifier: Apache-2.0
#include "train/input_match.hpp"

namespace quern {

std::string input_difference(const std::string& trained, const std::string& found,
                             const std::string& data) {
  if (trained.empty() || found.empty() || trained == found) return "";
  if (trained == "images") {
    return "the network was trained on bytes, which it read divided by 255, but " + data +
           " holds values, which it reads as they are";
  }
  return "the network was trained on values, which it read as they are, but " + data +
         " holds bytes, which it reads divided by 255";
}

}  // namespace quern
