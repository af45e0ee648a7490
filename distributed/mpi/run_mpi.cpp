#include "rtcg/distributed/mpi/run_mpi.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/exchange/process_rounds.h"
#include "rtcg/distributed/exchange/staging.h"
#include "rtcg/distributed/group/named_failure.h"
#include "rtcg/distributed/mpi/mpi_api.h"

namespace rtcg::distributed {
namespace {

using Clock = std::chrono::steady_clock;

// Messages of calls, and those of ranks that fail.
constexpr int call_tag = 1;
constexpr int failure_tag = 2;

/// Where a rank's process is, for those of its machine, and what its device is.
struct Process {
  char host[64] = {};
  char gpu[64] = {};  ///< its UUID; empty: it is no GPU of CUDA
  std::int64_t number = 0;
  std::int64_t is_on_processor = 0;
};

Process this_process(const runtime::Device& device) {
  Process result;
  ::gethostname(result.host, sizeof result.host - 1);
  result.number = ::getpid();
  const runtime::DeviceInfo& info = device.info();
  result.is_on_processor = info.id.kind == runtime::BackendKind::host ? 1 : 0;
  if (info.id.kind == runtime::BackendKind::cuda) {
    info.uuid.copy(result.gpu, sizeof result.gpu - 1);
  }
  return result;
}

/// Who waits in steps of ranks whose kernels may store into each other's memory. A GPU that two
/// ranks share would hold one of them up while its kernels wait for the other one. Ranks on
/// processors, where kernels that wait take turns with those that they wait for, do so if they are
/// asked to.
Waiting waiting_of(const std::vector<Process>& processes, Waiting wanted) {
  std::set<std::string> gpus;
  bool is_able = processes.size() > 1 && wanted != Waiting::hosts && wanted != Waiting::devices;
  const bool is_on_processors = processes[0].is_on_processor != 0;
  for (const Process& each : processes) {
    is_able = is_able && std::strcmp(each.host, processes[0].host) == 0;
    is_able = is_able && (is_on_processors ? each.is_on_processor != 0
                                           : each.gpu[0] != 0 && gpus.insert(each.gpu).second);
  }
  return is_able && !(is_on_processors && wanted == Waiting::measured) ? wanted : Waiting::hosts;
}

/// MPI, started once a process and ended with it.
class World {
 public:
  static World& instance() {
    static World& made = *new World;
    return made;
  }

  [[nodiscard]] detail::MpiApi& mpi() const noexcept { return *mpi_; }
  void fail() noexcept { has_failed_ = true; }

 private:
  World() : mpi_(detail::open_mpi_library()) {
    std::atexit([] {
      World& world = instance();
      if (!world.has_failed_) {  // otherwise it would wait for ranks that never come
        world.mpi_->finish();
      }
    });
  }

  std::shared_ptr<detail::MpiApi> mpi_;
  bool has_failed_ = false;
};

class MpiTransport final : public Transport, public detail::ProcessTransport {
 public:
  MpiTransport(World& world, runtime::Device device, const GroupOptions& options)
      : world_(world),
        mpi_(world.mpi()),
        device_(device),
        timeout_seconds_(options.timeout_seconds),
        staging_(device),
        kept_(std::make_shared<detail::KeptMemory>()),
        watch_(std::make_shared<detail::RoundsWatch>(
            [this](const detail::Awaited& waiting) { return why_in_vain(waiting); })) {
    processes_.resize(static_cast<std::size_t>(mpi_.size()));
    processes_[static_cast<std::size_t>(mpi_.rank())] = this_process(device);
    const auto bytes_of_process = [](Process& each) {
      return std::as_writable_bytes(std::span<Process>(&each, 1));
    };
    std::vector<HostSend> sends;
    std::vector<HostReceive> receives;
    for (int rank = 0; rank < mpi_.size(); ++rank) {
      if (rank != mpi_.rank()) {
        sends.push_back(
            {rank, bytes_of_process(processes_[static_cast<std::size_t>(mpi_.rank())])});
        receives.push_back({rank, bytes_of_process(processes_[static_cast<std::size_t>(rank)])});
      }
    }
    exchange_on_host("begin", sends, receives);
    waiting_ = waiting_of(processes_, options.waiting);
  }

