// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <cerrno>
#include <iostream>
#include <system_error>

#include "base/error.hpp"

namespace quern::log {

namespace {
int g_rank = 0;

bool line(std::ostream& stream, const char* prefix, const std::string& text) {
  // One write per line, so that lines of several ranks do not mix.
  const std::string whole = prefix + text + "\n";
  errno = 0;
  stream << whole << std::flush;
  return stream.good();
}
}  // namespace

void set_rank(int rank) {
  g_rank = rank;
}

void print(const std::string& text) {
  if (g_rank != 0 || line(std::cout, "", text)) return;
  throw Error("cannot write to standard output" +
              (errno != 0 ? ": " + std::generic_category().message(errno) : ""));
}

void info(const std::string& text) {
  if (g_rank == 0) line(std::cerr, "quern: ", text);
}

void warn(const std::string& text) {
  if (g_rank == 0) line(std::cerr, "quern: warning: ", text);
}

void error(const std::string& text) {
  line(std::cerr, "quern: error: ", text);
}

}  // namespace quern::log
