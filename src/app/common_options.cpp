// SPDX-License-Identifier: Apache-2.0
#include "app/common_options.hpp"

namespace quern {

void add_set_option(CommandLine command, std::vector<std::string>& overrides) {
  command
      .add_option("--set", overrides,
                  "Override a key of the recipe: key.path=value (may be repeated)")
      .type_name("KEY=VALUE")
      .one_value_each();
}

void add_split_option(CommandLine command, std::string& split) {
  command
      .add_option("--split", split,
                  "Which split to read, if the folder holds both (default: the one it holds)")
      .type_name("{train,test}");
}

}  // namespace quern
