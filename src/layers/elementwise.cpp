// SPDX-License-Identifier: Apache-2.0
#include "layers/elementwise.hpp"

#include <string>
#include <type_traits>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "tensor/chunks.hpp"
#include "tensor/sigmoids.hpp"

namespace quern {

namespace {

struct Relu {
  static constexpr bool kFromOutput = true;
  static constexpr const char* kForward = "quern::layers::relu";
  static constexpr const char* kBackward = "quern::layers::relu_backward";
  KOKKOS_INLINE_FUNCTION static float forward(float x) { return x <= 0 ? 0 : x; }
  KOKKOS_INLINE_FUNCTION static float backward(float, float y, float dy) { return y <= 0 ? 0 : dy; }
};

/// x, or slope x below 0, with 0 < slope <= 1: y has the sign of x. Maas, Hannun, Ng: "Rectifier
/// nonlinearities improve neural network acoustic models".
struct LeakyRelu {
  static constexpr bool kFromOutput = true;
  static constexpr const char* kForward = "quern::layers::leaky_relu";
  static constexpr const char* kBackward = "quern::layers::leaky_relu_backward";
  float slope = 0;
  KOKKOS_INLINE_FUNCTION float forward(float x) const { return x < 0 ? slope * x : x; }
  KOKKOS_INLINE_FUNCTION float backward(float, float y, float dy) const {
    return y < 0 ? slope * dy : dy;
  }
};

struct Tanh {
  static constexpr bool kFromOutput = true;
  static constexpr const char* kForward = "quern::layers::tanh";
  static constexpr const char* kBackward = "quern::layers::tanh_backward";
  KOKKOS_INLINE_FUNCTION static float forward(float x) { return tanh_plain(x); }
  KOKKOS_INLINE_FUNCTION static float backward(float, float y, float dy) {
    return dy * (1 - y * y);
  }
};

struct Sigmoid {
  static constexpr bool kFromOutput = true;
  static constexpr const char* kForward = "quern::layers::sigmoid";
  static constexpr const char* kBackward = "quern::layers::sigmoid_backward";
  KOKKOS_INLINE_FUNCTION static float forward(float x) { return sigmoid(x); }
  KOKKOS_INLINE_FUNCTION static float backward(float, float y, float dy) {
    return dy * (1 - y) * y;
  }
};

/// x Phi(x), Phi the normal distribution function; Hendrycks, Gimpel: "Gaussian error linear
/// units".
struct Gelu {
  static constexpr bool kFromOutput = false;
  static constexpr const char* kForward = "quern::layers::gelu";
  static constexpr const char* kBackward = "quern::layers::gelu_backward";
  KOKKOS_INLINE_FUNCTION static float forward(float x) { return x * normal_distribution(x).below; }
  KOKKOS_INLINE_FUNCTION static float backward(float x, float, float dy) {
    const NormalDistribution normal = normal_distribution(x);
    return dy * (normal.below + x * normal.density);
  }
};

/// x sigmoid(x); Elfwing, Uchibe, Doya: "Sigmoid-weighted linear units".
struct Silu {
  static constexpr bool kFromOutput = false;
  static constexpr const char* kForward = "quern::layers::silu";
  static constexpr const char* kBackward = "quern::layers::silu_backward";
  KOKKOS_INLINE_FUNCTION static float forward(float x) { return x * sigmoid(x); }
  KOKKOS_INLINE_FUNCTION static float backward(float x, float, float dy) {
    const float gate = sigmoid(x);
    return dy * gate * (1 + x * (1 - gate));
  }
};

template <class Function>
struct ForwardChunk {
  Function function;
  const float* x;
  float* y;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end) const {
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) y[i] = function.forward(x[i]);
  }
};

template <class Function>
struct BackwardChunk {
  Function function;
  const float* x;
  const float* y;
  const float* dy;
  float* dx;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end) const {
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) dx[i] = function.backward(x[i], y[i], dy[i]);
  }
};

template <class Function>
class Elementwise final : public Layer {
 public:
  Elementwise(const std::string& name, const Shape& shape, const Function& function = {})
      : Layer(name, shape, shape), function_(function) {}

  LayerTraits traits() const override {
    return {.in_place = Function::kFromOutput,
            .reads_output = Function::kFromOutput,
            .is_relu = std::is_same_v<Function, Relu>};
  }
  Shape needed_input(const Shape& read) const override { return read; }

  void forward(const ExecSpace& exec, const StepContext&,
               const LayerArrays& arrays) const override {
    const Activation& x = arrays.x;
    const Activation& y = arrays.y;
    expect(x.size() == y.size() && x.layout == y.layout, "an output shaped like the input");
    for_each_chunk(exec, Function::kForward, x.size(),
                   ForwardChunk<Function>{function_, x.data.data(), y.data.data()});
  }

  void backward(const ExecSpace& exec, const StepContext&,
                const LayerArrays& arrays) const override {
    const Activation& x = arrays.x;
    const Activation& y = arrays.y;
    const Activation& dy = arrays.dy;
    const Activation& dx = arrays.dx;
    if (dx.empty()) return;
    expect(dx.size() == y.size() && dx.layout == y.layout && dy.layout == y.layout,
           "gradients shaped like the output");
    for_each_chunk(exec, Function::kBackward, y.size(),
                   BackwardChunk<Function>{function_, x.data.data(), y.data.data(), dy.data.data(),
                                           dx.data.data()});
  }

 private:
  Function function_;
};

}  // namespace

std::unique_ptr<Layer> make_elementwise(const LayerSpec& spec, const Shape& input) {
  switch (spec.type) {
    case LayerType::relu:
      return std::make_unique<Elementwise<Relu>>(spec.name, input);
    case LayerType::leaky_relu:
      return std::make_unique<Elementwise<LeakyRelu>>(
          spec.name, input, LeakyRelu{static_cast<float>(spec.negative_slope)});
    case LayerType::tanh:
      return std::make_unique<Elementwise<Tanh>>(spec.name, input);
    case LayerType::sigmoid:
      return std::make_unique<Elementwise<Sigmoid>>(spec.name, input);
    case LayerType::silu:
      return std::make_unique<Elementwise<Silu>>(spec.name, input);
    case LayerType::gelu:
      return std::make_unique<Elementwise<Gelu>>(spec.name, input);
    default:
      break;
  }
  throw Error("make_elementwise: expected an elementwise layer type");
}

}  // namespace quern
