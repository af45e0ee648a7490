#include "rtcg/distributed/collectives/reduce_parts.h"

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/execute/target_of.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::distributed::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;

constexpr int block = 128;
constexpr int warp = 32;
constexpr int one_launch_keys = 12;  // after those of reduce_parts

cgen::Type type_of(NumberKind kind) {
  switch (kind) {
    case NumberKind::f32:
      return cgen::f32;
    case NumberKind::f64:
      return cgen::f64;
    case NumberKind::i32:
      return cgen::i32;
    case NumberKind::i64:
      return cgen::i64;
  }
  return cgen::f64;
}

const char* name_of(Operation operation) {
  return operation == Operation::sum ? "sum" : operation == Operation::min ? "min" : "max";
}

// As combined() does it.
Expr combination(const Expr& a, const Expr& b, Operation operation) {
  if (operation == Operation::sum) {
    return a + b;
  }
  return cgen::select(cgen::not_equal(a, a) || (operation == Operation::min ? a < b : a > b), a, b);
}

Expr item() {
  return cgen::cast(cgen::i64, cgen::block_idx_x) * cgen::block_dim_x + cgen::thread_idx_x;
}

// A kernel for `count` items, whose first parameter that is; `work` writes what is done for one.
template <class Work>
cgen::Module kernel_of_items(std::string module_name, const char* name,
                             std::vector<cgen::Parameter> parameters, const Work& work) {
  parameters.insert(parameters.begin(), {cgen::i64, "count", {}, {}});
  BlockBuilder body;
  const Expr i = body.add_constant(cgen::i64, "i", item());
  BlockBuilder of_item;
  work(of_item, i);
  body << cgen::if_(i < cgen::variable("count", cgen::i64), of_item);
  cgen::Module module{std::move(module_name), {}};
  module.items.push_back(cgen::kernel(name, parameters, body));
  return module;
}

Expr variable_of(const cgen::Parameter& parameter) {
  return cgen::variable(parameter.name, parameter.type);
}

// of_rank[0] becomes the combination of all.
void combine(BlockBuilder& work, const Expr& of_rank, int size, Operation operation) {
  for (int step = 1; step < size; step *= 2) {
    for (int rank = 0; rank + step < size; rank += 2 * step) {
      work << cgen::assign(of_rank[rank],
                           combination(of_rank[rank], of_rank[rank + step], operation));
    }
  }
}

cgen::Module reduction(NumberKind kind, Operation operation, int size) {
  const cgen::Type number = type_of(kind);
  const cgen::Parameter parts = {cgen::restrict_pointer_to(cgen::const_(number)), "parts", {}, {}};
  const cgen::Parameter values = {cgen::restrict_pointer_to(number), "values", {}, {}};
  return kernel_of_items(fmt::format("{}_of_{}_ranks", name_of(operation), size), "reduce_parts",
                         {parts, values}, [&](BlockBuilder& work, const Expr& i) {
                           const Expr of_rank = work.add_array(number, "of_rank", size);
                           const Expr count = cgen::variable("count", cgen::i64);
                           for (int rank = 0; rank < size; ++rank) {
                             work << cgen::assign(of_rank[rank],
                                                  variable_of(parts)[count * rank + i]);
                           }
                           combine(work, of_rank, size, operation);
                           work << cgen::assign(variable_of(values)[i], of_rank[0]);
                         });
}

// The parameters of a partner: its memory for values, its flag, and ours. What others write
// meanwhile is read from memory each time.
struct PartnerParameters {
  cgen::Parameter values;
  cgen::Parameter set;
  cgen::Parameter awaited;

  PartnerParameters(const cgen::Type& number, int partner)
      : values{cgen::pointer_to(number), fmt::format("to_{}", partner), {}, {}},
        set{cgen::pointer_to(cgen::volatile_(cgen::u32)),
            fmt::format("flag_to_{}", partner),
            {},
            {}},
        awaited{cgen::pointer_to(cgen::volatile_(cgen::u32)),
                fmt::format("flag_from_{}", partner),
                {},
                {}} {}
};

cgen::Statement system_fence() {
  return cgen::Statement(cgen::MemoryFence{cgen::FenceScope::system});
}

// Compiled at its first use in the group.
template <class Make>
const runtime::Kernel& known_kernel(const Group& group, int key, const runtime::Device& device,
                                    const char* name, const Make& make) {
  std::map<int, runtime::Kernel>& known = group.state().reductions;
  const auto found = known.find(key);
  if (found != known.end()) {
    return found->second;
  }
  const cgen::Module module = make();
  const cgen::Dialect dialect = loopy::dialect_of(device);
  const SourceText text = cgen::print_module(module, dialect);
  cgen::verify_module(module, dialect, [&] { return text.text; });
  const runtime::Program program = runtime::Program::compile(device, text, {}, module.name);
  return known.emplace(key, program.kernel(name)).first->second;
}

void launch(const runtime::Kernel& kernel, runtime::StreamRef stream, std::size_t count,
            const runtime::ArgumentPack& pack) {
  kernel.launch(stream, {(count + block - 1) / block, block, 0}, pack);
}

}  // namespace

