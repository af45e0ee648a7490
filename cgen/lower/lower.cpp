#include "rtcg/cgen/lower/lower.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/build/fresh_names.h"
#include "rtcg/cgen/lower/lowering.h"
#include "rtcg/cgen/lower/short_floats.h"

namespace rtcg::cgen {

namespace {

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
      indices_.launch = names_.make("launch");
      indices_.arguments = names_.make("arguments");
    }
  }

  Module run() {
    const Survey found = survey(module_, dialect_, [this](const Type& type) { note_type(type); });
    Module lowered = module_;
    for (std::size_t i = 0; i < lowered.items.size(); ++i) {
      lowered.items[i] = lower_item(lowered.items[i], found.changing[i]);
    }
    // after the rewriting: kernels only at file scope become entries
    lowered.items = lower_items(lowered.items);
    add_needs(lowered);  // last: it knows what the others used
    return lowered;
  }

 private:
  Statement lower_item(const Statement& item, const std::vector<std::size_t>& changing);
  Rewriter rewriter();
  Expr lower_expr(const Expr& tree);
  Expr lower_operator(const Expr& tree);
  Expr lower_index(const Expr& tree, const BuiltinIndex& index);
  IntrinsicCall with_space_stated(const IntrinsicCall& node);
  Statement lower_statement(const Statement& tree);
  std::vector<Statement> lower_items(const std::vector<Statement>& items);
  Function lower_opencl_kernel(const Function& kernel);
  const std::string& sampler_of(const std::string& texture);
  Expr with_samplers(const Expr& tree, const Call& call);
  Function with_samplers(const Function& function);
  void refuse_indices_outside_kernels(const Statement& tree, const Function& function);
  void note_type(const Type& type);
  void add_needs(Module& lowered);

  const Module& module_;
  Dialect dialect_;
  NameGenerator names_;
  HostIndexNames indices_;
  Needs needs_;
  std::map<std::string, std::string> vector_typedefs_;
  std::map<std::string, std::string> samplers_;        ///< of OpenCL C, by texture
  const Statement* item_ = nullptr;                    ///< the one being lowered
  std::optional<std::set<std::string>> shared_names_;  ///< its arrays in shared memory; when asked
  bool has_host_kernel_ = false;
};

/// In CUDA all dynamic shared arrays of one name are one variable of the whole module, and
/// functions that CUDA declares, `all` for one, have names there too. So the array becomes a
/// pointer to memory of our own name.
Statement lower_dynamic_array(const Statement& tree, const Declaration& node) {
  const auto* array = get_if<Array>(without_qualifiers(node.type));
  if (array == nullptr) {
    return tree;
  }
  // not of bytes, which may be anything to compilers: sorts of 32 keys a thread then spill
  // registers
  const Declaration memory{.type = array_of(u32),
                           .name = "rtcg_dynamic_shared",
                           .memory = MemorySpace::dynamic_shared,
                           .align_bytes = 16};
  const Type pointer = pointer_to(array->element);
  const Declaration view{.type = const_(pointer),
                         .name = node.name,
                         .initializer = cast(pointer, variable(memory.name, memory.type))};
  return Statement(Group{{Statement(memory, tree.where()), Statement(view, tree.where())}},
                   tree.where());
}

/// Leaves first, so that what replaces an intrinsic sees lowered arguments.
Rewriter Lowering::rewriter() {
  return {.type = {},
          .expr = [this](const Expr& e) { return lower_expr(e); },
          .statement = [this](const Statement& s) { return lower_statement(s); }};
}

