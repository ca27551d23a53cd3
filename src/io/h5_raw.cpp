// SPDX-License-Identifier: Apache-2.0
#include "io/h5_raw.hpp"

namespace quern {

namespace {

// Called by C code: must not throw, so running out of memory only shortens the message.
herr_t append_description(unsigned /*depth*/, const H5E_error2_t* error, void* data) noexcept {
  auto& text = *static_cast<std::string*>(data);
  if (error->desc == nullptr || *error->desc == '\0') return 0;
  try {
    const std::string description = error->desc;
    if (text.find(description) != std::string::npos) return 0;
    if (!text.empty()) text += ": ";
    text += description;
  } catch (...) {
    return -1;
  }
  return 0;
}

}  // namespace

void h5_silence() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

std::string h5_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, append_description, &text);
  return text.empty() ? "HDF5 gives no reason" : text;
}

}  // namespace quern
