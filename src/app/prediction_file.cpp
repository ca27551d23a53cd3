// SPDX-License-Identifier: Apache-2.0
#include "app/prediction_file.hpp"

#include <filesystem>
#include <utility>

#include "app/prediction_array.hpp"
#include "app/prediction_table.hpp"

namespace quern {

std::unique_ptr<PredictionFile> make_prediction_file(PredictionColumns columns,
                                                     const std::string& out) {
  const std::string ending = std::filesystem::path(out).extension().string();
  if (ending == ".npy") return std::make_unique<NpyPredictions>(columns, out);
  if (ending == ".h5" || ending == ".hdf5") return std::make_unique<H5Predictions>(columns, out);
  return std::make_unique<PredictionTable>(std::move(columns), out);
}

}  // namespace quern
