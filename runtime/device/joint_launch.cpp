#include "rtcg/runtime/device/joint_launch.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rtcg::runtime::detail {
namespace {

// Ranks come here at the same moment, again and again. A mutex would put one of them to sleep,
// which takes longer than a launch: so the counts are one word, and only who has to wait takes the
// mutex.
class Gate {
 public:
  using Counts = std::uint64_t;
  static constexpr Counts device_call = 1;
  static constexpr Counts joint_launch = Counts{1} << 32;

  static Gate& instance() {
    static Gate& made = *new Gate;  // buffers with static storage may end late
    return made;
  }

  void begin(Counts own) {
    while (!has_begun(own)) {
      std::unique_lock lock(mutex_);
      ++waiting_;  // before it looks again: end() looks for it after it has changed the counts
      changed_.wait(lock, [&] { return others(counts_, own) == 0; });
      --waiting_;
    }
  }
  void end(Counts own, Counts count) {
    counts_ -= own * count;
    if (waiting_ > 0) {
      const std::lock_guard lock(mutex_);  // who waits has looked, or finds the new counts
      changed_.notify_all();
    }
  }
  [[nodiscard]] bool has_joint_launches() const { return counts_ >= joint_launch; }

 private:
  [[nodiscard]] static Counts others(Counts counts, Counts own) {
    return own == device_call ? counts / joint_launch : counts % joint_launch;
  }
  [[nodiscard]] bool has_begun(Counts own) {
    Counts now = counts_;
    while (others(now, own) == 0) {
      if (counts_.compare_exchange_weak(now, now + own)) {
        return true;
      }
    }
    return false;
  }

  std::atomic<Counts> counts_ = 0;
  std::atomic<int> waiting_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

DeviceCall::DeviceCall() {
  Gate::instance().begin(Gate::device_call);
}
DeviceCall::~DeviceCall() {
  Gate::instance().end(Gate::device_call, 1);
}

void begin_joint_launch() {
  Gate::instance().begin(Gate::joint_launch);
}
void end_joint_launches(int count) noexcept {
  Gate::instance().end(Gate::joint_launch, static_cast<Gate::Counts>(count));
}
bool is_any_launch_joint() {
  return Gate::instance().has_joint_launches();
}
JointLaunch::JointLaunch() {
  begin_joint_launch();
}
JointLaunch::~JointLaunch() {
  end_joint_launches(1);
}

}  // namespace rtcg::runtime::detail
