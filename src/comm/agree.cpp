// SPDX-License-Identifier: Apache-2.0
#include "comm/agree.hpp"

#include <array>
#include <cstdint>
#include <string>

#include "comm/exchange.hpp"

namespace quern {

namespace {

struct Failure {
  std::string message;
  ExitCode code = ExitCode::failure;
  bool is_own = true;  // else another rank of a group that this one is in has failed
};

Failure describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return {e.what(), e.code()};
  } catch (const std::bad_alloc&) {
    return {"out of memory"};
  } catch (const std::exception& e) {
    return {e.what()};
  } catch (...) {
    return {"unknown exception"};
  }
}

// The reason alone of a failure of this rank's: in its group the rank may have another number.
Failure describe_for_all(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const AgreedError& e) {
    if (e.is_own()) return {e.reason(), e.code()};
    return {e.what(), e.code(), false};
  } catch (...) {
    return describe(error);
  }
}

}  // namespace

void run_on_root(Communicator& comm, const std::function<void()>& work) {
  Failure failure;
  bool failed = false;
  if (comm.rank() == 0) {
    try {
      work();
    } catch (...) {
      failed = true;
      failure = describe(std::current_exception());
    }
  }
  if (!broadcast_value(comm, failed)) return;
  const ExitCode code = broadcast_value(comm, failure.code);
  throw AgreedError(comm, broadcast_string(comm, failure.message), code);
}

void agree_on_error(Communicator& comm, const std::exception_ptr& error) {
  const std::int64_t size = comm.size();
  const Failure mine = error ? describe_for_all(error) : Failure{};
  // The largest distance from the end belongs to the lowest rank that failed by itself, or else to
  // the lowest that heard of a failure; 0 when nobody failed.
  std::int64_t distance = error ? size - comm.rank() + (mine.is_own ? size : 0) : 0;
  comm.all_reduce_max(std::span(&distance, 1));
  if (distance == 0) return;
  const bool failed_here = distance > size;
  const int speaker = static_cast<int>((failed_here ? 2 * size : size) - distance);
  const std::string message = broadcast_string(comm, mine.message, speaker);
  const ExitCode code = broadcast_value(comm, mine.code, speaker);
  const bool is_alike = error && mine.message == message && mine.code == code;
  std::int64_t num_alike = is_alike ? 1 : 0;
  comm.all_reduce_sum(std::span(&num_alike, 1));
  if (num_alike == size) throw AgreedError(comm, message, code, message, mine.is_own);
  const std::string who =
      failed_here ? "rank " + std::to_string(speaker) + " on " + comm.host(speaker) + ": " : "";
  throw AgreedError(comm, who + message, code, message, error && mine.is_own);
}

// An AgreedError may be of some of the ranks only: it is agreed on once more.
void run_on_all(Communicator& comm, const std::function<void()>& work) {
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  agree_on_error(comm, error);
}

}  // namespace quern
