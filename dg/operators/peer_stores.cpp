#include "rtcg/dg/operators/peer_stores.h"

#include <algorithm>
#include <vector>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/runtime/device/interprocess.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;
using runtime::Buffer;
using runtime::BufferRef;
using runtime::DeviceAddress;

constexpr const char* stores_name = "stores to neighbours";
constexpr int announcing_threads = 128;
constexpr std::int64_t most_announcing_blocks = 256;
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

void write_ghosts(BlockBuilder& body, ParameterList& parameters, const Expr& element,
                  const std::function<void(BlockBuilder&, const Expr& ghost)>& write) {
  BlockBuilder at_rim;
  const Expr copies = parameters.number("copies", cgen::i32);
  const Expr first = at_rim.add_constant(
      cgen::i32, "first_copy", (element - parameters.number("first_at_rim", cgen::i32)) * copies);
  at_rim << cgen::for_(cgen::i32, "copy", 0, copies, [&](const Expr& copy, BlockBuilder& inner) {
    const Expr ghost =
        inner.add_constant(cgen::i64, "ghost", parameters.table("ghosts", cgen::i64)[first + copy]);
    BlockBuilder writing;
    write(writing, ghost);
    inner << cgen::if_(cgen::not_equal(ghost, cgen::literal(0, cgen::i64)), writing);
  });
  body << cgen::if_(element >= parameters.number("first_at_rim", cgen::i32), at_rim);
}

cgen::Module announcing_kernel(const KernelShape& shape, const cgen::Type& real, bool is_on_host) {
  cgen::Module module{"dg_announce", {}};
  declare_waiting(module, is_on_host);
  ParameterList parameters(real);
  parameters.number("neighbours", cgen::i32);
  const Expr blocks = parameters.number("blocks", cgen::i32);
  const Expr elements = parameters.number("elements", cgen::i32);
  const Expr first_at_rim = parameters.number("first_at_rim", cgen::i32);
  parameters.number("copies", cgen::i32);
  for (const char* name : {"arrived", "given_up"}) {
    words(parameters, name);
  }
  progress(parameters);
  parameters.table("announced", cgen::pointer_to(cgen::volatile_(cgen::u32)));
  parameters.table("ghosts", cgen::i64);
  const Expr state = parameters.memory("state", cgen::pointer_to(real));
  BlockBuilder body;
  const int of_element = shape.fields * shape.nodes;
  const auto copy = [&](const Expr& first, const Expr& step) {
    body << cgen::for_(
        cgen::i64, "number", first, cgen::cast(cgen::i64, elements - first_at_rim) * of_element,
        [&](const Expr& number, BlockBuilder& inner) {
          const Expr element = inner.add_constant(
              cgen::i32, "element", first_at_rim + cgen::cast(cgen::i32, number / of_element));
          const Expr place = inner.add_constant(cgen::i64, "place", number % of_element);
          const Expr value = inner.add_constant(
              real, "value", state[cgen::cast(cgen::i64, element) * of_element + place]);
          write_ghosts(inner, parameters, element, [&](BlockBuilder& writing, const Expr& ghost) {
            writing << cgen::assign(state[ghost + place], value);
          });
        },
        {.step = step});
  };
  if (is_on_host) {
    wait_for_neighbours(body, parameters, std::nullopt, 1);
    copy(cgen::literal(0, cgen::i64), cgen::literal(1, cgen::i64));
    announce_round(body, parameters, blocks);
  } else {
    const Expr thread =
        body.add_constant(cgen::i32, "thread", cgen::cast(cgen::i32, cgen::thread_idx_x));
    wait_for_neighbours(body, parameters, thread, announcing_threads);
    body << cgen::barrier();
    copy(cgen::cast(cgen::i64, cgen::block_idx_x) * announcing_threads + thread,
         cgen::cast(cgen::i64, blocks) * announcing_threads);
    body << cgen::barrier();
    BlockBuilder first;
    announce_round(first, parameters, blocks);
    body << cgen::if_(cgen::equal(thread, 0), first);
  }
  module.items.push_back(cgen::kernel("announce", parameters.list(), body));
  return module;
}

