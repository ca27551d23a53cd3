// SPDX-License-Identifier: Apache-2.0
#include "loss/custom_loss.hpp"

#include <map>
#include <utility>

#include "base/error.hpp"

namespace quern {

namespace {

struct RegisteredLoss {
  LossMaker make;
  bool is_ambiguous = false;  // another was registered for the same kind
};

std::map<std::string, RegisteredLoss>& registered_losses() {
  static std::map<std::string, RegisteredLoss> known;
  return known;
}

std::string known_losses() {
  std::string text;
  for (const auto& [kind, loss] : registered_losses())
    text += (text.empty() ? "'" : ", '") + kind + "'";
  return text.empty() ? "none" : text;
}

}  // namespace

void register_loss(const std::string& kind, LossMaker make) {
  const auto [loss, is_new] = registered_losses().emplace(kind, RegisteredLoss{std::move(make)});
  if (!is_new) loss->second.is_ambiguous = true;
}

std::unique_ptr<Loss> make_custom_loss(const LossSpec& spec, const Shape& prediction) {
  const auto found = registered_losses().find(spec.kind);
  if (found == registered_losses().end()) {
    throw InputError("loss.kind: this program does not know '" + spec.kind +
                     "' (known: " + known_losses() + "; a C++ program registers kinds of its own)");
  }
  if (found->second.is_ambiguous) {
    throw Error("loss.kind: this program registers '" + spec.kind +
                "' more than once (expected one call of register_loss for a kind)");
  }
  std::unique_ptr<Loss> loss = found->second.make(prediction);
  if (!loss || !(loss->shape() == prediction)) {
    throw Error("register_loss: the maker of '" + spec.kind + "' was asked for a loss of " +
                to_string(prediction) + ", and made another");
  }
  return loss;
}

}  // namespace quern
