// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace quern {

/// What a program has registered under the names of its own kinds of layers or losses. Not while
/// another thread looks one up.
template <class Maker>
class KindRegistry {
 public:
  /// `function`: by which kinds are registered, for messages.
  explicit KindRegistry(std::string function) : function_(std::move(function)) {}

  /// Once for a kind: one that was registered twice is refused when it is used.
  void add(const std::string& kind, Maker make) {
    const auto [entry, is_new] = entries_.emplace(kind, Entry{std::move(make)});
    if (!is_new) entry->second.is_ambiguous = true;
  }

  /// `of`: what asks for it, with which messages begin: "the loss". InputError that names the
  /// known kinds when this one was not registered, Error when it was so twice.
  const Maker& find(const std::string& of, const std::string& kind) const {
    const auto entry = entries_.find(kind);
    if (entry == entries_.end()) {
      throw InputError(of + " is of kind '" + kind +
                       "', which this program does not know (known: " + known() +
                       "; a C++ program registers kinds of its own)");
    }
    if (entry->second.is_ambiguous) {
      throw Error(of + " is of kind '" + kind +
                  "', which this program registers more than once (expected one call of " +
                  function_ + " for a kind)");
    }
    return entry->second.make;
  }

 private:
  struct Entry {
    Maker make;
    bool is_ambiguous = false;  // another was registered for the same kind
  };

  std::string known() const {
    std::string text;
    for (const auto& [kind, entry] : entries_) text += (text.empty() ? "'" : ", '") + kind + "'";
    return text.empty() ? "none" : text;
  }

  std::string function_;
  std::map<std::string, Entry> entries_;
};

}  // namespace quern
