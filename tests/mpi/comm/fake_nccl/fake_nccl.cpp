// SPDX-License-Identifier: Apache-2.0
#include "mpi/comm/fake_nccl/fake_nccl.hpp"

#include <mpi.h>

#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using quern::testing::fake_nccl;

// Every call of this communicator answers "in progress" and is done some polls later: joining, and
// as NCCL connects the ranks then, the first exchange of a kind when all ranks have come.
struct FakeNcclComm {
  int rank = 0;
  int polls_left = 0;
  bool finalised = false;
  bool joins = false;
  std::vector<MPI_Request> under_way;
  std::set<std::string> connected;  // kinds of exchange
  int id_sums[2] = {};  // of this rank's id, and its negative: their maxima tell whether all agree
  int id_maxima[2] = {};
};

namespace {

struct Message {
  void* data;
  int count;
  int peer;
  bool is_send;
};

bool g_in_group = false;
std::vector<Message> g_group;
FakeNcclComm* g_group_comm = nullptr;

constexpr int kPolls = 2;

ncclResult_t in_progress(ncclComm_t comm) {
  comm->polls_left = kPolls;
  return ncclInProgress;
}

// NCCL forbids a call while the one before is in progress.
bool may_call(ncclComm_t comm) {
  return comm && comm->polls_left == 0 && comm->under_way.empty() && !comm->finalised;
}

bool are_done(ncclComm_t comm) {
  int done = 0;
  MPI_Testall(static_cast<int>(comm->under_way.size()), comm->under_way.data(), &done,
              MPI_STATUSES_IGNORE);
  if (done) comm->under_way.clear();
  return done != 0;
}

// Polling finds out when these requests are done, if they are the first of their kind. Those that
// come later are done on return, as if they were behind the device's queue.
ncclResult_t start(ncclComm_t comm, const char* kind, std::vector<MPI_Request> requests) {
  if (!comm->connected.insert(kind).second) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    requests.clear();
  }
  comm->under_way = std::move(requests);
  return in_progress(comm);
}

void run(const Message& message, MPI_Request* request) {
  if (message.is_send) {
    MPI_Isend(message.data, message.count, MPI_FLOAT, message.peer, 0, MPI_COMM_WORLD, request);
  } else {
    MPI_Irecv(message.data, message.count, MPI_FLOAT, message.peer, 0, MPI_COMM_WORLD, request);
  }
}

ncclResult_t add(const Message& message, ncclComm_t comm) {
  if (!g_in_group || !may_call(comm)) return ncclInvalidUsage;
  g_group.push_back(message);
  g_group_comm = comm;
  return ncclSuccess;
}

}  // namespace

namespace quern::testing {

FakeNccl& fake_nccl() {
  static FakeNccl fake;
  return fake;
}

std::atomic<int>& recorded_graphs() {
  static std::atomic<int> count = 0;
  return count;
}

}  // namespace quern::testing

ncclResult_t ncclGetVersion(int* version) {
  *version = fake_nccl().version;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 17 + ++fake_nccl().ids_made, sizeof *id);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  int world_size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (config->blocking != 0 || size != world_size) return ncclInvalidUsage;
  if (fake_nccl().init_result != ncclInProgress) return fake_nccl().init_result;
  *comm = new FakeNcclComm;
  (*comm)->rank = rank;
  for (const char byte : id.internal) (*comm)->id_sums[0] += byte;
  (*comm)->id_sums[1] = -(*comm)->id_sums[0];
  (*comm)->joins = true;
  if (!fake_nccl().init_hangs) {
    MPI_Iallreduce((*comm)->id_sums, (*comm)->id_maxima, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD,
                   &(*comm)->under_way.emplace_back());
  }
  return in_progress(*comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  ++fake_nccl().polls;
  *state = fake_nccl().async_error;
  if (*state != ncclSuccess) return ncclSuccess;
  if (fake_nccl().init_hangs) {
    *state = ncclInProgress;
    return ncclSuccess;
  }
  if (!comm->under_way.empty() && !are_done(comm)) *state = ncclInProgress;
  if (comm->joins && comm->under_way.empty()) {
    fake_nccl().ids_differ |= comm->id_maxima[0] != -comm->id_maxima[1];
    comm->joins = false;
  }
  if (comm->polls_left > 0) {
    --comm->polls_left;
    *state = ncclInProgress;
  }
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (!may_call(comm)) return ncclInvalidUsage;
  ++fake_nccl().finalised;
  const ncclResult_t result = in_progress(comm);
  comm->finalised = true;
  return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm->finalised || comm->polls_left > 0) return ncclInvalidUsage;
  ++fake_nccl().destroyed;
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  while (quern::testing::recorded_graphs() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ++fake_nccl().aborted;
  delete comm;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t code) {
  constexpr const char* kTexts[] = {"no error", "a system call failed", "another rank failed",
                                    "invalid usage", "in progress"};
  return kTexts[code];
}

const char* ncclGetLastError(ncclComm_t) {
  return "the stand-in's last words";
}

ncclResult_t ncclGroupStart() {
  g_in_group = true;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  g_in_group = false;
  std::vector<MPI_Request> requests(g_group.size());
  for (std::size_t i = 0; i < g_group.size(); ++i) run(g_group[i], &requests[i]);
  g_group.clear();
  return requests.empty() ? ncclSuccess : start(g_group_comm, "sends", std::move(requests));
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t,
                           ncclRedOp_t, ncclComm_t comm, cudaStream_t) {
  if (send != receive || !may_call(comm)) return ncclInvalidUsage;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(MPI_IN_PLACE, receive, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                 &request);
  return start(comm, "all-reduce", {request});
}

ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t,
                           ncclComm_t comm, cudaStream_t) {
  const auto* place = static_cast<float*>(receive) + static_cast<std::size_t>(comm->rank) * count;
  if (send != place || !may_call(comm)) return ncclInvalidUsage;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive, static_cast<int>(count), MPI_FLOAT,
                 MPI_COMM_WORLD, &request);
  return start(comm, "all-gather", {request});
}

ncclResult_t ncclSend(const void* send, std::size_t count, ncclDataType_t, int peer,
                      ncclComm_t comm, cudaStream_t) {
  return add({const_cast<void*>(send), static_cast<int>(count), peer, true}, comm);
}

ncclResult_t ncclRecv(void* receive, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t) {
  return add({receive, static_cast<int>(count), peer, false}, comm);
}
