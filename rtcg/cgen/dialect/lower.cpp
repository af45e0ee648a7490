#include "rtcg/cgen/dialect/lower.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/build/fresh_names.h"
#include "rtcg/cgen/dialect/lowering.h"

namespace rtcg::cgen {

namespace {

bool is_host(Dialect dialect) {
  return dialect == Dialect::c || dialect == Dialect::cpp;
}
bool is_c_like(Dialect dialect) {
  return dialect == Dialect::c || dialect == Dialect::opencl;
}

constexpr std::string_view kind_words[] = {"thread", "block", "block_dim", "grid_dim"};
constexpr std::string_view axis_words[] = {"x", "y", "z"};

/// One module on its way into one dialect.
class Lowering {
 public:
  Lowering(const Module& module, Dialect dialect) : module_(module), dialect_(dialect) {
    if (is_host(dialect)) {
      names_ = fresh_names(dialect, module);
      for (int kind = 0; kind < 4; ++kind) {
        for (int axis = 0; axis < 3; ++axis) {
          indices_.name[kind][axis] =
              names_.make(fmt::format("{}_{}", kind_words[kind], axis_words[axis]));
        }
      }
    }
  }

  Module run() {
    refuse_what_is_missing(module_, dialect_, [this](const Type& type) { note_type(type); });
    Module lowered = module_;
    for (Statement& item : lowered.items) {
      item = lower_item(item);
    }
    // after the rewriting: kernels only at file scope become entries
    lowered.items = lower_items(lowered.items);
    add_needs(lowered);  // last: it knows what the others used
    return lowered;
  }

 private:
  Statement lower_item(const Statement& item);
  Statement rewritten(const Statement& tree);
  Expr lower_expr(const Expr& tree);
  Expr lower_index(const Expr& tree, const BuiltinIndex& index);
  Statement lower_statement(const Statement& tree);
  std::vector<Statement> lower_items(const std::vector<Statement>& items);
  Function lower_opencl_kernel(const Function& kernel);
  void refuse_indices_outside_kernels(const Statement& tree, const Function& function);
  void note_type(const Type& type);
  void note_vector_operator(const Binary& node);
  void add_needs(Module& lowered);

