// SPDX-License-Identifier: Apache-2.0
// Private to io/: the only header that includes hdf5.h.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

namespace quern {

/// An HDF5 identifier and the function that closes it.
class H5Handle {
 public:
  using Closer = herr_t (*)(hid_t);

  H5Handle(hid_t id, Closer closer) : id_(id), closer_(closer) {}
  H5Handle(H5Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), closer_(other.closer_) {}
  H5Handle& operator=(H5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
    return *this;
  }
  ~H5Handle() {
    if (valid()) closer_(id_);
  }

  bool valid() const { return id_ >= 0; }
  hid_t get() const { return id_; }
  /// Closes now; false when HDF5 reports a failure.
  [[nodiscard]] bool close() { return closer_(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

 private:
  hid_t id_;
  Closer closer_;
};

/// Stops HDF5 from printing its errors on standard error: they go into our messages instead.
/// Forgets the failure that h5_system_failure() tells of.
void h5_silence();

/// The errno of a call to HDF5 of this thread, since h5_silence(), in which a disk or a file server
/// failed; 0 without. Unlike h5_reason() it is known after further calls: many failures only look
/// like something that is missing in the file.
int h5_system_failure();

/// The errno of the system call in which the call to HDF5 that just failed has failed, of any kind;
/// 0 without one.
int h5_errno();

/// Properties to create an object of this class with (H5P_DATASET_CREATE and so on), whose header
/// does not say when: equal content is equal bytes.
H5Handle h5_without_times(hid_t property_class);

/// What HDF5 says about the call that just failed, from the general to the particular.
std::string h5_reason();

}  // namespace quern
