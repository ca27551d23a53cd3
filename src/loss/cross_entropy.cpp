// SPDX-License-Identifier: Apache-2.0
#include "loss/cross_entropy.hpp"

#include <algorithm>
#include <string>

#include "base/assert.hpp"
#include "base/count_text.hpp"
#include "base/error.hpp"

namespace quern {

namespace {

SmoothedTargets smoothed(double share, int classes) {
  SmoothedTargets targets;
  targets.share = static_cast<float>(share);
  targets.at_other = static_cast<float>(share / classes);
  targets.at_label = static_cast<float>(1 - share + share / classes);
  return targets;
}

// Q of each label.
std::vector<float> whole_targets(const std::vector<float>& weights, double share) {
  double sum = 0;
  for (const float weight : weights) sum += static_cast<double>(weight);
  const double of_all = share * sum / static_cast<double>(weights.size());
  std::vector<float> wholes;
  for (const float weight : weights)
    wholes.push_back(static_cast<float>((1 - share) * static_cast<double>(weight) + of_all));
  return wholes;
}

FloatView copied(const std::string& label, const std::vector<float>& values) {
  const FloatView view(label, values.size());
  const auto host = Kokkos::create_mirror_view(view);
  std::copy(values.begin(), values.end(), host.data());
  Kokkos::deep_copy(view, host);
  return view;
}

}  // namespace

CrossEntropy::CrossEntropy(const Shape& prediction, double label_smoothing,
                           const std::vector<double>& class_weights)
    : Loss(prediction), targets_(smoothed(label_smoothing, prediction.units())) {
  if (!prediction.is_flat())
    throw InputError("cross_entropy needs one value per class from the last layer, not the shape " +
                     to_string(prediction) + " (end the network with a linear layer)");
  if (!class_weights.empty()) set_class_weights(class_weights);
}

void CrossEntropy::set_class_weights(const std::vector<double>& weights) {
  const auto classes = static_cast<std::size_t>(shape().units());
  if (weights.size() != classes)
    throw InputError("loss.class_weights: " + count_text(std::ssize(weights), "number") +
                     " for the " + count_text(shape().units(), "output") +
                     " of the network, expected one for each");
  if (std::ranges::none_of(weights, [](double weight) { return weight > 0; }))
    throw InputError("loss.class_weights: all numbers are 0, expected at least one above 0");
  weights_.clear();
  for (const double weight : weights) weights_.push_back(static_cast<float>(weight));
}

void CrossEntropy::allocate_own() {
  if (weights_.empty()) return;
  weights_view_ = copied("quern::loss::class_weights", weights_);
  whole_view_ = copied("quern::loss::whole_targets",
                       whole_targets(weights_, static_cast<double>(targets_.share)));
}

void CrossEntropy::evaluate_rows(const ExecSpace& exec, const LossContext& step,
                                 const Activation& prediction, const LossTarget& target,
                                 const Activation& d_prediction, const FloatView& values) const {
  expect(prediction.layout == flat_layout(), "a prediction in the layout of flat layers");
  const auto evaluate = choose_kernels<EvaluateCrossEntropy>(
      {.host = host_set<host::cross_entropy>(), .device = device::cross_entropy});
  evaluate(exec, step, prediction, target, d_prediction, values,
           {targets_, weights_view_, whole_view_});
}

}  // namespace quern
