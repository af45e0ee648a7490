// A kernel on the host: the function of one thread, and an entry that runs it over a launch.
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/dialect/lowering.h"

namespace rtcg::cgen {

namespace {

/// One loop over an axis of the grid or of a block around `body`.
Statement axis_loop(const Type& type, const std::string& counter, const Expr& count,
                    const Statement& body, SourceOrigin where) {
  const Expr name = variable(counter, type, where);
  return Statement(
      For{Statement(Declaration{.type = type, .name = counter, .initializer = 0}, where),
          name < count,
          increment(name),
          Statement(Block{{body}}, where),
          {}},
      where);
}

}  // namespace

std::vector<Statement> lower_host_kernel(const Statement& tree, const Function& kernel,
                                         const HostIndexNames& indices, NameGenerator& names) {
  const SourceOrigin where = tree.where();
  const std::set<std::string> used = free_names(*kernel.body);

  // the function of one thread: the kernel's parameters and the indices that it reads
  Function thread = kernel;
  thread.name = names.make(kernel.name + "_thread");
  thread.specifiers = {};
  thread.specifiers.is_static = true;
  thread.specifiers.is_inline = true;
  thread.launch_bounds.reset();
  const Expr launch = variable(indices.launch, pointer_to(const_(named("rtcg_launch"))), where);
  const Expr grid = Expr(Member{launch, "grid"}, where);
  const Expr block = Expr(Member{launch, "block"}, where);
  std::vector<Expr> arguments;
  for (const Parameter& parameter : kernel.parameters) {
    arguments.push_back(variable(parameter.name, parameter.type, where));
  }
  for (int kind = 0; kind < 4; ++kind) {
    for (int axis = 0; axis < 3; ++axis) {
      const std::string& name = indices.name[kind][axis];
      if (used.count(name) == 0) {
        continue;
      }
      thread.parameters.push_back({u32, name, {}, {}});
      switch (static_cast<BuiltinKind>(kind)) {
        case BuiltinKind::thread_idx:
        case BuiltinKind::block_idx:
          arguments.push_back(variable(name, u32, where));
          break;
        case BuiltinKind::block_dim:
          arguments.push_back(block[axis]);
          break;
        case BuiltinKind::grid_dim:
          arguments.push_back(Expr(Cast{u32, grid[axis], CastStyle::c_style}, where));
          break;
      }
    }
  }

  Statement loops = Statement(
      ExpressionStatement{call(variable(thread.name, Type(), where), std::move(arguments))}, where);
  for (int axis = 0; axis < 3; ++axis) {
    const std::string& name = indices.name[static_cast<int>(BuiltinKind::thread_idx)][axis];
    loops = axis_loop(u32, name, block[axis], loops, where);
  }
  for (int axis = 0; axis < 3; ++axis) {
    const std::string& name = indices.name[static_cast<int>(BuiltinKind::block_idx)][axis];
    loops = axis_loop(u64, name, grid[axis], loops, where);
  }

  Function entry;
  entry.result = named("RTCG_KERNEL void");  // the macro makes the symbol visible and unmangled
  entry.name = kernel.name;
  entry.parameters = {{pointer_to(const_(named("rtcg_launch"))), indices.launch, {}, {}},
                      {pointer_to(const_(pointer_to(void_type))), indices.arguments, {}, {}}};
  std::vector<Statement> body;
  std::vector<Expr> sizes = {variable(kernel.name, Type(), where),
                             Expr(static_cast<int>(kernel.parameters.size()))};
  const Expr values = variable(indices.arguments, entry.parameters[1].type, where);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    const Type type = without_qualifiers(parameter.type);
    const Expr value = deref(cast(pointer_to(type), values[static_cast<int>(i)]));
    body.push_back(Statement(
        Declaration{.type = parameter.type, .name = parameter.name, .initializer = value}, where));
    sizes.push_back(sizeof_(type));
  }
  if (kernel.parameters.empty()) {
    body.push_back(Statement(
        ExpressionStatement{Expr(Cast{void_type, values, CastStyle::c_style}, where)}, where));
  }
  body.push_back(Statement(Pragma{"omp parallel for collapse(3)"}, where));
  body.push_back(loops);
  entry.body = Statement(Block{std::move(body)}, where);

  return {Statement(std::move(thread), where), Statement(BlankLine{}, where),
          Statement(ExpressionStatement{call(variable("RTCG_PARAMETER_BYTES", Type(), where),
                                             std::move(sizes))},
                    where),
          Statement(BlankLine{}, where), Statement(std::move(entry), where)};
}

}  // namespace rtcg::cgen
