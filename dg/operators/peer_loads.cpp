#include "rtcg/dg/operators/peer_loads.h"

#include <algorithm>
#include <vector>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;
using runtime::Buffer;
using runtime::BufferRef;
using runtime::DeviceAddress;

constexpr const char* loads_name = "loads from neighbours";
constexpr int announcing_threads = 32;
// Between two looks at memory of the host, which takes longer than the word that is waited for.
constexpr std::uint32_t looks = 1023;

Expr unsigned_of(std::uint32_t value) {
  return cgen::literal(value, cgen::u32);
}

cgen::Statement system_fence() {
  return cgen::Statement(cgen::MemoryFence{cgen::FenceScope::system});
}

// Words that others change meanwhile.
Expr words(ParameterList& parameters, const char* name) {
  return parameters.memory(name, cgen::pointer_to(cgen::const_(cgen::volatile_(cgen::u32))));
}

// The number of the round, then how many blocks have done their part of it.
Expr progress(ParameterList& parameters) {
  return parameters.memory("progress", cgen::pointer_to(cgen::u32));
}

Expr neighbour_count(ParameterList& parameters) {
  return parameters.number("neighbours", cgen::i32);
}

template <class Number>
Buffer<std::byte> table(runtime::Device device, const std::vector<Number>& values) {
  return Buffer<std::byte>(device, std::as_bytes(std::span<const Number>(values)));
}

}  // namespace

void wait_for_neighbours(BlockBuilder& body, ParameterList& parameters,
                         const std::optional<Expr>& thread, int threads) {
  const Expr round = body.add_constant(cgen::u32, "round", progress(parameters)[0]);
  body << cgen::for_(
      cgen::i32, "neighbour", thread ? *thread : Expr(0), neighbour_count(parameters),
      [&](const Expr& neighbour, BlockBuilder& inner) {
        const Expr look = inner.add(cgen::declare(cgen::u32, "look", unsigned_of(0)));
        const Expr is_late =
            cgen::cast(cgen::i32, words(parameters, "arrived")[neighbour] - round) < 0;
        const Expr goes_on = cgen::not_equal(look & unsigned_of(looks), unsigned_of(looks)) ||
                             cgen::equal(words(parameters, "given_up")[0], unsigned_of(0));
        BlockBuilder again;
        again << cgen::assign(look, look + unsigned_of(1));
        if (!thread) {
          again << cgen::Statement(cgen::RawStatement{"sched_yield();", {}, {"sched_yield"}});
        }
        inner << cgen::while_(is_late && goes_on, again) << system_fence();
      },
      {.step = Expr(threads)});
}

void announce_round(BlockBuilder& body, ParameterList& parameters, const Expr& parts) {
  const Expr words = progress(parameters);
  body << system_fence();
  const Expr count = body.add_constant(
      cgen::i32, "parts_done",
      cgen::cast(cgen::i32, cgen::call(cgen::Intrinsic::atomic_add,
                                       {cgen::address_of(words[1]), unsigned_of(1)})) +
          1);
  BlockBuilder last;
  last << system_fence() << cgen::assign(words[1], unsigned_of(0));
  const Expr round = last.add_constant(cgen::u32, "next_round", words[0] + unsigned_of(1));
  last << cgen::assign(words[0], round);
  last << cgen::for_(
      cgen::i32, "neighbour", 0, neighbour_count(parameters),
      [&](const Expr& neighbour, BlockBuilder& inner) {
        inner << cgen::assign(
            parameters.table("announced",
                             cgen::pointer_to(cgen::volatile_(cgen::u32)))[neighbour][0],
            round);
      });
  body << cgen::if_(cgen::equal(count, parts), last);
}

void declare_waiting(cgen::Module& module, bool is_on_host) {
  if (is_on_host) {
    // processors may have more ranks than cores
    module.items.push_back(
        cgen::Statement(cgen::RawStatement{"extern int sched_yield(void);", {"sched_yield"}, {}}));
  }
}

cgen::Module announcing_kernel(const cgen::Type& real, bool is_on_host) {
  cgen::Module module{"dg_announce", {}};
  declare_waiting(module, is_on_host);
  ParameterList parameters(real);
  parameters.number("neighbours", cgen::i32);
  for (const char* name : {"arrived", "given_up"}) {
    words(parameters, name);
  }
  BlockBuilder body;
  if (is_on_host) {
    wait_for_neighbours(body, parameters, std::nullopt, 1);
    announce_round(body, parameters, 1);
  } else {
    const Expr thread =
        body.add_constant(cgen::i32, "thread", cgen::cast(cgen::i32, cgen::thread_idx_x));
    wait_for_neighbours(body, parameters, thread, announcing_threads);
    body << cgen::barrier();
    BlockBuilder first;
    announce_round(first, parameters, 1);
    body << cgen::if_(cgen::equal(thread, 0), first);
  }
  module.items.push_back(cgen::kernel("announce", parameters.list(), body));
  return module;
}

/// What a rank's neighbours get to see of it.
struct PeerLoads::Shared {
  std::shared_ptr<const MeshPart> part;
  States states;
  Buffer<std::uint32_t> arrived;  ///< by neighbour
};

struct PeerLoads::Tables {
  std::vector<std::shared_ptr<const Shared>> neighbours;  ///< whose memory the tables lead to
  Buffer<std::byte> ghosts;        ///< where they are when stages read the first state
  Buffer<std::byte> other_ghosts;  ///< the second one
  Buffer<std::byte> announced;
  Buffer<std::byte> progress;
};

