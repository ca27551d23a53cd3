// SPDX-License-Identifier: Apache-2.0
#include "state/match_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>

#include "base/error.hpp"
#include "config/nearest_name.hpp"

namespace quern {

namespace {

// The scale of a layer normalisation behind an image of one pixel: [C, 1, 1] elsewhere, [C] here.
std::vector<std::int64_t> without_pixel(const std::vector<std::int64_t>& shape) {
  if (shape.size() == 3 && shape[1] == 1 && shape[2] == 1) return {shape[0]};
  return shape;
}

constexpr std::size_t kMaxShown = 8;

// Every name begins with "".
bool begins_with(const std::string& name, const std::string& part) {
  if (!name.starts_with(part)) return false;
  return part.empty() || name.size() == part.size() || part.ends_with('.') ||
         name[part.size()] == '.';
}

/// The network's name of every tensor, in the order of the file.
std::vector<std::string> new_names(const std::string& file, const std::vector<NamedTensor>& found,
                                   const WeightRules& rules) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : found) names.push_back(tensor.name);
  for (const std::string& rule : rules.rename) {
    const std::size_t equals = rule.find('=');
    if (equals == std::string::npos || rule == "=" || (equals == 0 && !rule.ends_with('.'))) {
      throw InputError(
          fmt::format("{}: '{}' is no rule, expected OLD=NEW such as 'module.=', or '=NEW.' in "
                      "front of all names",
                      rules.rename_word, rule));
    }
    const std::string old_part = rule.substr(0, equals);
    bool applies = false;
    for (std::string& name : names) {
      if (!begins_with(name, old_part)) continue;
      name.replace(0, old_part.size(), rule.substr(equals + 1));
      applies = true;
    }
    if (!applies) {
      throw InputError(
          fmt::format("{}: '{}' applies to nothing: no tensor of '{}' begins with "
                      "'{}' {}",
                      rules.rename_word, rule, file, old_part, suggest_name(old_part, names)));
    }
  }
  return names;
}

/// Of many names the first.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxListed = 24;
  const std::size_t count = std::min(names.size(), kMaxListed);
  const std::span shown(names.data(), count);
  return fmt::format("{}{}", fmt::join(shown, ", "),
                     names.size() > count ? fmt::format(" and {} more", names.size() - count) : "");
}

bool begins_with_digit(const std::string& name) {
  return !name.empty() && name[0] >= '0' && name[0] <= '9';
}

/// What the network has in front of a name of the file, as "net."; "" if nowhere.
std::string prefix_of(const std::vector<std::string>& known, const std::string& name) {
  for (const std::string& other : known)
    if (other.ends_with('.' + name)) return other.substr(0, other.size() - name.size());
  return "";
}

/// A rule about names has to apply to one.
void check_parts(const std::vector<std::string>& parts, const std::vector<std::string>& names,
                 const std::string& word, const std::string& owner) {
  for (const std::string& part : parts) {
    if (part.empty())
      throw InputError(fmt::format("{}: '' names nothing, expected a part of a name", word));
    const auto applies = [&](const std::string& name) { return begins_with(name, part); };
    if (std::any_of(names.begin(), names.end(), applies)) continue;
    std::vector<std::string> layers;
    for (const std::string& name : names) layers.push_back(name.substr(0, name.rfind('.')));
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    throw InputError(fmt::format("{}: no tensor of {} begins with '{}' {}", word, owner, part,
                                 suggest_name(part, layers)));
  }
}

bool counts(const std::string& name, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return begins_with(name, part); });
}