/// The memory of a rank that its neighbours write.
struct PeerStores::Shared {
  States states;
  Buffer<std::uint32_t> arrived;  ///< by neighbour
};

struct PeerStores::Tables {
  Buffer<std::byte> ghosts;        ///< of elements at the rim, where the first state is written
  Buffer<std::byte> other_ghosts;  ///< the second one
  Buffer<std::byte> announced;
  Buffer<std::byte> progress;
};

std::unique_ptr<PeerStores> PeerStores::make(const KernelShape& shape, const cgen::Type& real,
                                             const Discretization& on, runtime::Device device,
                                             std::int32_t first_at_rim, States states) {
  const std::vector<PartNeighbour>& neighbours = on.part->neighbours;
  std::vector<int> partners;
  for (const PartNeighbour& each : neighbours) {
    partners.push_back(each.part);
  }
  std::unique_ptr<distributed::StoreRounds> rounds =
      distributed::open_store_rounds(*on.group, partners, stores_name);
  if (rounds == nullptr) {
    return nullptr;
  }
  const std::vector<std::uint32_t> zeros(neighbours.size());
  auto own = std::make_shared<const Shared>(
      Shared{std::move(states), distributed::stores_between_processes(*on.group)
                                    ? Buffer<std::uint32_t>(runtime::shareable_memory(
                                          device, zeros.size() * sizeof(std::uint32_t)))
                                    : Buffer<std::uint32_t>(device, zeros.size())});
  own->arrived.write(zeros);
  // to each: where its word is, and the places of its elements among this rank's ghosts
  std::vector<std::vector<std::byte>> texts;
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    std::vector<std::uint32_t> numbers = {static_cast<std::uint32_t>(i)};
    numbers.insert(numbers.end(), neighbours[i].received_elements.begin(),
                   neighbours[i].received_elements.end());
    const auto bytes = distributed::bytes_of(numbers);
    texts.emplace_back(bytes.begin(), bytes.end());
  }
  const auto bytes_of_words = own->arrived.ref().as<std::byte>();
  const auto theirs = rounds->trade(
      texts, std::vector{own->states.first->ref(), own->states.second->ref(), bytes_of_words}, own);
  return theirs ? std::unique_ptr<PeerStores>(new PeerStores(shape, real, on, device, first_at_rim,
                                                             std::move(own), std::move(rounds),
                                                             *theirs))
                : nullptr;
}