Statement Lowering::lower_item(const Statement& item, const std::vector<std::size_t>& changing) {
  item_ = &item;
  shared_names_.reset();
  const Block* body = body_of(item);
  if (body == nullptr) {
    return rewrite(item, rewriter());
  }
  if (changing.empty()) {
    return lower_statement(item);
  }
  Function lowered = *get_if<Function>(item);
  std::vector<Statement> statements = body->statements;
  for (const std::size_t i : changing) {
    statements[i] = rewrite_changing(statements[i], dialect_, rewriter());
  }
  lowered.body = Statement(Block{std::move(statements)}, lowered.body->where());
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
    // Left as they are, NVIDIA's compiler widens sums of them by shifts of 64 bits, and its
    // assembler gets some of those wrong. Of a block all are below 2^16, of a grid below 2^31.
    const bool is_of_block =
        index.kind == BuiltinKind::thread_idx || index.kind == BuiltinKind::block_dim;
    const Expr known = is_of_block ? Expr(Cast{u16, value, CastStyle::c_style}, tree.where())
                                   : plain_call("convert_int_sat", {value}, i32, tree.where());
    return Expr(Cast{u32, known, CastStyle::c_style}, tree.where());
  }
  return variable(indices_.name[static_cast<int>(index.kind)][index.axis], u32, tree.where());
}

/// OpenCL updates a float by a function for one address space. The type of `&sum[0]` does not have
/// it if only the array's declaration does.
IntrinsicCall Lowering::with_space_stated(const IntrinsicCall& node) {
  const bool is_atomic = intrinsic_info(node.intrinsic).family == IntrinsicFamily::atomic;
  const Type type = is_atomic ? decayed(node.arguments[0].type()) : Type();
  const auto* pointer = get_if<Pointer>(type);
  if (dialect_ != Dialect::opencl || pointer == nullptr ||
      scalar_kind(pointer->pointee) != ScalarKind::f32) {
    return node;
  }
  if (!shared_names_) {
    shared_names_.emplace();
    walk(*item_, {{}, {}, [&](const Statement& s) {
                    const auto* declared = get_if<Declaration>(s);
                    if (declared != nullptr && (declared->memory == MemorySpace::shared ||
                                                declared->memory == MemorySpace::dynamic_shared)) {
                      shared_names_->insert(declared->name);
                    }
                    return true;
                  }});
  }
  IntrinsicCall stated = node;
  if (shared_names_->count(name_of_memory(node.arguments[0])) > 0) {
    stated.arguments[0] =
        cast(pointer_to(in_space(AddressSpace::shared, pointer->pointee)), node.arguments[0]);
  }
  return stated;
}

Expr Lowering::lower_operator(const Expr& tree) {
  const Expr plain = dialect_ == Dialect::cuda ? with_one_float_type(tree) : tree;
  return lower_vector_operator(lower_complex_operator(plain, dialect_, needs_), dialect_, needs_);
}

/// The cast as C writes it: `(int)(uint)(ushort)x` is `(int)(ushort)x`, and `(int)(uint)x` of an
/// int is x.
Expr c_cast(const Expr& tree, const Cast& node) {
  const Cast* inner = get_if<Cast>(node.operand);
  if (inner != nullptr && inner->type == u32 && node.type == i32) {
    const Cast* innermost = get_if<Cast>(inner->operand);
    if (inner->operand.type() == i32) {
      return inner->operand;
    }
    if (innermost != nullptr && innermost->type == u16) {
      return Expr(Cast{node.type, inner->operand, CastStyle::c_style}, tree.where());
    }
  }
  return node.style == CastStyle::c_style
             ? tree
             : Expr(Cast{node.type, node.operand, CastStyle::c_style}, tree.where());
}

