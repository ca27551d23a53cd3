// SPDX-License-Identifier: Apache-2.0
// A layer of your own: Swish, y = x / (1 + exp(-beta x)), with a beta learned for every unit.
// (Ramachandran, Zoph, Le: "Searching for activation functions", 2017.)
//
//   my_own_layer RUN_FOLDER [UNITS]              (or mpirun -n 2 my_own_layer ...)
#include <cmath>
#include <memory>
#include <quern/base/log.hpp>
#include <quern/comm/agree.hpp>
#include <quern/config/read_recipe.hpp>
#include <quern/linalg/block_sum.hpp>
#include <quern/network/custom_layer.hpp>
#include <quern/network/gradient_check.hpp>
#include <quern/runtime/ranks.hpp>
#include <quern/samples/own_samples.hpp>
#include <quern/train/training_run.hpp>
#include <string>
#include <vector>

// A layer is handed its input, its parameters and room for its output, and the memory that only its
// own kernels use: here an array shaped like its input, taken as an Activation. Then the library
// pads it and knows its size; kernels ask ActivationIndex where a value lies.
class Swish final : public quern::Layer {
 public:
  Swish(const std::string& name, const quern::Shape& shape) : Layer(name, shape, shape) {}

  quern::Layout input_layout(quern::Layout) const override { return quern::Layout::nc; }

  void add_parameters(quern::ParameterTable& table) override {
    beta_ = table.add(name() + ".beta", {units()}, /*fan_in=*/1, quern::ParameterKind::scale);
  }

  // Whether the run fits in memory is decided before anything is allocated.
  std::int64_t own_floats(const quern::BatchLimit& most) const override {
    return quern::allocation_size(input_shape(), quern::Layout::nc, most.rows);
  }

  void forward(const quern::ExecSpace& exec, const quern::StepContext& step,
               const quern::LayerArrays& arrays) const override {
    const auto beta = parameters(step);
    const quern::Activation& x = arrays.x;
    const quern::FloatView in = x.data, out = arrays.y.data;
    const quern::ActivationIndex at(x);
    Kokkos::parallel_for(
        "my::swish", Plane(exec, {0, 0}, {x.rows, units()}), KOKKOS_LAMBDA(int s, int u) {
          const float value = in(at(s, u));
          out(at(s, u)) = value / (1 + Kokkos::exp(-beta(u) * value));
        });
  }

  void backward(const quern::ExecSpace& exec, const quern::StepContext& step,
                const quern::LayerArrays& arrays) const override {
    const auto beta = parameters(step);
    const quern::Activation& x = arrays.x;
    const quern::FloatView in = x.data, d_out = arrays.dy.data, d_in = arrays.dx.data;
    const quern::FloatView d_beta = arrays.own;  // of every row, before they are added
    const quern::ActivationIndex at(x);
    const bool wants_dx = !arrays.dx.empty();  // not in the first layer
    Kokkos::parallel_for(
        "my::swish_backward", Plane(exec, {0, 0}, {x.rows, units()}), KOKKOS_LAMBDA(int s, int u) {
          const std::int64_t i = at(s, u);
          const float value = in(i);
          const float sigma = 1 / (1 + Kokkos::exp(-beta(u) * value));
          const float bend = value * sigma * (1 - sigma);
          if (wants_dx) d_in(i) = d_out(i) * (sigma + beta(u) * bend);
          d_beta(i) = d_out(i) * value * bend;
        });
    // Over the samples sums go in a fixed order: so the bits do not depend on the number of ranks.
    quern::block_tree_sum(exec, "my::swish_d_beta", step.schedule,
                          {d_beta, x.shape, x.layout, x.rows}, step.gradients, beta_);
  }

 private:
  using Plane = Kokkos::MDRangePolicy<quern::ExecSpace, Kokkos::Rank<2>>;

  int units() const { return input_shape().units(); }
  quern::ConstFloatView parameters(const quern::StepContext& step) const {
    return Kokkos::subview(step.parameters, std::pair(beta_, beta_ + units()));
  }

  std::int64_t beta_ = 0;  // where the betas begin in the block of all parameters
};

std::string recipe_text(int units) {
  return R"(
name = "swish"
data = {source = "program", global_batch = 64, target = "values"}
loss = {type = "mse"}
optimizer = {type = "adam", lr = 0.01}
train = {epochs = 100}
checkpoint = {every_epochs = 100}

[network]
input = [1]
layers = [
  {type = "linear", features = )" +
         std::to_string(units) + R"(},
  {type = "custom", kind = "swish", name = "swish"},
  {type = "linear", features = 1},
])";
}

// sin(3 x) at `count` places between -1 and 1.
quern::Samples make_wave(int count) {
  std::vector<float> x, y;
  for (int i = 0; i < count; ++i) {
    x.push_back(2 * (static_cast<float>(i) + 0.5f) / static_cast<float>(count) - 1);
    y.push_back(std::sin(3 * x.back()));
  }
  return quern::make_target_samples({1}, x, 1, y);
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "runs/swish";
  const int units = argc > 2 ? std::stoi(argv[2]) : 21;
  quern::register_layer("swish", [](const quern::LayerSpec& spec, const quern::Shape& input) {
    return std::make_unique<Swish>(spec.name, input);
  });
  return static_cast<int>(quern::run_on_ranks([&](quern::Communicator& comm) {
    const quern::Recipe recipe =  // agree: what is wrong on all ranks is reported once
        quern::agree(comm, [&] { return quern::parse_recipe(recipe_text(units), "my_own_layer"); });
    Swish swish("swish", {units});
    const double error = quern::gradient_error(swish);
    quern::log::print("gradient off by at most " + std::to_string(error));
    if (!(error < 2e-3)) return quern::ExitCode::failure;

    quern::TrainingRun run(comm, recipe,
                           {.folder = folder, .train = make_wave(512), .test = make_wave(100)});
    const quern::ExitCode code = run.train();
    quern::log::print("mean squared error " + std::to_string(run.evaluate().loss));
    return code;
  }));
}
