// SPDX-License-Identifier: Apache-2.0
// Errors that every rank hears of.
//
// One rank that throws alone leaves the others waiting in the next collective call. Work that can
// fail on some ranks only (reading files, allocating) therefore runs inside agree(): either it
// succeeded everywhere, or all ranks throw the same AgreedError. The program's main prints an
// AgreedError on rank 0 and returns its code on all ranks; any other exception is printed where it
// happened and ends the run with Communicator::abort().
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// Thrown by all ranks at the same place, with the same code and message.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Collective: throws the same AgreedError on all ranks if `error` holds an exception on any. Code
/// and message are those of the lowest failing rank, prefixed by "rank R on HOST: " unless all
/// ranks failed alike.
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