Expr Lowering::lower_expr(const Expr& tree) {
  return match(
      tree, [&](const BuiltinIndex& e) { return lower_index(tree, e); },
      [&](const IntrinsicCall& e) {
        if (intrinsic_info(e.intrinsic).family == IntrinsicFamily::image) {
          const Variable* image = get_if<Variable>(e.arguments[0]);
          const bool has_sampler =
              dialect_ == Dialect::opencl && image != nullptr && e.intrinsic == Intrinsic::fetch;
          return lower_image_call(tree, e, dialect_, has_sampler ? sampler_of(image->name) : "",
                                  needs_);
        }
        return lower_intrinsic(tree, with_space_stated(e), dialect_, needs_);
      },
      [&](const Binary&) { return lower_operator(tree); },
      [&](const AssignExpr&) { return lower_operator(tree); },
      [&](const Unary&) { return lower_vector_operator(tree, dialect_, needs_); },
      [&](const Cast& e) { return lower_operator(is_c_like(dialect_) ? c_cast(tree, e) : tree); },
      [&](const Member&) { return lower_vector_operator(tree, dialect_, needs_); },
      [&](const Conditional&) { return lower_operator(tree); },
      [&](const Call& e) { return dialect_ == Dialect::opencl ? with_samplers(tree, e) : tree; },
      [&](const New& e) {
        if (dialect_ == Dialect::cpp && !e.placement.empty()) {
          needs_.includes.insert("new");
        }
        return tree;
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

const std::string& Lowering::sampler_of(const std::string& texture) {
  if (samplers_.empty()) {
    names_ = fresh_names(dialect_, module_);
  }
  std::string& name = samplers_[texture];
  if (name.empty()) {
    name = names_.make(texture + "_sampler");
  }
  return name;
}

/// Functions take the samplers of their textures after them.
Expr Lowering::with_samplers(const Expr& tree, const Call& call) {
  Call with{call.callee, {}, call.template_arguments};
  for (const Expr& argument : call.arguments) {
    with.arguments.push_back(argument);
    const Variable* texture = get_if<Variable>(argument);
    if (texture != nullptr && is_texture(argument.type())) {
      with.arguments.push_back(
          variable(sampler_of(texture->name), named("sampler_t"), argument.where()));
    }
  }
  return with.arguments.size() == call.arguments.size() ? tree
                                                        : Expr(std::move(with), tree.where());
}

Function Lowering::with_samplers(const Function& function) {
  Function with = function;
  with.parameters.clear();
  for (const Parameter& parameter : function.parameters) {
    with.parameters.push_back(parameter);
    if (is_texture(parameter.type)) {
      with.parameters.push_back({named("sampler_t"), sampler_of(parameter.name), {}, {}});
    }
  }
  return with;
}

void Lowering::note_type(const Type& type) {
  match(
      type,
      [&](const Image& t) {
        if (t.texel && is_host(dialect_)) {
          needs_.includes.insert("rtcg/host_image.h");
        }
      },
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
        if (dialect_ == Dialect::cuda) {
          need_complex_class(needs_);
        } else if (dialect_ != Dialect::opencl) {
          needs_.includes.insert(dialect_ == Dialect::c ? "complex.h" : "complex");
        }
      },
      [&](const Vector& t) {
        if (!is_host(dialect_)) {
          return;
        }
        const LaneNames* names = lane_names(t.element);
        if (names == nullptr || t.lanes == 3) {
          refuse("cgen.lower.no_vector", dialect_, "vectors of three or of half lanes",
                 "use 2, 4, 8 or 16 lanes of another element", {});
        }
        const std::string name = fmt::format("{}{}", names->prefix, t.lanes);
        vector_typedefs_[name] =
            fmt::format("typedef {} {} __attribute__((vector_size({})));", names->scalar, name,
                        t.lanes * size_bytes(*scalar_kind(t.element)));
      },
      [](const auto&) {});
}

bool has_texture(const Function& function) {
  return std::any_of(function.parameters.begin(), function.parameters.end(),
                     [](const Parameter& parameter) { return is_texture(parameter.type); });
}

/// All blocks of a cooperative launch wait for each other by a counter that the driver gives it, as
/// cooperative groups do: the first block adds what makes the sum of all flip the highest bit.
constexpr std::string_view grid_barrier_name = "rtcg_grid_barrier";
constexpr std::string_view grid_barrier_text = R"(static __device__ void rtcg_grid_barrier() {
  unsigned int low, high;
  asm("mov.u32 %0, %%envreg2;" : "=r"(low));
  asm("mov.u32 %0, %%envreg1;" : "=r"(high));
  const unsigned long long given = (unsigned long long)high << 32 | low;
  if (given == 0) __trap();  // the launch is not cooperative
  unsigned int *const arrived = (unsigned int *)given + 1;
  __syncthreads();
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    const bool is_first = blockIdx.x + blockIdx.y + blockIdx.z == 0;
    const unsigned int others = gridDim.x * gridDim.y * gridDim.z - 1;
    __threadfence();
    const unsigned int before = atomicAdd(arrived, is_first ? 0x80000000u - others : 1u);
    while (((before ^ *(volatile unsigned int *)arrived) & 0x80000000u) == 0) {}
    __threadfence();
  }
  __syncthreads();
}
)";

