// SPDX-License-Identifier: Apache-2.0
#include "app/bench/kernel_cost.hpp"

#include <algorithm>

namespace quern {

namespace {

constexpr double kFloat = sizeof(float);

// How often a kernel touches each of its arrays; the first row whose word the label contains
// counts.
struct LayerRow {
  const char* word;
  double products;  // forward-pass products
  double inputs;    // arrays of the input's size: x, dx
  double outputs;   // y, dy
  double weights;
};
// Of a convolution's output, for windows of 2 x 2: what the pool makes of it, and a bit per pixel.
constexpr double kPooled = 1.0 / 4 + 1.0 / 32;
constexpr LayerRow kLayerRows[] = {
    {"pack", 0, 0, 0, 2},                  // the weights, from, to
    {"transpose", 0, 0, 0, 2},             // the same
    {"pool_forward", 1, 1, kPooled, 1},    // x, weight, y and bits
    {"pool_gradients", 1, 1, kPooled, 1},  // x, dy and bits, d_weight
    {"weight_gradient", 1, 1, 1, 1},       // x, dy, d_weight
    {"input_gradient", 1, 1, 1, 1},        // dy, weight, dx
    {"bias_gradient", 0, 0, 1, 0},         // dy
    {"forward", 1, 1, 1, 1},               // x, weight, y
    {"max_pool2d_backward", 0, 2, 1, 0},   // x, dy, dx
    {"pool2d", 0, 1, 1, 0},                // either direction
    {"backward", 0, 1, 2, 0},              // y, dy, dx
    {"", 0, 1, 1, 0},                      // x, y
};

struct StepRow {
  const char* word;
  double parameters;     // arrays of the flat block
  double outputs;        // arrays of the prediction's size
  double bytes_of_unit;  // of the input
};
constexpr StepRow kStepRows[] = {
    {"gather_images", 0, 0, 1 + kFloat},  // uint8, float
    {"gather_values", 0, 0, 2 * kFloat},
    {"cross_entropy", 0, 2, 0},  // prediction, its gradient
    {"mse", 0, 3, 0},            // and the target
    {"adam_factors", 0, 0, 0},
    {"adam", 7, 0, 0},          // reads 4, writes 3 of them
    {"sgd_momentum", 5, 0, 0},  // reads 3, writes 2
    {"sgd", 3, 0, 0},           // reads 2, writes 1
    {"clip_sums", 1, 0, 0},
    {"", 0, 0, 0},  // not known
};

// The first row whose word the label contains; the last row's is in every label.
template <class Row, std::size_t N>
const Row& row_of(const Row (&rows)[N], const std::string& label) {
  return *std::find_if(std::begin(rows), std::end(rows) - 1,
                       [&](const Row& row) { return label.find(row.word) != std::string::npos; });
}

const StepRow& step_row(const std::string& label) {
  return row_of(kStepRows, label);
}

}  // namespace

KernelCost layer_kernel_cost(const std::string& label, const LayerFacts& layer, int samples) {
  const LayerRow& row = row_of(kLayerRows, label);
  const double units = row.inputs * layer.input.units() + row.outputs * layer.output.units();
  return {2.0 * row.products * static_cast<double>(layer.macs) * samples,
          kFloat * (units * samples + row.weights * static_cast<double>(layer.weights))};
}

std::string layer_kernel_shape(const LayerFacts& layer, int samples) {
  return std::to_string(samples) + " x " + to_string(layer.input) + " -> " +
         to_string(layer.output);
}

KernelCost step_kernel_cost(const std::string& label, const StepFacts& step, int samples) {
  const StepRow& row = step_row(label);
  return {0, kFloat * (row.parameters * static_cast<double>(step.parameters) +
                       row.outputs * step.output.units() * samples) +
                 row.bytes_of_unit * step.input.units() * samples};
}

std::string step_kernel_shape(const std::string& label, const StepFacts& step, int samples) {
  const StepRow& row = step_row(label);
  if (row.parameters > 0) return std::to_string(step.parameters);
  if (row.outputs > 0) return std::to_string(samples) + " x " + to_string(step.output);
  if (row.bytes_of_unit > 0) return std::to_string(samples) + " x " + to_string(step.input);
  return "";
}

const char* to_string(Bound bound) {
  switch (bound) {
    case Bound::fma:
      return "FMA";
    case Bound::l2:
      return "L2";
    case Bound::l3:
      return "L3";
    case Bound::memory:
      return "memory";
    case Bound::unknown:
      break;
  }
  return "-";
}

Roofline roofline(const KernelCost& cost, const MachineFacts& machine) {
  if (cost.bytes <= 0) return {};
  Roofline line{0, Bound::memory, machine.memory.rate.median};
  if (cost.bytes <= static_cast<double>(machine.l2.cache_bytes)) {
    line = {0, Bound::l2, machine.l2.rate.median};
  } else if (cost.bytes <= static_cast<double>(machine.l3.cache_bytes)) {
    line = {0, Bound::l3, machine.l3.rate.median};
  }
  line.seconds = cost.bytes / line.bytes_per_s;
  const double fma_s = cost.flop / machine.fma_flops.median;
  if (fma_s >= line.seconds) {
    line.seconds = fma_s;
    line.bound = Bound::fma;
  }
  return line;
}

}  // namespace quern