  [[nodiscard]] int rank() const override { return mpi_.rank(); }
  [[nodiscard]] int size() const override { return mpi_.size(); }
  [[nodiscard]] int node_rank() const override { return mpi_.node_rank(); }
  [[nodiscard]] runtime::Device device() const override { return device_; }
  [[nodiscard]] std::string name() const override { return mpi_.name(); }

  void exchange_on_host(std::string_view call, std::span<const HostSend> sends,
                        std::span<const HostReceive> receives) override {
    std::vector<Pending> pending;
    for (const HostReceive& each : receives) {
      pending.push_back({each.from, mpi_.receive(each.from, call_tag, each.values)});
    }
    for (const HostSend& each : sends) {
      pending.push_back({each.to, mpi_.send(each.to, call_tag, each.values)});
    }
    Patience patience;
    for (Pending& each : pending) {
      while (!each.request->is_done()) {
        patience.wait();
        if (patience.is_time_to_look()) {
          look_around(call, each.rank, patience.seconds());
        }
      }
    }
  }

  void exchange(std::string_view call, runtime::StreamRef stream, std::span<const Send> sends,
                std::span<const Receive> receives) override {
    staging_.exchange(*this, call, stream, sends, receives);
  }

  void fail(const std::string& reason) noexcept override {
    if (has_told_) {
      return;
    }
    has_told_ = true;
    world_.fail();
    for (const std::weak_ptr<detail::ProcessRounds>& each : rounds_) {
      if (const auto rounds = each.lock()) {
        rounds->fail_partners(reason);
      }
    }
    kept_->fail(reason);
    try {
      reason_ = reason;
      for (int rank = 0; rank < mpi_.size(); ++rank) {
        if (rank != mpi_.rank()) {
          told_.push_back(
              mpi_.send(rank, failure_tag,
                        std::as_bytes(std::span<const char>(reason_.data(), reason_.size()))));
        }
      }
      // what has left in a second is enough: who started the ranks ends them otherwise
      const Clock::time_point end = Clock::now() + std::chrono::seconds(1);
      for (const auto& each : told_) {
        while (!each->is_done() && Clock::now() < end) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      }
    } catch (const Error&) {
      // MPI itself has failed: its launcher ends the others
    }
  }

  [[nodiscard]] Waiting waiting_of_kernels() override { return waiting_; }

  [[nodiscard]] std::shared_ptr<detail::ProcessRounds> open_process_rounds(
      std::string_view call, std::span<const int> partners) override {
    if (waiting_ == Waiting::hosts) {
      return nullptr;
    }
    std::erase_if(rounds_, [](const auto& each) { return each.expired(); });
    auto rounds = std::make_shared<detail::ProcessRounds>(
        rank(), call, std::vector<int>(partners.begin(), partners.end()), device_, watch_, kept_);
    rounds_.push_back(rounds);
    return rounds;
  }

 private:
  struct Pending {
    int rank;
    std::unique_ptr<detail::MpiRequest> request;
  };

  /// Waits busily at first, when messages are a few microseconds away.
  class Patience {
   public:
    void wait() {
      ++rounds_;
      if (rounds_ > 20000) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      } else if (rounds_ > 50) {
        std::this_thread::yield();
      }
    }
    [[nodiscard]] bool is_time_to_look() {
      const Clock::time_point now = Clock::now();
      if (rounds_ % 64 != 0 || now - last_look_ < std::chrono::milliseconds(20)) {
        return false;
      }
      last_look_ = now;
      return true;
    }
    [[nodiscard]] double seconds() const {
      return std::chrono::duration<double>(Clock::now() - begin_).count();
    }

