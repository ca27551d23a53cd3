// SPDX-License-Identifier: Apache-2.0
#include "train/step_graph.hpp"

#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace quern {

bool StepGraph::is_wanted() {
  const char* wish = std::getenv("QUERN_GRAPH");
  const bool refused = wish && std::string(wish) == "0";
  return !kHostExecution && !refused && !Kokkos::Tools::profileLibraryLoaded();
}

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)

namespace {

#if defined(KOKKOS_ENABLE_CUDA)
using Graph = cudaGraph_t;
using Executable = cudaGraphExec_t;
using Stream = cudaStream_t;
constexpr auto kSuccess = cudaSuccess;
Stream native(const ExecSpace& exec) {
  return exec.cuda_stream();
}
// Other threads (NCCL has some) may allocate meanwhile; this one may not.
auto begin_capture(Stream stream) {
  return cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
}
auto instantiate(Executable* executable, Graph graph) {
  return cudaGraphInstantiateWithFlags(executable, graph, 0);
}
constexpr auto end_capture = cudaStreamEndCapture;
constexpr auto launch = cudaGraphLaunch;
constexpr auto destroy_graph = cudaGraphDestroy;
constexpr auto destroy_executable = cudaGraphExecDestroy;
constexpr auto error_text = cudaGetErrorString;
#else
using Graph = hipGraph_t;
using Executable = hipGraphExec_t;
using Stream = hipStream_t;
constexpr auto kSuccess = hipSuccess;
Stream native(const ExecSpace& exec) {
  return exec.hip_stream();
}
auto begin_capture(Stream stream) {
  return hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal);
}
auto instantiate(Executable* executable, Graph graph) {
  return hipGraphInstantiateWithFlags(executable, graph, 0);
}
constexpr auto end_capture = hipStreamEndCapture;
constexpr auto launch = hipGraphLaunch;
constexpr auto destroy_graph = hipGraphDestroy;
constexpr auto destroy_executable = hipGraphExecDestroy;
constexpr auto error_text = hipGetErrorString;
#endif

template <class Code>
void check(Code code, const char* what) {
  if (code == kSuccess) return;
  throw Error(std::string("the training step cannot be recorded as a graph: ") + what + ": " +
              error_text(code) + " (QUERN_GRAPH=0 in the environment trains without)");
}

}  // namespace

StepGraph::~StepGraph() {
  if (recorded_) (void)destroy_executable(static_cast<Executable>(recorded_));
}

void StepGraph::run(const ExecSpace& exec, const std::function<void()>& enqueue) {
  if (!is_wanted() || !ran_once_) {
    ran_once_ = true;
    return enqueue();
  }
  if (!recorded_) record(exec, enqueue);
  check(launch(static_cast<Executable>(recorded_), native(exec)), "launching it");
}

void StepGraph::record(const ExecSpace& exec, const std::function<void()>& enqueue) {
  check(begin_capture(native(exec)), "beginning");
  Graph graph{};
  try {
    enqueue();
  } catch (...) {
    (void)end_capture(native(exec), &graph);  // the stream must not stay in this state
    if (graph) (void)destroy_graph(graph);
    throw;
  }
  check(end_capture(native(exec), &graph), "ending");
  Executable executable{};
  const auto code = instantiate(&executable, graph);
  (void)destroy_graph(graph);
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
