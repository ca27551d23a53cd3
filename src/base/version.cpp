// SPDX-License-Identifier: Apache-2.0
#include "base/version.hpp"

#include <quern_git_commit.hpp>  // made by the build

namespace quern {

const char* version() {
  return QUERN_VERSION;
}
const char* git_commit() {
  return QUERN_GIT_COMMIT;
}

}  // namespace quern
