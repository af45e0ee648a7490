#include "rtcg/runtime/device/joint_launch.h"

#include <condition_variable>
#include <mutex>

namespace rtcg::runtime::detail {
namespace {

class Gate {
 public:
  static Gate& instance() {
    static Gate& made = *new Gate;  // buffers with static storage may end late
    return made;
  }

  void begin(int& own, const int& others) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return others == 0; });
    ++own;
  }
  [[nodiscard]] bool has_joint_launches() {
    const std::lock_guard lock(mutex_);
    return joint_launches != 0;
  }
  void end(int& own, int count) {
    const std::lock_guard lock(mutex_);
    own -= count;
    if (own == 0) {
      changed_.notify_all();
    }
  }

  int device_calls = 0;    // under the mutex
  int joint_launches = 0;  // the same

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

DeviceCall::DeviceCall() {
  Gate::instance().begin(Gate::instance().device_calls, Gate::instance().joint_launches);
}
DeviceCall::~DeviceCall() {
  Gate::instance().end(Gate::instance().device_calls, 1);
}

void begin_joint_launch() {
  Gate::instance().begin(Gate::instance().joint_launches, Gate::instance().device_calls);
}
void end_joint_launches(int count) noexcept {
  Gate::instance().end(Gate::instance().joint_launches, count);
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