class Matcher {
 public:
  Matcher(const std::vector<NamedTensor>& found, const std::vector<std::string>& names,
          const std::vector<std::string>& known, const WeightRules& rules)
      : found_(found), known_(known), rules_(rules) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (counts(names[i], rules.skip)) continue;
      names_.push_back(names[i]);
      const auto [other, is_new] = number_.emplace(names[i], i);
      if (is_new) continue;
      problems_.push_back(fmt::format("'{}' and '{}' of the file both become '{}'",
                                      found[other->second].name, found[i].name, names[i]));
    }
  }

  void take(const NamedShape& wanted) {
    const auto place = number_.find(wanted.name);
    if (place == number_.end()) {
      problems_.push_back(fmt::format("the file has no tensor '{}' {}{}", wanted.name,
                                      shape_text(wanted.shape), hint(wanted.name)));
      return;
    }
    const NamedTensor& tensor = found_[place->second];
    is_used_[wanted.name] = true;
    if (without_pixel(tensor.shape) != without_pixel(wanted.shape)) {
      problems_.push_back(fmt::format("'{}' has the shape {}, expected {}", tensor.name,
                                      shape_text(tensor.shape), shape_text(wanted.shape)));
      return;
    }
    taken_.push_back({wanted.name, wanted.shape, tensor.values});
  }

  void refuse_others() {
    for (const std::string& name : names_) {
      if (is_used_.count(name) > 0) continue;
      unknown_.push_back(name);
      problems_.push_back(fmt::format("the network has no tensor '{}' {}{}", name,
                                      shape_text(found_[number_.at(name)].shape),
                                      suggestion(name, known_, lists_network_)));
    }
  }

  std::vector<NamedTensor> finish(const std::string& file) {
    if (problems_.empty()) return std::move(taken_);
    std::string text = fmt::format("'{}' does not fit the network: ", file);
    const std::string separator = problems_.size() == 1 ? " " : "\n  ";
    if (problems_.size() == 1) text += problems_[0];
    for (std::size_t i = 0; problems_.size() > 1 && i < std::min(kMaxShown, problems_.size()); ++i)
      text += separator + problems_[i];
    if (problems_.size() > kMaxShown)
      text += fmt::format("{}(and {} more)", separator, problems_.size() - kMaxShown);
    // Once, not at each problem.
    if (lists_file_) text += fmt::format("{}(names in the file: {})", separator, listed(names_));
    if (lists_network_)
      text += fmt::format("{}(names in the network: {})", separator, listed(known_));
    throw InputError(text + advice(separator) + skip_advice(separator));
  }

 private:
  /// A prefix that would help, or the nearest name.
  std::string hint(const std::string& name) {
    if (problems_.size() >= kMaxShown) return "";
    for (const std::string& other : names_) {
      if (!other.ends_with('.' + name)) continue;
      return fmt::format(" (but '{}': {} '{}=' takes what comes before away)", other,
                         rules_.rename_word, other.substr(0, other.size() - name.size()));
    }
    return suggestion(name, names_, lists_file_);
  }

  /// The nearest name; `lists`: set where there is none, so that all are listed.
  std::string suggestion(const std::string& name, const std::vector<std::string>& known,
                         bool& lists) const {
    if (problems_.size() >= kMaxShown) return "";
    if (!are_numbered() && !nearest_name(name, known).empty())
      return ' ' + suggest_name(name, known);
    lists = true;
    return "";
  }

  /// Those of a bare nn.Sequential. Names that differ in a number are as near as any.
  bool are_numbered() const {
    return !names_.empty() && std::all_of(names_.begin(), names_.end(), begins_with_digit);
  }

  std::string advice(const std::string& separator) const {
    if (!are_numbered()) return "";
    std::string prefix = prefix_of(known_, names_.front());
    if (prefix.empty()) prefix = "net.";
    return fmt::format(
        "{}all names of the file begin with a number, those of layers with a letter: {} '={}' "
        "makes '{}{}' of '{}'",
        separator, rules_.rename_word, prefix, prefix, names_.front(), names_.front());
  }

  /// Where the file has all that the network needs, and more: running counts, say.
  std::string skip_advice(const std::string& separator) const {
    if (rules_.skip_word.empty() || unknown_.empty() || unknown_.size() != problems_.size() ||
        unknown_.size() > kMaxShown)
      return "";
    std::vector<std::string> options;
    for (const std::string& name : unknown_) options.push_back(rules_.skip_word + ' ' + name);
    return fmt::format("{}({} {} out)", separator, fmt::join(options, " "),
                       options.size() == 1 ? "leaves it" : "leave them");
  }

  const std::vector<NamedTensor>& found_;
  const std::vector<std::string>& known_;  // of the network
  const WeightRules& rules_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> number_;
  std::map<std::string, bool> is_used_;
  std::vector<NamedTensor> taken_;
  std::vector<std::string> unknown_;  // to the network, in the file
  std::vector<std::string> problems_;
  bool lists_file_ = false;     // the names that it has
  bool lists_network_ = false;  // those that it has
};

}  // namespace

std::vector<NamedTensor> match_weights(const std::string& file,
                                       const std::vector<NamedTensor>& found,
                                       const std::vector<NamedShape>& network,
                                       const WeightRules& rules) {
  const std::vector<std::string> names = new_names(file, found, rules);
  std::vector<std::string> wanted;
  for (const NamedShape& tensor : network) wanted.push_back(tensor.name);
  check_parts(rules.only, wanted, rules.only_word, "the network");
  check_parts(rules.skip, names, rules.skip_word, "the file");
  Matcher matcher(found, names, wanted, rules);
  for (const NamedShape& tensor : network)
    if (rules.only.empty() || counts(tensor.name, rules.only)) matcher.take(tensor);
  if (rules.only.empty()) matcher.refuse_others();
  return matcher.finish(file);
}

}  // namespace quern
