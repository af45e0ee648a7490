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

// Of parts that are apart; one of them may be what becomes the result.
cgen::Module reduction_of_parts_apart(NumberKind kind, Operation operation, int size) {
  const cgen::Type number = type_of(kind);
  std::vector<cgen::Parameter> parameters = {{cgen::pointer_to(number), "values", {}, {}}};
  for (int rank = 0; rank < size; ++rank) {
    parameters.push_back(
        {cgen::pointer_to(cgen::const_(number)), fmt::format("part_{}", rank), {}, {}});
  }
  return kernel_of_items(fmt::format("{}_of_{}_ranks_apart", name_of(operation), size),
                         "reduce_parts_apart", parameters, [&](BlockBuilder& work, const Expr& i) {
                           const Expr of_rank = work.add_array(number, "of_rank", size);
                           for (int rank = 0; rank < size; ++rank) {
                             const Expr part =
                                 variable_of(parameters[static_cast<std::size_t>(rank) + 1]);
                             work << cgen::assign(of_rank[rank], part[i]);
                           }
                           combine(work, of_rank, size, operation);
                           work << cgen::assign(variable_of(parameters[0])[i], of_rank[0]);
                         });
}

cgen::Module copying(std::size_t targets) {
  std::vector<cgen::Parameter> parameters = {
      {cgen::restrict_pointer_to(cgen::const_(cgen::u32)), "values", {}, {}}};
  for (std::size_t i = 0; i < targets; ++i) {
    parameters.push_back(
        {cgen::restrict_pointer_to(cgen::u32), fmt::format("target_{}", i), {}, {}});
  }
  return kernel_of_items(fmt::format("copy_to_{}", targets), "copy_to_all", parameters,
                         [&](BlockBuilder& work, const Expr& i) {
                           const Expr value =
                               work.add_constant(cgen::u32, "value", variable_of(parameters[0])[i]);
                           for (std::size_t target = 1; target <= targets; ++target) {
                             work << cgen::assign(variable_of(parameters[target])[i], value);
                           }
                         });
}

// Compiled at its first use in the group.
template <class Make>
const runtime::Kernel& known_kernel(const Group& group, const std::string& key,
                                    const runtime::Device& device, const char* name,
                                    const Make& make) {
  std::map<std::string, runtime::Kernel>& known = group.state().reductions;
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

std::size_t size_bytes(NumberKind kind) {
  return kind == NumberKind::f32 || kind == NumberKind::i32 ? 4 : 8;
}

void reduce_parts(const Group& group, runtime::StreamRef stream,
                  runtime::BufferRef<const std::byte> parts, runtime::BufferRef<std::byte> values,
                  NumberKind kind, Operation operation) {
  const std::string key = fmt::format("{} {}", name_of(operation), static_cast<int>(kind));
  const runtime::Kernel& kernel = known_kernel(group, key, stream.device(), "reduce_parts", [&] {
    return reduction(kind, operation, group.size());
  });
  const std::size_t count = values.count() / size_bytes(kind);
  runtime::ArgumentPack pack;
  pack.add(static_cast<std::int64_t>(count)).add(parts).add(values);
  launch(kernel, stream, count, pack);
}

void reduce_parts_apart(const Group& group, runtime::StreamRef stream,
                        std::span<const runtime::BufferRef<const std::byte>> parts,
                        runtime::BufferRef<std::byte> values, NumberKind kind,
                        Operation operation) {
  const std::string key = fmt::format("apart {} {}", name_of(operation), static_cast<int>(kind));
  const runtime::Kernel& kernel =
      known_kernel(group, key, stream.device(), "reduce_parts_apart",
                   [&] { return reduction_of_parts_apart(kind, operation, group.size()); });
  const std::size_t count = values.count() / size_bytes(kind);
  runtime::ArgumentPack pack;
  pack.add(static_cast<std::int64_t>(count)).add(values);
  for (const runtime::BufferRef<const std::byte>& each : parts) {
    pack.add(each);
  }
  launch(kernel, stream, count, pack);
}

void copy_to_all(const Group& group, runtime::StreamRef stream,
                 runtime::BufferRef<const std::byte> values,
                 std::span<const runtime::BufferRef<std::byte>> targets) {
  const runtime::Kernel& kernel = known_kernel(group, "copy", stream.device(), "copy_to_all",
                                               [&] { return copying(targets.size()); });
  const std::size_t words = values.count() / sizeof(std::uint32_t);
  runtime::ArgumentPack pack;
  pack.add(static_cast<std::int64_t>(words)).add(values);
  for (const runtime::BufferRef<std::byte>& each : targets) {
    pack.add(each);
  }
  launch(kernel, stream, words, pack);
}

}  // namespace rtcg::distributed::detail
