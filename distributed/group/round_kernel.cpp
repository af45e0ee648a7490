#include "rtcg/distributed/group/round_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/execute/target_of.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::distributed::detail {
namespace {

using cgen::BlockBuilder;
using cgen::DeclaredParameter;
using cgen::Expr;

constexpr const char* kernel_name = "exchange_messages";
constexpr int threads = 512;
// Elements that a thread loads before it stores them.
constexpr int elements_at_once = 4;
// More blocks are no faster: the link is busy, and each block ends with a fence.
constexpr std::size_t most_blocks = 32;

cgen::Type element_of(std::size_t bytes) {
  return bytes == 16 ? cgen::vector_of(cgen::u32, 4) : bytes == 4 ? cgen::u32 : cgen::u8;
}

// The parameters of a partner. Flags are written by others: each look is a load.
struct PartnerParameters {
  PartnerParameters(const cgen::Type& element, std::size_t partner)
      : count(cgen::param(cgen::i64, fmt::format("count_{}", partner))),
        message(cgen::param(cgen::restrict_pointer_to(cgen::const_(element)),
                            fmt::format("message_{}", partner))),
        place(cgen::param(cgen::restrict_pointer_to(element), fmt::format("place_{}", partner))),
        set(cgen::param(cgen::pointer_to(cgen::volatile_(cgen::u32)),
                        fmt::format("flag_to_{}", partner))),
        awaited(cgen::param(cgen::pointer_to(cgen::volatile_(cgen::u32)),
                            fmt::format("flag_from_{}", partner))) {}

  DeclaredParameter count;
  DeclaredParameter message;
  DeclaredParameter place;
  DeclaredParameter set;
  DeclaredParameter awaited;
};

cgen::Statement system_fence() {
  return cgen::Statement(cgen::MemoryFence{cgen::FenceScope::system});
}

bool is_multiple(const runtime::BufferRef<const std::byte>& memory, std::size_t bytes) {
  return memory.address() % bytes == 0 && memory.count() % bytes == 0;
}

const runtime::Kernel& known_kernel(const Group& group, std::size_t partners,
                                    std::size_t element_bytes, bool is_one_thread) {
  std::map<std::pair<std::size_t, std::size_t>, runtime::Kernel>& known = group.state().exchanges;
  const std::pair<std::size_t, std::size_t> key = {partners, element_bytes};
  const auto found = known.find(key);
  if (found != known.end()) {
    return found->second;
  }
  const runtime::Device device = group.device();
  const cgen::Module module = round_kernel(partners, element_bytes, is_one_thread);
  const cgen::Dialect dialect = loopy::dialect_of(device);
  const SourceText text = cgen::print_module(module, dialect);
  cgen::verify_module(module, dialect, [&] { return text.text; });
  const runtime::Program program = runtime::Program::compile(device, text, {}, module.name);
  return known.emplace(key, program.kernel(kernel_name)).first->second;
}

}  // namespace

cgen::Module round_kernel(std::size_t partners, std::size_t element_bytes, bool is_one_thread) {
  const cgen::Type element = element_of(element_bytes);
  const DeclaredParameter bit = cgen::param(cgen::u32, "bit");
  const DeclaredParameter ended = cgen::param(cgen::pointer_to(cgen::u32), "ended_blocks");
  std::vector<cgen::Parameter> parameters = {bit, ended};
  std::vector<PartnerParameters> all;
  for (std::size_t partner = 0; partner < partners; ++partner) {
    const PartnerParameters& each = all.emplace_back(element, partner);
    parameters.insert(parameters.end(),
                      {each.count, each.message, each.place, each.set, each.awaited});
  }
  BlockBuilder body;
  const Expr first = body.add_constant(
      cgen::i64, "first",
      cgen::cast(cgen::i64, cgen::block_idx_x) * cgen::block_dim_x + cgen::thread_idx_x);
  const Expr step = body.add_constant(cgen::i64, "step",
                                      cgen::cast(cgen::i64, cgen::grid_dim_x) * cgen::block_dim_x);
  for (const PartnerParameters& each : all) {
    body << cgen::for_(cgen::i64, "i", first, each.count,
                       [&](const Expr& i, BlockBuilder& work) {
                         work << cgen::assign(each.place[i], each.message[i]);
                       },
                       {.step = step, .unroll = elements_at_once});
  }
  const auto meet = [&](BlockBuilder& work) {
    work << system_fence();
    for (const PartnerParameters& each : all) {
      work << cgen::assign(each.set[0], bit);
    }
    for (const PartnerParameters& each : all) {
      work << cgen::while_(cgen::equal(each.awaited[0] & bit, cgen::literal(0, cgen::u32)),
                           BlockBuilder());
    }
    work << system_fence();
  };
  if (is_one_thread) {
    meet(body);
  } else {
    BlockBuilder last;
    last << cgen::assign(ended[0], cgen::literal(0, cgen::u32));
    meet(last);
    // what the block's threads have stored comes before what this thread counts
    BlockBuilder end;
    end << system_fence();
    const Expr before = end.add_constant(
        cgen::u32, "before",
        cgen::call(cgen::Intrinsic::atomic_add, {ended, cgen::literal(1, cgen::u32)}));
    end << cgen::if_(cgen::equal(before, cgen::grid_dim_x - 1), last);
    body << cgen::barrier() << cgen::if_(cgen::equal(cgen::thread_idx_x, 0), end);
  }
  cgen::Module module{fmt::format("round_of_{}_messages", partners), {}};
  module.items.push_back(cgen::kernel(kernel_name, parameters, body));
  return module;
}

void exchange_in_one_launch(const Group& group, PeerRounds& rounds, runtime::StreamRef stream,
                            std::span<const runtime::BufferRef<const std::byte>> messages) {
  const bool is_one_thread = stream.device().info().id.kind == runtime::BackendKind::host;
  std::vector<PeerRounds::Ports> ports;
  std::size_t element_bytes = 16;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const PeerRounds::Ports& each = ports.emplace_back(rounds.ports(i));
    while (!is_multiple(messages[i], element_bytes) || !is_multiple(each.out, element_bytes)) {
      element_bytes /= 4;  // 16, 4, 1
    }
    longest = std::max(longest, messages[i].count());
  }
  const runtime::Kernel& kernel =
      known_kernel(group, messages.size(), element_bytes, is_one_thread);
  runtime::ArgumentPack pack;
  pack.add(rounds.bit()).add(rounds.counter(stream.device()));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    pack.add(static_cast<std::int64_t>(messages[i].count() / element_bytes))
        .add(messages[i])
        .add(ports[i].out)
        .add(ports[i].set)
        .add(ports[i].awaited);
  }
  constexpr std::size_t of_block = std::size_t{threads} * elements_at_once;
  const std::size_t blocks =
      std::clamp<std::size_t>((longest / element_bytes + of_block - 1) / of_block, 1, most_blocks);
  const runtime::LaunchShape shape =
      is_one_thread ? runtime::LaunchShape{1, 1} : runtime::LaunchShape{blocks, threads};
  rounds.replay(1, [&] { kernel.launch(stream, shape, pack); });
}

}  // namespace rtcg::distributed::detail
