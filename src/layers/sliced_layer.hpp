// SPDX-License-Identifier: Apache-2.0
// A linear or conv2d layer of which each rank of a tensor group holds some of the output units: the
// "column parallel" layer of Megatron-LM (Shoeybi et al., 2019), with its output gathered.
//
// x and dy are whole on every rank. y: each rank computes its own units, and all are gathered.
// Gradients of the parameters: each rank has its own, nothing is exchanged. dx = sum over the
// units: the units are cut into a number of slices that does not depend on the ranks; each slice
// gives an array of its own, and the arrays are added in the fixed binary tree over the slices,
// first those of a rank and then, by the exchange, those of all. So bits depend on the number of
// slices alone. Where operands are rounded, in tiles, the arrays are floats, and their sum is what
// is rounded.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "layers/layer.hpp"

namespace quern {

/// How layers are cut over the ranks of a tensor group.
struct TensorSlices {
  int count = 0;  ///< of a layer; 0: layers are whole
  int ranks = 1;  ///< that share them: each has as many, which are one subtree of the binary tree
  int rank = 0;   ///< this one

  int per_rank() const { return count / ranks; }
  int first() const { return rank * per_rank(); }
};

/// Where each of `count` slices of `units` begins, and the end of the last: whole groups of
/// `multiple`, as equal as can be. Empty where there are fewer groups than slices.
std::vector<int> slice_bounds(int units, int multiple, int count);

class SlicedLayer final : public Layer {
 public:
  /// A layer of the same kind with so many of its channels (or features).
  using MakeSlice = std::function<std::unique_ptr<Layer>(int channels)>;

  /// `bounds`: slice_bounds() of the channels of `output`.
  SlicedLayer(const std::string& name, const Shape& input, const Shape& output,
              const TensorSlices& slices, std::vector<int> bounds, const MakeSlice& make);

  Layout input_layout(Layout incoming) const override;
  Layout output_layout(Layout) const override { return layout_; }
  LayerTraits traits() const override;
  Shape needed_input(const Shape& read) const override { return own_.front()->needed_input(read); }
  std::int64_t macs() const override;
  void add_parameters(ParameterTable& table) override;
  void set_up(const LayerSetup& setup) override;
  std::int64_t own_floats(const BatchLimit& most) const override;
  std::int64_t workspace_floats(const BatchLimit& most) const override;
  ExchangedFloats exchanged_floats(int rows) const override;
  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  int channels(int slice) const;
  Shape shape_of(int slice) const;
  /// Panels of cn16c are whole slices, one after the other: they need no copies.
  bool is_in_place() const { return layout_ == Layout::cn16c; }
  std::int64_t share_floats(const Activation& y) const;
  std::int64_t parts_floats(int rows) const;
  /// Is dx in tiles?
  bool rounds_dx() const { return input_layout(Layout::nc) == Layout::tiles; }
  // The arrays that are added to dx; of one, and of those in the workspace.
  Layout sum_layout() const;
  std::int64_t sum_floats(int rows) const;
  std::int64_t sums_floats(int rows) const;
  /// Of the arrays, one after the other, that make up `all`.
  Activation part_of(const Activation& all, int slice) const;
  Activation parts(const LayerArrays& arrays, const Activation& like) const;
  Activation input_gradient(const LayerArrays& arrays, int depth) const;
  LayerArrays arrays_of(int own, const LayerArrays& arrays) const;

  TensorSlices slices_;
  std::vector<int> bounds_;
  std::vector<std::unique_ptr<Layer>> own_;
  Layout layout_;
  std::vector<std::int64_t> begins_;  // of the slices, in shares; and the end
  std::vector<std::int64_t> shares_;  // of the ranks
  std::vector<int> merges_;           // BlockTree::Traversal of the own slices
  int depth_;
};

}  // namespace quern
