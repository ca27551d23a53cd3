// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/library.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/device_transport.hpp"

namespace quern {

namespace {

int major_of(int code) {
  return code / 10000;
}

}  // namespace

std::string nccl_version_text(int code) {
  return std::to_string(major_of(code)) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

int nccl_runtime_version() {
  int code = 0;
  NcclCaller{0, "start"}.check(ncclGetVersion(&code), "ncclGetVersion");
  return code;
}

void check_nccl_version(int code) {
  const std::string found = std::string(kNcclName) + " " + nccl_version_text(code);
  if (code < kOldestNccl || major_of(code) != major_of(NCCL_VERSION_CODE)) {
    throw InputError(
        "the library that was loaded is " + found + ", expected " + nccl_version_text(kOldestNccl) +
        " or later of the same major version (quern " + "was built with " +
        nccl_version_text(NCCL_VERSION_CODE) +
        "; check the loaded modules and LD_LIBRARY_PATH, or set parallel.backend = " + "\"mpi\")");
  }
  if (code > kNewestNccl) {
    log::warn(found + " is newer than this quern knows (" + nccl_version_text(kNewestNccl) + ")");
  }
}

void NcclCaller::check(ncclResult_t code, const char* call, ncclComm_t comm) const {
  if (code == ncclSuccess || code == ncclInProgress) return;
  const char* detail = comm ? ncclGetLastError(comm) : nullptr;
  const std::string text = std::string(call) + " failed on rank " + std::to_string(rank) + " (" +
                           host + "): " + ncclGetErrorString(code) +
                           (detail && *detail ? std::string(": ") + detail : std::string());
  if (code == ncclRemoteError) throw OtherRankError(text);
  throw Error(text);
}

}  // namespace quern
