// A kernel on the host: the function of one thread, and an entry that runs it over a launch.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/ast/walk.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/lower/lowering.h"

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

std::optional<double> literal_of(const std::optional<Expr>& tree) {
  const auto* literal = tree ? get_if<IntLiteral>(*tree) : nullptr;
  if (literal == nullptr) {
    return std::nullopt;
  }
  const auto magnitude = static_cast<double>(literal->magnitude);
  return literal->is_negative ? -magnitude : magnitude;
}

// The rounds of `for (T i = a; i < b; ++i)`, where a and b are numbers.
std::optional<double> rounds_of(const For& loop) {
  const auto* init = loop.init ? get_if<Declaration>(*loop.init) : nullptr;
  const auto* test = loop.condition ? get_if<Binary>(*loop.condition) : nullptr;
  const auto* step = loop.step ? get_if<Unary>(*loop.step) : nullptr;
  if (init == nullptr || test == nullptr || test->op != BinaryOp::less || step == nullptr) {
    return std::nullopt;
  }
  const auto is_counter = [&](const Expr& tree) {
    const auto* variable = get_if<Variable>(tree);
    return variable != nullptr && variable->name == init->name;
  };
  const auto first = literal_of(init->initializer);
  const auto end = literal_of(test->right);
  const bool counts = is_counter(test->left) && is_counter(step->operand) &&
                      (step->op == UnaryOp::pre_increment || step->op == UnaryOp::post_increment);
  if (!counts || !first || !end) {
    return std::nullopt;
  }
  return std::max(0.0, *end - *first);
}

// The largest number of operators, subscripts and assignments that run. Unknown if a loop's length
// is not a number, or if a called function or raw text may have loops.
class OperationCount {
 public:
  [[nodiscard]] std::optional<double> of(const Statement& body) {
    add(body, 1);
    return is_known_ ? std::optional(count_) : std::nullopt;
  }

 private:
  // Expressions may be deeper than a stack.
  void add(const Expr& tree, double times) {
    auto visit = [&](const auto& part) {
      if constexpr (std::is_same_v<std::decay_t<decltype(part)>, Expr>) {
        match(
            part, [&](const Binary&) { count_ += times; }, [&](const Unary&) { count_ += times; },
            [&](const AssignExpr&) { count_ += times; },
            [&](const Conditional&) { count_ += times; },
            [&](const Subscript&) { count_ += times; },
            [&](const IntrinsicCall&) { is_known_ = false; },
            [&](const Call&) { is_known_ = false; },
            [&](const KernelLaunch&) { is_known_ = false; },
            [&](const Lambda&) { is_known_ = false; }, [&](const RawExpr&) { is_known_ = false; },
            [&](const auto&) {});
        return is_known_;
      }
      return false;
    };
    detail::Walk walk(visit);
    walk(tree);
  }
  void add(const Statement& tree, double times) {
    match(
        tree,
        [&](const For& loop) {
          const auto rounds = rounds_of(loop);
          is_known_ = is_known_ && rounds;
          times *= rounds.value_or(1);
        },
        [&](const Block&) {}, [&](const Group&) {}, [&](const If&) {},
        [&](const ExpressionStatement&) {}, [&](const Declaration&) {}, [&](const Comment&) {},
        [&](const BlankLine&) {}, [&](const Pragma&) {}, [&](const EmptyStatement&) {},
        [&](const Barrier&) {}, [&](const MemoryFence&) {}, [&](const Return&) {},
        [&](const Break&) {}, [&](const Continue&) {}, [&](const auto&) { is_known_ = false; });
    if (!is_known_) {
      return;
    }
    auto visit = [&](const auto& child) {
      if constexpr (!std::is_same_v<std::decay_t<decltype(child)>, Type>) {
        add(child, times);
      }
    };
    detail::visit_children(tree, visit);
  }

  double count_ = 0;
  bool is_known_ = true;
};

// In powers of two: a change of a kernel's details leaves the line as it is.
std::string operations_text(const Statement& body) {
  const auto count = OperationCount().of(body);
  return count ? fmt::format("{:.0f}", std::exp2(std::ceil(std::log2(std::max(*count, 1.0)))))
               : "RTCG_MANY";
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
  body.push_back(
      Statement(Pragma{fmt::format("omp parallel for collapse(3) if(rtcg_is_parallel({}, {}))",
                                   indices.launch, operations_text(*kernel.body))},
                where));
  body.push_back(loops);
  entry.body = Statement(Block{std::move(body)}, where);

  return {Statement(std::move(thread), where), Statement(BlankLine{}, where),
          Statement(ExpressionStatement{call(variable("RTCG_PARAMETER_BYTES", Type(), where),
                                             std::move(sizes))},
                    where),
          Statement(BlankLine{}, where), Statement(std::move(entry), where)};
}

}  // namespace rtcg::cgen
