#include "rtcg/loopy/codegen/joined_launch.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/lower_expr.h"

namespace rtcg::loopy {
namespace {

class LaunchJoiner {
 public:
  LaunchJoiner(const Kernel& kernel, const TargetRules& rules, const GenerateOptions& options,
               const std::vector<LaunchPlan>& plans, const std::vector<cgen::Statement>& functions,
               std::set<HelperFunction>& helpers)
      : kernel_(kernel),
        rules_(rules),
        options_(options),
        plans_(plans),
        functions_(functions),
        helpers_(helpers) {}

  JoinedLaunch join() {
    make_plan();
    check_shared_memory();
    cgen::Function function = *get_if<cgen::Function>(functions_.front());
    const std::size_t inames = plans_.front().host_loops.size();
    function.parameters.resize(function.parameters.size() - inames);
    parameters_ = function.parameters;
    function.name = plan_.kernel_name;
    cgen::BlockBuilder body;
    add(0, plans_.size(), 0, body);
    function.body = cgen::Block{body.statements()};
    if (function.launch_bounds) {
      function.launch_bounds = cgen::LaunchBounds{static_cast<int>(threads_of(plan_)), 0};
    }
    return {plan_, cgen::Statement(std::move(function))};
  }

 private:
  static std::int64_t threads_of(const LaunchPlan& plan) {
    return plan.block[0] * plan.block[1] * plan.block[2];
  }

  void make_plan() {
    plan_ = plans_.front();
    plan_.kernel_name = kernel_.name;
    plan_.host_loops.clear();
    plan_.is_cooperative = true;
    for (const LaunchPlan& each : plans_) {
      // a launch of one thread per block runs in the first of more
      if (threads_of(plan_) == 1) {
        plan_.block = each.block;
      } else if (threads_of(each) != 1 && each.block != plan_.block) {
        throw InvalidInput(
            "loopy.generate.joined_blocks",
            fmt::format("the parts of kernel '{}' between its global barriers have blocks of "
                        "{}x{}x{} and {}x{}x{} threads, and one launch has blocks of one shape: "
                        "cut their loops alike, or leave out join_launches",
                        kernel_.name, plan_.block[0], plan_.block[1], plan_.block[2], each.block[0],
                        each.block[1], each.block[2]));
      }
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::vector<Expr> blocks;
      for (const LaunchPlan& each : plans_) {
        if (std::find(blocks.begin(), blocks.end(), each.grid[axis]) == blocks.end()) {
          blocks.push_back(each.grid[axis]);
        }
      }
      plan_.grid[axis] = blocks.front();
      for (std::size_t i = 1; i < blocks.size(); ++i) {
        plan_.grid[axis] = call("max", {plan_.grid[axis], blocks[i]});
      }
    }
  }

  /// Arrays of a fixed size are those of all functions; the one whose size the launch gives is the
  /// same in all.
  void check_shared_memory() {
    std::int64_t fixed = 0;
    plan_.dynamic_shared_bytes = 0;
    for (const LaunchPlan& each : plans_) {
      plan_.dynamic_shared_bytes = std::max(plan_.dynamic_shared_bytes, each.dynamic_shared_bytes);
      fixed += each.dynamic_shared_bytes == 0 ? each.shared_bytes : 0;
    }
    plan_.shared_bytes = plan_.dynamic_shared_bytes + fixed;
    if (fixed > rules_.most_static_shared_bytes ||
        plan_.shared_bytes > options_.most_shared_bytes) {
      throw InvalidInput(
          "loopy.generate.too_much_shared_memory",
          fmt::format(
              "the parts of kernel '{}' need {} bytes of shared memory in one launch, where "
              "a block may have {}: use shorter tiles, or leave out join_launches",
              kernel_.name, plan_.shared_bytes,
              std::min(rules_.most_static_shared_bytes, options_.most_shared_bytes)));
    }
  }

  /// @param depth  loops around all of the launches from `begin` to `end`
  void add(std::size_t begin, std::size_t end, std::size_t depth, cgen::BlockBuilder& body) {
    while (begin < end) {
      if (plans_[begin].host_loops.size() == depth) {
        body << call_of(begin);
        // the last launch of all has nothing after it
        if (depth > 0 || begin + 1 < plans_.size()) {
          body << cgen::barrier(cgen::BarrierScope::grid);
        }
        ++begin;
        continue;
      }
      const HostLoop& loop = plans_[begin].host_loops[depth];
      std::size_t end_inside = begin + 1;
      while (end_inside < end && plans_[end_inside].host_loops.size() > depth &&
             plans_[end_inside].host_loops[depth].iname == loop.iname) {
        ++end_inside;
      }
      cgen::BlockBuilder inside;
      add(begin, end_inside, depth + 1, inside);
      body << cgen::counted_loop(options_.index_type, loop.iname, bound(loop.first),
                                 bound(loop.end), inside, {.step = static_cast<int>(loop.step)});
      begin = end_inside;
    }
  }

