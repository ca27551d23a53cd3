// SPDX-License-Identifier: Apache-2.0
#include "train/training_step.hpp"

#include <algorithm>
#include <cmath>

#include "comm/agree.hpp"
#include "dataset/memory.hpp"
#include "parallel/make_reducer.hpp"
#include "train/step_kernels.hpp"

namespace quern {

BatchSums TrainingStep::run(const ExecSpace& exec, bool vote_to_stop) {
  is_last_ = samples_.count - cursor_ < full_.samples();
  const BatchPlan& plan = batch();
  const StepContext step = model_.context(plan, Mode::train, scalars_, reducer_->partials());
  Network& network = model_.network();

  set_learning_rate(exec, scalars_, schedule_);
  begin_batch(exec, scalars_, plan.samples());
  model_.load_batch(exec, plan, samples_, shuffle_, scalars_);
  network.forward(exec, step);
  model_.compute_loss(exec, step, samples_, reducer_->partials(), sums_offset());
  network.backward(exec, step);
  const ReducedGradient gradient = reduce(exec, vote_to_stop ? 1.0f : 0.0f);

  const auto sums = read_floats<Loss::kColumns>(exec, gradient.sums, 0);
  const BatchSums result{sums[Loss::kLoss], sums[Loss::kCorrect], gradient.votes > 0};
  const bool updates = std::isfinite(result.loss);
  if (updates) {
    clip_.set_scale(exec, scalars_, gradient.total);
    optimizer_->update(exec, scalars_, model_.parameters(), gradient.total);
  }
  reducer_->publish_update(exec);
  if (!updates) return result;

  end_batch(exec, scalars_, plan.samples());
  cursor_ += plan.samples();
  return result;
}

namespace {

SumOrder sum_order(Determinism determinism) {
  return determinism == Determinism::fast ? SumOrder::ranks : SumOrder::tree;
}

int samples_of_last_batch(std::int64_t count, int global_batch) {
  const auto rest = static_cast<int>(count % global_batch);
  return rest > 0 ? rest : global_batch;
}

}  // namespace

TrainingStep::TrainingStep(const Recipe& recipe, Communicator& comm, Model& model,
                           const Samples& samples)
    : model_(model),
      samples_(samples),
      seed_(recipe.seed),
      shuffle_(recipe.data.shuffle),
      clip_(recipe.optimizer.clip_norm, model.network().table().block_size()),
      reducer_(make_reducer(comm, sums_offset() + Loss::kColumns,
                            sum_order(recipe.train.determinism), Loss::kColumns)),
      scalars_("quern::train::step_scalars") {
  const int full_samples =
      static_cast<int>(std::min<std::int64_t>(recipe.global_batch(comm.size()), samples.count));
  const int last_samples = samples_of_last_batch(samples.count, full_samples);
  const BatchCut cut{micro_block_size(recipe.train.micro_block, full_samples),
                     model.network().slot_multiple(), recipe.train.determinism};
  agree(comm, [&] {
    full_ = make_batch_plan(cut, full_samples, comm.rank(), comm.size());
    last_ = make_batch_plan(cut, last_samples, comm.rank(), comm.size());
  });
  steps_per_epoch_ = (samples.count + full_samples - 1) / full_samples;
  schedule_ =
      make_schedule(recipe.optimizer, steps_per_epoch_, steps_per_epoch_ * recipe.train.epochs);
  allocate(recipe, comm);
  set_position(0, 0, 0);
}

void TrainingStep::allocate(const Recipe& recipe, Communicator& comm) {
  const std::int64_t block_size = model_.network().table().block_size();
  const std::int64_t stride = reducer_->partial_stride();
  const int partials = std::max({1, full_.schedule.num_partials, last_.schedule.num_partials});
  const std::int64_t floats =
      (1 + num_state_arrays(recipe.optimizer)) * block_size + partials * stride;
  memory_bytes_ = model_.network().memory_bytes(full_.max_slots()) +
                  floats * static_cast<std::int64_t>(sizeof(float));
  agree(comm, [&] {
    if (comm.node_rank() != 0) return;
    check_memory(memory_bytes_ * comm.node_size(),
                 "training on " + std::to_string(comm.node_size()) + " ranks of one node");
  });
  full_reduction_ = reducer_->add_plan(full_.partition);
  last_reduction_ = reducer_->add_plan(last_.partition);
  reducer_->allocate();
  const auto [begin, end] = reducer_->own_part();
  optimizer_ = make_optimizer(recipe.optimizer, block_size,
                              {begin, end, [this](const std::string& label, std::int64_t count) {
                                 state_blocks_.push_back(reducer_->allocate_block(label, count));
                                 return state_blocks_.back().view;
                               }});
  model_.allocate(full_.max_slots(), [this](const std::string& label, std::int64_t count) {
    return reducer_->allocate_block(label, count);
  });
  reducer_->publish_update(ExecSpace());  // nobody draws parameters any more
}

// Clipping needs the norm of the whole gradient.
ReducedGradient TrainingStep::reduce(const ExecSpace& exec, float vote) {
  return clip_.is_active() ? reducer_->reduce(exec, reduction(), vote)
                           : reducer_->reduce_own_part(exec, reduction(), vote);
}

void TrainingStep::set_position(std::int64_t step, std::int64_t epoch, std::int64_t cursor) {
  quern::set_position(scalars_, seed_, step, epoch, cursor);
  cursor_ = cursor;
}

std::string TrainingStep::non_finite_layer() const {
  return model_.network().first_non_finite_layer(
      model_.context(batch(), Mode::train, scalars_, reducer_->partials()));
}

double TrainingStep::local_loss_sum() const {
  const auto values =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), model_.loss().slot_values());
  double sum = 0;
  for (int slot = 0; slot < batch().slots(); ++slot) {
    sum += values(static_cast<std::size_t>(slot * Loss::kColumns + Loss::kLoss));
  }
  return sum;
}

}  // namespace quern
