#pragma once
// Internal header: it is not installed.

#include <functional>
#include <vector>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/ast/type.h"
#include "rtcg/dg/operators/discretization.h"
#include "rtcg/dg/operators/kernel_writer.h"
#include "rtcg/distributed/group/rounds.h"
#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/flags.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::dg::detail {

/// Kernels that move the values on faces between a state and a contiguous message:
///
///     message[side][field][node of the face]
///
/// `pack_traces(count, sides, face_nodes, state, message)` fills the message of the sides
/// element * faces + face; `unpack_traces`, with the same parameters, puts it into the state.
/// `count` is that of the message's numbers.
[[nodiscard]] cgen::Module halo_kernels(const KernelShape& shape, const cgen::Type& real);

/// Keeps the ghosts of a state as they are on the ranks that own them, by a stream of its own: the
/// values on the faces travel while the caller's stream works on elements that do not need them.
/// Where devices wait for each other, the kernel that packs a message writes it into the
/// neighbour's memory, and no host waits.
///
/// All ranks make the same calls.
class Halo {
 public:
  /// @param on       a part that has neighbours
  /// @param waiting  `hosts`: also where devices could wait for each other
  Halo(const KernelShape& shape, const cgen::Type& real, const Discretization& on,
       runtime::Device device, distributed::Waiting waiting = distributed::Waiting::devices);

  /// The state's own elements have new values, by work that `stream` has so far.
  void start(runtime::StreamRef stream, runtime::BufferRef<std::byte> state);
  // The same in parts, so that elements at the rim are computed at the same time as the others:
  //
  //   follow   own work from now on comes after that of `stream` so far
  //   receive  own work from now on finds the values of the latest start in the ghosts
  //   lead     work of `stream` from now on comes after own work so far
  //   send     own work so far has given the state's elements at the rim new values
  //
  // @cost  of receive one exchange, where there was a start
  void follow(runtime::StreamRef stream);
  void receive(runtime::StreamRef stream);
  void lead(runtime::StreamRef stream);
  void send(runtime::StreamRef stream, runtime::BufferRef<std::byte> state);
  /// The stream of own work, between that of `stream`.
  [[nodiscard]] runtime::StreamRef own(runtime::StreamRef stream) const;
  /// Whether no host waits between these calls, so that work on both streams can overlap.
  [[nodiscard]] bool overlaps() const noexcept { return rounds_.has_value(); }
  /// Forgets the latest start: the ghosts have their values.
  void drop() noexcept { state_.reset(); }

  // Graphs of work that begins after a start, and ends after another one.
  /// Whether this is so now, and no host waits.
  [[nodiscard]] bool can_be_captured() const {
    return rounds_ && is_sent_ && state_ && runtime::has_flags_in_graphs(stream_.device());
  }
  /// Captured work fits where this number is the same.
  [[nodiscard]] int phase() const noexcept { return rounds_->phase(); }
  /// Before captured work is launched on a stream.
  void prepare_launch(runtime::StreamRef stream);
  // What is captured is between these.
  void begin_capture(runtime::StreamRef stream);
  void end_capture(runtime::StreamRef stream);
  /// Launches captured work with so many starts, which ends with this state.
  void replay(int starts, runtime::BufferRef<std::byte> state, const std::function<void()>& launch);

  [[nodiscard]] std::size_t bytes_sent() const noexcept { return sent_bytes_; }

 private:
  struct Table {
    runtime::Buffer<std::uint32_t> sides;
    std::size_t numbers = 0;  ///< of the message
  };
  /// A neighbour's part of a table.
  struct Part {
    runtime::BufferRef<std::uint32_t> sides;
    std::size_t numbers = 0;
  };
  struct Messages {
    runtime::Buffer<std::byte> sent;
    runtime::Buffer<std::byte> received;
  };
  [[nodiscard]] static Table table_of(const KernelShape& shape, const Discretization& on,
                                      runtime::Device device, bool is_sent);
  template <class Message>
  void launch(runtime::StreamRef on, const runtime::Kernel& kernel, const Part& part,
              const Message& message) const;

  distributed::Group group_;
  runtime::Stream stream_;
  runtime::Event written_;
  runtime::Event ready_;
  runtime::Buffer<std::uint8_t> face_nodes_;
  Table sends_;
  Table receives_;
  std::size_t sent_bytes_ = 0;
  std::vector<Part> sent_parts_;      ///< by neighbour
  std::vector<Part> received_parts_;  ///< the same
  std::optional<Messages> messages_;  ///< where the hosts exchange them
  std::vector<distributed::Send> send_to_;
  std::vector<distributed::Receive> receive_from_;
  std::optional<runtime::Kernel> pack_;
  std::optional<runtime::Kernel> unpack_;
  std::optional<runtime::BufferRef<std::byte>> state_;  ///< whose ghosts are old
  bool is_in_line_ = false;                             ///< its work is part of the caller's stream
  bool is_behind_ = false;  ///< its stream has not waited for the graph that ran last
  bool is_sent_ = false;    ///< a round has begun that has not been received
  std::optional<distributed::Rounds> rounds_;  ///< ends first: its work uses what is above
};

}  // namespace rtcg::dg::detail
