// SPDX-License-Identifier: Apache-2.0
#include "app/prediction_file.hpp"

#include <filesystem>
#include <utility>

#include "app/prediction_array.hpp"
#include "app/prediction_table.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace quern {

namespace {

std::string ending_of(const std::string& out) {
  return lower_case(std::filesystem::path(out).extension().string());
}

}  // namespace

void check_prediction_ending(const std::string& out) {
  const std::string ending = ending_of(out);
  for (const char* known : {"", ".", ".csv", ".npy", ".h5", ".hdf5"})
    if (ending == known) return;
  throw InputError("'" + out + "' ends in " + printable(ending) +
                   ", which is no format of predictions (expected .csv or no ending, .npy, .h5 or "
                   ".hdf5)");
}

std::unique_ptr<PredictionFile> make_prediction_file(PredictionColumns columns,
                                                     const std::string& out) {
  const std::string ending = ending_of(out);
  if (ending == ".npy") return std::make_unique<NpyPredictions>(columns, out);
  if (ending == ".h5" || ending == ".hdf5") return std::make_unique<H5Predictions>(columns, out);
  return std::make_unique<PredictionTable>(std::move(columns), out);
}

}  // namespace quern
