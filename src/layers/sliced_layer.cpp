// SPDX-License-Identifier: Apache-2.0
#include "layers/sliced_layer.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/block_tree.hpp"
#include "base/ceil_div.hpp"
#include "layers/add.hpp"
#include "layers/layout.hpp"
#include "layers/unit_range.hpp"

namespace quern {

namespace {

FloatView from(const FloatView& floats, std::int64_t begin) {
  return Kokkos::subview(floats, std::pair(begin, static_cast<std::int64_t>(floats.extent(0))));
}

}  // namespace

std::vector<int> slice_bounds(int units, int multiple, int count) {
  const std::int64_t groups = ceil_div(std::int64_t{units}, multiple);
  if (groups < count) return {};
  std::vector<int> bounds;
  for (int slice = 0; slice < count; ++slice)
    bounds.push_back(static_cast<int>(slice * groups / count * multiple));
  bounds.push_back(units);
  return bounds;
}

SlicedLayer::SlicedLayer(const std::string& name, const Shape& input, const Shape& output,
                         const TensorSlices& slices, std::vector<int> bounds, const MakeSlice& make)
    : Layer(name, input, output), slices_(slices), bounds_(std::move(bounds)) {
  expect(slices.ranks >= 1 && slices.count % slices.ranks == 0, "as many slices on every rank");
  expect(static_cast<int>(bounds_.size()) == slices.count + 1 && bounds_.back() == output.channels,
         "bounds of all slices");
  const int first = slices.first();
  for (int i = 0; i < slices.per_rank(); ++i) own_.push_back(make(channels(first + i)));
  layout_ = own_.front()->output_layout(input_layout(Layout::nc));

  const std::int64_t plane = std::int64_t{output.height} * output.width;
  begins_.push_back(0);
  shares_.assign(static_cast<std::size_t>(slices.ranks), 0);
  for (int slice = 0; slice < slices.count; ++slice) {
    const std::int64_t units = plane * channels(slice);
    const std::int64_t share = layout_ == Layout::cn16c ? round_up_to_lanes(units) / kLanes
                               : layout_ == Layout::nc  ? row_floats(units)
                                                        : units;
    begins_.push_back(begins_.back() + share);
    shares_[static_cast<std::size_t>(slice / slices.per_rank())] += share;
  }
  const auto traversal = BlockTree(slices.count).traverse_blocks(first, first + slices.per_rank());
  expect(traversal.roots.size() == 1, "slices of a rank that are one subtree");
  merges_ = traversal.merges;
  depth_ = traversal.depth;
}

int SlicedLayer::channels(int slice) const {
  const auto s = static_cast<std::size_t>(slice);
  return bounds_[s + 1] - bounds_[s];
}

Shape SlicedLayer::shape_of(int slice) const {
  return {channels(slice), output_shape().height, output_shape().width};
}

Layout SlicedLayer::input_layout(Layout incoming) const {
  return own_.front()->input_layout(incoming);
}

LayerTraits SlicedLayer::traits() const {
  const LayerTraits own = own_.front()->traits();
  return {.applies_relu = own.applies_relu,
          .applies_input_relu = own.applies_input_relu,
          .updates_parameters = own.updates_parameters};
}

std::int64_t SlicedLayer::macs() const {
  std::int64_t total = 0;
  for (const auto& layer : own_) total += layer->macs();
  return total;
}

void SlicedLayer::add_parameters(ParameterTable& table) {
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const std::size_t first_entry = table.entries().size();
    own_[i]->add_parameters(table);
    table.mark_parts(first_entry, bounds_[static_cast<std::size_t>(slices_.first()) + i],
                     bounds_.back());
  }
}

void SlicedLayer::set_up(const LayerSetup& setup) {
  for (const auto& layer : own_) layer->set_up(setup);
}

// As much for each of the slices.
std::int64_t SlicedLayer::own_floats(const BatchLimit& most) const {
  std::int64_t floats = 0;
  for (const auto& layer : own_) floats = std::max(floats, layer->own_floats(most));
  return round_up_to_lanes(floats) * slices_.per_rank();
}

// The parts of y or dy, the arrays that are added to dx, and behind them what the slices need.
std::int64_t SlicedLayer::workspace_floats(const BatchLimit& most) const {
  std::int64_t floats = 0;
  for (const auto& layer : own_) floats = std::max(floats, layer->workspace_floats(most));
  return parts_floats(most.rows) + sums_floats(most.rows) + floats;
}

Layout SlicedLayer::sum_layout() const {
  return rounds_dx() ? flat_layout() : input_layout(Layout::nc);
}

std::int64_t SlicedLayer::sum_floats(int rows) const {
  return round_up_to_lanes(allocation_size(input_shape(), sum_layout(), rows));
}

// One of a traversal's arrays is dx itself, unless that is rounded.
std::int64_t SlicedLayer::sums_floats(int rows) const {
  return (rounds_dx() ? depth_ : depth_ - 1) * sum_floats(rows);
}

