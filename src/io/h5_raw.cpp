// SPDX-License-Identifier: Apache-2.0
#include "io/h5_raw.hpp"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "base/system_failure.hpp"

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

thread_local int system_failure = 0;

// HDF5 tells of system calls in words: "..., errno = 5, error message = 'Input/output error', ...".
// 0: of none. The name of the file stands before them, and may hold such words, too.
int errno_of(const H5E_error2_t& error) {
  constexpr std::string_view kMarker = "errno = ";
  const std::string_view text = error.desc ? error.desc : "";
  const std::size_t found = text.rfind(kMarker);
  return found == text.npos ? 0 : std::atoi(text.data() + found + kMarker.size());
}

herr_t find_errno(unsigned /*depth*/, const H5E_error2_t* error, void* data) noexcept {
  auto& number = *static_cast<int*>(data);
  if (number == 0) number = errno_of(*error);
  return 0;
}

herr_t find_system_failure(unsigned /*depth*/, const H5E_error2_t* error, void*) noexcept {
  const int number = errno_of(*error);
  if (system_failure == 0 && is_system_failure(number)) system_failure = number;
  return 0;
}

// HDF5 calls it at the end of each of its functions that fails.
herr_t note_failure(hid_t stack, void*) noexcept {
  return H5Ewalk2(stack, H5E_WALK_DOWNWARD, find_system_failure, nullptr);
}

/// What the operating system said, from HDF5's long report of a failed system call; or nothing.
std::string system_reason(const std::string& text) {
  const std::string marker = "error message = '";
  const std::size_t begin = text.find(marker);
  if (begin == std::string::npos) return "";
  return text.substr(begin + marker.size(),
                     text.find('\'', begin + marker.size()) - begin - marker.size());
}

}  // namespace

void h5_silence() {
  // After a write that failed (a full disk), HDF5's clean-up at the end of the process crashes.
  // Every file is closed by then.
  [[maybe_unused]] static const herr_t no_cleanup = H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, note_failure, nullptr);
  system_failure = 0;
}

int h5_system_failure() {
  return system_failure;
}

int h5_errno() {
  int number = 0;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, find_errno, &number);
  return number;
}

H5Handle h5_without_times(hid_t property_class) {
  H5Handle properties(H5Pcreate(property_class), H5Pclose);
  if (!properties.valid() || H5Pset_obj_track_times(properties.get(), false) < 0)
    throw Error("cannot set up HDF5's objects: " + h5_reason());
  return properties;
}

std::string h5_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, append_description, &text);
  if (const std::string reason = system_reason(text); !reason.empty()) return reason;
  return text.empty() ? "HDF5 gives no reason" : text;
}

}  // namespace quern
