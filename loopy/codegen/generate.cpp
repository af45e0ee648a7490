#include "rtcg/loopy/codegen/generate.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/vector_access.h"
#include "rtcg/loopy/codegen/emit.h"
#include "rtcg/loopy/codegen/lower_expr.h"
#include "rtcg/loopy/codegen/target_names.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/parse_recipe.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/schedule/insert_barriers.h"
#include "rtcg/loopy/schedule/launch_axes.h"
#include "rtcg/loopy/schedule/launches.h"

namespace rtcg::loopy {

namespace {

LoopTree without_copy_fences(const Kernel& kernel, LoopTree tree) {
  std::erase_if(tree, [&](const LoopTreeNode& node) {
    const StatementNode* statement = get_if<StatementNode>(node);
    return statement != nullptr && is<CopyFence>(kernel.instructions[statement->index]);
  });
  for (LoopTreeNode& node : tree) {
    if (const LoopNode* loop = get_if<LoopNode>(node)) {
      node.kind = LoopNode{loop->iname, without_copy_fences(kernel, loop->body)};
    }
  }
  return tree;
}

/// The statements of a launch that touch each variable, in order.
using Uses = std::map<std::string, std::vector<std::size_t>, std::less<>>;

Uses uses_in(const Kernel& kernel, const LoopTree& launch) {
  Uses uses;
  for (const std::size_t statement : statements_in(launch)) {
    NameSet touched = written_variables(kernel.instructions[statement]);
    touched.merge(read_variables(kernel, kernel.instructions[statement]));
    for (const std::string& each : touched) {
      uses[each].push_back(statement);
    }
  }
  return uses;
}

/// Values of threads and of blocks are gone when their launch ends.
void check_temporaries(const Kernel& kernel, const std::vector<LaunchTree>& launches) {
  if (launches.size() < 2 && (launches.empty() || launches.front().host_loops.empty())) {
    return;
  }
  std::vector<Uses> used;
  used.reserve(launches.size());
  for (const LaunchTree& launch : launches) {
    used.push_back(uses_in(kernel, launch.tree));
  }
  for (const Temporary& temporary : kernel.temporaries) {
    if (temporary.address_space == AddressSpace::global ||
        temporary.address_space == AddressSpace::constant) {
      continue;
    }
    const auto uses = [&](const Uses& names) { return names.count(temporary.name) != 0; };
    const auto first = std::find_if(used.begin(), used.end(), uses);
    if (first == used.end()) {
      continue;
    }
    const std::vector<std::string>& loops =
        launches[static_cast<std::size_t>(first - used.begin())].host_loops;
    const bool is_elsewhere = std::any_of(first + 1, used.end(), uses);
    if (is_elsewhere ||
        (!loops.empty() && outlives_iteration(kernel, temporary.name, first->at(temporary.name),
                                              {loops.begin(), loops.end()}))) {
      throw InvalidInput(
          "loopy.generate.temporary_across_launches",
          fmt::format("temporary '{}' is used {}, where one launch ends and another begins: "
                      "set_temporary_address_space to global, save_and_reload_temporaries, or keep "
                      "it in an array that is an argument",
                      temporary.name,
                      is_elsewhere ? std::string("before and after a global barrier")
                                   : fmt::format("in an iteration of '{}' and in the next one",
                                                 loops.back())));
    }
  }
}

/// Elements from the first to the last one of an array.
Expr length_of(const Temporary& temporary) {
  Expr length = 1;
  for (std::size_t axis = 0; axis < temporary.shape.size(); ++axis) {
    length = temporary.strides_elements.empty()
                 ? length * temporary.shape[axis]
                 : length + (temporary.shape[axis] - 1) * temporary.strides_elements[axis];
  }
  return simplify_index(length);
}

std::vector<KernelParameter> parameters_of(const Kernel& kernel, const TargetRules& rules) {
  const std::map<std::string, int> alignments =
      rules.has_vectors ? vector_alignments(kernel) : std::map<std::string, int>{};
  std::unordered_set<std::string_view> written;
  for (const Instruction& instruction : kernel.instructions) {
    for_each_target(instruction, [&](const Expr& target) { written.insert(target_name(target)); });
    if (const RawCode* raw = get_if<RawCode>(instruction)) {
      written.insert(raw->writes.begin(), raw->writes.end());
    }
  }
  std::vector<KernelParameter> parameters;
  for (const Argument& argument : kernel.arguments) {
    parameters.push_back(
        {argument.name, *argument.type, argument.is_array, written.count(argument.name) != 0});
    if (const auto found = alignments.find(argument.name); found != alignments.end()) {
      parameters.back().align_bytes = found->second;
    }
  }
  for (const Temporary& temporary : kernel.temporaries) {
    if (temporary.address_space == AddressSpace::global && written.count(temporary.name) != 0) {
      parameters.push_back({temporary.name, *temporary.type, true, true});
      parameters.back().temporary_count = length_of(temporary);
    }
  }
  return parameters;
}

std::vector<cgen::Parameter> c_parameters(const Kernel& kernel,
                                          const std::vector<KernelParameter>& parameters) {
  std::unordered_set<std::string_view> constants;
  for (const Argument& argument : kernel.arguments) {
    if (argument.address_space == AddressSpace::constant) {
      constants.insert(argument.name);
    }
  }
  std::vector<cgen::Parameter> result;
  result.reserve(parameters.size());
  for (const KernelParameter& parameter : parameters) {
    if (!parameter.is_array) {
      result.push_back({cgen::const_(parameter.type), parameter.name});
      continue;
    }
    const bool is_constant = constants.count(parameter.name) != 0;
    cgen::Type element = parameter.is_written ? parameter.type : cgen::const_(parameter.type);
    element = cgen::in_space(
        is_constant ? cgen::AddressSpace::constant : cgen::AddressSpace::global, element);
    result.push_back({cgen::restrict_pointer_to(element), parameter.name});
  }
  return result;
}

/// A table of numbers, ahead of all functions.
cgen::Statement constant_table(const Temporary& table) {
  const auto literal = [&](const Expr& value) -> cgen::Expr {
    ExprScope scope;
    return as_value_of(*table.type, lower_expr(scope, value, *table.type));
  };
  cgen::Type type = cgen::const_(*table.type);
  std::vector<cgen::Expr> values;
  for (const Expr& value : table.initial_values) {
    values.push_back(literal(value));
  }
  // from the innermost axis out, each row a list
  for (std::size_t axis = table.shape.size(); axis-- > 0;) {
    const std::int64_t length = *as_integer(table.shape[axis]);
    type = cgen::array_of(type, static_cast<int>(length));
    std::vector<cgen::Expr> rows;
    for (std::size_t first = 0; first < values.size(); first += static_cast<std::size_t>(length)) {
      cgen::InitializerList row;
      for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
        row.elements.emplace_back(values[first + i]);
      }
      rows.emplace_back(std::move(row));
    }
    values = std::move(rows);
  }
  return cgen::Declaration{.type = type,
                           .name = table.name,
                           .initializer = values.front(),
                           .memory = cgen::MemorySpace::constant};
}

LaunchPlan plan_of(const LaunchAxes& axes, const TargetRules& rules, std::string name,
                   const EmittedBody& body) {
  LaunchPlan plan;
  plan.kernel_name = std::move(name);
  plan.host_loops = axes.host_loops;
  plan.shared_bytes = body.shared_bytes;
  plan.dynamic_shared_bytes = body.is_shared_dynamic ? body.shared_bytes : 0;
  for (const HardwareAxis& axis : axes.axes) {
    const auto number = static_cast<std::size_t>(axis.number);
    if (axis.kind == AxisKind::grid) {
      plan.grid[number] = axis.extent;
    } else if (rules.has_threads) {
      plan.block[number] = *as_integer(axis.extent);
    }
  }
  const std::int64_t threads = plan.block[0] * plan.block[1] * plan.block[2];
  if (threads > most_threads_of_block) {
    throw InvalidInput(
        "loopy.generate.too_many_threads",
        fmt::format("a block would have {}x{}x{} = {} threads, and no device takes "
                    "more than {}: use shorter axes, or ilp for a part of them",
                    plan.block[0], plan.block[1], plan.block[2], threads, most_threads_of_block));
  }
  return plan;
}

void check_shared_memory(const Kernel& kernel, const EmittedBody& body, const TargetRules& rules,
                         const GenerateOptions& options) {
  if (!rules.has_threads || body.shared_bytes <= options.most_shared_bytes) {
    return;
  }
  std::vector<std::string> arrays;
  for (const auto& [name, bytes] : body.shared_arrays) {
    arrays.push_back(fmt::format("'{}' has {}", name, bytes));
  }
  throw InvalidInput("loopy.generate.too_much_shared_memory",
                     fmt::format("a block of kernel '{}' needs {} bytes of shared memory and may "
                                 "have {}: {}; use shorter tiles, or fetch fewer arrays",
                                 kernel.name, body.shared_bytes, options.most_shared_bytes,
                                 fmt::join(arrays, ", ")));
}

cgen::Statement kernel_function(const Kernel& kernel, const GeneratedProgram& program,
                                const LaunchPlan& plan, const TargetRules& rules,
                                EmittedBody body) {
  cgen::Function function;
  function.result = cgen::void_type;
  function.name = plan.kernel_name;
  function.parameters = c_parameters(kernel, program.parameters);
  for (const HostLoop& loop : plan.host_loops) {
    function.parameters.push_back({cgen::const_(program.index_type), loop.iname});
  }
  function.body = cgen::Block{std::move(body.statements)};
  function.specifiers.is_kernel = true;
  function.specifiers.is_extern_c = rules.has_extern_c;
  if (rules.has_launch_bounds) {
    function.launch_bounds =
        cgen::LaunchBounds{static_cast<int>(plan.block[0] * plan.block[1] * plan.block[2]), 0};
  }
  if (rules.has_work_group_size) {
    function.required_work_group_size = {static_cast<int>(plan.block[0]),
                                         static_cast<int>(plan.block[1]),
                                         static_cast<int>(plan.block[2])};
  }
  return function;
}

/// Where the kernels come from, and how often the host launches them where it does so in loops.
std::string head_comment(const Kernel& kernel, const GeneratedProgram& program,
                         const GenerateOptions& options) {
  std::string text;
  if (options.recipe_comment && !kernel.recipe.empty()) {
    text = "Made from kernel '" + kernel.name + "' by";
    for (const RecipeStep& step : kernel.recipe) {
      text += "\n  " + to_string(step);
    }
  }
  if (std::any_of(program.launches.begin(), program.launches.end(),
                  [](const LaunchPlan& launch) { return !launch.host_loops.empty(); })) {
    text += (text.empty() ? "" : "\n") +
            ("Launched by the host:\n" + plan_text(program.launches, call_text));
    text.pop_back();  // the end of the last line
  }
  return text;
}

/// What whoever reports a wrong program needs to say.
std::string story_of(const Kernel& kernel) {
  std::string text = "  the recipe:\n";
  for (const RecipeStep& step : kernel.recipe) {
    text += "    " + to_string(step) + "\n";
  }
  try {
    return text + "  which makes this kernel file:\n" + to_string(to_kernel_file(kernel));
  } catch (const Error&) {  // what text cannot say
    return text + "  which makes this kernel:\n" + to_string(kernel);
  }
}

}  // namespace

