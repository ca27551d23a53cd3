// SPDX-License-Identifier: Apache-2.0
// The ranks make groups of two, and that of the last rank fails. All others wait for it.
#include <string>

#include "comm/agree.hpp"
#include "runtime/ranks.hpp"

int main() {
  return static_cast<int>(quern::run_on_ranks([](quern::Communicator& comm) {
    const int group = comm.rank() / 2;
    const auto pair = comm.split(group);
    quern::agree(*pair, [&] {
      if (comm.rank() + 1 == comm.size())
        throw quern::InputError("no mesh in group " + std::to_string(group));
    });
    comm.barrier();
    return quern::ExitCode::done;
  }));
}
