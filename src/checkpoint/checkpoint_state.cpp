// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_state.hpp"

#include <ctime>
#include <limits>

#include "base/error.hpp"

namespace quern {

std::string utc_timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, length};
}

std::int64_t num_elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw Error("a tensor has the impossible shape " + shape_text(shape));
    if (extent == 0) {
      empty = true;
    } else if (count > std::numeric_limits<std::int64_t>::max() / extent) {
      throw Error("a tensor is too large to count, shape " + shape_text(shape));
    } else {
      count *= extent;
    }
  }
  return empty ? 0 : count;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

}  // namespace quern
