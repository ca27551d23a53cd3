// SPDX-License-Identifier: Apache-2.0
#include "support/source_folder.hpp"

namespace quern::test {

std::filesystem::path source_folder() {
  return QUERN_SOURCE_DIR;
}

}  // namespace quern::test
