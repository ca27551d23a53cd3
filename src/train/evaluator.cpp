// SPDX-License-Identifier: Apache-2.0
#include "train/evaluator.hpp"

#include <cmath>

#include "train/step_kernels.hpp"

namespace quern {

Evaluator::Evaluator(Communicator& comm, Model& model, const Samples& samples, const BatchCut& cut,
                     int global_batch)
    : model_(model),
      samples_(samples),
      reducer_(make_reducer(comm, Loss::kColumns, SumOrder::tree)),
      scalars_("quern::train::evaluation_scalars") {
  const int full = static_cast<int>(std::min<std::int64_t>(global_batch, samples.count));
  const auto rest = static_cast<int>(samples.count % full);
  // Sums of an evaluation are exact for any number of ranks, also where training is "fast".
  const BatchCut exact{cut.block_samples, cut.slot_multiple, Determinism::rank_invariant};
  full_ = make_batch_plan(exact, full, comm.rank(), comm.size());
  last_ = make_batch_plan(exact, rest > 0 ? rest : full, comm.rank(), comm.size());
  full_reduction_ = reducer_->add_plan(full_.partition);
  last_reduction_ = reducer_->add_plan(last_.partition);
  reducer_->allocate();
}

Evaluation Evaluator::run(const ExecSpace& exec) {
  Evaluation result;
  double loss_sum = 0;
  set_position(scalars_, 0, 0, 0, 0);
  while (result.samples < samples_.count) {
    const bool is_last = samples_.count - result.samples < full_.samples();
    const BatchPlan& plan = is_last ? last_ : full_;
    const StepContext step = model_.context(plan, Mode::evaluate, scalars_, reducer_->partials());
    model_.load_batch(exec, plan, samples_, false, scalars_);
    model_.network().forward(exec, step);
    model_.compute_loss(exec, step, samples_, reducer_->partials(), 0);
    const ReducedGradient total =
        reducer_->reduce(exec, is_last ? last_reduction_ : full_reduction_, 0);
    const auto sums = read_floats<Loss::kColumns>(exec, total.total, 0);
    loss_sum += double{sums[Loss::kLoss]};
    result.correct += std::llround(sums[Loss::kCorrect]);
    result.samples += plan.samples();
    end_batch(exec, scalars_, plan.samples());
  }
  result.loss = loss_sum / static_cast<double>(result.samples);
  return result;
}

}  // namespace quern