Statement Lowering::lower_statement(const Statement& tree) {
  return match(
      tree,
      [&](const Barrier& s) {
        std::string text = s.scope == BarrierScope::warp ? "__syncwarp();" : "__syncthreads();";
        if (dialect_ == Dialect::opencl) {
          text = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
        }
        if (s.scope == BarrierScope::grid) {
          needs_.helper(std::string(grid_barrier_name), std::string(grid_barrier_text));
          text = fmt::format("{}();", grid_barrier_name);
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
      [&](const RangeFor& s) {
        if (dialect_ == Dialect::cpp && is<InitializerList>(s.range)) {
          needs_.includes.insert("initializer_list");
        }
        return tree;
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
        if (dialect_ == Dialect::cuda && s.memory == MemorySpace::dynamic_shared) {
          return lower_dynamic_array(tree, s);
        }
        return lower_complex_statement(tree, dialect_);
      },
      [&](const ExplicitInstantiation& s) {
        const FunctionSpecifiers& specifiers = s.specifiers;
        if (dialect_ != Dialect::cuda || specifiers.is_kernel || specifiers.is_host) {
          return tree;
        }
        ExplicitInstantiation device = s;  // as the template itself, below
        device.specifiers.is_device = true;
        return Statement(std::move(device), tree.where());
      },
      [&](const Function& s) {
        const FunctionSpecifiers& specifiers = s.specifiers;
        // what the compiler itself writes is for both, unless it is virtual
        const bool is_virtual =
            specifiers.is_virtual || specifiers.is_override || specifiers.is_final;
        const bool is_of_compiler = s.definition == FunctionDefinition::deleted ||
                                    (s.definition == FunctionDefinition::defaulted && !is_virtual);
        if (dialect_ == Dialect::cuda && !specifiers.is_kernel && !specifiers.is_device &&
            !is_of_compiler && runs_on_device(tree, s)) {
          Function device = s;
          device.specifiers.is_device = true;
          return Statement(std::move(device), tree.where());
        }
        if (dialect_ == Dialect::opencl && specifiers.is_kernel) {
          return Statement(lower_opencl_kernel(with_samplers(s)), tree.where());
        }
        if (dialect_ == Dialect::opencl && has_texture(s)) {
          return Statement(with_samplers(s), tree.where());
        }
        if (dialect_ == Dialect::opencl && s.result && is<Complex>(without_qualifiers(*s.result))) {
          return lower_complex_statement(tree, dialect_);
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

/// What OpenCL takes as a kernel's parameter in place of a type whose size is the device's matter.
Type opencl_parameter(const Type& type) {
  const auto* scalar = get_if<Scalar>(type);
  if (scalar == nullptr) {
    return type;
  }
  switch (scalar->kind) {
    case ScalarKind::size:
      return u64;
    case ScalarKind::ptrdiff:
      return i64;
    case ScalarKind::bool_:
      return u8;
    default:
      return type;
  }
}

Function Lowering::lower_opencl_kernel(const Function& kernel) {
  Function lowered = kernel;
  for (Parameter& parameter : lowered.parameters) {
    const Qualified outer = qualifiers_of(parameter.type);
    const auto* pointer = get_if<Pointer>(outer.type);
    Qualified again = outer;
    again.type = opencl_parameter(outer.type);
    if (pointer != nullptr && qualifiers_of(pointer->pointee).space == AddressSpace::unspecified) {
      again.type = Pointer{in_space(AddressSpace::global, pointer->pointee), pointer->is_restrict};
    }
    if (again.type != outer.type) {
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
  std::size_t after_includes = first;
  while (after_includes < lowered.items.size() && (is<Include>(lowered.items[after_includes]) ||
                                                   is<BlankLine>(lowered.items[after_includes]))) {
    ++after_includes;
  }
  auto& items = lowered.items;
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(after_includes), helpers.begin(),
               helpers.end());
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(first), head.begin(), head.end());
}

}  // namespace

Module lower(const Module& module, Dialect dialect) {
  return Lowering(module, dialect).run();
}

}  // namespace rtcg::cgen
