// SPDX-License-Identifier: Apache-2.0
// All parameters of a network in one flat block with a name table, so that the optimizer, the
// gradient reduction and the checkpoint each see one array.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/types.hpp"

namespace quern {

/// What a tensor is for. It decides how it begins, whether weight decay applies to it, and
/// whether LARS and LAMB scale its step.
enum class ParameterKind {
  weight,  ///< of a product or a convolution; begins random
  bias,    ///< added to a product; begins random as its weight, or at 0
  scale,   ///< a factor on what a layer computes; begins at 1
  shift,   ///< added after such a factor; begins at 0
  /// Not trained, but averaged over the steps and saved: running statistics. Its place in the
  /// gradient block holds the statistic of the batch.
  buffer,
};

/// value = (1 - momentum) value + momentum (statistic of the batch)
struct RunningAverage {
  float initial = 0;
  float momentum = 0;
};

/// One named tensor inside the flat block.
struct ParameterEntry {
  std::string name;                 ///< PyTorch's name: "fc1.weight"
  std::vector<std::int64_t> shape;  ///< PyTorch's axis order: [out, in], [out, in, kh, kw], [out]
  std::int64_t offset = 0;          ///< first float in the block, a multiple of kLanes
  std::int64_t count = 0;           ///< product of shape
  std::int64_t fan_in = 0;          ///< inputs of one output unit, for the initialisation
  ParameterKind kind = ParameterKind::weight;
  /// 0: in PyTorch's order. Otherwise an [out, in] tensor stored transposed, in panels of so many
  /// columns: `in` rows of outputs [0, panel), then `in` rows of the next outputs. What of the last
  /// panel is after `out` is a gap.
  std::int64_t transposed_panel = 0;
  RunningAverage average = {};  ///< of a buffer
  bool is_frozen = false;       ///< of a layer that is not trained: it stays as it is
  float lr_factor = 1;          ///< times the learning rate
  /// Among the tensors of the whole network: it begins by this. Parts of a tensor have the same.
  int number = 0;
  /// Of a part (ParameterTable::mark_parts()): where it begins along the first axis, and how long
  /// that is in the whole tensor. `shape` and `count` are those of the part.
  std::int64_t first_row = 0;
  std::int64_t whole_rows = 0;

  bool is_part() const { return shape.front() != whole_rows; }
  std::vector<std::int64_t> whole_shape() const;
  std::int64_t whole_count() const { return count / shape.front() * whole_rows; }
  /// Number of this part's first element in the whole tensor, in PyTorch's order: the others
  /// follow.
  std::int64_t first_element() const { return count / shape.front() * first_row; }
  bool is_buffer() const { return kind == ParameterKind::buffer; }
  bool is_trained() const { return !is_buffer() && !is_frozen; }
  /// Place in the block of element i in PyTorch's order.
  std::int64_t position(std::int64_t i) const {
    if (transposed_panel == 0) return offset + i;
    const std::int64_t in = i % shape[1];
    const std::int64_t out = i / shape[1];
    return offset + (out / transposed_panel * shape[1] + in) * transposed_panel +
           out % transposed_panel;
  }
};

/// Those that an optimizer keeps state for.
std::vector<ParameterEntry> trained_entries(const std::vector<ParameterEntry>& entries);

/// The floats [begin, end) of the block.
struct BlockRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  friend bool operator==(const BlockRange&, const BlockRange&) = default;
};

/// A tensor out of a host copy of the block, in PyTorch's order.
std::vector<float> read_tensor(const ParameterEntry& entry, std::span<const float> block);
/// The way back; values.size() == entry.count.
void write_tensor(const ParameterEntry& entry, std::span<const float> values,
                  std::span<float> block);

/// Is a tensor trained, or does it stay as it is? Of a frozen one no gradient is wanted.
enum class Training { trained, frozen };

/// The name table. Gaps between and in tensors stay zero forever. In the block all buffers come
/// after all that is trained, and all that is frozen after these; the entries are in the order of
/// the layers.
class ParameterTable {
 public:
  /// `first_number`: of its first tensor, where other tensors of the network stand before it.
  explicit ParameterTable(int first_number = 0) : first_number_(first_number) {}

  /// Appends a tensor and returns its offset; of a frozen one from reduced_size() on, which later
  /// tensors still move.
  std::int64_t add(const std::string& name, std::vector<std::int64_t> shape, std::int64_t fan_in,
                   ParameterKind kind, Training training = Training::trained);
  /// The same for the weights [out, in] of a dense layer, stored transposed in panels of `panel`
  /// columns, a multiple of kLanes; one panel is as wide as `out` or wider: row-major.
  std::int64_t add_transposed(const std::string& name, std::int64_t out, std::int64_t in,
                              std::int64_t panel, Training training = Training::trained);

  /// A buffer. Returns its offset from trained_size() on, which later tensors still move.
  std::int64_t add_buffer(const std::string& name, std::vector<std::int64_t> shape,
                          const RunningAverage& average);

  /// What was added since there were `from` entries are the rows from `first_row` on of tensors
  /// with `whole_rows` of them. Parts of one tensor have its name.
  void mark_parts(std::size_t from, std::int64_t first_row, std::int64_t whole_rows);

  /// What was added since there were `from` entries learns at `factor` times the learning rate.
  void set_lr_factor(std::size_t from, float factor);

  const std::vector<ParameterEntry>& entries() const { return entries_; }
  /// Floats of the flat block, gaps included; a multiple of kLanes.
  std::int64_t block_size() const { return reduced_size() + frozen_size_; }
  /// Of these, what a gradient block has: all but what is frozen.
  std::int64_t reduced_size() const { return trained_size_ + buffer_size_; }
  /// Of these, what is trained; the rest are buffers. Optimizers and clipping end here; in the
  /// gradient block the batch's statistics stand in the place of buffers.
  std::int64_t trained_size() const { return trained_size_; }
  /// Entries, those of one tensor counted once.
  int num_tensors() const { return num_tensors_; }
  /// Number of parameters that lie here, trained or frozen; gaps are not counted, nor are buffers.
  std::int64_t num_parameters() const;
  /// Of these, what is trained.
  std::int64_t num_trained() const;

 private:
  std::int64_t append(ParameterEntry entry, std::int64_t floats, Training training);
  void push_back(ParameterEntry entry);

  int first_number_;
  std::vector<ParameterEntry> entries_;
  std::int64_t trained_size_ = 0;
  std::int64_t buffer_size_ = 0;
  std::int64_t frozen_size_ = 0;
  int num_tensors_ = 0;
};

}  // namespace quern