GeneratedProgram generate(const Kernel& described, Target target, const GenerateOptions& options) {
  const TargetRules rules = target_rules(target);
  const TargetNames names = with_target_names(
      preprocess(described, {.has_warp_shuffles = rules.has_warp_shuffles}), rules.dialect);
  const Kernel& kernel = names.kernel;
  LoopTree tree = insert_barriers(kernel, build_loop_tree(kernel));
  if (!rules.has_async_copies) {
    tree = without_copy_fences(kernel, std::move(tree));
  }
  const std::vector<LaunchTree> launches = launches_of(tree);
  std::vector<LaunchAxes> axes;
  axes.reserve(launches.size());
  for (const LaunchTree& launch : launches) {
    axes.push_back(launch_axes(kernel, statements_in(launch.tree), launch.host_loops));
  }
  // behind the axes: of what bounds depend on, these tell more
  check_temporaries(kernel, launches);

  GeneratedProgram program;
  program.target = target;
  program.index_type = options.index_type;
  program.module.name = kernel.name;
  program.parameters = parameters_of(kernel, rules);
  std::set<HelperFunction> helpers;
  FunctionTable called(kernel, rules.dialect);
  std::vector<cgen::Statement> functions;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    EmittedBody body =
        emit_body(kernel, launches[i].tree, axes[i], rules, options, helpers, called);
    check_shared_memory(kernel, body, rules, options);
    program.launches.push_back(
        plan_of(axes[i], rules,
                launches.size() == 1 ? kernel.name : fmt::format("{}_{}", kernel.name, i), body));
    if (i > 0) {
      functions.push_back(cgen::blank_line());
    }
    functions.push_back(
        kernel_function(kernel, program, program.launches.back(), rules, std::move(body)));
  }
  cgen::BlockBuilder items;
  if (const std::string text = head_comment(kernel, program, options); !text.empty()) {
    items << cgen::comment(text);
  }
  for (const Temporary& temporary : kernel.temporaries) {
    if (temporary.address_space == AddressSpace::constant && !temporary.initial_values.empty()) {
      items << constant_table(temporary) << cgen::blank_line();
    }
  }
  for (const HelperFunction& helper : helpers) {
    items << helper.definition() << cgen::blank_line();
  }
  for (const cgen::Statement& function : called.definitions()) {
    items << function << cgen::blank_line();
  }
  program.module.items = items.statements();
  program.module.items.insert(program.module.items.end(), functions.begin(), functions.end());
  cgen::verify_module(program.module, rules.dialect, [&] { return story_of(described); });
  restore_user_names(names, program);
  return program;
}

std::string generate_text(const Kernel& kernel, Target target, const GenerateOptions& options) {
  return cgen::print_module(generate(kernel, target, options).module, dialect_of(target)).text;
}

}  // namespace rtcg::loopy
