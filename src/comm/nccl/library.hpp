// SPDX-License-Identifier: Apache-2.0
// NCCL's header, or RCCL's, which has the same names; and which versions Quern can live with.
#pragma once

#ifdef QUERN_HAVE_RCCL
#include <rccl/rccl.h>
#else
#include <nccl.h>
#endif

#include <string>

static_assert(NCCL_VERSION_CODE >= NCCL_VERSION(2, 20, 0),
              "Quern needs NCCL 2.20 or later (non-blocking communicators)");

namespace quern {

#ifdef QUERN_HAVE_RCCL
using NcclStream = hipStream_t;
inline constexpr const char* kNcclName = "RCCL";
#else
using NcclStream = cudaStream_t;
inline constexpr const char* kNcclName = "NCCL";
#endif

inline constexpr int kOldestNccl = NCCL_VERSION(2, 20, 0);
/// The newest series whose notes were read; a newer library is used with a warning.
inline constexpr int kNewestNccl = NCCL_VERSION(2, 30, 99);

/// "2.28.9"
std::string nccl_version_text(int code);

/// The version of the library that is loaded. Throws Error when it does not tell.
int nccl_runtime_version();

/// Throws InputError for a library older than Quern needs, or of another major version than its
/// header; warns about one newer than Quern knows.
void check_nccl_version(int code);

/// Where calls come from, for messages.
struct NcclCaller {
  int rank = 0;
  std::string host;

  /// Throws Error unless `code` is success or, for non-blocking communicators, "in progress":
  /// "ncclAllReduce failed on rank 3 (node2): unhandled system error: what NCCL said last". What
  /// another rank is to blame for is an OtherRankError.
  void check(ncclResult_t code, const char* call, ncclComm_t comm = nullptr) const;
};

}  // namespace quern