   private:
    Clock::time_point begin_ = Clock::now();
    Clock::time_point last_look_ = begin_;
    long long rounds_ = 0;
  };

  // What the watch asks, on its own thread: it does not call MPI.
  [[nodiscard]] std::exception_ptr why_in_vain(const detail::Awaited& waiting) const {
    // a rank that is about to fail gives its rounds up before it says why
    constexpr double seconds_of_ending = 1;
    const std::string waits =
        fmt::format("rank {} waits for rank {} in {}", waiting.rank, waiting.awaited, waiting.call);
    try {
      if (waiting.failure) {
        detail::throw_rank_failed(waiting.awaited, *waiting.failure);
      }
      if (waiting.has_ended || (waiting.is_closed && waiting.seconds > seconds_of_ending)) {
        detail::throw_rank_ended(waiting.awaited, waits);
      }
      if (waiting.seconds > timeout_seconds_) {
        detail::throw_time_out(timeout_seconds_, waits);
      }
    } catch (const Error&) {
      return std::current_exception();
    }
    return nullptr;
  }

  // Whether waiting on makes sense.
  void look_around(std::string_view call, int awaited, double seconds) {
    if (const auto waiting = mpi_.waiting(failure_tag)) {
      std::vector<char> text(waiting->bytes);
      const auto request =
          mpi_.receive(waiting->from, failure_tag, std::as_writable_bytes(std::span<char>(text)));
      while (!request->is_done()) {
        std::this_thread::yield();
      }
      world_.fail();
      has_told_ = true;
      detail::throw_rank_failed(waiting->from, std::string(text.begin(), text.end()));
    }
    const std::string waits = fmt::format("rank {} waits for rank {} in {}", rank(), awaited, call);
    const Process& process = processes_[static_cast<std::size_t>(awaited)];
    if (std::strcmp(process.host, own().host) == 0 && process.number > 0 &&
        detail::process_has_ended(process.number)) {
      world_.fail();
      detail::throw_rank_ended(awaited, waits);
    }
    if (seconds > timeout_seconds_) {
      world_.fail();
      detail::throw_time_out(timeout_seconds_, waits);
    }
  }
  [[nodiscard]] const Process& own() const {
    return processes_[static_cast<std::size_t>(mpi_.rank())];
  }

  World& world_;
  detail::MpiApi& mpi_;
  runtime::Device device_;
  double timeout_seconds_;
  detail::Staging staging_;
  std::vector<Process> processes_;
  bool has_told_ = false;
  std::string reason_;                                     ///< of our failure
  std::vector<std::unique_ptr<detail::MpiRequest>> told_;  ///< its messages
  Waiting waiting_ = Waiting::hosts;                       ///< of kernels
  std::shared_ptr<detail::KeptMemory> kept_;
  std::vector<std::weak_ptr<detail::ProcessRounds>> rounds_;
  std::shared_ptr<detail::RoundsWatch> watch_;  // its thread ends first
};

}  // namespace

runtime::Device device_of_rank(int node_rank) {
  std::vector<runtime::Device> gpus;
  for (const runtime::Device& device : runtime::all_devices()) {
    if (device.info().id.kind == runtime::BackendKind::cuda) {
      gpus.push_back(device);
    }
  }
  return gpus.empty() ? runtime::Device::best()
                      : gpus[static_cast<std::size_t>(node_rank) % gpus.size()];
}

Group mpi_group(const MpiOptions& options) {
  detail::check_timeout(options.group.timeout_seconds);
  World& world = World::instance();
  const runtime::Device device =
      options.device ? *options.device : device_of_rank(world.mpi().node_rank());
  return Group(std::make_shared<MpiTransport>(world, device, options.group));
}

void run_mpi(const std::function<void(const Group&)>& work, const MpiOptions& options) {
  const Group group = mpi_group(options);
  try {
    work(group);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    group.fail(detail::text_of(error));
    detail::rethrow_of_rank(error, group.rank());
  }
}

}  // namespace rtcg::distributed
