// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "app/commands.hpp"
#include "app/monitor/watch_text.hpp"
#include "base/log.hpp"

namespace quern {

namespace {

struct WatchOptions {
  std::string run;
  bool once = false;
  int every = 2;
};

TextPlot size_of_terminal() {
  TextPlot size;
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return size;
  size.columns = std::clamp<int>(window.ws_col - 1, 40, 140);
  size.rows = std::clamp<int>(window.ws_row - 20, 5, 16);
  return size;
}

ExitCode watch(const WatchOptions& options) {
  const bool once = options.once || isatty(STDOUT_FILENO) == 0;
  RunLogReader reader(options.run);
  while (true) {
    const RunLog& run = reader.read();
    const std::int64_t now = std::time(nullptr);
    const std::string text = watch_text(run, now, once ? TextPlot{} : size_of_terminal());
    if (once) {
      log::print(text);
      return ExitCode::done;
    }
    std::cout << "\033[H\033[J" << text << std::endl;
    if (has_ended(run_state(run, now))) return ExitCode::done;
    std::this_thread::sleep_for(std::chrono::seconds(options.every));
  }
}

}  // namespace

Command add_watch_command(CommandLine app) {
  const auto options = std::make_shared<WatchOptions>();
  CommandLine command = app.add_command(
      "watch",
      "Show a run live, from its files: loss, speed, time left, which rank the others wait for");
  command.add_option("run", options->run, "Run folder").required().type_name("RUN_DIR");
  command.add_flag("--once", options->once,
                   "Print it once and end (also where the output is no terminal)");
  command.add_option("--every", options->every, "Seconds from one look to the next")
      .in_range(1, 3600)
      .show_default();
  return {command, [options] { return watch(*options); }};
}

}  // namespace quern
