// SPDX-License-Identifier: Apache-2.0
#include "strategy/block_update.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "strategy/step_kernels.hpp"

namespace quern {

namespace {

/// What of them lies in the first `size` floats of the block.
std::vector<BlockRange> within(std::vector<BlockRange> ranges, std::int64_t size) {
  for (BlockRange& range : ranges) {
    range.begin = std::min(range.begin, size);
    range.end = std::min(range.end, size);
  }
  return ranges;
}

std::vector<std::vector<BlockRange>> ranges_of_all(const GradientReducer& reducer,
                                                   std::int64_t trained_size) {
  std::vector<std::vector<BlockRange>> all;
  for (int rank = 0; rank < reducer.num_ranks(); ++rank)
    all.push_back(within(reducer.ranges_of(rank), trained_size));
  return all;
}

std::vector<std::vector<SpreadRange>> where_they_are(
    const std::vector<std::vector<BlockRange>>& all) {
  std::vector<std::vector<SpreadRange>> spread;
  for (const std::vector<BlockRange>& ranges : all) {
    spread.emplace_back();
    for (const BlockRange& range : ranges) spread.back().push_back({range, range.begin});
  }
  return spread;
}

}  // namespace

BlockUpdate::BlockUpdate(const OptimizerSpec& spec, const ParameterTable& table,
                         GradientReducer& reducer, const StateMemory& memory,
                         std::unique_ptr<NormExchange> exchange)
    : reducer_(reducer),
      trained_size_(table.trained_size()),
      exchange_(std::move(exchange)),
      clip_(spec.clip_norm, exchange_ ? exchange_->whole().trained_size() : trained_size_),
      gathers_gradient_(exchange_ || reducer.spreads_state()),
      gathers_ratios_(gathers_gradient_ || reducer.shares_state()) {
  const ParameterTable& whole = exchange_ ? exchange_->whole() : table;
  const int rank = exchange_ ? exchange_->rank() : reducer.rank();
  const auto ranges =
      exchange_ ? exchange_->ranges() : where_they_are(ranges_of_all(reducer, trained_size_));
  if (gathers_gradient_) clip_.spread(ranges, rank);
  if (TrustRatios::are_needed(spec))
    ratios_ = gathers_ratios_ ? std::make_shared<TrustRatios>(spec, whole, ranges, rank)
                              : std::make_shared<TrustRatios>(spec, whole);
  OptimizerPart part;
  part.ratios = ratios_;
  if (reducer.shares_state()) {
    part.allocate_whole = [&](const std::string& label, std::int64_t count) {
      shared_.push_back(memory.allocate(label, count));
      return shared_.back().view;
    };
  }
  std::vector<BlockRange> own = reducer.own_ranges();
  // Whoever owns nothing has the same arrays, of no floats; and takes part in allocating.
  if (own.empty()) own.push_back({table.block_size(), table.block_size()});
  for (const BlockRange& range : own) {
    part.begin = range.begin;
    part.end = range.end;
    parts_.push_back(
        {make_optimizer(spec, table, part), RunningAverages(table, range.begin, range.end)});
  }
}

std::int64_t BlockUpdate::state_bytes(const OptimizerSpec& spec, const ParameterTable& table,
                                      const GradientReducer& reducer) {
  std::int64_t floats = table.trained_size();
  if (reducer.shares_state()) {
    floats = ceil_div(floats, reducer.num_ranks());
  } else if (reducer.spreads_state()) {
    floats = 0;
    for (const BlockRange& range : within(reducer.own_ranges(), table.trained_size()))
      floats += range.size();
  }
  const int arrays = num_state_arrays(spec) + num_scratch_arrays(spec);
  const std::int64_t groups = TrustRatios::are_needed(spec) ? ceil_div(floats, kLanes) : 0;
  return arrays * floats * std::int64_t{sizeof(float)} + groups * std::int64_t{sizeof(int)};
}

void BlockUpdate::leave_to_layers(std::vector<std::pair<std::int64_t, std::int64_t>> but) {
  leave_to(Updater::layers);
  not_by_layers_ = std::move(but);
}

void BlockUpdate::leave_to_reducer() {
  leave_to(Updater::reducer);
}

void BlockUpdate::leave_to(Updater updater) {
  expect(parts_.size() == 1 && !clip_.is_active() && !ratios_, "an update in one part, no norms");
  expect(updater_ == Updater::optimizer, "one who updates the parameters");
  updater_ = updater;
}

ParameterUpdate BlockUpdate::begin_update(const ExecSpace& exec, const StepScalarsView& scalars,
                                          const FloatView& parameters,
                                          const ConstFloatView& loss_sums) {
  check_loss_finite(exec, scalars, loss_sums);
  by_pieces_ = parts_.front().optimizer->begin_update(exec, scalars, trained(parameters));
  expect(static_cast<bool>(by_pieces_), "an optimizer that updates piece by piece");
  return by_pieces_;
}

void BlockUpdate::update(const ExecSpace& exec, const StepScalarsView& scalars,
                         const FloatView& parameters, const ReducedGradient& gradient) {
  if (updater_ == Updater::optimizer) check_loss_finite(exec, scalars, gradient.sums);
  update_parameters(exec, scalars, parameters, gradient.total);
  for (const Part& part : parts_) part.averages.update(exec, scalars, parameters, gradient.total);
}

void BlockUpdate::update_parameters(const ExecSpace& exec, const StepScalarsView& scalars,
                                    const FloatView& parameters, const ConstFloatView& gradient) {
  if (updater_ != Updater::optimizer) {
    for (const auto& [begin, end] : not_by_layers_)
      update_piece(exec, by_pieces_, begin, end, gradient);
    return;
  }
  const AllGather all_gather = [&](const FloatView& all) {
    if (exchange_)
      exchange_->all_gather(exec, all);
    else
      reducer_.all_gather(exec, all);
  };
  clip_.set_scale(exec, scalars, gradient, gathers_gradient_ ? all_gather : AllGather());
  if (ratios_) {
    for (const Part& part : parts_)
      part.optimizer->prepare_update(exec, scalars, trained(parameters), gradient);
    ratios_->combine(exec, scalars, gathers_ratios_ ? all_gather : AllGather());
  }
  for (const Part& part : parts_)
    part.optimizer->update(exec, scalars, trained(parameters), gradient);
}

TrainState BlockUpdate::state(const FloatView& parameters) const {
  TrainState state;
  state.parameters = parameters;
  for (const OptimizerState& array : parts_.front().optimizer->state())
    state.optimizer.push_back({array.name, {}});
  for (const Part& part : parts_)
    for (std::size_t i = 0; i < state.optimizer.size(); ++i)
      state.optimizer[i].pieces.push_back(part.optimizer->state()[i].values);
  if (reducer_.shares_state()) {
    state.place = StatePlace::node;
  } else if (reducer_.spreads_state()) {
    state.place = StatePlace::owners;
    state.owners = ranges_of_all(reducer_, trained_size_);
  }
  return state;
}

}  // namespace quern
