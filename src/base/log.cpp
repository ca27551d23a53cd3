// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <iostream>

namespace quern::log {

namespace {
int g_rank = 0;

void line(std::ostream& stream, const char* prefix, const std::string& text) {
  // One write per line, so that lines of several ranks do not mix.
  const std::string whole = prefix + text + "\n";
  stream << whole << std::flush;
}
}  // namespace

void set_rank(int rank) {
  g_rank = rank;
}

void print(const std::string& text) {
  if (g_rank == 0) line(std::cout, "", text);
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
