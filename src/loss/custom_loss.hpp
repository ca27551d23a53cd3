// SPDX-License-Identifier: Apache-2.0
// Losses that are not Quern's own. A program registers a kind of loss, and its recipes may then say
// loss = {type = "custom", kind = "pinball"}. examples/my_own_loss.cpp shows one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "loss/loss.hpp"
#include "spec/training_spec.hpp"

namespace quern {

/// Makes the loss of a network that puts out `prediction`, with that shape. May throw InputError. A
/// run makes its loss more than once.
using LossMaker = std::function<std::unique_ptr<Loss>(const Shape& prediction)>;

/// Makes `kind` known to all networks of this process that are built from now on, on every rank.
/// Once for a kind, before run_on_ranks or in it: a kind that was registered twice is refused when
/// it is used. Not while another thread builds a network.
void register_loss(const std::string& kind, LossMaker make);

/// The loss of type custom that `spec` describes. InputError that names the known kinds when its
/// kind was not registered, Error when it was so twice.
std::unique_ptr<Loss> make_custom_loss(const LossSpec& spec, const Shape& prediction);

}  // namespace quern
