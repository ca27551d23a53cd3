// SPDX-License-Identifier: Apache-2.0
// Errors that every rank hears of.
//
// One rank that throws alone leaves the others waiting in the next collective call. Work that can
// fail on some ranks only (reading files, allocating) therefore runs inside agree(): either it
// succeeded everywhere, or all ranks throw the same AgreedError. run_on_ranks prints an AgreedError
// of all ranks on rank 0 and returns its code everywhere. Any other exception, also one that only a
// group of the ranks has agreed on, is printed where it happened and ends the run with
// Communicator::abort().
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// Thrown by all ranks of a communicator at the same place, with the same code and message.
class AgreedError : public Error {
 public:
  /// All ranks of `comm` have failed alike, or one has done what is for all.
  AgreedError(const Communicator& comm, const std::string& message,
              ExitCode code = ExitCode::failure)
      : AgreedError(comm, message, code, message, true) {}
  /// `reason`: the message without who failed. `is_own`: did this rank?
  AgreedError(const Communicator& comm, const std::string& message, ExitCode code,
              std::string reason, bool is_own)
      : Error(message, code),
        reason_(std::move(reason)),
        is_own_(is_own),
        rank_(comm.rank()),
        num_ranks_(comm.size()) {}

  const std::string& reason() const { return reason_; }
  bool is_own() const { return is_own_; }
  /// Of those that throw it: this one, and how many there are.
  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }

 private:
  std::string reason_;
  bool is_own_;
  int rank_;
  int num_ranks_;
};

/// Collective: throws the same AgreedError on all ranks if `error` holds an exception on any. Code
/// and message are those of the lowest failing rank, prefixed by "rank R on HOST: " unless all
/// ranks failed alike. What a group of the ranks has agreed on already is an error like others:
/// ranks of other groups have not heard of it.
void agree_on_error(Communicator& comm, const std::exception_ptr& error);

/// Collective: runs `work` on rank 0 alone; if it throws, all ranks throw the same AgreedError,
/// with the message as it is. For what one rank does for all.
void run_on_root(Communicator& comm, const std::function<void()>& work);

/// Collective: runs `work` on every rank; if it throws on any, all ranks throw the same
/// AgreedError.
void run_on_all(Communicator& comm, const std::function<void()>& work);

/// Runs `work` on every rank and returns its result, or throws AgreedError on all ranks. `work` may
/// be collective itself only if it cannot fail before its last collective call on some ranks alone.
template <class Work>
auto agree(Communicator& comm, Work&& work) {
  using Result = std::invoke_result_t<Work>;
  if constexpr (std::is_void_v<Result>) {
    run_on_all(comm, [&] { std::invoke(std::forward<Work>(work)); });
  } else {
    std::optional<Result> result;
    run_on_all(comm, [&] { result.emplace(std::invoke(std::forward<Work>(work))); });
    return Result(std::move(*result));
  }
}

}  // namespace quern
