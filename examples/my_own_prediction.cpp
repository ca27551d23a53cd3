// SPDX-License-Identifier: Apache-2.0
// A trained network in a program of your own: on which spiral does a point lie? The network is that
// of my_own_dataset.
//
//   my_own_prediction RUN_FOLDER X Y [X Y ...]   (or mpirun -n 2 my_own_prediction ...)
#include <algorithm>
#include <cstdlib>
#include <quern/base/log.hpp>
#include <quern/inference/predictor.hpp>
#include <quern/runtime/ranks.hpp>
#include <sstream>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 4 || argc % 2 != 0) {
    quern::log::error("usage: my_own_prediction RUN_FOLDER X Y [X Y ...]");
    return 2;
  }
  std::vector<float> points;
  for (int i = 2; i < argc; ++i) points.push_back(std::strtof(argv[i], nullptr));
  const std::size_t count = points.size() / 2;
  return static_cast<int>(quern::run_on_ranks([&](quern::Communicator& comm) {
    quern::Predictor predictor(comm, argv[1]);
    const std::vector<float> outputs = predictor.predict(points, static_cast<std::int64_t>(count));
    // A number for each arm; the largest counts.
    const auto arms = static_cast<std::ptrdiff_t>(predictor.output_shape().units());
    auto of_point = outputs.begin();
    for (std::size_t i = 0; i < count; ++i, of_point += arms) {
      const auto arm = std::max_element(of_point, of_point + arms) - of_point;
      std::ostringstream line;
      line << "(" << points[2 * i] << ", " << points[2 * i + 1] << ") is on arm " << arm;
      quern::log::print(line.str());
    }
    return quern::ExitCode::done;
  }));
}
