// SPDX-License-Identifier: Apache-2.0
// A layer of your own: Swish, y = x / (1 + exp(-beta x)), with a beta learned for every unit.
// (Ramachandran, Zoph, Le: "Searching for activation functions", 2017.)
//
//   my_own_layer RUN_FOLDER                     (or mpirun -n 2 my_own_layer ...)
#include <cmath>
#include <memory>
#include <quern/base/log.hpp>
#include <quern/config/read_recipe.hpp>
#include <quern/linalg/block_sum.hpp>
#include <quern/network/custom_layer.hpp>
#include <quern/network/gradient_check.hpp>
#include <quern/runtime/ranks.hpp>
#include <quern/train/own_samples.hpp>
#include <quern/train/training_run.hpp>
#include <string>
#include <vector>

// A layer is handed its input, its parameters and room for its output; it owns nothing but
// workspace. Slots are the samples of this rank, each a row of units with a stride.
class Swish final : public quern::Layer {
 public:
  Swish(const std::string& name, const quern::Shape& shape) : Layer(name, shape, shape) {}

  quern::Layout input_layout(quern::Layout) const override { return quern::Layout::rows; }

  void add_parameters(quern::ParameterTable& table) override {
    beta_ = table.add(name() + ".beta", {input_shape().units()}, /*fan_in=*/1, /*is_bias=*/false);
  }

  void allocate(int max_slots) override {
    d_beta_ = quern::FloatView("my::d_beta", max_slots * quern::round_up_to_lanes(units()));
  }
  // Whether the run fits in memory is decided before anything is allocated.
  std::int64_t own_bytes(int max_slots) const override {
    return max_slots * quern::round_up_to_lanes(units()) * sizeof(float);
  }

  void forward(const quern::ExecSpace& exec, const quern::StepContext& step,
               const quern::Activation& x, const quern::Activation& y) override {
    const auto beta = parameters(step);
    const quern::FloatView in = x.data, out = y.data;
    const std::int64_t stride = x.row_stride();
    Kokkos::parallel_for(
        "my::swish", Plane(exec, {0, 0}, {x.slots, units()}), KOKKOS_LAMBDA(int s, int u) {
          const float value = in(s * stride + u);
          out(s * stride + u) = value / (1 + Kokkos::exp(-beta(u) * value));
        });
  }

  void backward(const quern::ExecSpace& exec, const quern::StepContext& step,
                const quern::Activation& x, const quern::Activation&, const quern::Activation& dy,
                const quern::Activation& dx) override {
    const auto beta = parameters(step);
    const quern::FloatView in = x.data, d_out = dy.data, d_in = dx.data, d_beta = d_beta_;
    const std::int64_t stride = x.row_stride();
    const bool wants_dx = !dx.empty();  // not in the first layer
    Kokkos::parallel_for(
        "my::swish_backward", Plane(exec, {0, 0}, {x.slots, units()}), KOKKOS_LAMBDA(int s, int u) {
          const std::int64_t at = s * stride + u;
          const float sigma = 1 / (1 + Kokkos::exp(-beta(u) * in(at)));
          const float bend = in(at)*sigma * (1 - sigma);
          if (wants_dx) d_in(at) = d_out(at) * (sigma + beta(u) * bend);
          d_beta(at) = d_out(at) * in(at)*bend;
        });
    // Over the samples sums go in a fixed order: so the bits do not depend on the number of ranks.
    quern::block_tree_sum(exec, "my::swish_d_beta", step.schedule,
                          {d_beta_.data(), x.slots, units(), stride}, step.gradients, beta_);
  }

 private:
  using Plane = Kokkos::MDRangePolicy<quern::ExecSpace, Kokkos::Rank<2>>;

  int units() const { return input_shape().units(); }
  quern::ConstFloatView parameters(const quern::StepContext& step) const {
    return Kokkos::subview(step.parameters, std::pair(beta_, beta_ + units()));
  }

  std::int64_t beta_ = 0;    // where the betas begin in the block of all parameters
  quern::FloatView d_beta_;  // of every slot, before they are added
};

constexpr const char* kRecipe = R"(
name = "swish"
data = {source = "program", global_batch = 64, target = "values"}
loss = {type = "mse"}
optimizer = {type = "adam", lr = 0.01}
train = {epochs = 100}
checkpoint = {every_epochs = 100}

[network]
input = [1]
layers = [
  {type = "linear", features = 21},
  {type = "custom", kind = "swish", name = "swish"},
  {type = "linear", features = 1},
])";

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
  quern::register_layer("swish", [](const quern::LayerSpec& spec, const quern::Shape& input) {
    return std::make_unique<Swish>(spec.name, input);
  });
  return static_cast<int>(quern::run_on_ranks([&](quern::Communicator& comm) {
    Swish swish("swish", {21});
    const double error = quern::gradient_error(swish);
    quern::log::print("gradient off by at most " + std::to_string(error));
    if (!(error < 2e-3)) return quern::ExitCode::failure;

    quern::TrainingRun run(comm, quern::parse_recipe(kRecipe, "my_own_layer"),
                           {.folder = folder, .train = make_wave(512), .test = make_wave(100)});
    const quern::ExitCode code = run.train();
    quern::log::print("mean squared error " + std::to_string(run.evaluate().loss));
    return code;
  }));
}
