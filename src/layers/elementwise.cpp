// SPDX-License-Identifier: Apache-2.0
#include "layers/elementwise.hpp"

#include <type_traits>

#include "base/assert.hpp"
#include "tensor/chunks.hpp"

namespace quern {

namespace {

struct Relu {
  static constexpr bool kFromOutput = true;
  static constexpr const char* kForward = "quern::layers::relu";
  static constexpr const char* kBackward = "quern::layers::relu_backward";
  KOKKOS_INLINE_FUNCTION static float forward(float x) { return x <= 0 ? 0 : x; }
  KOKKOS_INLINE_FUNCTION static float backward(float, float y, float dy) { return y <= 0 ? 0 : dy; }
};

struct Tanh {
  static constexpr bool kFromOutput = true;
  static constexpr const char* kForward = "quern::layers::tanh";
  static constexpr const char* kBackward = "quern::layers::tanh_backward";
  KOKKOS_INLINE_FUNCTION static float forward(float x) { return Kokkos::tanh(x); }
  KOKKOS_INLINE_FUNCTION static float backward(float, float y, float dy) {
    return dy * (1 - y * y);
  }
};

struct Sigmoid {
  static constexpr bool kFromOutput = true;
  static constexpr const char* kForward = "quern::layers::sigmoid";
  static constexpr const char* kBackward = "quern::layers::sigmoid_backward";
  KOKKOS_INLINE_FUNCTION static float forward(float x) { return 1 / (1 + Kokkos::exp(-x)); }
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
  static constexpr float kSqrtHalf = 0.70710678118654752f;
  static constexpr float kInverseSqrtTwoPi = 0.39894228040143268f;
  KOKKOS_INLINE_FUNCTION static float distribution(float x) {
    return 0.5f * (1 + Kokkos::erf(x * kSqrtHalf));
  }
  KOKKOS_INLINE_FUNCTION static float forward(float x) { return x * distribution(x); }
  KOKKOS_INLINE_FUNCTION static float backward(float x, float, float dy) {
    const float density = kInverseSqrtTwoPi * Kokkos::exp(-0.5f * x * x);
    return dy * (distribution(x) + x * density);
  }
};

template <class Function>
struct ForwardChunk {
  const float* x;
  float* y;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end) const {
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) y[i] = Function::forward(x[i]);
  }
};

template <class Function>
struct BackwardChunk {
  const float* x;
  const float* y;
  const float* dy;
  float* dx;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end) const {
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) dx[i] = Function::backward(x[i], y[i], dy[i]);
  }
};

template <class Function>
class Elementwise final : public Layer {
 public:
  using Layer::Layer;

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
                   ForwardChunk<Function>{x.data.data(), y.data.data()});
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
    for_each_chunk(
        exec, Function::kBackward, y.size(),
        BackwardChunk<Function>{x.data.data(), y.data.data(), dy.data.data(), dx.data.data()});
  }
};

}  // namespace

std::unique_ptr<Layer> make_elementwise(const LayerSpec& spec, const Shape& input) {
  if (spec.type == LayerType::relu)
    return std::make_unique<Elementwise<Relu>>(spec.name, input, input);
  if (spec.type == LayerType::tanh)
    return std::make_unique<Elementwise<Tanh>>(spec.name, input, input);
  if (spec.type == LayerType::sigmoid)
    return std::make_unique<Elementwise<Sigmoid>>(spec.name, input, input);
  expect(spec.type == LayerType::gelu, "an elementwise layer type");
  return std::make_unique<Elementwise<Gelu>>(spec.name, input, input);
}

}  // namespace quern
