// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_cost.hpp"

#include <algorithm>

namespace quern {

namespace {

constexpr double kFloat = sizeof(float);

// How often a kernel of a layer touches each of its arrays.
struct LayerCost {
  double products;  // forward-pass products
  double x;         // add: and other arrays of its size
  double dx;
  double y;
  double dy;
  double weights;
};
struct LayerRow {
  const char* kernel;
  LayerCost cost;
};
// Of a convolution's output, for windows of 2 x 2: what the pool makes of it, and a bit per pixel.
constexpr double kPooled = 1.0 / 4 + 1.0 / 32;
// Of weights for 3 x 3 pixels: they and their 16 values for Winograd's algorithm.
constexpr double kTransformed = 1 + 16.0 / 9;
constexpr LayerRow kLayerRows[] = {
    // products, x, dx, y, dy, weights
    {"quern::layers::linear_forward", {1, 1, 0, 1, 0, 1}},
    {"quern::layers::linear_forward_with_loss", {1, 1, 0, 0, 1, 1}},  // and the target
    {"quern::layers::linear_weight_gradient", {1, 1, 0, 0, 1, 1}},
    {"quern::layers::linear_input_gradient", {1, 0, 1, 0, 1, 1}},
    {"quern::layers::linear_bias_gradient", {0, 0, 0, 0, 1, 0}},
    {"quern::layers::linear_parameter_gradients", {1, 1, 0, 0, 1, 1}},  // in tiles
    {"quern::layers::pack_linear_weights", {0, 0, 0, 0, 0, 2}},         // the weights, two halves
    {"quern::layers::round_gradients", {0, 0, 0, 0, 2, 0}},             // two halves
    {"quern::layers::linear_transpose", {0, 0, 0, 0, 0, 2}},            // the weights, from, to
    {"quern::layers::conv2d_pack_forward", {0, 0, 0, 0, 0, 2}},
    {"quern::layers::conv2d_pack_gradient", {0, 0, 0, 0, 0, 2}},
    {"quern::layers::conv2d_forward", {1, 1, 0, 1, 0, 1}},
    {"quern::layers::conv2d_weight_gradient", {1, 1, 0, 0, 1, 1}},
    {"quern::layers::conv2d_input_gradient", {1, 0, 1, 0, 1, 1}},
    {"quern::layers::conv2d_winograd_pack_forward",
     {0, 0, 0, 0, 0, kTransformed}},  // weights, from, to
    {"quern::layers::conv2d_winograd_pack_gradient", {0, 0, 0, 0, 0, kTransformed}},
    {"quern::layers::conv2d_winograd_forward", {1, 1, 0, 1, 0, kTransformed - 1}},
    {"quern::layers::conv2d_winograd_weight_gradient", {1, 1, 0, 0, 1, 1}},
    {"quern::layers::conv2d_winograd_input_gradient", {1, 0, 1, 0, 1, kTransformed - 1}},
    {"quern::layers::conv2d_bias_gradient", {0, 0, 0, 0, 1, 0}},
    {"quern::layers::conv2d_pool_forward", {1, 1, 0, kPooled, 0, 1}},    // y and bits
    {"quern::layers::conv2d_pool_gradients", {1, 1, 0, 0, kPooled, 1}},  // dy and bits
    {"quern::layers::pad_image", {0, 2, 0, 0, 0, 0}},                    // from, to
    {"quern::layers::crop_image", {0, 0, 2, 0, 0, 0}},                   // from, to
    {"quern::layers::batch_norm_statistics", {0, 1, 0, 0, 0, 0}},        // again from a cache
    {"quern::layers::batch_norm", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::batch_norm_add", {0, 1, 0, 2, 0, 0}},  // the addend is laid out as y
    {"quern::layers::batch_norm_gradients", {0, 1, 0, 0, 1, 0}},
    {"quern::layers::batch_norm_backward", {0, 1, 1, 0, 1, 0}},
    {"quern::layers::group_norm", {0, 1, 0, 1, 0, 1}},
    {"quern::layers::group_norm_statistics", {0, 1, 0, 0, 0, 0}},  // on a device
    {"quern::layers::group_norm_backward", {0, 1, 1, 0, 1, 1}},
    {"quern::layers::layer_norm", {0, 1, 0, 1, 0, 1}},
    {"quern::layers::layer_norm_statistics", {0, 1, 0, 0, 0, 0}},  // on a device
    {"quern::layers::layer_norm_gradients", {0, 1, 0, 0, 1, 0}},
    {"quern::layers::layer_norm_backward", {0, 1, 1, 0, 1, 1}},
    {"quern::layers::avg_pool2d", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::avg_pool2d_backward", {0, 0, 1, 0, 1, 0}},
    {"quern::layers::max_pool2d", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::max_pool2d_backward", {0, 1, 1, 0, 1, 0}},
    {"quern::layers::global_avg_pool", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::global_avg_pool_backward", {0, 0, 1, 0, 1, 0}},
    {"quern::layers::upsample", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::upsample_backward", {0, 0, 1, 0, 1, 0}},
    {"quern::layers::concat", {0, 0, 0, 2, 0, 0}},             // in all calls: inputs, y
    {"quern::layers::concat_backward", {0, 0, 0, 0, 2, 0}},    // in all calls: dy, its parts
    {"quern::layers::add", {0, 3, 0, 0, 0, 0}},                // a, b, y; or parts of dx
    {"quern::layers::add_relu_backward", {0, 4, 0, 0, 0, 0}},  // a, b, y, dx
    {"quern::layers::relu", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::relu_backward", {0, 0, 1, 1, 1, 0}},
    {"quern::layers::tanh", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::tanh_backward", {0, 0, 1, 1, 1, 0}},
    {"quern::layers::sigmoid", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::sigmoid_backward", {0, 0, 1, 1, 1, 0}},
    {"quern::layers::gelu", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::gelu_backward", {0, 1, 1, 0, 1, 0}},
    {"quern::layers::silu", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::silu_backward", {0, 1, 1, 0, 1, 0}},
    {"quern::layers::leaky_relu", {0, 1, 0, 1, 0, 0}},
    {"quern::layers::leaky_relu_backward", {0, 0, 1, 1, 1, 0}},
    {"quern::layers::dropout", {0, 1, 0, 1, 0, 0}},           // the mask is drawn
    {"quern::layers::dropout_backward", {0, 0, 1, 0, 1, 0}},  // it is drawn again
};

// The same for a kernel of no layer.
struct StepCost {
  double parameters;          // arrays of the flat block, each time that one is read or written
  double outputs;             // arrays of the prediction's size
  double bytes_of_unit;       // of the input
  double arrays = 0;          // different arrays of the flat block
  double gathered_bytes = 0;  // of bytes_of_unit, those read from anywhere in the data set
};
struct StepRow {
  const char* kernel;
  StepCost cost;
};
constexpr StepRow kStepRows[] = {
    {"quern::layers::gather_images", {0, 0, 1 + kFloat, 0, 1}},  // uint8, float
    {"quern::layers::gather_values", {0, 0, 2 * kFloat, 0, kFloat}},
    {"quern::layers::normalize", {0, 0, 2 * kFloat}},
    {"quern::loss::cross_entropy", {0, 2, 0}},  // prediction, its gradient
    {"quern::loss::binary_cross_entropy", {0, 3, 0}},
    {"quern::loss::probabilities", {0, 2, 0}},
    {"quern::loss::regression", {0, 3, 0}},  // and the target
    {"quern::loss::regression_flat", {0, 3, 0}},
    {"quern::loss::regression_tiles", {0, 3, 0}},         // the gradient in two halves
    {"quern::loss::regression_pixels", {0, 2, 1, 0, 1}},  // the target a byte each
    {"quern::loss::regression_lanes", {0, 3, 0}},
    {"quern::optim::adam", {7, 0, 0, 4}},            // reads 4, writes 3 of them
    {"quern::optim::sgd_momentum", {5, 0, 0, 3}},    // reads 3, writes 2
    {"quern::optim::sgd", {3, 0, 0, 2}},             // reads 2, writes 1
    {"quern::optim::lars_momentum", {5, 0, 0, 3}},   // the same
    {"quern::optim::lars", {3, 0, 0, 2}},            // as sgd
    {"quern::optim::lamb_direction", {7, 0, 0, 5}},  // reads 4, writes 2 of them and the direction
    {"quern::optim::lamb", {3, 0, 0, 2}},            // reads 2, writes 1
    {"quern::optim::trust_squares", {2, 0, 0, 2}},   // parameters; the gradient or the direction
    {"quern::optim::clip_chunks", {1, 0, 0, 1}},     // the gradient
};

// A handful of numbers, or traffic that neither the layer nor the step tells: no rate is shown.
constexpr const char* kWithoutCost[] = {
    "quern::layers::batch_norm_sums",       // a few numbers a channel
    "quern::layers::batch_norm_running",    //
    "quern::layers::batch_norm_means",      //
    "quern::layers::batch_norm_variances",  //
    "quern::layers::batch_norm_blocks",     //
    "quern::layers::batch_norm_slopes",     //
    "quern::layers::batch_norm_no_slopes",  //
    "quern::layers::group_norm_sums",       //
    "quern::layers::group_norm_gradients",  //
    "quern::layers::group_norm_means",      // on a device
    "quern::layers::layer_norm_sums",       //
    "quern::layers::layer_norm_means",      // a few numbers a sample
    "quern::linalg::add_own_sums",          //
    "quern::layers::flat_to_lanes",         // between layers of two layouts
    "quern::layers::lanes_to_flat",         //
    "quern::layers::flat_to_flat",          //
    "quern::layers::copy_layout",           //
    "quern::layers::copy_units",            // between a layer and its slices
    "quern::layers::round_values",          //
    "quern::layers::unround",               //
    "quern::layers::conv2d_weight_sum",     // slices of a product on a device
    "quern::linalg::add_blocks",            //
    "quern::linalg::round_to_bfloat16",     //
    "quern::linalg::relu_mask",             //
    "quern::loss::block_tree_sum",          // a few numbers a row
    "quern::optim::adam_factors",           // one number each
    "quern::optim::lamb_factors",           //
    "quern::optim::trust_ratios",           // one number a tensor
    "quern::optim::pieces_of_chunks",       // of chunks that ranks share
    "quern::optim::clip_scale",             //
    "quern::optim::update_piece",           // of the layers that do not update their parameters
    "quern::optim::running_averages",       // of a few channels
    "quern::optim::set_learning_rate",      // one number
    "quern::strategy::end_rank_loss",       //
    "quern::parallel::add_votes",           //
    "quern::parallel::tree_sum",            // as many partials as the ranks hand over
    "quern::parallel::tree_sum_update",     // the same, and the optimizer
    "quern::parallel::merge_sums",          // of the pieces of a batch
    "quern::parallel::pack_slices",         //
    "quern::parallel::pack_sums",           //
    "quern::layers::draw_windows",          // two numbers a row
    "quern::strategy::begin_batch",         // one number a row, or one number
    "quern::strategy::assign_rows",         //
    "quern::strategy::check_loss_finite",   //
    "quern::strategy::add_rank_loss",       //
    "quern::strategy::end_batch",           //
};

template <class Row, std::size_t N>
const Row* row_of(const Row (&rows)[N], const std::string& kernel) {
  const auto row = std::find_if(std::begin(rows), std::end(rows),
                                [&](const Row& r) { return kernel == r.kernel; });
  return row == std::end(rows) ? nullptr : &*row;
}

LayerCost layer_cost(const std::string& kernel) {
  const LayerRow* row = row_of(kLayerRows, kernel);
  return row ? row->cost : LayerCost{};
}

StepCost step_cost(const std::string& kernel) {
  const StepRow* row = row_of(kStepRows, kernel);
  return row ? row->cost : StepCost{};
}

}  // namespace

std::vector<std::string> kernels_with_declared_cost() {
  std::vector<std::string> kernels;
  for (const LayerRow& row : kLayerRows) kernels.emplace_back(row.kernel);
  for (const StepRow& row : kStepRows) kernels.emplace_back(row.kernel);
  for (const char* kernel : kWithoutCost) kernels.emplace_back(kernel);
  return kernels;
}

KernelCost layer_kernel_cost(const std::string& label, const LayerInfo& layer, int samples) {
  const LayerCost cost = layer_cost(label);
  // Of other kernels the caller counts the calls.
  const bool is_forward = cost.products > 0 && label.ends_with("_forward");
  const int passes = is_forward ? layer.forward_passes : 1;
  const ValueBytes& each = layer.bytes;
  const double of_sample = (cost.x * each.x + cost.dx * each.dx) * layer.input.units() +
                           (cost.y * each.y + cost.dy * each.dy) * layer.output.units();
  const double bytes = of_sample * samples / layer.inputs +
                       kFloat * cost.weights * static_cast<double>(layer.weights);
  const double flop = 2.0 * cost.products * static_cast<double>(layer.macs) * samples;
  return {passes * flop, passes * bytes, bytes};
}

std::string layer_kernel_shape(const LayerInfo& layer, int samples) {
  return std::to_string(samples) + " x " + to_string(layer.input) + " -> " +
         to_string(layer.output);
}

KernelCost step_kernel_cost(const std::string& label, const StepInfo& step, int samples) {
  const StepCost cost = step_cost(label);
  const double block = kFloat * static_cast<double>(step.parameters);
  const double units = static_cast<double>(step.input.units()) * samples;
  const double rest = kFloat * cost.outputs * step.output.units() * samples;
  const double gathered = cost.gathered_bytes * units;
  const double data_set = cost.gathered_bytes * static_cast<double>(step.input.units()) *
                          static_cast<double>(step.data_set_samples);
  return {.bytes = cost.parameters * block + rest + cost.bytes_of_unit * units,
          .working_set = cost.arrays * block + rest + cost.bytes_of_unit * units - gathered,
          .gathered = gathered,
          .gathered_from = std::max(gathered, data_set)};
}

std::string step_kernel_shape(const std::string& label, const StepInfo& step, int samples) {
  const StepCost cost = step_cost(label);
  if (cost.parameters > 0) return std::to_string(step.parameters);
  if (cost.outputs > 0) return std::to_string(samples) + " x " + to_string(step.output);
  if (cost.bytes_of_unit > 0) return std::to_string(samples) + " x " + to_string(step.input);
  return "";
}

}  // namespace quern
