// SPDX-License-Identifier: Apache-2.0
// GoogleTest's main for tests on several ranks: rank 0 prints as usual, the others print their
// failures only, and a test that failed anywhere makes every rank's exit status 1.
#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <iostream>
#include <sstream>

#include "base/flush_denormals.hpp"
#include "base/log.hpp"
#include "comm/session.hpp"
#include "support/world.hpp"

namespace quern::testing {

namespace {

Communicator* g_world = nullptr;

// Prints the failures of one rank, each in one write so that ranks do not mix.
class FailurePrinter : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::ostringstream text;
    text << "[rank " << world().rank() << "] " << (result.file_name() ? result.file_name() : "?")
         << ":" << result.line_number() << ": " << result.summary() << "\n";
    std::cerr << text.str() << std::flush;
  }
};

// After each test all ranks learn whether it failed anywhere.
class Agreement : public ::testing::EmptyTestEventListener {
 public:
  bool failed() const { return failed_; }

 private:
  void OnTestEnd(const ::testing::TestInfo& info) override {
    std::int64_t num_failed = info.result()->Failed() ? 1 : 0;
    world().all_reduce_sum(std::span(&num_failed, 1));
    if (num_failed == 0) return;
    failed_ = true;
    if (world().rank() != 0) return;
    std::cerr << "[ranks] " << info.test_suite_name() << "." << info.name() << " failed on "
              << num_failed << " of " << world().size() << " ranks\n";
  }

  bool failed_ = false;
};

int run_all_tests() {
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  auto* agreement = new Agreement;  // the listeners take ownership
  if (world().rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter);
  }
  listeners.Append(agreement);
  const int result = RUN_ALL_TESTS();
  return result != 0 || agreement->failed() ? 1 : 0;
}

}  // namespace

Communicator& world() {
  return *g_world;
}

}  // namespace quern::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto session = quern::start_communication(
      quern::built_with_mpi() ? quern::Transport::mpi : quern::Transport::serial);
  quern::testing::g_world = &session->communicator();
  quern::log::set_rank(quern::testing::world().rank());
  const quern::FlushDenormals as_in_programs;  // runtime/ranks.hpp
  Kokkos::ScopeGuard kokkos(argc, argv);
  return quern::testing::run_all_tests();
}