PeerStores::PeerStores(const KernelShape& shape, const cgen::Type& real, const Discretization& on,
                       runtime::Device device, std::int32_t first_at_rim,
                       std::shared_ptr<const Shared> own,
                       std::unique_ptr<distributed::StoreRounds> rounds,
                       std::span<const distributed::StoreRounds::Given> theirs)
    : own_(std::move(own)),
      neighbours_(static_cast<std::int32_t>(theirs.size())),
      first_at_rim_(first_at_rim),
      elements_(static_cast<std::int32_t>(on.element_count())),
      announce_([&] {
        const bool is_on_host = device.info().id.kind == runtime::BackendKind::host;
        const cgen::Module module = announcing_kernel(shape, real, is_on_host);
        const cgen::Dialect dialect = loopy::dialect_of(device);
        const SourceText text = cgen::print_module(module, dialect);
        cgen::verify_module(module, dialect, [&] { return text.text; });
        return runtime::Program::compile(device, text, {}, module.name).kernel("announce");
      }()),
      rounds_(std::move(rounds)) {
  const std::vector<PartNeighbour>& neighbours = on.part->neighbours;
  const std::int64_t element_numbers = shape.fields * shape.nodes;
  const std::int64_t real_bytes = real == cgen::f32 ? sizeof(float) : sizeof(double);
  const auto at_rim = static_cast<std::size_t>(elements_ - first_at_rim_);
  numbers_ = static_cast<std::int64_t>(at_rim) * element_numbers;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> copies(at_rim);
  std::vector<DeviceAddress> announced;
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const std::vector<BufferRef<std::byte>>& memory = theirs[i].memory;
    const auto numbers = distributed::values_of<std::uint32_t>(theirs[i].text);
    for (std::size_t k = 0; k < neighbours[i].sent_elements.size(); ++k) {
      // the memory of all ranks is in one space of addresses of this process
      const auto index = [&](const BufferRef<std::byte>& of_theirs, const auto& of_own) {
        const auto distance = static_cast<std::int64_t>(of_theirs.address() - of_own->address());
        return distance / real_bytes + numbers[1 + k] * element_numbers;
      };
      copies[neighbours[i].sent_elements[k] - static_cast<std::uint32_t>(first_at_rim_)]
          .emplace_back(index(memory[0], own_->states.first),
                        index(memory[1], own_->states.second));
    }
    announced.push_back(memory[2].as<std::uint32_t>().subrange(numbers[0], 1).address());
  }
  for (const auto& each : copies) {
    copies_ = std::max(copies_, static_cast<std::int32_t>(each.size()));
  }
  std::vector<std::int64_t> ghosts(at_rim * static_cast<std::size_t>(copies_));
  std::vector<std::int64_t> other_ghosts(ghosts.size());
  for (std::size_t i = 0; i < at_rim; ++i) {
    for (std::size_t k = 0; k < copies[i].size(); ++k) {
      ghosts[i * static_cast<std::size_t>(copies_) + k] = copies[i][k].first;
      other_ghosts[i * static_cast<std::size_t>(copies_) + k] = copies[i][k].second;
    }
  }
  tables_ = std::make_unique<const Tables>(
      Tables{table(device, ghosts), table(device, other_ghosts), table(device, announced),
             table(device, std::vector<std::uint32_t>(2))});
}

PeerStores::~PeerStores() = default;

std::optional<BufferRef<const std::byte>> PeerStores::argument(const std::string& name,
                                                               DeviceAddress written) const {
  if (name == "ghosts") {
    return written == own_->states.first->address() ? tables_->ghosts : tables_->other_ghosts;
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
    return rounds_->given_up().as<const std::byte>();
  }
  return std::nullopt;
}

void PeerStores::run(runtime::StreamRef stream, const std::function<void()>& launch) {
  is_captured_ ? launch() : replay(stream, 1, launch);
}

void PeerStores::replay(runtime::StreamRef stream, int rounds,
                        const std::function<void()>& launch) {
  rounds_->tell(stream);
  rounds_->replay(rounds, launch);
}

void PeerStores::announce(runtime::StreamRef stream, BufferRef<std::byte> state) {
  const bool is_on_host = stream.device().info().id.kind == runtime::BackendKind::host;
  const std::int64_t threads = is_on_host ? 1 : announcing_threads;
  const std::int64_t blocks =
      is_on_host ? 1 : std::min(most_announcing_blocks, (numbers_ + threads - 1) / threads);
  runtime::ArgumentPack pack;
  pack.add(neighbours()).add(static_cast<std::int32_t>(blocks)).add(elements_).add(first_at_rim_);
  pack.add(copies());
  for (const char* name : {"arrived", "given_up", "progress", "announced", "ghosts"}) {
    pack.add(*argument(name, state.address()));
  }
  pack.add(state);
  run(stream, [&] {
    announce_.launch(
        stream, {static_cast<std::uint64_t>(blocks), static_cast<std::uint64_t>(threads), 0}, pack);
  });
}

void PeerStores::begin_capture() {
  rounds_->begin_capture();
  is_captured_ = true;
}

void PeerStores::end_capture() {
  rounds_->end_capture();
  is_captured_ = false;
}

}  // namespace rtcg::dg::detail
