// SPDX-License-Identifier: Apache-2.0
// Dense and convolution layers one by one, each pass alone, over many sizes:
//   build/release/benchmarks/kernel_bench --benchmark_filter='dense_forward/.*'
// "flop" is the rate of the useful arithmetic. Data stay in the caches as far as they fit.
#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/ceil_div.hpp"
#include "base/flush_denormals.hpp"
#include "network/build_layer.hpp"

namespace quern {
namespace {

/// One layer with its buffers, in a batch of eight micro-blocks or fewer.
class LayerBench {
 public:
  LayerBench(const LayerSpec& spec, const Shape& input, int samples, OperandPrecision precision)
      : samples_(samples), layer_(build_layer(spec, input, 0, {precision})) {
    const Layout in = layer_->input_layout(flat_layout());
    const int multiple = in == Layout::nchw16n ? kLanes : 1;
    const int groups = ceil_div(samples, multiple);
    const int blocks = groups < 8 ? 1 : 8;
    const int block_rows = ceil_div(groups, blocks) * multiple;
    ParameterTable table;
    layer_->add_parameters(table);
    const auto block = static_cast<std::size_t>(table.block_size());
    step_.schedule = make_block_schedule(0, blocks, blocks, block_rows);
    step_.schedule.last_samples = samples - (blocks - 1) * block_rows;
    step_.scalars = StepScalarsView("quern::benchmarks::scalars");
    const int rows = step_.schedule.rows();
    step_.sample_of_row =
        View<std::int64_t>("quern::benchmarks::samples", static_cast<std::size_t>(rows));
    step_.parameters = filled(FloatView("quern::benchmarks::parameters", block + 8 * kLanes));
    step_.gradients = {FloatView("quern::benchmarks::gradients", block + kLanes),
                       static_cast<std::int64_t>(block) + kLanes};
    layer_->set_up({});
    arrays_ = allocate_memory(*layer_, rows);
    const Layout out = layer_->output_layout(in);
    arrays_.x = make(input, in, rows);
    arrays_.y = make(layer_->output_shape(), out, rows);
    arrays_.dy = make(layer_->output_shape(), out, rows);
    dx_ = make(input, in, rows);
  }

  void forward() { layer_->forward(exec_, step_, arrays_); }
  void weight_gradient() { run_backward({}); }
  void backward() { run_backward(dx_); }
  void wait() const { exec_.fence("quern::benchmarks::wait"); }

  /// Of one pass that takes `products` times the products of the forward pass.
  double flop(int products) const {
    return 2.0 * products * static_cast<double>(layer_->macs()) * samples_;
  }

 private:
  static FloatView filled(const FloatView& view) {
    Kokkos::deep_copy(view, 0.5f);
    return view;
  }
  static Activation make(const Shape& shape, Layout layout, int rows) {
    Activation activation =
        allocate_activation("quern::benchmarks::activation", shape, layout, rows);
    filled(activation.data);
    return activation;
  }

  void run_backward(const Activation& dx) {
    arrays_.dx = dx;
    layer_->backward(exec_, step_, arrays_);
  }

