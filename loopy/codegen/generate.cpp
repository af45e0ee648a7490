#include "rtcg/loopy/codegen/generate.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/check/check_same_memory.h"
#include "rtcg/loopy/codegen/atomic_update.h"
#include "rtcg/loopy/codegen/check_temporaries.h"
#include "rtcg/loopy/codegen/joined_launch.h"
#include "rtcg/loopy/codegen/kernel_function.h"
#include "rtcg/loopy/codegen/last_block.h"
#include "rtcg/loopy/codegen/lower_expr.h"
#include "rtcg/loopy/codegen/place_guards.h"
#include "rtcg/loopy/codegen/store_as_bits.h"
#include "rtcg/loopy/codegen/target_names.h"
#include "rtcg/loopy/codegen/tile_order.h"
#include "rtcg/loopy/codegen/typed_functions.h"
#include "rtcg/loopy/codegen/write_body.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/parse_recipe.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/schedule/insert_barriers.h"

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

/// The temporaries that the description lacks.
NameSet added_temporaries(const Kernel& described, const TargetNames& names) {
  NameSet added;
  for (const Temporary& each : names.kernel.temporaries) {
    const auto user_name = names.user_names.find(each.name);
    if (find_temporary(described, user_name != names.user_names.end() ? user_name->second
                                                                      : each.name) == nullptr) {
      added.insert(each.name);
    }
  }
  return added;
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

/// What the report of a wrong program has to contain.
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

/// In the order in which C needs them: what is called before what calls.
cgen::Module module_of(const Kernel& kernel, Target target, const std::string& head,
                       const std::set<HelperFunction>& helpers,
                       const std::vector<cgen::Statement>& called,
                       const std::vector<cgen::Statement>& functions) {
  cgen::BlockBuilder items;
  if (!head.empty()) {
    items << cgen::comment(head);
  }
  for (const cgen::Statement& preamble : preambles_of(kernel, target)) {
    items << preamble << cgen::blank_line();
  }
  for (const Temporary& temporary : kernel.temporaries) {
    if (temporary.address_space == AddressSpace::constant && !temporary.initial_values.empty()) {
      items << constant_table(temporary) << cgen::blank_line();
    }
  }
  for (const cgen::Statement& function : definitions_of_functions(kernel, target)) {
    items << function << cgen::blank_line();
  }
  for (const HelperFunction& helper : helpers) {
    items << helper.definition() << cgen::blank_line();
  }
  for (const cgen::Statement& function : called) {
    items << function << cgen::blank_line();
  }
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (i > 0) {
      items << cgen::blank_line();
    }
    items << functions[i];
  }
  return {kernel.name, items.statements()};
}

}  // namespace