cgen::Module reduction_in_one_launch(NumberKind kind, Operation operation, int size,
                                     bool is_one_thread) {
  const cgen::Type number = type_of(kind);
  std::vector<cgen::Parameter> parameters = {{cgen::i32, "count", {}, {}},
                                             {cgen::u32, "bit", {}, {}},
                                             {cgen::pointer_to(number), "values", {}, {}}};
  std::vector<PartnerParameters> partners;
  for (int partner = 0; partner + 1 < size; ++partner) {
    const PartnerParameters& each = partners.emplace_back(number, partner);
    parameters.insert(parameters.end(), {each.values, each.set, each.awaited});
  }
  std::vector<cgen::Parameter> parts;  // by rank; the own one is `values`
  for (int rank = 0; rank < size; ++rank) {
    parts.push_back(
        {cgen::pointer_to(cgen::volatile_(number)), fmt::format("of_rank_{}", rank), {}, {}});
  }
  parameters.insert(parameters.end(), parts.begin(), parts.end());
  const Expr count = variable_of(parameters[0]);
  const Expr bit = variable_of(parameters[1]);
  const Expr values = variable_of(parameters[2]);
  const Expr thread = cgen::cast(cgen::i32, cgen::thread_idx_x);
  const cgen::ForOptions by_threads = {.step = cgen::cast(cgen::i32, cgen::block_dim_x)};
  BlockBuilder body;
  body << cgen::for_(
      cgen::i32, "i", thread, count,
      [&](const Expr& i, BlockBuilder& work) {
        const Expr value = work.add_constant(number, "value", values[i]);
        for (const PartnerParameters& each : partners) {
          work << cgen::assign(variable_of(each.values)[i], value);
        }
      },
      by_threads);
  body << system_fence();
  const auto meet = [&] {
    if (!is_one_thread) {
      body << cgen::barrier();
    }
  };
  meet();
  BlockBuilder meeting;
  for (const PartnerParameters& each : partners) {
    meeting << cgen::assign(variable_of(each.set)[0], bit);
  }
  for (const PartnerParameters& each : partners) {
    meeting << cgen::while_(
        cgen::equal(variable_of(each.awaited)[0] & bit, cgen::literal(0, cgen::u32)),
        BlockBuilder());
  }
  meeting << system_fence();
  body << cgen::if_(cgen::equal(thread, 0), meeting);
  meet();
  body << cgen::for_(
      cgen::i32, "i", thread, count,
      [&](const Expr& i, BlockBuilder& work) {
        const Expr of_rank = work.add_array(number, "of_rank", size);
        for (int rank = 0; rank < size; ++rank) {
          work << cgen::assign(of_rank[rank],
                               variable_of(parts[static_cast<std::size_t>(rank)])[i]);
        }
        combine(work, of_rank, size, operation);
        work << cgen::assign(values[i], of_rank[0]);
      },
      by_threads);
  cgen::Module module{fmt::format("{}_of_{}_ranks_at_once", name_of(operation), size), {}};
  module.items.push_back(cgen::kernel("reduce_in_one_launch", parameters, body));
  return module;
}

std::size_t size_bytes(NumberKind kind) {
  return kind == NumberKind::f32 || kind == NumberKind::i32 ? 4 : 8;
}

void reduce_parts(const Group& group, runtime::StreamRef stream,
                  runtime::BufferRef<const std::byte> parts, runtime::BufferRef<std::byte> values,
                  NumberKind kind, Operation operation) {
  const auto key = 4 * static_cast<int>(operation) + static_cast<int>(kind);
  const runtime::Kernel& kernel = known_kernel(group, key, stream.device(), "reduce_parts", [&] {
    return reduction(kind, operation, group.size());
  });
  const std::size_t count = values.count() / size_bytes(kind);
  runtime::ArgumentPack pack;
  pack.add(static_cast<std::int64_t>(count)).add(parts).add(values);
  launch(kernel, stream, count, pack);
}

void reduce_in_one_launch(const Group& group, PeerRounds& rounds, runtime::StreamRef stream,
                          runtime::BufferRef<std::byte> values, NumberKind kind,
                          Operation operation) {
  const auto key = one_launch_keys + 4 * static_cast<int>(operation) + static_cast<int>(kind);
  const bool is_one_thread = stream.device().info().id.kind == runtime::BackendKind::host;
  const runtime::Kernel& kernel = known_kernel(
      group, key, stream.device(), "reduce_in_one_launch",
      [&] { return reduction_in_one_launch(kind, operation, group.size(), is_one_thread); });
  const std::size_t count = values.count() / size_bytes(kind);
  runtime::ArgumentPack pack;
  pack.add(static_cast<std::int32_t>(count)).add(rounds.bit()).add(values);
  std::vector<runtime::BufferRef<std::byte>> parts;
  for (std::size_t i = 0; i < rounds.partners(); ++i) {  // the other ranks, ascending
    const PeerRounds::Ports ports = rounds.ports(i);
    pack.add(ports.out).add(ports.set).add(ports.awaited);
    parts.push_back(ports.in);
  }
  parts.insert(parts.begin() + group.rank(), values);
  for (const runtime::BufferRef<std::byte>& each : parts) {
    pack.add(each);
  }
  const int threads = is_one_thread ? 1 : count < block ? warp : 4 * block;
  rounds.replay(1, [&] {
    kernel.launch(stream, {1, static_cast<std::uint64_t>(threads), 0}, pack);
  });
}

}  // namespace rtcg::distributed::detail