std::unique_ptr<PeerLoads> PeerLoads::make(const KernelShape& shape, const cgen::Type& real,
                                           const Discretization& on, runtime::Device device,
                                           States states) {
  constexpr std::size_t word = sizeof(std::uint32_t);
  std::vector<distributed::Partner> partners;
  for (const PartNeighbour& neighbour : on.part->neighbours) {
    partners.push_back({neighbour.part, word, word});
  }
  std::optional<distributed::Rounds> rounds =
      distributed::open_rounds(*on.group, partners, loads_name);
  return rounds ? std::unique_ptr<PeerLoads>(
                      new PeerLoads(shape, real, on, device, std::move(states), *std::move(rounds)))
                : nullptr;
}

PeerLoads::PeerLoads(const KernelShape& shape, const cgen::Type& real, const Discretization& on,
                     runtime::Device device, States states, distributed::Rounds rounds)
    : announce_([&] {
        const bool is_on_host = device.info().id.kind == runtime::BackendKind::host;
        const cgen::Module module = announcing_kernel(real, is_on_host);
        const cgen::Dialect dialect = loopy::dialect_of(device);
        const SourceText text = cgen::print_module(module, dialect);
        cgen::verify_module(module, dialect, [&] { return text.text; });
        return runtime::Program::compile(device, text, {}, module.name).kernel("announce");
      }()),
      rounds_(std::move(rounds)) {
  const std::vector<PartNeighbour>& neighbours = on.part->neighbours;
  own_ = std::make_shared<const Shared>(
      Shared{on.part, std::move(states),
             Buffer<std::uint32_t>(device, std::vector<std::uint32_t>(neighbours.size()))});
  std::vector<std::shared_ptr<const Shared>> theirs;
  for (const std::shared_ptr<const void>& each : rounds_.trade(own_)) {
    theirs.push_back(std::static_pointer_cast<const Shared>(each));
  }
  const std::int64_t element_numbers = shape.fields * shape.nodes;
  const std::int64_t real_bytes = real == cgen::f32 ? sizeof(float) : sizeof(double);
  std::vector<std::int64_t> ghosts(on.part->ghosts);
  std::vector<std::int64_t> other_ghosts(on.part->ghosts);
  std::vector<DeviceAddress> announced;
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const std::vector<PartNeighbour>& of_other = theirs[i]->part->neighbours;
    const auto self =
        std::find_if(of_other.begin(), of_other.end(),
                     [&](const PartNeighbour& each) { return each.part == on.part->part; });
    for (std::size_t k = 0; k < neighbours[i].received_elements.size(); ++k) {
      const std::size_t ghost = neighbours[i].received_elements[k] - on.element_count();
      // all devices of the ranks have one space of addresses
      const auto index = [&](const auto& of_theirs, const auto& of_own) {
        const auto distance = static_cast<std::int64_t>(of_theirs->address() - of_own->address());
        return distance / real_bytes + self->sent_elements[k] * element_numbers;
      };
      ghosts[ghost] = index(theirs[i]->states.first, own_->states.first);
      other_ghosts[ghost] = index(theirs[i]->states.second, own_->states.second);
    }
    announced.push_back(theirs[i]
                            ->arrived.subrange(static_cast<std::size_t>(self - of_other.begin()), 1)
                            .address());
  }
  tables_ = std::make_unique<const Tables>(
      Tables{std::move(theirs), table(device, ghosts), table(device, other_ghosts),
             table(device, announced), table(device, std::vector<std::uint32_t>(2))});
}

PeerLoads::~PeerLoads() = default;

std::int32_t PeerLoads::neighbours() const noexcept {
  return static_cast<std::int32_t>(tables_->neighbours.size());
}

std::optional<BufferRef<const std::byte>> PeerLoads::argument(const std::string& name,
                                                              DeviceAddress state) const {
  if (name == "ghosts") {
    return state == own_->states.first->address() ? tables_->ghosts : tables_->other_ghosts;
  }
  if (name == "arrived") {
    return own_->arrived.ref().as<const std::byte>();
  }
  if (name == "announced") {
    return tables_->announced;
  }
  if (name == "progress") {
    return tables_->progress;
  }
  if (name == "given_up") {
    return rounds_.given_up().as<const std::byte>();
  }
  return std::nullopt;
}

void PeerLoads::run(runtime::StreamRef stream, const std::function<void()>& launch) {
  is_captured_ ? launch() : replay(stream, 1, launch);
}

void PeerLoads::replay(runtime::StreamRef stream, int rounds, const std::function<void()>& launch) {
  rounds_.tell(stream);
  rounds_.replay(rounds, launch);
}

void PeerLoads::announce(runtime::StreamRef stream) {
  runtime::ArgumentPack pack;
  pack.add(neighbours());
  for (const char* name : {"arrived", "given_up", "progress", "announced"}) {
    pack.add(*argument(name, 0));
  }
  const std::uint64_t threads =
      stream.device().info().id.kind == runtime::BackendKind::host ? 1 : announcing_threads;
  run(stream, [&] { announce_.launch(stream, {1, threads, 0}, pack); });
}

void PeerLoads::begin_capture() {
  rounds_.begin_capture();
  is_captured_ = true;
}

void PeerLoads::end_capture() {
  rounds_.end_capture();
  is_captured_ = false;
}

}  // namespace rtcg::dg::detail
