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
  throw AgreedError(broadcast_string(comm, failure.message), code);
}

void agree_on_error(Communicator& comm, const std::exception_ptr& error) {
  // The largest distance from the end belongs to the lowest failing rank; 0 when nobody failed.
  std::int64_t distance = error ? comm.size() - comm.rank() : 0;
  comm.all_reduce_max(std::span(&distance, 1));
  if (distance == 0) return;
  const int speaker = comm.size() - static_cast<int>(distance);
  const Failure mine = error ? describe(error) : Failure{};
  const std::string message = broadcast_string(comm, mine.message, speaker);
  const ExitCode code = broadcast_value(comm, mine.code, speaker);
  std::int64_t num_alike = error && mine.message == message && mine.code == code ? 1 : 0;
  comm.all_reduce_sum(std::span(&num_alike, 1));
  if (num_alike == comm.size()) throw AgreedError(message, code);
  throw AgreedError(
      "rank " + std::to_string(speaker) + " on " + comm.host(speaker) + ": " + message, code);
}

void run_on_all(Communicator& comm, const std::function<void()>& work) {
  std::exception_ptr error;
  try {
    work();
  } catch (const AgreedError&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  agree_on_error(comm, error);
}

}  // namespace quern
