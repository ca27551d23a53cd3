// SPDX-License-Identifier: Apache-2.0
#include "strategy/block_update.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"

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
                         std::unique_ptr<ClipExchange> exchange)
    : reducer_(reducer),
      trained_size_(table.trained_size()),
      exchange_(std::move(exchange)),
      clip_(spec.clip_norm, exchange_ ? exchange_->block_size() : table.trained_size()) {
  if (exchange_)
    clip_.spread(exchange_->ranges(), exchange_->rank());
  else if (clips() && reducer.spreads_state())
    clip_.spread(where_they_are(ranges_of_all(reducer, trained_size_)), reducer.rank());
  OptimizerPart part;
  if (reducer.shares_state()) {
    part.allocate_whole = [&](const std::string& label, std::int64_t count) {
      shared_.push_back(memory.allocate(label, count));
      return shared_.back().view;
    };
  }
  std::vector<BlockRange> ranges = reducer.own_ranges();
  // Whoever owns nothing has the same arrays, of no floats; and takes part in allocating.
  if (ranges.empty()) ranges.push_back({table.block_size(), table.block_size()});
  for (const BlockRange& range : ranges) {
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
  return num_state_arrays(spec) * floats * static_cast<std::int64_t>(sizeof(float));
}

void BlockUpdate::leave_to_layers(std::vector<std::pair<std::int64_t, std::int64_t>> but) {
  expect(parts_.size() == 1 && !clips(), "a rank that updates all parameters, without clipping");
  not_by_layers_ = std::move(but);
}

ParameterUpdate BlockUpdate::begin_update(const ExecSpace& exec, const StepScalarsView& scalars,
                                          const FloatView& parameters) {
  by_layers_ = parts_.front().optimizer->begin_update(exec, scalars, trained(parameters));
  return by_layers_;
}

void BlockUpdate::update_parameters(const ExecSpace& exec, const StepScalarsView& scalars,
                                    const FloatView& parameters, const ConstFloatView& gradient) {
  if (by_layers_) {
    for (const auto& [begin, end] : *not_by_layers_)
      update_piece(exec, by_layers_, begin, end, gradient);
    return;
  }
  if (exchange_) {
    clip_.set_scale(exec, scalars, gradient,
                    [&](const FloatView& all) { exchange_->all_gather(exec, all); });
  } else if (reducer_.spreads_state()) {
    clip_.set_scale(exec, scalars, gradient,
                    [&](const FloatView& all) { reducer_.all_gather(exec, all); });
  } else {
    clip_.set_scale(exec, scalars, gradient);
  }
  for (const Part& part : parts_)
    part.optimizer->update(exec, scalars, trained(parameters), gradient);
}

void BlockUpdate::update_buffers(const ExecSpace& exec, const StepScalarsView& scalars,
                                 const FloatView& parameters,
                                 const ConstFloatView& gradient) const {
  for (const Part& part : parts_) part.averages.update(exec, scalars, parameters, gradient);
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
