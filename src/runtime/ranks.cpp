// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks.hpp"

#include <Kokkos_Core.hpp>
#include <chrono>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/flush_denormals.hpp"
#include "base/large_pages.hpp"
#include "base/log.hpp"
#include "comm/agree.hpp"
#include "comm/launch_checks.hpp"
#include "comm/session.hpp"
#include "comm/transport_error.hpp"
#include "runtime/binding.hpp"
#include "runtime/device_choice.hpp"
#include "runtime/devices.hpp"
#include "runtime/one_voice.hpp"

namespace quern {

namespace {

std::string g_place;

// `reason`: `message` without what differs from rank to rank of those that failed alike.
ExitCode fail_alone(Communicator& comm, OneVoice* voice, const std::string& message,
                    const std::string& reason, ExitCode code) {
  if (comm.size() == 1) {
    log::error(message);
    return code;
  }
  const std::string whole = "rank " + std::to_string(comm.rank()) + " on " +
                            comm.host(comm.rank()) + (g_place.empty() ? "" : " (" + g_place + ")") +
                            ": " + message;
  if (voice) {
    voice->say(whole, reason);
  } else {
    log::error(whole);
  }
  comm.abort(code);
  return code;
}

// Other ranks have not heard of it, and would wait for this group. One rank of it speaks.
ExitCode fail_in_group(Communicator& comm, OneVoice* voice, const AgreedError& error) {
  constexpr std::chrono::seconds kUntilItHasSpoken{10};
  if (error.rank() > 0) std::this_thread::sleep_for(kUntilItHasSpoken);
  const std::string message = "in a group of " + std::to_string(error.num_ranks()) + " of the " +
                              std::to_string(comm.size()) + " ranks: " + error.what();
  return fail_alone(comm, voice, message, message, error.code());
}

// Of an exception that is none of ours: Kokkos has no type of its own for a failed allocation.
std::string text_of(const std::exception& error) {
  const std::string text = error.what();
  const std::string kokkos = "Kokkos ERROR: ";
  if (!text.starts_with(kokkos) || text.find("failed to allocate") == std::string::npos)
    return text;
  return "out of memory: " + text.substr(kokkos.size());
}

// What `body` throws becomes one message.
ExitCode run_body(Communicator& comm, const std::function<ExitCode(Communicator&)>& body) {
  std::optional<OneVoice> voice;
  const auto fail = [&](const std::string& message, ExitCode code) {
    return fail_alone(comm, voice ? &*voice : nullptr, message, message, code);
  };
  try {
    voice.emplace(comm);
    check_same_program(comm);
    check_same_command(comm, words_of_this_process());
    return body(comm);
  } catch (const AgreedError& error) {
    if (error.num_ranks() < comm.size())
      return fail_in_group(comm, voice ? &*voice : nullptr, error);
    if (comm.rank() == 0) log::error(error.what());
    return error.code();
  } catch (const TransportError& error) {
    return fail_alone(comm, voice ? &*voice : nullptr, error.what(), error.reason(), error.code());
  } catch (const Error& error) {
    return fail(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return fail("out of memory", ExitCode::failure);
  } catch (const std::exception& error) {
    return fail(text_of(error), ExitCode::failure);
  } catch (...) {
    return fail("unknown exception", ExitCode::failure);
  }
}

// On all threads of kernels: those of OpenMP may run already, if the caller has used it.
void flush_denormals_on_threads() {
  const Kokkos::DefaultHostExecutionSpace host;
  Kokkos::parallel_for(
      "quern::runtime::flush_denormals",
      Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(host, 0, host.concurrency()),
      [](int) { FlushDenormals::on_this_thread(); });
}

// Kokkos would end the process for a value that it cannot read, and would not use another one.
void leave_out(Communicator& comm, const char* variable, const std::string& instead) {
  if (!std::getenv(variable)) return;
  if (comm.rank() == 0)
    log::warn(std::string(variable) + " in the environment is not used (" + instead + ")");
  ::unsetenv(variable);
}

Kokkos::InitializationSettings settings_of(Communicator& comm) {
  leave_out(comm, "KOKKOS_NUM_THREADS", "OMP_NUM_THREADS says how many threads a rank has");
  leave_out(comm, "KOKKOS_DEVICE_ID",
            "CUDA_VISIBLE_DEVICES and the like say which devices there are");
  Kokkos::InitializationSettings settings;
  // Kokkos would warn about OMP_PROC_BIND, which launchers and job scripts set.
  settings.set_disable_warnings(true).set_num_threads(threads_of_this_rank(comm));
  const int visible = agree(comm, [] { return visible_devices(); });
  if (visible > 0) settings.set_device_id(device_of_rank(comm.node_rank(), visible));
  return settings;
}

// Threads, cores and device of a Kokkos that runs already are the program's own.
ExitCode with_kokkos(Communicator& comm, const std::function<ExitCode(Communicator&)>& body) {
  if (Kokkos::is_finalized()) {
    throw AgreedError(
        comm,
        "run_on_ranks: Kokkos has been finalised in this process (expected that a program which "
        "calls run_on_ranks or run_on_ranks_of several times initialises Kokkos, and MPI where it "
        "is used, itself, before the first call)");
  }
  const bool starts_kokkos = !Kokkos::is_initialized();
  if (starts_kokkos) bind_this_rank(comm);
  use_large_pages_for_arrays();
  const FlushDenormals flush;
  std::optional<Kokkos::ScopeGuard> kokkos;
  if (starts_kokkos) kokkos.emplace(settings_of(comm));
  flush_denormals_on_threads();
  return body(comm);
}

}  // namespace

void set_place_of_this_rank(const std::string& place) {
  g_place = place;
}

ExitCode run_on_hosts(const std::function<ExitCode(Communicator&)>& body) {
  const Launch launch = read_launch();
  log::set_rank(launch.rank);
  try {
    const auto session = start_communication(Transport::automatic, launch);
    Communicator& comm = session->communicator();
    log::set_rank(comm.rank());
    const std::string warning = launch_warning(launch, comm.size());
    if (!warning.empty()) log::warn(warning);
    return run_body(comm, body);
  } catch (const Error& error) {  // of the launch itself: the same on all ranks
    if (launch.rank == 0) log::error(error.what());
    return error.code();
  }
}

ExitCode run_on_ranks_of(int communicator, const std::function<ExitCode(Communicator&)>& body) {
  try {
    const auto session = join_communicator(communicator);
    Communicator& comm = session->communicator();
    log::set_rank(comm.rank());
    return run_body(comm, [&](Communicator& ranks) { return with_kokkos(ranks, body); });
  } catch (const Error& error) {  // of the communicator, which cannot say who else has it
    log::error(error.what());
    return error.code();
  }
}

ExitCode run_on_ranks(const std::function<ExitCode(Communicator&)>& body,
                      const std::function<void(Communicator&)>& prepare) {
  return run_on_hosts([&](Communicator& comm) {
    if (prepare) prepare(comm);
    return with_kokkos(comm, body);
  });
}

}  // namespace quern
