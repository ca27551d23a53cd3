// SPDX-License-Identifier: Apache-2.0
#include "train/load_recipe.hpp"

#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "config/read_recipe.hpp"

namespace quern {

Recipe load_recipe(Communicator& comm, const std::string& file,
                   const std::vector<std::string>& overrides) {
  std::string text;
  run_on_root(comm, [&] { text = read_recipe_text(file); });
  text = broadcast_string(comm, text);
  return agree(comm, [&] { return parse_recipe(text, file, overrides); });
}

}  // namespace quern
