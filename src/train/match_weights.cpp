// SPDX-License-Identifier: Apache-2.0
#include "train/match_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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

bool begins_with(const std::string& name, const std::string& part) {
  if (!name.starts_with(part)) return false;
  return name.size() == part.size() || part.ends_with('.') || name[part.size()] == '.';
}

/// The network's name of every tensor, in the order of the file.
std::vector<std::string> new_names(const std::string& file, const std::vector<NamedTensor>& found,
                                   const WeightRules& rules) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : found) names.push_back(tensor.name);
  for (const std::string& rule : rules.rename) {
    const std::size_t equals = rule.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError(fmt::format("{}: '{}' is no rule, expected OLD=NEW such as 'module.='",
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

/// A rule about names has to apply to one.
void check_parts(const std::vector<std::string>& parts, const std::vector<std::string>& names,
                 const std::string& word, const std::string& owner) {
  for (const std::string& part : parts) {
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
          const WeightRules& rules)
      : found_(found), rules_(rules) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (counts(names[i], rules.skip)) continue;
      names_.push_back(names[i]);
      const auto [other, is_new] = number_.emplace(names[i], i);
      if (is_new) continue;
      problems_.push_back(fmt::format("'{}' and '{}' of the file both become '{}'",
                                      found[other->second].name, found[i].name, names[i]));
    }
  }

  void take(const TensorPlan& wanted) {
    const auto place = number_.find(wanted.name);
    if (place == number_.end()) {
      problems_.push_back(fmt::format("the file has no tensor '{}' {} {}", wanted.name,
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

  void refuse_others(const std::vector<std::string>& known) {
    for (const std::string& name : names_) {
      if (is_used_.count(name) > 0) continue;
      problems_.push_back(fmt::format(
          "the network has no tensor '{}' {} {}", name, shape_text(found_[number_.at(name)].shape),
          problems_.size() < kMaxShown ? suggest_name(name, known) : std::string()));
    }
  }

  std::vector<NamedTensor> finish(const std::string& file) {
    if (problems_.empty()) return std::move(taken_);
    std::string text = fmt::format("'{}' does not fit the network: ", file);
    if (problems_.size() == 1) throw InputError(text + problems_[0]);
    for (std::size_t i = 0; i < std::min(kMaxShown, problems_.size()); ++i)
      text += "\n  " + problems_[i];
    if (problems_.size() > kMaxShown)
      text += fmt::format("\n  (and {} more)", problems_.size() - kMaxShown);
    throw InputError(text);
  }

 private:
  /// A prefix that would help, or the nearest name.
  std::string hint(const std::string& name) const {
    if (problems_.size() >= kMaxShown) return "";
    for (const std::string& other : names_) {
      if (!other.ends_with('.' + name)) continue;
      return fmt::format("(but '{}': {} '{}=' takes what comes before away)", other,
                         rules_.rename_word, other.substr(0, other.size() - name.size()));
    }
    return suggest_name(name, names_);
  }

  const std::vector<NamedTensor>& found_;
  const WeightRules& rules_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> number_;
  std::map<std::string, bool> is_used_;
  std::vector<NamedTensor> taken_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<NamedTensor> match_weights(const std::string& file,
                                       const std::vector<NamedTensor>& found,
                                       const std::vector<TensorPlan>& network,
                                       const WeightRules& rules) {
  const std::vector<std::string> names = new_names(file, found, rules);
  std::vector<std::string> wanted;
  for (const TensorPlan& tensor : network) wanted.push_back(tensor.name);
  check_parts(rules.only, wanted, rules.only_word, "the network");
  check_parts(rules.skip, names, rules.skip_word, "the file");
  Matcher matcher(found, names, rules);
  for (const TensorPlan& tensor : network)
    if (rules.only.empty() || counts(tensor.name, rules.only)) matcher.take(tensor);
  if (rules.only.empty()) matcher.refuse_others(wanted);
  return matcher.finish(file);
}

}  // namespace quern
