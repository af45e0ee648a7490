#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/dg/operators/discretization.h"
#include "rtcg/dg/operators/kernel_writer.h"
#include "rtcg/distributed/group/rounds.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/stream.h"

// Stages whose kernels read neighbours' values where their ranks have them.
//
// The launches of a rank that do so are its rounds, which all ranks count alike. In round n a
// kernel reads the state that neighbours wrote in round n - 1. It writes its own state into the
// other of two memories, which neighbours read in round n - 1. So it may do both as soon as all
// neighbours have announced that they have done round n - 1 for their elements at the rim: one
// word from each rank to each neighbour is enough.
//
// No rank waits forever. A kernel of round n waits only for kernels of round n - 1 on other
// devices. On its own device it waits for nothing: its stream has ended its own round n - 1 before.
// So the kernels of the first of all rounds that are under way have nothing to wait for, and end;
// then those of the next one. A kernel is submitted together with those that it waits for
// (Rounds::replay). If a rank fails, the kernels of its neighbours end by Rounds::given_up.

namespace rtcg::dg::detail {

/// Lets the threads of a block wait until all neighbours have announced the round before.
///
/// @param thread   nothing where a block is one thread
/// @param threads  of the block
void wait_for_neighbours(cgen::BlockBuilder& body, ParameterList& parameters,
                         const std::optional<cgen::Expr>& thread, int threads);
/// To be called by one thread when its block has done its part of the round: the last part
/// announces the round.
///
/// @param parts  blocks that do so
void announce_round(cgen::BlockBuilder& body, ParameterList& parameters, const cgen::Expr& parts);
/// What a module with wait_for_neighbours needs at its head.
void declare_waiting(cgen::Module& module, bool is_on_host);

/// A round that does nothing else, as one block.
[[nodiscard]] cgen::Module announcing_kernel(const cgen::Type& real, bool is_on_host);

/// What the kernels of a rank need to read neighbours' states, and its rounds. The memory of all
/// stays as long as one of the ranks uses it.
class PeerLoads {
 public:
  using States = std::pair<std::shared_ptr<const runtime::Buffer<std::byte>>,
                           std::shared_ptr<const runtime::Buffer<std::byte>>>;
  /// Neighbours call it together; nothing where devices cannot reach each other, on all ranks.
  ///
  /// @param on      a part that has neighbours
  /// @param states  the memory that stages read and write in turns, that of the next stage first.
  ///                No work uses it
  [[nodiscard]] static std::unique_ptr<PeerLoads> make(const KernelShape& shape,
                                                       const cgen::Type& real,
                                                       const Discretization& on,
                                                       runtime::Device device, States states);
  ~PeerLoads();
  PeerLoads(const PeerLoads&) = delete;
  PeerLoads& operator=(const PeerLoads&) = delete;

  /// Launches work of one round, or captures it.
  void run(runtime::StreamRef stream, const std::function<void()>& launch);
  /// A round of its own: neighbours find what work of the stream so far has written, and have read
  /// what its later work may change.
  void announce(runtime::StreamRef stream);

  void begin_capture();
  void end_capture();
  /// Launches captured work of so many rounds.
  void replay(runtime::StreamRef stream, int rounds, const std::function<void()>& launch);

  [[nodiscard]] std::int32_t neighbours() const noexcept;
  /// The memory of a parameter, for kernels that read the state at this address; nothing if it is
  /// not one of these.
  [[nodiscard]] std::optional<runtime::BufferRef<const std::byte>> argument(
      const std::string& name, runtime::DeviceAddress state) const;

 private:
  struct Shared;
  struct Tables;
  PeerLoads(const KernelShape& shape, const cgen::Type& real, const Discretization& on,
            runtime::Device device, States states, distributed::Rounds rounds);

  std::shared_ptr<const Shared> own_;
  std::unique_ptr<const Tables> tables_;
  runtime::Kernel announce_;
  bool is_captured_ = false;
  distributed::Rounds rounds_;  ///< ends first: its work uses what is above
};

}  // namespace rtcg::dg::detail
