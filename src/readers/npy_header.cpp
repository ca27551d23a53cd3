// SPDX-License-Identifier: Apache-2.0
#include "readers/npy_header.hpp"

#include <charconv>
#include <set>
#include <string_view>

#include "base/assert.hpp"

namespace quern {

namespace {

/// Reads a Python literal piece by piece; after the first piece that is not there, nothing is.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool is_good() const { return good_; }
  void skip_spaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  /// Takes the word where it comes next.
  bool take(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) { good_ = take(word) && good_; }

  std::string text() {
    skip_spaces();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const std::size_t end = rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) return fail();
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::int64_t extent() {
    skip_spaces();
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) good_ = false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    take("L");  // Python 2 wrote its long numbers so
    return value;
  }

  bool is_at_end() {
    skip_spaces();
    return rest_.empty();
  }

 private:
  std::string fail() {
    good_ = false;
    return "";
  }

  std::string_view rest_;
  bool good_ = true;
};

void read_shape(Scanner& scanner, std::vector<std::int64_t>& shape) {
  scanner.expect("(");
  while (scanner.is_good() && !scanner.take(")")) {
    shape.push_back(scanner.extent());
    if (!scanner.take(",")) {
      scanner.expect(")");
      return;
    }
  }
}

}  // namespace

std::optional<NpyHeader> parse_npy_header(const std::string& text) {
  Scanner scanner(text);
  NpyHeader header;
  std::set<std::string> seen;
  scanner.expect("{");
  while (scanner.is_good() && !scanner.take("}")) {
    const std::string key = scanner.text();
    scanner.expect(":");
    if (!seen.insert(key).second) return std::nullopt;
    if (key == "descr") {
      header.descr = scanner.text();
    } else if (key == "fortran_order") {
      header.is_fortran_order = scanner.take("True");
      if (!header.is_fortran_order) scanner.expect("False");
    } else if (key == "shape") {
      read_shape(scanner, header.shape);
    } else {
      return std::nullopt;
    }
    if (!scanner.take(",")) {
      scanner.expect("}");
      break;
    }
  }
  if (!scanner.is_good() || !scanner.is_at_end() || seen.size() != 3) return std::nullopt;
  return header;
}

std::string start_of_npy(const NpyHeader& header) {
  std::string text = "{'descr': '" + header.descr +
                     "', 'fortran_order': " + (header.is_fortran_order ? "True" : "False") +
                     ", 'shape': (";
  for (const std::int64_t extent : header.shape) text += std::to_string(extent) + ", ";
  text += "), }";
  constexpr std::size_t kPrefix = 10;  // magic, version, length
  constexpr std::size_t kMultiple = 64;
  while ((kPrefix + text.size() + 1) % kMultiple != 0) text += ' ';
  text += '\n';
  expect(text.size() < 1 << 16, "a header of version 1.0");
  const char length[] = {static_cast<char>(text.size() % 256),
                         static_cast<char>(text.size() / 256)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(length, 2) + text;
}

}  // namespace quern
