#include "rtcg/distributed/mpi/run_mpi.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/exchange/staging.h"
#include "rtcg/distributed/group/named_failure.h"
#include "rtcg/distributed/mpi/mpi_api.h"

namespace rtcg::distributed {
namespace {

using Clock = std::chrono::steady_clock;

// Messages of calls, and those of ranks that fail.
constexpr int call_tag = 1;
constexpr int failure_tag = 2;

/// Where a rank's process is, for those of its machine.
struct Process {
  char host[64] = {};
  std::int64_t number = 0;
};

Process this_process() {
  Process result;
  ::gethostname(result.host, sizeof result.host - 1);
  result.number = ::getpid();
  return result;
}

// Whether a process of this machine has ended; its parent may not have asked for it yet.
bool has_ended(std::int64_t number) {
  std::ifstream file(fmt::format("/proc/{}/stat", number));
  std::string text;
  if (!std::getline(file, text)) {
    return ::kill(static_cast<pid_t>(number), 0) != 0;
  }
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && name_end + 2 < text.size() &&
         (text[name_end + 2] == 'Z' || text[name_end + 2] == 'X');
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

class MpiTransport final : public Transport {
 public:
  MpiTransport(World& world, runtime::Device device, double timeout_seconds)
      : world_(world),
        mpi_(world.mpi()),
        device_(device),
        timeout_seconds_(timeout_seconds),
        staging_(device) {
    processes_.resize(static_cast<std::size_t>(mpi_.size()));
    const Process own = this_process();
    processes_[static_cast<std::size_t>(mpi_.rank())] = own;
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
        has_ended(process.number)) {
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
  return Group(std::make_shared<MpiTransport>(world, device, options.group.timeout_seconds));
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
