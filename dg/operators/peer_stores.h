#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/dg/operators/discretization.h"
#include "rtcg/dg/operators/kernel_writer.h"
#include "rtcg/distributed/group/store_rounds.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/stream.h"

// Stages whose kernels write neighbours' ghosts.
//
// The launches of a rank that do so are its rounds, which all ranks count alike. In round n a
// kernel reads its ghosts, which neighbours wrote in round n - 1. It writes the next state of its
// own elements, and that of those at the rim also into the ghosts of neighbours, in the other of
// two memories, which neighbours read in round n - 1. So it may do both as soon as all neighbours
// have announced that they have done round n - 1 for their elements at the rim: one word from each
// rank to each neighbour is enough. Nobody waits for a store, but would for a load from there.
//
// No rank waits forever. A kernel of round n waits only for kernels of round n - 1 on other
// devices. On its own device it waits for nothing: its stream has ended its own round n - 1 before.
// So the kernels of the first of all rounds that are under way have nothing to wait for, and end;
// then those of the next one. Of ranks in one process a kernel is submitted together with those
// that it waits for (Rounds::replay); processes submit theirs when they like. If a rank fails, the
// kernels of its neighbours end by StoreRounds::given_up.
//
// Ranks are threads of one process, or processes of one machine, which open each other's memory by
// handles of the driver.

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

/// Calls `write` with the index, in numbers from the own state on, of each ghost that neighbours
/// have of an own element.
void write_ghosts(cgen::BlockBuilder& body, ParameterList& parameters, const cgen::Expr& element,
                  const std::function<void(cgen::BlockBuilder&, const cgen::Expr& ghost)>& write);
/// A round that gives neighbours the state at the rim as their ghosts, and does nothing else.
[[nodiscard]] cgen::Module announcing_kernel(const KernelShape& shape, const cgen::Type& real,
                                             bool is_on_host);

/// What the kernels of a rank need to write neighbours' ghosts, and its rounds. The memory of a
/// rank stays as long as one of its neighbours uses it.
class PeerStores {
 public:
  using States = std::pair<std::shared_ptr<const runtime::Buffer<std::byte>>,
                           std::shared_ptr<const runtime::Buffer<std::byte>>>;
  /// Neighbours call it together; nothing where devices cannot reach each other. On ranks that are
  /// processes that may be so on some of them only.
  ///
  /// @param on      a part that has neighbours
  /// @param first_at_rim  no element before it has neighbours on other ranks
  /// @param states  the memory that stages read and write in turns, that of the next stage first.
  ///                No work uses it. Of processes runtime::is_shareable
  [[nodiscard]] static std::unique_ptr<PeerStores> make(const KernelShape& shape,
                                                        const cgen::Type& real,
                                                        const Discretization& on,
                                                        runtime::Device device,
                                                        std::int32_t first_at_rim, States states);
  ~PeerStores();
  PeerStores(const PeerStores&) = delete;
  PeerStores& operator=(const PeerStores&) = delete;

  /// Launches work of one round, or captures it.
  void run(runtime::StreamRef stream, const std::function<void()>& launch);
  /// A round of its own: neighbours get the ghosts of a state that work of the stream has written,
  /// one of the two.
  void announce(runtime::StreamRef stream, runtime::BufferRef<std::byte> state);

  void begin_capture();
  void end_capture();
  /// Launches captured work of so many rounds.
  void replay(runtime::StreamRef stream, int rounds, const std::function<void()>& launch);

  [[nodiscard]] std::int32_t neighbours() const noexcept { return neighbours_; }
  /// The most ghosts that neighbours have of an element.
  [[nodiscard]] std::int32_t copies() const noexcept { return copies_; }
  /// The memory of a parameter, for kernels that write the state at this address; nothing if it is
  /// not one of these.
  [[nodiscard]] std::optional<runtime::BufferRef<const std::byte>> argument(
      const std::string& name, runtime::DeviceAddress written) const;

 private:
  struct Shared;
  struct Tables;
  PeerStores(const KernelShape& shape, const cgen::Type& real, const Discretization& on,
             runtime::Device device, std::int32_t first_at_rim, std::shared_ptr<const Shared> own,
             std::unique_ptr<distributed::StoreRounds> rounds,
             std::span<const distributed::StoreRounds::Given> theirs);

  std::shared_ptr<const Shared> own_;
  std::unique_ptr<const Tables> tables_;
  std::int32_t neighbours_;
  std::int32_t first_at_rim_;
  std::int32_t elements_;
  std::int32_t copies_ = 1;
  std::int64_t numbers_ = 0;  ///< of the elements at the rim
  runtime::Kernel announce_;
  bool is_captured_ = false;
  std::unique_ptr<distributed::StoreRounds> rounds_;  ///< ends first: its work uses what is above
};

}  // namespace rtcg::dg::detail
