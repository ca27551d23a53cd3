// SPDX-License-Identifier: Apache-2.0
#include "loss/custom_loss.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/kind_registry.hpp"

namespace quern {

namespace {

KindRegistry<LossMaker>& registered_losses() {
  static KindRegistry<LossMaker> losses("register_loss");
  return losses;
}

}  // namespace

void register_loss(const std::string& kind, LossMaker make) {
  registered_losses().add(kind, std::move(make));
}

std::unique_ptr<Loss> make_custom_loss(const LossSpec& spec, const Shape& prediction) {
  std::unique_ptr<Loss> loss = registered_losses().find("the loss", spec.kind)(prediction);
  if (!loss || !(loss->shape() == prediction)) {
    throw Error("register_loss: the maker of '" + spec.kind + "' was asked for a loss of " +
                to_string(prediction) + ", and made another");
  }
  return loss;
}

}  // namespace quern
