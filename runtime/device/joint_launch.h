#pragma once
// Internal header: it is not installed.

namespace rtcg::runtime::detail {

// Two kinds of work of a process that would hold each other up for ever if they met:
//
//   joint launches  on several devices, whose kernels wait for each other: the first one does not
//                   end before the last one has been submitted
//   device calls    of a driver, which may wait for all work of a device and keep other threads
//                   from submitting to other devices meanwhile: allocating, freeing, loading
//
// Neither begins while there is one of the other kind; those of one kind do not exclude each other.
// A thread that is within one kind does not begin the other.

/// While it lives, this thread makes such calls.
class DeviceCall {
 public:
  DeviceCall();
  ~DeviceCall();
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;
};

// From before the launch on one of the devices until all have been launched; whoever makes the last
// one ends those of all.
void begin_joint_launch();
void end_joint_launches(int count) noexcept;
/// Whether there is one: then no launch is to be waited for.
[[nodiscard]] bool is_any_launch_joint();

/// Both, for launches by one thread.
class JointLaunch {
 public:
  JointLaunch();
  ~JointLaunch();
  JointLaunch(const JointLaunch&) = delete;
  JointLaunch& operator=(const JointLaunch&) = delete;
};

}  // namespace rtcg::runtime::detail
