// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quern {

/// Exit status of every quern command. Job scripts rely on these numbers.
enum class ExitCode : int {
  done = 0,
  failure = 1,          ///< anything that is not named below
  bad_input = 2,        ///< bad usage, recipe or input; nothing was written
  requeue = 85,         ///< stopped early with a good checkpoint: please requeue
  do_not_requeue = 93,  ///< diverged, or data or checkpoint unusable: a restart cannot help
};

}  // namespace quern