  const Module& module_;
  Dialect dialect_;
  NameGenerator names_;
  HostIndexNames indices_;
  Needs needs_;
  std::map<std::string, std::string> vector_typedefs_;
  bool has_host_kernel_ = false;
};

/// Whether anything below `tree` may come out differently: most statements of most kernels are the
/// same in every dialect, and looking is ten times cheaper than rebuilding.
bool may_need_lowering(const Statement& tree) {
  bool found = false;
  const auto is_vector = [](const Expr& e) { return is<Vector>(value_type(e.type())); };
  walk(tree, {{},
              [&](const Expr& expr) {
                found =
                    found ||
                    match(
                        expr, [](const IntLiteral&) { return false; },
                        [](const FloatLiteral&) { return false; },
                        [](const Variable&) { return false; },
                        [&](const Binary& e) { return is_vector(e.left) || is_vector(e.right); },
                        [&](const Assignment& e) { return is_vector(e.target); },
                        [&](const Unary& e) { return is_vector(e.operand); },
                        [&](const Member& e) { return is_vector(e.object); },
                        [](const Subscript&) { return false; }, [](const Call&) { return false; },
                        [](const Conditional&) { return false; },
                        [](const Cast& e) { return e.style != CastStyle::c_style; },
                        [](const auto&) { return true; });
                return !found;
              },
              [&](const Statement& statement) {
                found = found ||
                        match(
                            statement, [](const ExpressionStatement&) { return false; },
                            [](const Declaration& s) { return s.specifiers.is_constexpr; },
                            [](const Block&) { return false; }, [](const If&) { return false; },
                            [](const For&) { return false; }, [](const Comment&) { return false; },
                            [](const BlankLine&) { return false; },
                            [](const Return&) { return false; }, [](const auto&) { return true; });
                return !found;
              }});
  return found;
}

/// Leaves first, so that what replaces an intrinsic sees lowered arguments.
Statement Lowering::rewritten(const Statement& tree) {
  return rewrite(tree, {.type = {},
                        .expr = [this](const Expr& e) { return lower_expr(e); },
                        .statement = [this](const Statement& s) { return lower_statement(s); }});
}

Statement Lowering::lower_item(const Statement& item) {
  const Function* function = get_if<Function>(item);
  const Block* body =
      function != nullptr && function->body ? get_if<Block>(*function->body) : nullptr;
  if (body == nullptr) {
    return rewritten(item);
  }
  Function lowered = *function;
  std::vector<Statement> statements = body->statements;
  for (Statement& statement : statements) {
    if (may_need_lowering(statement)) {
      statement = rewritten(statement);
    }
  }
  lowered.body = Statement(Block{std::move(statements)}, function->body->where());
  return lower_statement(Statement(std::move(lowered), item.where()));
}

Expr Lowering::lower_index(const Expr& tree, const BuiltinIndex& index) {
  const std::string axis(axis_words[index.axis]);
  if (dialect_ == Dialect::cuda) {
    static constexpr std::string_view words[] = {"threadIdx.", "blockIdx.", "blockDim.",
                                                 "gridDim."};
    return Expr(RawExpr{std::string(words[static_cast<int>(index.kind)]) + axis, u32, {}, true},
                tree.where());
  }
  if (dialect_ == Dialect::opencl) {
    static constexpr std::string_view words[] = {"get_local_id", "get_group_id", "get_local_size",
                                                 "get_num_groups"};
    const Expr value = plain_call(std::string(words[static_cast<int>(index.kind)]), {index.axis},
                                  size_type, tree.where());
    return Expr(Cast{u32, value, CastStyle::c_style}, tree.where());
  }
  return variable(indices_.name[static_cast<int>(index.kind)][index.axis], u32, tree.where());
}

void Lowering::note_vector_operator(const Binary& node) {
  const Type left = value_type(node.left.type());
  const Type right = value_type(node.right.type());
  const auto* left_vector = get_if<Vector>(left);
  const auto* right_vector = get_if<Vector>(right);
  const Vector* vector = left_vector != nullptr ? left_vector : right_vector;
  if (dialect_ == Dialect::cuda && vector != nullptr && node.op <= BinaryOp::bit_xor) {
    add_cuda_vector_operator(*vector, node.op, left_vector != nullptr, right_vector != nullptr,
                             needs_);
  }
}

Expr Lowering::lower_expr(const Expr& tree) {
  return match(
      tree, [&](const BuiltinIndex& e) { return lower_index(tree, e); },
      [&](const IntrinsicCall& e) { return lower_intrinsic(tree, e, dialect_, needs_); },
      [&](const Binary& e) {
        note_vector_operator(e);
        return tree;
      },
      [&](const Assignment& e) {
        const auto* vector = get_if<Vector>(value_type(e.target.type()));
        if (dialect_ == Dialect::cuda && vector != nullptr && e.op) {
          // a vector's compound assignment has no overload: v op= w is v = v op w, v being a name
          const Expr sum = Expr(Binary{*e.op, e.target, e.value}, tree.where());
          note_vector_operator(*get_if<Binary>(sum));
          return Expr(Assignment{{}, e.target, sum}, tree.where());
        }
        return tree;
      },
      [&](const Unary& e) {
        const auto* vector = get_if<Vector>(value_type(e.operand.type()));
        if (dialect_ == Dialect::cuda && vector != nullptr && e.op == UnaryOp::negate) {
          const Expr zero = literal(0.0, vector->element, tree.where());
          const Expr negated = Expr(Binary{BinaryOp::subtract, zero, e.operand}, tree.where());
          note_vector_operator(*get_if<Binary>(negated));
          return negated;
        }
        return tree;
      },
      [&](const Cast& e) {
        const bool is_plain = e.style == CastStyle::c_style || !is_c_like(dialect_);
        return is_plain ? tree : Expr(Cast{e.type, e.operand, CastStyle::c_style}, tree.where());
      },
      [&](const Member& e) {
        const auto* vector = get_if<Vector>(value_type(e.object.type()));
        if (!is_host(dialect_) || vector == nullptr) {
          return tree;
        }
        // the host compilers' vectors have lanes by number only
        const std::size_t lane =
            e.name.size() == 1
                ? std::string("xyzw").find(e.name[0])
                : std::string("0123456789abcdef").find(e.name.size() == 2 ? e.name[1] : ' ');
        return Expr(Subscript{e.object, Expr(static_cast<int>(lane))}, tree.where());
      },
      [&](const BoolLiteral&) {
        if (dialect_ == Dialect::c) {
          needs_.includes.insert("stdbool.h");
        }
        return tree;
      },
      [&](const NullPointer&) {
        if (dialect_ == Dialect::c) {
          needs_.includes.insert("stddef.h");
        }
        return tree;
      },
      [&](const auto&) { return tree; });
}

void Lowering::note_type(const Type& type) {
  match(
      type,
      [&](const Scalar& t) {
        const bool is_sized = t.kind == ScalarKind::size || t.kind == ScalarKind::ptrdiff;
        if (is_sized && is_host(dialect_)) {
          needs_.includes.insert(dialect_ == Dialect::c ? "stddef.h" : "cstddef");
        }
        if (t.kind == ScalarKind::bool_ && dialect_ == Dialect::c) {
          needs_.includes.insert("stdbool.h");
        }
        if (t.kind == ScalarKind::f16 && dialect_ == Dialect::cuda) {
          needs_.includes.insert("cuda_fp16.h");
        }
        if (t.kind == ScalarKind::bf16 && dialect_ == Dialect::cuda) {
          needs_.includes.insert("cuda_bf16.h");
        }
        if (t.kind == ScalarKind::f16 && dialect_ == Dialect::opencl) {
          needs_.pragmas.insert("OPENCL EXTENSION cl_khr_fp16 : enable");
        }
        if (t.kind == ScalarKind::f64 && dialect_ == Dialect::opencl) {
          needs_.pragmas.insert("OPENCL EXTENSION cl_khr_fp64 : enable");
        }
      },
      [&](const Complex&) {
        needs_.includes.insert(dialect_ == Dialect::c      ? "complex.h"
                               : dialect_ == Dialect::cuda ? "cuda/std/complex"
                                                           : "complex");
      },
      [&](const Vector& t) {
        if (!is_host(dialect_)) {
          return;
        }
        static const std::map<ScalarKind, std::pair<const char*, const char*>> names = {
            {ScalarKind::i8, {"char", "signed char"}},
            {ScalarKind::u8, {"uchar", "unsigned char"}},
            {ScalarKind::i16, {"short", "short"}},
            {ScalarKind::u16, {"ushort", "unsigned short"}},
            {ScalarKind::i32, {"int", "int"}},
            {ScalarKind::u32, {"uint", "unsigned int"}},
            {ScalarKind::i64, {"longlong", "long long"}},
            {ScalarKind::u64, {"ulonglong", "unsigned long long"}},
            {ScalarKind::f32, {"float", "float"}},
            {ScalarKind::f64, {"double", "double"}}};
        const auto found = names.find(scalar_kind(t.element).value_or(ScalarKind::f32));
        if (found == names.end() || t.lanes == 3) {
          refuse("cgen.lower.no_vector", dialect_, "vectors of three or of half lanes",
                 "use 2, 4, 8 or 16 lanes of another element", {});
        }
        const std::string name = fmt::format("{}{}", found->second.first, t.lanes);
        vector_typedefs_[name] =
            fmt::format("typedef {} {} __attribute__((vector_size({})));", found->second.second,
                        name, t.lanes * size_bytes(found->first));
      },
      [](const auto&) {});
}

Statement Lowering::lower_statement(const Statement& tree) {
  return match(
      tree,
      [&](const Barrier& s) {
        std::string text = s.scope == BarrierScope::warp ? "__syncwarp();" : "__syncthreads();";
        if (dialect_ == Dialect::opencl) {
          text = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
        }
        return Statement(RawStatement{text, {}, {}}, tree.where());
      },
      [&](const MemoryFence& s) {
        std::string text;
        if (dialect_ == Dialect::cuda) {
          static constexpr std::string_view words[] = {"__threadfence_block();", "__threadfence();",
                                                       "__threadfence_system();"};
          text = words[static_cast<int>(s.scope)];
        } else {
          text = dialect_ == Dialect::opencl
                     ? "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
                     : "__atomic_thread_fence(__ATOMIC_SEQ_CST);";
        }
        return Statement(RawStatement{text, {}, {}}, tree.where());
      },
      [&](const UsingAlias& s) {
        return is_c_like(dialect_) ? Statement(Typedef{s.type, s.name}, tree.where()) : tree;
      },
      [&](const Declaration& s) {
        if (is_c_like(dialect_) && s.specifiers.is_constexpr) {
          Declaration plain = s;
          plain.specifiers.is_constexpr = false;
          plain.type = const_(s.type);
          return Statement(std::move(plain), tree.where());
        }
        return tree;
      },
      [&](const Function& s) {
        const FunctionSpecifiers& specifiers = s.specifiers;
        if (dialect_ == Dialect::cuda && !specifiers.is_kernel && !specifiers.is_device &&
            !specifiers.is_host) {
          bool launches = false;
          walk(tree, {{},
                      [&](const Expr& e) {
                        launches |= is<KernelLaunch>(e);
                        return true;
                      },
                      {}});
          if (!launches) {
            Function device = s;  // at run time all code is the device's
            device.specifiers.is_device = true;
            return Statement(std::move(device), tree.where());
          }
        }
        if (dialect_ == Dialect::opencl && specifiers.is_kernel) {
          return Statement(lower_opencl_kernel(s), tree.where());
        }
        if (is_c_like(dialect_) && specifiers.is_constexpr) {
          Function plain = s;
          plain.specifiers.is_constexpr = false;
          plain.specifiers.is_static = plain.specifiers.is_inline = true;
          return Statement(std::move(plain), tree.where());
        }
        return tree;
      },
      [&](const auto&) { return tree; });
}

Function Lowering::lower_opencl_kernel(const Function& kernel) {
  Function lowered = kernel;
  for (Parameter& parameter : lowered.parameters) {
    const Qualified outer = qualifiers_of(parameter.type);
    const auto* pointer = get_if<Pointer>(outer.type);
    if (pointer != nullptr && qualifiers_of(pointer->pointee).space == AddressSpace::unspecified) {
      Qualified again = outer;
      again.type = Pointer{in_space(AddressSpace::global, pointer->pointee), pointer->is_restrict};
      const bool is_bare =
          !outer.is_const && !outer.is_volatile && outer.space == AddressSpace::unspecified;
      parameter.type = is_bare ? again.type : Type(again);
    }
  }
  const Block* body = kernel.body ? get_if<Block>(*kernel.body) : nullptr;
  if (body == nullptr) {
    return lowered;
  }
  std::vector<Statement> kept;
  for (const Statement& statement : body->statements) {
    const Declaration* declared = get_if<Declaration>(statement);
    if (declared != nullptr && declared->memory == MemorySpace::dynamic_shared) {
      const auto* array = get_if<Array>(without_qualifiers(declared->type));
      const Type element = array != nullptr ? array->element : declared->type;
      lowered.parameters.push_back(
          {pointer_to(in_space(AddressSpace::shared, element)), declared->name, {}, {}});
    } else {
      kept.push_back(statement);
    }
  }
  lowered.body = Statement(Block{std::move(kept)}, kernel.body->where());
  return lowered;
}

void Lowering::refuse_indices_outside_kernels(const Statement& tree, const Function& function) {
  if (!function.body) {
    return;
  }
  const std::set<std::string> used = free_names(*function.body);
  for (const auto& axes : indices_.name) {
    for (const std::string& name : axes) {
      if (used.count(name) > 0) {
        refuse("cgen.lower.index_outside_kernel", dialect_,
               "thread index outside a kernel ('" + function.name + "')",
               "pass the index to the function", tree.where());
      }
    }
  }
}

std::vector<Statement> Lowering::lower_items(const std::vector<Statement>& items) {
  std::vector<Statement> lowered;
  for (const Statement& item : items) {
    const Function* function = get_if<Function>(item);
    if (function != nullptr && function->specifiers.is_kernel) {
      if (is_host(dialect_) && function->body) {
        has_host_kernel_ = true;
        const auto parts = lower_host_kernel(item, *function, indices_, names_);
        lowered.insert(lowered.end(), parts.begin(), parts.end());
        continue;
      }
      Function kernel = *function;
      kernel.specifiers.is_extern_c = true;  // found by its own name
      lowered.push_back(Statement(std::move(kernel), item.where()));
      continue;
    }
    if (function != nullptr && is_host(dialect_)) {
      refuse_indices_outside_kernels(item, *function);
    }
    if (const Group* group = get_if<Group>(item)) {
      lowered.push_back(Statement(Group{lower_items(group->statements)}, item.where()));
      continue;
    }
    lowered.push_back(item);
  }
  return lowered;
}

void Lowering::add_needs(Module& lowered) {
  if (has_host_kernel_) {
    needs_.includes.insert("rtcg/host_kernel.h");
  }
  std::vector<Statement> head;
  for (const std::string& pragma : needs_.pragmas) {
    head.push_back(Statement(Pragma{pragma}, {}));
  }
  const auto is_there = [&](const std::string& file) {
    return std::any_of(lowered.items.begin(), lowered.items.end(), [&](const Statement& item) {
      const Include* include = get_if<Include>(item);
      return include != nullptr && include->file == file;
    });
  };
  for (const std::string& file : needs_.includes) {
    if (!is_there(file)) {
      head.push_back(Statement(Include{file, true}, {}));
    }
  }
  for (const auto& [name, text] : vector_typedefs_) {
    head.push_back(Statement(RawStatement{text, {name}, {}}, {}));
  }
  if (!head.empty()) {
    head.push_back(Statement(BlankLine{}, {}));
  }
  std::vector<Statement> helpers;
  for (const auto& [name, text] : needs_.helpers) {
    helpers.push_back(Statement(RawStatement{text, {}, {}}, {}));
    helpers.push_back(Statement(BlankLine{}, {}));
  }
  // the user's leading comments and includes stay on top
  std::size_t first = 0;
  while (first < lowered.items.size() &&
         (is<Comment>(lowered.items[first]) || is<BlankLine>(lowered.items[first]))) {
    ++first;
  }
  std::size_t behind_includes = first;
  while (behind_includes < lowered.items.size() &&
         (is<Include>(lowered.items[behind_includes]) ||
          is<BlankLine>(lowered.items[behind_includes]))) {
    ++behind_includes;
  }
  auto& items = lowered.items;
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(behind_includes), helpers.begin(),
               helpers.end());
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(first), head.begin(), head.end());
}

}  // namespace

Module lower(const Module& module, Dialect dialect) {
  return Lowering(module, dialect).run();
}

}  // namespace rtcg::cgen
