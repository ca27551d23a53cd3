// SPDX-License-Identifier: Apache-2.0
// Time of a gradient reduction: the fixed tree against MPI's own all-reduce.
//   mpirun -n 2 build/release/benchmarks/reduce_bench
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <iomanip>
#include <sstream>
#include <vector>

#include "base/log.hpp"
#include "base/stopwatch.hpp"
#include "comm/session.hpp"
#include "parallel/plain_reducer.hpp"
#include "parallel/tree_reducer.hpp"

namespace quern {
namespace {

struct Candidate {
  GradientReducer& reducer;
  ReductionPlan plan;
  GradientPartials partials;
  std::vector<double> times_s;
};

Candidate make_candidate(GradientReducer& reducer, const BatchPartition& partition) {
  const auto floats = reducer.num_partials(partition) * reducer.partial_stride();
  return {reducer,
          reducer.add_plan(partition),
          {FloatView("partials", static_cast<std::size_t>(floats)), reducer.partial_stride()},
          {}};
}

void time_once(Communicator& comm, const ExecSpace& exec, Candidate& candidate) {
  comm.barrier();
  const Stopwatch watch;
  candidate.reducer.reduce(exec, candidate.plan, candidate.partials, 0.0f);
  // The slowest rank counts.
  std::int64_t nanoseconds = static_cast<std::int64_t>(watch.seconds() * 1e9);
  comm.all_reduce_max(std::span(&nanoseconds, 1));
  candidate.times_s.push_back(static_cast<double>(nanoseconds) * 1e-9);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void compare(Communicator& comm, std::int64_t num_floats, int blocks_per_rank) {
  const BatchPartition partition(blocks_per_rank * comm.size(), 1, comm.size());
  TreeReducer tree_reducer(comm, num_floats);
  PlainReducer plain_reducer(comm, num_floats);
  Candidate tree = make_candidate(tree_reducer, partition);
  Candidate plain = make_candidate(plain_reducer, partition);
  const ExecSpace exec;
  const int rounds = num_floats > 1'000'000 ? 60 : 400;
  for (int round = 0; round < rounds; ++round) {
    time_once(comm, exec, tree);
    time_once(comm, exec, plain);
  }
  std::ostringstream line;
  line << std::setw(9) << num_floats << std::setw(17) << tree_reducer.num_partials(partition)
       << std::fixed << std::setprecision(3) << std::setw(11) << 1e3 * median(tree.times_s)
       << std::setw(11) << 1e3 * median(plain.times_s) << std::setprecision(2) << std::setw(9)
       << median(tree.times_s) / median(plain.times_s);
  log::print(line.str());
}

}  // namespace
}  // namespace quern

int main(int argc, char** argv) {
  using namespace quern;
  const auto session = start_communication(Transport::automatic);
  Communicator& comm = session->communicator();
  log::set_rank(comm.rank());
  Kokkos::ScopeGuard kokkos(argc, argv);
  log::print(std::to_string(comm.size()) + " ranks; medians\n" +
             "   floats  partials(rank 0)  tree, ms  plain, ms    ratio");
  for (const std::int64_t num_floats : {135'000, 4'000'000}) {
    for (const int blocks_per_rank : {4, 3, 7}) compare(comm, num_floats, blocks_per_rank);
  }
  return 0;
}
