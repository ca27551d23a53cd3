// SPDX-License-Identifier: Apache-2.0
// One voice for the whole program: lines to standard error, from rank 0 only unless stated. What a
// terminal would act upon in a message is escaped, wherever it comes from: files are quoted, names
// of files may hold anything. print() alone leaves its text as it is.
#pragma once

#include <string>

namespace quern::log {

/// Called once after the ranks are known; before that the process speaks as rank 0.
void set_rank(int rank);

/// A line on standard output, from rank 0 only: what the user asked for. Throws Error when it
/// cannot be written.
void print(const std::string& text);
/// The same of what a long run says as it goes: it does not end because nobody can read that. The
/// first line that is lost is warned of.
void note(const std::string& text);
/// "quern: text" on standard error, from rank 0 only.
void info(const std::string& text);
/// "quern: warning: text" on standard error, from rank 0 only.
void warn(const std::string& text);
/// "quern: error: text" on standard error, from whichever rank calls.
void error(const std::string& text);

}  // namespace quern::log
