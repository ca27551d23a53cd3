// SPDX-License-Identifier: Apache-2.0
// Cross entropy on a device: a team has one row, a thread every n-th class. Only the sum of the
// powers is a chain, in the order of the classes as on a CPU, and with label smoothing that of the
// logits.
#include "loss/cross_entropy_kernels.hpp"
#include "tensor/exp.hpp"
#include "tensor/log.hpp"
#include "tensor/team.hpp"

namespace quern::device {

namespace {

template <class Targets, int Threads = kTeamThreads<32>>
struct CrossEntropyTeam {
  static constexpr int kThreads = Threads;
  static constexpr int kChunk = 128;  ///< classes whose powers wait to be added
  static constexpr std::size_t kScratchBytes = scratch_bytes(kChunk + Threads + 2, 3);

  const float* logits;  ///< [rows, row_stride]
  float* d_logits;      ///< the same shape, or null
  float* values;        ///< [rows, Loss::kColumns]
  const std::int64_t* sample_of_row;
  const std::int32_t* labels;
  const StepScalars* scalars;
  int classes;
  int row_stride;
  Targets targets;
  bool is_smoothed;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int thread = team.team_rank();
    const std::int64_t row = team.league_rank();
    const std::int64_t sample = sample_of_row[row];
    const int label = sample >= 0 ? labels[sample] : -1;
    const bool valid = label >= 0 && label < classes;
    const float* x = logits + row * row_stride;
    float* dx = d_logits ? d_logits + row * row_stride : nullptr;
    if (dx)
      for (int v = valid ? classes + thread : thread; v < row_stride; v += Threads) dx[v] = 0;
    if (!valid) {  // the same for the whole team
      if (thread != 0) return;
      values[row * Loss::kColumns + Loss::kLoss] =
          sample >= 0 ? Kokkos::Experimental::quiet_NaN_v<float> : 0;
      values[row * Loss::kColumns + Loss::kCorrect] = 0;
      return;
    }
    const int best = largest(team, x);
    float* scratch = scratch_floats(team, kChunk + 1);
    const float total = sum_powers(team, scratch, x, dx, x[best]);
    const float below = !is_smoothed ? 0 : sum_below(team, scratch, x, x[best]);
    if (dx) {
      const float inverse_count = scalars->inverse_count;
      const float whole = targets.whole(label);
      for (int v = thread; v < classes; v += Threads) {
        const float wanted = v == label ? targets.of_label(v) : targets.of_other(v);
        dx[v] = (whole * dx[v] - wanted * total) / total * inverse_count;
      }
    }
    if (thread != 0) return;
    values[row * Loss::kColumns + Loss::kCorrect] = best == label ? 1.0f : 0.0f;
    values[row * Loss::kColumns + Loss::kLoss] =
        targets.loss(label, log_normal(total), x[best] - x[label], below);
  }

  /// The first of the largest logits; what is not a number counts only as the first.
  KOKKOS_INLINE_FUNCTION int largest(const Team& team, const float* x) const {
    float* best_of = scratch_floats(team, Threads);
    float* answer = scratch_floats(team, 1);
    int best = 0;
    for (int v = team.team_rank(); v < classes; v += Threads)
      if (x[v] > x[best]) best = v;
    best_of[team.team_rank()] = static_cast<float>(best);  // exact: below 2^24
    team.team_barrier();
    if (team.team_rank() == 0) {
      for (int t = 1; t < Threads; ++t) {
        const int other = static_cast<int>(best_of[t]);
        if (x[other] > x[best] || (x[other] == x[best] && other < best)) best = other;
      }
      answer[0] = static_cast<float>(best);
    }
    team.team_barrier();
    return static_cast<int>(answer[0]);
  }

  /// Sum of exp(x - largest) in the order of the classes; the powers go to dx unless it is null.
  KOKKOS_INLINE_FUNCTION float sum_powers(const Team& team, float* scratch, const float* x,
                                          float* dx, float largest) const {
    return sum_classes(team, scratch, [=](int v) {
      const float power = exp_normal(x[v] - largest);
      if (dx) dx[v] = power;
      return power;
    });
  }

  /// Sum of the terms of largest - x in the order of the classes.
  KOKKOS_INLINE_FUNCTION float sum_below(const Team& team, float* scratch, const float* x,
                                         float largest) const {
    const Targets by = targets;
    return sum_classes(team, scratch, [=](int v) { return by.term(v, largest - x[v]); });
  }

  /// Sum of value(class) in the order of the classes; a class is the same thread's each time.
  template <class Value>
  KOKKOS_INLINE_FUNCTION float sum_classes(const Team& team, float* scratch,
                                           const Value& value) const {
    float total = 0;
    for (int begin = 0; begin < classes; begin += kChunk) {
      const int count = classes - begin < kChunk ? classes - begin : kChunk;
      for (int v = team.team_rank(); v < count; v += Threads) scratch[v] = value(begin + v);
      team.team_barrier();
      if (team.team_rank() == 0)
        for (int v = 0; v < count; ++v) total += scratch[v];
      team.team_barrier();
    }
    if (team.team_rank() == 0) scratch[kChunk] = total;
    team.team_barrier();
    return scratch[kChunk];
  }
};

}  // namespace

void cross_entropy(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                   const LossTarget& target, const Activation& d_prediction,
                   const FloatView& values, const CrossEntropyOptions& options) {
  options.with_targets([&]<class Targets>(const Targets& targets) {
    for_each_team(
        exec, "quern::loss::cross_entropy", prediction.rows,
        CrossEntropyTeam<Targets>{prediction.data.data(), d_prediction.data.data(), values.data(),
                                  step.sample_of_row.data(), target.labels.data(),
                                  step.scalars.data(), prediction.shape.units(),
                                  prediction.row_stride(), targets, options.targets.share != 0});
  });
}

}  // namespace quern::device