std::int64_t SlicedLayer::share_floats(const Activation& y) const {
  return is_in_place() ? y.panel_stride() : y.rows;
}

std::int64_t SlicedLayer::parts_floats(int rows) const {
  constexpr std::int64_t kSlack = 8 * kLanes;
  return is_in_place() ? 0 : round_up_to_lanes(begins_.back() * rows) + kSlack;
}

ExchangedFloats SlicedLayer::exchanged_floats(int rows) const {
  if (slices_.ranks == 1) return {};
  const Activation y{{}, output_shape(), layout_, rows};
  const Activation x{{}, input_shape(), sum_layout(), rows};
  return {begins_.back() * share_floats(y), x.size()};
}

Activation SlicedLayer::part_of(const Activation& all, int slice) const {
  Activation part = all;
  part.shape = shape_of(slice);
  part.data = from(all.data, begins_[static_cast<std::size_t>(slice)] * share_floats(all));
  return part;
}

Activation SlicedLayer::parts(const LayerArrays& arrays, const Activation& like) const {
  Activation parts = like;
  if (!is_in_place()) parts.data = arrays.workspace;
  return parts;
}

Activation SlicedLayer::input_gradient(const LayerArrays& arrays, int depth) const {
  Activation dx = arrays.dx;
  const int number = rounds_dx() ? depth : depth - 1;
  if (number < 0) return dx;
  dx.layout = sum_layout();
  dx.data = from(arrays.workspace, parts_floats(dx.rows) + number * sum_floats(dx.rows));
  return dx;
}

LayerArrays SlicedLayer::arrays_of(int own, const LayerArrays& arrays) const {
  LayerArrays result;
  result.x = arrays.x;
  const auto own_size = static_cast<std::int64_t>(arrays.own.extent(0)) / slices_.per_rank();
  result.own = Kokkos::subview(arrays.own, std::pair(own * own_size, (own + 1) * own_size));
  const int rows = arrays.x.rows;
  result.workspace = from(arrays.workspace, parts_floats(rows) + sums_floats(rows));
  return result;
}

void SlicedLayer::forward(const ExecSpace& exec, const StepContext& step,
                          const LayerArrays& arrays) const {
  const Activation all = parts(arrays, arrays.y);
  for (int i = 0; i < slices_.per_rank(); ++i) {
    LayerArrays slice = arrays_of(i, arrays);
    slice.y = part_of(all, slices_.first() + i);
    slice.dx = arrays.dx;  // says that there will be one
    own_[static_cast<std::size_t>(i)]->forward(exec, step, slice);
  }
  if (slices_.ranks > 1) {
    expect(step.tensor_exchange != nullptr, "an exchange for layers that are spread");
    const std::int64_t floats = share_floats(all);
    step.tensor_exchange->gather(
        exec, Kokkos::subview(all.data, std::pair(std::int64_t{0}, begins_.back() * floats)),
        shares_, floats);
  }
  if (is_in_place()) return;
  const int plane = output_shape().height * output_shape().width;
  for (int slice = 0; slice < slices_.count; ++slice) {
    copy_units(exec, part_of(all, slice), 0, arrays.y,
               bounds_[static_cast<std::size_t>(slice)] * plane, shape_of(slice).units());
  }
}

void SlicedLayer::backward(const ExecSpace& exec, const StepContext& step,
                           const LayerArrays& arrays) const {
  const bool wants_dx = !arrays.dx.empty();
  const Activation all = parts(arrays, arrays.dy);
  const int plane = output_shape().height * output_shape().width;
  int top = -1;
  for (int i = 0; i < slices_.per_rank(); ++i) {
    const int number = slices_.first() + i;
    LayerArrays slice = arrays_of(i, arrays);
    slice.dy = part_of(all, number);
    if (!is_in_place()) {
      copy_units(exec, arrays.dy, bounds_[static_cast<std::size_t>(number)] * plane, slice.dy, 0,
                 slice.dy.shape.units());
    }
    ++top;
    if (wants_dx) slice.dx = input_gradient(arrays, top);
    own_[static_cast<std::size_t>(i)]->backward(exec, step, slice);
    for (int merge = 0; merge < merges_[static_cast<std::size_t>(i)]; ++merge) {
      --top;
      if (!wants_dx) continue;
      const Activation sum = input_gradient(arrays, top);
      add(exec, sum, input_gradient(arrays, top + 1), false, sum);
    }
  }
  if (!wants_dx) return;
  const Activation dx = input_gradient(arrays, 0);
  if (slices_.ranks > 1) {
    expect(step.tensor_exchange != nullptr, "an exchange for layers that are spread");
    step.tensor_exchange->sum(exec,
                              Kokkos::subview(dx.data, std::pair(std::int64_t{0}, dx.size())));
  }
  if (rounds_dx()) convert_layout(exec, dx, arrays.dx, Content::gradient);
}

}  // namespace quern
