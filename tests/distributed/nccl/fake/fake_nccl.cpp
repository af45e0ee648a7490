// A library with NCCL's functions whose messages are copies between threads, for GPUs that are
// none.
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace {

struct UniqueId {
  std::array<char, 128> bytes;
};

struct Mail {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> messages;  // by sender and receiver
};

struct Comm {
  int rank;
  Mail* mail;
};

struct Call {
  bool is_send;
  void* memory;
  std::size_t bytes;
  int peer;
  Comm* comm;
};

thread_local std::vector<Call> calls;

Mail* mail_of(int number) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<Mail>> all;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Mail>& found = all[number];
  if (found == nullptr) {
    found = std::make_unique<Mail>();
  }
  return found.get();
}

int failure() {
  return std::getenv("FAKE_NCCL_FAILS") == nullptr ? 0 : 5;
}

}  // namespace

extern "C" {

int ncclGetUniqueId(UniqueId* id) {
  static int next = 0;
  id->bytes.fill(0);
  ++next;
  std::memcpy(id->bytes.data(), &next, sizeof next);
  return 0;
}

int ncclCommInitRank(void** comm, int /*ranks*/, UniqueId id, int rank) {
  int number = 0;
  std::memcpy(&number, id.bytes.data(), sizeof number);
  *comm = new Comm{rank, mail_of(number)};
  return failure();
}

int ncclCommDestroy(void* comm) {
  delete static_cast<Comm*>(comm);
  return 0;
}

int ncclCommAbort(void* comm) {
  return ncclCommDestroy(comm);
}

int ncclCommGetAsyncError(void* /*comm*/, int* error) {
  *error = 0;
  return 0;
}

int ncclGroupStart() {
  calls.clear();
  return 0;
}

int ncclSend(const void* memory, std::size_t count, int /*type*/, int peer, void* comm,
             void* /*stream*/) {
  calls.push_back({true, const_cast<void*>(memory), count, peer, static_cast<Comm*>(comm)});
  return 0;
}

int ncclRecv(void* memory, std::size_t count, int /*type*/, int peer, void* comm,
             void* /*stream*/) {
  calls.push_back({false, memory, count, peer, static_cast<Comm*>(comm)});
  return 0;
}

int ncclAllReduce(const void*, void*, std::size_t, int, int, void*, void*) {
  return 3;
}

int ncclGroupEnd() {
  for (const Call& each : calls) {
    if (each.is_send) {
      const auto* first = static_cast<const char*>(each.memory);
      const std::lock_guard lock(each.comm->mail->mutex);
      each.comm->mail->messages[{each.comm->rank, each.peer}].emplace_back(first,
                                                                           first + each.bytes);
      each.comm->mail->changed.notify_all();
    }
  }
  for (const Call& each : calls) {
    if (!each.is_send) {
      std::unique_lock lock(each.comm->mail->mutex);
      auto& queue = each.comm->mail->messages[{each.peer, each.comm->rank}];
      each.comm->mail->changed.wait(lock, [&] { return !queue.empty(); });
      std::memcpy(each.memory, queue.front().data(), each.bytes);
      queue.pop_front();
    }
  }
  calls.clear();
  return 0;
}

const char* ncclGetErrorString(int) {
  return "invalid usage";
}
}
