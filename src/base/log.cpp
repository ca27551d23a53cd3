// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <cerrno>
#include <iostream>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

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

// Of a message: it may quote a file, or the name of one.
bool message(std::ostream& stream, const char* prefix, const std::string& text) {
  return line(stream, prefix, printable_lines(text));
}

// errno as the failed call left it.
std::string output_failure() {
  return "cannot write to standard output" +
         (errno != 0 ? ": " + std::generic_category().message(errno) : "");
}
}  // namespace

void set_rank(int rank) {
  g_rank = rank;
}

void print(const std::string& text) {
  if (g_rank == 0 && !line(std::cout, "", text)) throw Error(output_failure());
}

void note(const std::string& text) {
  if (g_rank != 0 || message(std::cout, "", text)) return;
  static bool is_told = false;
  if (!std::exchange(is_told, true)) warn(output_failure());
  std::cout.clear();  // the next line may be written again
}

void info(const std::string& text) {
  if (g_rank == 0) message(std::cerr, "quern: ", text);
}

void warn(const std::string& text) {
  if (g_rank == 0) message(std::cerr, "quern: warning: ", text);
}

void error(const std::string& text) {
  message(std::cerr, "quern: error: ", text);
}

}  // namespace quern::log
