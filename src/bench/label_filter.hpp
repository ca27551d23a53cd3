// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <regex.h>

#include <memory>
#include <string>

namespace quern {

/// A kernel's label as tables show it: without "quern::", which says nothing there.
std::string shown_label(const std::string& label);

/// A regular expression of POSIX' extended kind (as of grep -E). Not <regex>, whose code makes GCC
/// 12 warn under the sanitizers (its bug 105562).
class LabelFilter {
 public:
  /// InputError when it is none; "" finds everything.
  explicit LabelFilter(const std::string& expression);

  bool finds(const std::string& label) const;
  /// In "layer label", with the kernel's label as it is or as tables show it?
  bool finds_kernel(const std::string& layer, const std::string& label) const;

 private:
  struct Free {
    void operator()(regex_t* expression) const;
  };
  std::unique_ptr<regex_t, Free> expression_;
};

}  // namespace quern
