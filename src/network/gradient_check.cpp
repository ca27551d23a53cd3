// SPDX-License-Identifier: Apache-2.0
#include "network/gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/philox.hpp"

namespace quern {

namespace {

constexpr int kBlockRows = 16;
constexpr int kBlocks = 2;
constexpr int kRows = kBlocks * kBlockRows;
constexpr int kFilled = 3;        // of the rows of each block
constexpr double kStep = 1e-2;    // half the distance of two values that are compared
constexpr int kMaxElements = 60;  // of an array are varied

using HostFloats = std::vector<float>;

HostFloats draw(std::size_t count, std::uint32_t stream) {
  HostFloats values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t word = random_block(1, RandomUse::samples, stream, i).word[0];
    values[i] = static_cast<float>(word >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return values;
}

void to_device(const HostFloats& values, const FloatView& view) {
  const auto host = Kokkos::create_mirror_view(view);
  std::copy(values.begin(), values.end(), host.data());
  Kokkos::deep_copy(view, host);
}

HostFloats to_host(const FloatView& view) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  return HostFloats(host.data(), host.data() + host.extent(0));
}

// Places of the values of filled rows.
std::vector<std::size_t> filled_places(const Activation& activation) {
  const ActivationIndex at(activation);
  std::vector<std::size_t> places;
  for (int row = 0; row < kRows; ++row) {
    if (row % kBlockRows >= kFilled) continue;
    for (int unit = 0; unit < activation.shape.units(); ++unit)
      places.push_back(static_cast<std::size_t>(at(row, unit)));
  }
  return places;
}

View<const std::int64_t> number_rows() {
  View<std::int64_t> samples("quern::network::sample_of_row", kRows);
  const auto host = Kokkos::create_mirror_view(samples);
  for (int row = 0; row < kRows; ++row) host(row) = row % kBlockRows < kFilled ? row : -1;
  Kokkos::deep_copy(samples, host);
  return samples;
}

struct Check {
  explicit Check(Layer& checked) : layer(checked) {
    layer.add_parameters(table);
    layer.set_up({});
    arrays = allocate_memory(layer, kRows);
    const Layout layout = layer.input_layout(flat_layout());
    const Layout out = layer.output_layout(layout);
    const auto activation = [](const Shape& shape, Layout with) {
      return allocate_activation("quern::network::gradient_check", shape, with, kRows);
    };
    arrays.x = activation(layer.input_shape(), layout);
    arrays.dx = activation(layer.input_shape(), layout);
    arrays.y = activation(layer.output_shape(), out);
    arrays.dy = activation(layer.output_shape(), out);
    const auto size = static_cast<std::size_t>(table.block_size());
    constexpr std::size_t kSlack = 8 * kLanes;  // kernels read whole vectors
    step.schedule = make_block_schedule(0, kBlocks, kBlocks, kBlockRows);
    step.scalars = StepScalarsView("quern::network::gradient_check");
    Kokkos::deep_copy(step.scalars, StepScalars{});
    step.sample_of_row = number_rows();
    step.parameters = FloatView("quern::network::gradient_check", size + kSlack);
    const auto num_partial_sums = static_cast<std::size_t>(step.schedule.num_partial_sums);
    step.gradients = {FloatView("quern::network::gradient_check", size * num_partial_sums),
                      table.block_size()};
    inputs = draw(arrays.x.data.extent(0), 1);
    parameters = draw(step.parameters.extent(0), 2);
    weights.assign(arrays.y.data.extent(0), 0.0f);
    const HostFloats drawn = draw(weights.size(), 3);
    for (const std::size_t i : filled_places(arrays.y)) weights[i] = drawn[i];
  }

  // sum(r y)
  double objective() const {
    to_device(inputs, arrays.x.data);
    to_device(parameters, step.parameters);
    layer.forward(exec, step, arrays);
    exec.fence("quern::network: y is complete");
    const HostFloats values = to_host(arrays.y.data);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (weights[i] != 0) sum += double{weights[i]} * double{values[i]};
    return sum;
  }

  double error(HostFloats& values, const std::vector<std::size_t>& places,
               const HostFloats& computed) const {
    const std::size_t stride = 1 + places.size() / kMaxElements;
    double worst = 0;
    for (std::size_t k = 0; k < places.size(); k += stride) {
      float& value = values[places[k]];
      const float saved = value;
      value = static_cast<float>(saved + kStep);
      const double right = value;
      const double high = objective();
      value = static_cast<float>(saved - kStep);
      const double numeric = (high - objective()) / (right - value);
      value = saved;
      const double off = std::abs(computed[places[k]] - numeric) / (1 + std::abs(numeric));
      worst = off <= worst ? worst : off;  // NaN counts
    }
    return worst;
  }

  // Of y as forward left it. -> gradients of the parameters, added over the blocks.
  HostFloats backward(const LayerArrays& with) const {
    to_device(weights, with.dy.data);
    Kokkos::deep_copy(step.gradients.data, 0.0f);
    layer.backward(exec, step, with);
    exec.fence("quern::network: gradients are complete");
    const HostFloats partial_sums = to_host(step.gradients.data);
    HostFloats sums(parameters.size());
    const auto size = static_cast<std::size_t>(table.block_size());
    for (std::size_t i = 0; i < partial_sums.size(); ++i) sums[i % size] += partial_sums[i];
    return sums;
  }

  // As of the first layer: nobody wants dx. There is memory where it would be, so that a layer
  // that writes it nevertheless is found out instead of ending the process.
  HostFloats backward_without_dx() const {
    constexpr float kUntouched = 0.625f;
    const FloatView memory = arrays.dx.data;
    Kokkos::deep_copy(memory, kUntouched);
    LayerArrays without = arrays;
    without.dx.data = Kokkos::subview(memory, std::pair<std::size_t, std::size_t>(0, 0));
    HostFloats gradients = backward(without);
    for (const float value : to_host(memory)) {
      if (value == kUntouched) continue;
      throw Error("gradient_error: backward of layer '" + layer.name() +
                  "' writes dx where LayerArrays::dx.empty() (expected that it does not: as the "
                  "first layer of a network it would write anywhere)");
    }
    return gradients;
  }

  Layer& layer;
  ParameterTable table;
  StepContext step;
  LayerArrays arrays;
  HostFloats inputs, parameters, weights;
  ExecSpace exec;
};

}  // namespace

double gradient_error(Layer& layer) {
  Check check(layer);
  check.objective();
  const HostFloats with_dx = check.backward(check.arrays);
  const HostFloats d_inputs = to_host(check.arrays.dx.data);
  check.objective();
  const HostFloats without_dx = check.backward_without_dx();

  double worst = check.error(check.inputs, filled_places(check.arrays.x), d_inputs);
  for (const ParameterEntry& entry : check.table.entries()) {
    if (entry.is_buffer()) continue;  // statistics, no gradient
    std::vector<std::size_t> places;
    for (std::int64_t i = 0; i < entry.count; ++i)
      places.push_back(static_cast<std::size_t>(entry.position(i)));
    for (const HostFloats* d_parameters : {&with_dx, &without_dx}) {
      const double off = check.error(check.parameters, places, *d_parameters);
      if (!(off <= worst)) worst = off;
    }
  }
  return worst;
}

}  // namespace quern
