// SPDX-License-Identifier: Apache-2.0
#include "bench/label_filter.hpp"

#include <array>

#include "base/error.hpp"

namespace quern {

std::string shown_label(const std::string& label) {
  const std::size_t colons = label.find("::");
  return colons == std::string::npos ? label : label.substr(colons + 2);
}

void LabelFilter::Free::operator()(regex_t* expression) const {
  regfree(expression);
  delete expression;
}

LabelFilter::LabelFilter(const std::string& expression) {
  if (expression.empty()) return;
  auto compiled = std::make_unique<regex_t>();
  const int status = regcomp(compiled.get(), expression.c_str(), REG_EXTENDED | REG_NOSUB);
  if (status != 0) {
    std::array<char, 200> reason{};
    regerror(status, compiled.get(), reason.data(), reason.size());
    throw InputError("--filter: '" + expression + "' is no regular expression (" + reason.data() +
                     ")");
  }
  expression_.reset(compiled.release());
}

bool LabelFilter::finds(const std::string& label) const {
  return !expression_ || regexec(expression_.get(), label.c_str(), 0, nullptr, 0) == 0;
}

bool LabelFilter::finds_kernel(const std::string& layer, const std::string& label) const {
  return finds(layer + " " + label) || finds(layer + " " + shown_label(label));
}

}  // namespace quern