  cgen::Expr bound(const Expr& expr) {
    ExprScope scope;
    scope.kernel = &kernel_;
    scope.index_type = options_.index_type;
    scope.context = &kernel_.assumptions;
    scope.values = &no_values_;
    scope.helpers = &helpers_;
    scope.variable = [&](const std::string& name) {
      const Argument* argument = find_argument(kernel_, name);
      return cgen::variable(name, argument != nullptr ? *argument->type : options_.index_type);
    };
    return lower_index(scope, expr);
  }

  /// The call of a launch's function by the blocks that its grid has, and by its threads.
  cgen::Statement call_of(std::size_t number) {
    const LaunchPlan& plan = plans_[number];
    std::vector<cgen::Expr> arguments;
    for (const cgen::Parameter& each : parameters_) {
      arguments.push_back(cgen::variable(each.name, each.type));
    }
    for (const HostLoop& loop : plan.host_loops) {
      arguments.push_back(cgen::variable(loop.iname, options_.index_type));
    }
    const cgen::Statement call(cgen::call(plan.kernel_name, std::move(arguments), cgen::void_type));
    std::optional<cgen::Expr> is_here;
    for (int axis = 0; axis < 3; ++axis) {
      const auto place = static_cast<std::size_t>(axis);
      const auto position = [&](cgen::BuiltinKind kind) {
        return cgen::cast(options_.index_type, cgen::BuiltinIndex{kind, axis});
      };
      // blocks that walk along an axis take what there is, however many they are
      const bool walks = kernel_.walking_blocks.count(axis) != 0;
      if (!(plan.grid[place] == plan_.grid[place]) && !walks) {
        add_test(is_here, position(cgen::BuiltinKind::block_idx) < bound(plan.grid[place]));
      }
      if (plan.block[place] != plan_.block[place]) {
        add_test(is_here,
                 position(cgen::BuiltinKind::thread_idx) < static_cast<int>(plan.block[place]));
      }
    }
    return is_here ? cgen::if_(*is_here, call) : call;
  }

  const Kernel& kernel_;
  const TargetRules& rules_;
  const GenerateOptions& options_;
  const std::vector<LaunchPlan>& plans_;
  const std::vector<cgen::Statement>& functions_;
  std::set<HelperFunction>& helpers_;
  const KnownValues no_values_{};
  LaunchPlan plan_{};
  std::vector<cgen::Parameter> parameters_{};
};

}  // namespace

bool joins_launches(const Kernel& kernel, const TargetRules& rules, const GenerateOptions& options,
                    std::size_t launches) {
  if (!kernel.joins_launches || !options.joins_launches || !rules.has_grid_barriers ||
      launches < 2) {
    return false;
  }
  const bool looks_back = std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                                      [](const Instruction& each) { return is<LookBack>(each); });
  if (looks_back) {
    throw Unsupported(
        "loopy.generate.joined_scan",
        fmt::format("a scan of kernel '{}' looks back along the grid, which takes a launch of its "
                    "own: leave out join_launches, or let the scan take three launches",
                    kernel.name));
  }
  return true;
}

void mark_passed_arrays(std::vector<KernelParameter>& parameters) {
  for (KernelParameter& each : parameters) {
    each.is_passed_between_blocks =
        each.is_passed_between_blocks || (each.is_array && each.is_written);
  }
}

JoinedLaunch join_launches(const Kernel& kernel, const TargetRules& rules,
                           const GenerateOptions& options, const std::vector<LaunchPlan>& plans,
                           std::vector<cgen::Statement>& functions,
                           std::set<HelperFunction>& helpers) {
  JoinedLaunch joined = LaunchJoiner(kernel, rules, options, plans, functions, helpers).join();
  for (cgen::Statement& each : functions) {
    cgen::Function function = *get_if<cgen::Function>(each);
    function.specifiers = {};
    function.specifiers.is_static = true;
    function.specifiers.is_device = true;
    function.launch_bounds.reset();
    each = cgen::Statement(std::move(function));
  }
  return joined;
}

}  // namespace rtcg::loopy
