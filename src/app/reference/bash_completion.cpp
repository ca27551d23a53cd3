// SPDX-License-Identifier: Apache-2.0
#include "app/reference/pages.hpp"

namespace quern {

namespace {

constexpr const char* kHead = R"(# SPDX-License-Identifier: Apache-2.0
# Completion of quern for bash: commands, options, and the recipe's keys after --set and --change.
# Written by unit.app.reference from the options of the program.
# shellcheck shell=bash

# The words that may follow each command.
_quern_words() {
  case "$1" in
)";

constexpr const char* kMiddle = R"(  esac
}

_quern_keys() {
  cat <<'KEYS'
)";

constexpr const char* kTail = R"BASH(KEYS
}

# "bench kernels" for `quern bench --json x kernels`: the words so far that name commands.
_quern_command() {
  local command="" word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ " $(_quern_words "$command") " == *" $word "* && $word != -* ]]; then
      command+="${command:+ }$word"
    fi
  done
  printf '%s' "$command"
}

_quern() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" words
  words="$(_quern_words "$(_quern_command)")"
  case "$previous" in
    --set | --change)
      words="$(_quern_keys)"
      compopt -o nospace 2>/dev/null # outside of a completion, as in tests, there is none
      ;;
    --resume) words="auto never" ;;
    --split) words="train test" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

# Where no word fits, file names.
complete -o default -F _quern quern
)BASH";

std::string cases_of(const CommandInfo& command) {
  std::string words;
  for (const CommandInfo& child : command.children)
    words += child.path.substr(child.path.rfind(' ') + 1) + " ";
  for (const OptionInfo& option : command.options)
    if (!option.is_positional) words += option.name + " ";
  std::string text = "    \"" + command.path + "\") echo \"" + words + "--help\" ;;\n";
  for (const CommandInfo& child : command.children) text += cases_of(child);
  return text;
}

}  // namespace

std::string bash_completion(const CommandInfo& program,
                            const std::vector<std::string>& recipe_keys) {
  std::string text = kHead + cases_of(program) + kMiddle;
  for (const std::string& key : recipe_keys) text += key + "=\n";
  return text + kTail;
}

}  // namespace quern