  int samples_;
  std::unique_ptr<Layer> layer_;
  ExecSpace exec_;
  StepContext step_;
  LayerArrays arrays_;
  Activation dx_;
};

struct Pass {
  const char* name;
  int products;
  void (LayerBench::*run)();
};
constexpr Pass kPasses[] = {{"forward", 1, &LayerBench::forward},
                            {"weight_gradient", 1, &LayerBench::weight_gradient},
                            {"backward", 2, &LayerBench::backward}};

void add(const std::string& kind, const std::string& size, const LayerSpec& spec,
         const Shape& input, int samples, OperandPrecision precision) {
  for (const Pass& pass : kPasses) {
    const auto run = [=](benchmark::State& state) {
      LayerBench bench(spec, input, samples, precision);
      for (auto _ : state) {
        (bench.*pass.run)();
        bench.wait();
      }
      state.counters["flop"] = benchmark::Counter(bench.flop(pass.products),
                                                  benchmark::Counter::kIsIterationInvariantRate);
    };
    benchmark::RegisterBenchmark((kind + "_" + pass.name + "/" + size).c_str(), run)->UseRealTime();
  }
}

/// m samples of k units to n units: m x k x n as in a matrix product.
void add_dense(int m, int k, int n) {
  LayerSpec spec;
  spec.type = LayerType::linear;
  spec.name = "fc1";
  spec.features = n;
  add("dense", std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n), spec,
      Shape{k}, m, OperandPrecision::fp32);
}

struct Window {
  int kernel;
  int stride = 1;
  int padding = 0;
};

/// In fp32 and in bf16.
void add_conv(int samples, const Shape& input, int channels, const Window& window) {
  LayerSpec spec;
  spec.type = LayerType::conv2d;
  spec.name = "conv1";
  spec.channels = channels;
  spec.kernel = window.kernel;
  spec.stride = window.stride;
  spec.padding = window.padding;
  std::string text = std::to_string(samples) + "x" + std::to_string(input.channels) + "x" +
                     std::to_string(input.height) + "x" + std::to_string(input.width) + "/" +
                     std::to_string(channels) + "x" + std::to_string(window.kernel);
  if (window.stride > 1) text += "s" + std::to_string(window.stride);
  if (window.padding > 0) text += "p" + std::to_string(window.padding);
  add("conv2d", text, spec, input, samples, OperandPrecision::fp32);
  add("conv2d_bf16", text, spec, input, samples, OperandPrecision::bf16);
}

void add_all() {
  add_dense(128, 784, 128);  // W1 and W7
  add_dense(128, 128, 128);
  add_dense(128, 128, 784);
  add_dense(128, 128, 10);
  add_dense(256, 800, 128);  // W2
  add_dense(256, 128, 10);
  add_dense(512, 512, 512);
  add_dense(1, 257, 33);  // odd sizes
  add_dense(17, 33, 3);
  add_dense(257, 257, 257);
  add_conv(256, {1, 28, 28}, 20, {3});  // W2
  add_conv(256, {20, 13, 13}, 50, {5});
  add_conv(17, {3, 9, 33}, 5, {3});            // odd sizes
  add_conv(32, {3, 224, 224}, 64, {7, 2, 3});  // ResNet-50
  add_conv(32, {64, 56, 56}, 64, {3, 1, 1});
  add_conv(32, {256, 56, 56}, 64, {1});
  add_conv(32, {64, 56, 56}, 256, {1});
  add_conv(32, {256, 56, 56}, 512, {1, 2});
  add_conv(32, {128, 56, 56}, 128, {3, 2, 1});
  add_conv(32, {512, 7, 7}, 512, {3, 1, 1});
  add_conv(128, {16, 32, 32}, 16, {3, 1, 1});  // ResNet-20
  // Few samples: the time of 16 is that of any number where 16 samples are in the lanes.
  for (const int samples : {1, 2, 4, 8, 12, 16}) {
    add_conv(samples, {64, 32, 32}, 64, {3, 1, 1});
    add_conv(samples, {64, 32, 32}, 256, {1});
    add_conv(samples, {256, 32, 32}, 64, {1});
    add_conv(samples, {128, 32, 32}, 128, {3, 2, 1});
    add_conv(samples, {256, 8, 8}, 256, {3, 1, 1});
    add_conv(samples, {1024, 8, 8}, 256, {1});
    add_conv(samples, {512, 4, 4}, 512, {3, 1, 1});
    add_conv(samples, {512, 4, 4}, 2048, {1});
    add_conv(samples, {3, 128, 128}, 64, {7, 2, 3});
    add_conv(samples, {16, 28, 28}, 16, {3, 1, 1});  // ResNet-20
    add_conv(samples, {20, 13, 13}, 50, {5});        // W2
    add_conv(samples, {6, 14, 14}, 16, {5});         // LeNet
  }
}

}  // namespace
}  // namespace quern

int main(int argc, char** argv) {
  const quern::FlushDenormals as_in_programs;
  Kokkos::ScopeGuard kokkos(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  quern::add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
