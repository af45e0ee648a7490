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

cgen::Module reduction(NumberKind kind, Operation operation, int size) {
  const cgen::Type number = type_of(kind);
  const std::vector<cgen::Parameter> parameters = {
      {cgen::i64, "count", {}, {}},
      {cgen::restrict_pointer_to(cgen::const_(number)), "parts", {}, {}},
      {cgen::restrict_pointer_to(number), "values", {}, {}}};
  const Expr count = cgen::variable("count", cgen::i64);
  const Expr parts = cgen::variable("parts", parameters[1].type);
  const Expr values = cgen::variable("values", parameters[2].type);
  BlockBuilder body;
  const Expr i = body.add_constant(
      cgen::i64, "i",
      cgen::cast(cgen::i64, cgen::block_idx_x) * cgen::block_dim_x + cgen::thread_idx_x);
  BlockBuilder work;
  const Expr of_rank = work.add_array(number, "of_rank", size);
  for (int rank = 0; rank < size; ++rank) {
    work << cgen::assign(of_rank[rank], parts[count * rank + i]);
  }
  for (int step = 1; step < size; step *= 2) {
    for (int rank = 0; rank + step < size; rank += 2 * step) {
      work << cgen::assign(of_rank[rank],
                           combination(of_rank[rank], of_rank[rank + step], operation));
    }
  }
  work << cgen::assign(values[i], of_rank[0]);
  body << cgen::if_(i < count, work);
  cgen::Module module{fmt::format("{}_of_{}_ranks", name_of(operation), size), {}};
  module.items.push_back(cgen::kernel("reduce_parts", parameters, body));
  return module;
}

}  // namespace

std::size_t size_bytes(NumberKind kind) {
  return kind == NumberKind::f32 || kind == NumberKind::i32 ? 4 : 8;
}

void reduce_parts(const Group& group, runtime::StreamRef stream,
                  runtime::BufferRef<const std::byte> parts, runtime::BufferRef<std::byte> values,
                  NumberKind kind, Operation operation) {
  std::map<std::string, runtime::Kernel>& known = group.state().reductions;
  const std::string key = fmt::format("{} {}", name_of(operation), static_cast<int>(kind));
  auto found = known.find(key);
  if (found == known.end()) {
    const cgen::Module module = reduction(kind, operation, group.size());
    const cgen::Dialect dialect = loopy::dialect_of(stream.device());
    const SourceText text = cgen::print_module(module, dialect);
    cgen::verify_module(module, dialect, [&] { return text.text; });
    const runtime::Program program =
        runtime::Program::compile(stream.device(), text, {}, module.name);
    found = known.emplace(key, program.kernel("reduce_parts")).first;
  }
  const std::size_t count = values.count() / size_bytes(kind);
  runtime::ArgumentPack pack;
  pack.add(static_cast<std::int64_t>(count)).add(parts).add(values);
  found->second.launch(stream, {(count + block - 1) / block, block, 0}, pack);
}

}  // namespace rtcg::distributed::detail