GeneratedProgram generate(const Kernel& described, Target target, const GenerateOptions& options) {
  const TargetRules rules = target_rules(target);
  // first: reductions and scans become loops, and types are known
  Kernel realized = preprocess(described, {.has_warp_shuffles = rules.has_warp_shuffles,
                                           .has_tensor_cores = rules.has_tensor_cores});
  const std::vector<Argument> typed = realized.arguments;
  check_atomic_updates(realized);
  check_same_memory(realized);
  // after preprocess, which knows all types: what the target only stores becomes bits
  realized = store_as_bits(std::move(realized), rules);
  // before anything is named in C: the target's language reserves words
  const TargetNames names = with_target_names(std::move(realized), rules.dialect);
  const Kernel& kernel = names.kernel;
  // before launches are cut out: some barriers end a launch
  LoopTree tree = insert_barriers(kernel, build_loop_tree(kernel));
  if (!rules.has_async_copies) {
    tree = without_copy_fences(kernel, std::move(tree));
  }
  const bool is_joined = joins_launches(kernel, rules, options, launches_of(tree).size());
  // last blocks count in memory that a launch leaves as it was, which is too late within one
  const std::vector<LaunchTree> launches =
      rules.has_device_fences && !is_joined ? joined_launches_of(kernel, tree) : launches_of(tree);
  std::vector<LaunchAxes> axes;
  axes.reserve(launches.size());
  for (const LaunchTree& launch : launches) {
    std::vector<std::size_t> statements = statements_in(launch.tree);
    const std::vector<std::size_t> last = statements_in(launch.after_last_block);
    statements.insert(statements.end(), last.begin(), last.end());
    axes.push_back(launch_axes(kernel, statements, launch.host_loops));
  }
  // after the axes: if bounds depend on a temporary, their messages say more
  check_temporaries(kernel, launches_of(tree), added_temporaries(described, names));

  GeneratedProgram program;
  program.target = target;
  program.index_type = options.index_type;
  program.parameters = kernel_parameters(kernel, rules);
  mark_tile_counters(kernel, program.parameters);
  if (is_joined) {
    mark_passed_arrays(program.parameters);
  }
  const std::vector<std::string> counters =
      add_last_block_counters(kernel, launches, axes, program.parameters);
  std::set<HelperFunction> helpers;
  std::vector<std::set<HelperFunction>> helpers_of_launches;
  FunctionTable called(kernel, rules.dialect);
  std::vector<cgen::Statement> functions;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LaunchFacts launch(kernel, launches[i].tree, axes[i], rules, options);
    // before C is made: what is unrolled, and which tests a tile leaves, decides what is written
    const GuardedTree guarded = place_guards(launch, launches[i].tree);
    KernelBody body = write_body(launch, guarded, called);
    if (!launches[i].after_last_block.empty()) {
      const std::vector<int> groups = axes_of_groups(kernel, launches[i], axes[i]);
      const LaunchFacts last(kernel, launches[i].after_last_block, axes[i], rules, options, groups);
      const GuardedTree tree_of_last = place_guards(last, launches[i].after_last_block);
      append_last_block(launch, groups, counters[i], write_body(last, tree_of_last, called, false),
                        body);
    }
    helpers_of_launches.push_back(body.helpers);
    helpers.merge(body.helpers);
    // after the body, which says how much shared memory a block needs
    const std::string name =
        launches.size() == 1 ? kernel.name : fmt::format("{}_{}", kernel.name, i);
    program.launches.push_back(launch_plan(launch, name, body.memory));
    const LoopTree& tree_of_launch = launches[i].tree;
    const bool has_barriers =
        std::any_of(tree_of_launch.begin(), tree_of_launch.end(), contains_barrier);
    functions.push_back(kernel_function(launch, program.launches.back(), program.parameters,
                                        std::move(body), has_barriers));
  }
  if (is_joined) {
    JoinedLaunch joined =
        join_launches(kernel, rules, options, program.launches, functions, helpers);
    program.launches = {std::move(joined.plan)};
    functions.push_back(std::move(joined.function));
  }
  const bool may_share = is_joined || !kernel.preambles.empty() || !kernel.functions.empty();
  for (std::size_t i = 0; !may_share && functions.size() > 1 && i < functions.size(); ++i) {
    program.modules_of_launches.push_back(module_of(kernel, target, "", helpers_of_launches[i],
                                                    called.definitions(), {functions[i]}));
  }
  // last: only now all helpers and functions that kernels call are known
  program.module = module_of(kernel, target, head_comment(kernel, program, options), helpers,
                             called.definitions(), functions);
  // bodies of the user's functions call those of the library and of preambles
  cgen::verify_module(program.module, rules.dialect, [&] { return story_of(described); },
                      {.allows_foreign_functions = !kernel.functions.empty()});
  // after the text: callers use the names of the description
  restore_user_names(names, program);
  restore_types(typed, program);
  return program;
}

std::string generate_text(const Kernel& kernel, Target target, const GenerateOptions& options) {
  return cgen::print_module(generate(kernel, target, options).module, dialect_of(target)).text;
}

}  // namespace rtcg::loopy
