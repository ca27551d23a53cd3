// SPDX-License-Identifier: Apache-2.0
#include "app/bench_command.hpp"

#include <vector>

#include "app/bench/allreduce_bench.hpp"
#include "app/bench/io_bench.hpp"
#include "app/bench/kernels_bench.hpp"
#include "app/bench/step_bench.hpp"

namespace quern {

Command add_bench_command(CommandLine app) {
  CommandLine bench = app.add_command("bench", "Measure the speed of this machine and program");
  bench.require_command();
  const std::vector<Command> commands = {add_kernels_bench(bench), add_step_bench(bench),
                                         add_allreduce_bench(bench), add_io_bench(bench)};
  return {bench, [commands] {
            for (const Command& command : commands) {
              if (command.options.is_parsed()) return command.run();
            }
            return ExitCode::bad_input;
          }};
}

}  // namespace quern
