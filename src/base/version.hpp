// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quern {

const char* version();  ///< "0.1.0"
const char*
git_commit();  ///< commit of the source tree, "-dirty" when it was changed, or "unknown"

}  // namespace quern
