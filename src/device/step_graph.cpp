// SPDX-License-Identifier: Apache-2.0
#include "device/step_graph.hpp"

#include <cstdlib>
#include <string>

#include "device/driver.hpp"

namespace quern {

bool StepGraph::is_wanted() {
  const char* wish = std::getenv("QUERN_GRAPH");
  const bool refused = wish && std::string(wish) == "0";
  return !kHostExecution && !refused && !Kokkos::Tools::profileLibraryLoaded();
}

#if defined(QUERN_DRIVER)

namespace {

using Graph = QUERN_DRIVER(Graph_t);
using Executable = QUERN_DRIVER(GraphExec_t);

void check(QUERN_DRIVER(Error_t) code, const std::string& what) {
  if (code == QUERN_DRIVER(Success)) return;
  throw Error("the training step cannot be recorded as a graph: " + what + ": " +
              QUERN_DRIVER(GetErrorString)(code) +
              " (QUERN_GRAPH=0 in the environment trains without)");
}

}  // namespace

StepGraph::~StepGraph() {
  if (recorded_) (void)QUERN_DRIVER(GraphExecDestroy)(static_cast<Executable>(recorded_));
}

void StepGraph::run(const ExecSpace& exec, const std::function<void()>& enqueue) {
  if (!ran_once_) {
    ran_once_ = true;
    return enqueue();
  }
  if (!recorded_) record(exec, enqueue);
  check(QUERN_DRIVER(GraphLaunch)(static_cast<Executable>(recorded_), driver::stream_of(exec)),
        "launching it");
}

void StepGraph::record(const ExecSpace& exec, const std::function<void()>& enqueue) {
  const auto stream = driver::stream_of(exec);
  check_launches();
  // Other threads (NCCL has some) may allocate meanwhile; this one may not.
  check(QUERN_DRIVER(StreamBeginCapture)(stream, QUERN_DRIVER(StreamCaptureModeThreadLocal)),
        "beginning");
  Graph graph{};
  try {
    enqueue();
  } catch (...) {
    (void)QUERN_DRIVER(StreamEndCapture)(stream, &graph);  // the stream must not stay in this state
    if (graph) (void)QUERN_DRIVER(GraphDestroy)(graph);
    throw;
  }
  check(QUERN_DRIVER(StreamEndCapture)(stream, &graph), "ending");
  Executable executable{};
  const auto code = QUERN_DRIVER(GraphInstantiateWithFlags)(&executable, graph, 0);
  (void)QUERN_DRIVER(GraphDestroy)(graph);
  check(code, "making it ready");
  recorded_ = executable;
}

#else

StepGraph::~StepGraph() = default;

void StepGraph::run(const ExecSpace&, const std::function<void()>& enqueue) {
  enqueue();
}

#endif

}  // namespace quern
