// SPDX-License-Identifier: Apache-2.0
#include "base/system_failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace quern {

namespace {

constexpr std::array kFailures = {
    // Disks and file servers, among them what clients of NFS, Lustre and FUSE report.
    EIO, ESTALE, ETIMEDOUT, ENODEV, ENXIO, ENOLINK, EREMOTEIO, ENOTCONN, ESHUTDOWN, ECONNRESET,
    ECONNABORTED, ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH,
    // Limits, and calls that were cut short.
    ENOMEM, ENOBUFS, EMFILE, ENFILE, EINTR, EAGAIN};

std::string with_reason(int error, const std::string& what) {
  return what + ": " + (error == 0 ? "unknown reason" : std::generic_category().message(error));
}

}  // namespace

bool is_system_failure(int error) {
  return std::find(kFailures.begin(), kFailures.end(), error) != kFailures.end();
}

void throw_system_failure(int error, const std::string& what) {
  if (!is_system_failure(error)) return;
  throw SystemFailure(with_reason(error, what));
}

void throw_read_failure(int error, const std::string& what) {
  throw_system_failure(error, what);
  throw InputError(with_reason(error, what));
}

void throw_unusable(int error, const std::string& what) {
  throw_system_failure(error, what);
  throw UnusableError(with_reason(error, what));
}

}  // namespace quern
