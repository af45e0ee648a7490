#include "rtcg/loopy/codegen/last_block.h"

#include <algorithm>
#include <iterator>

#include "rtcg/loopy/device/finish_in_last_block.h"
#include "rtcg/loopy/symbolic/affine.h"

namespace rtcg::loopy {
namespace {

cgen::Expr builtin(cgen::BuiltinKind kind, int axis) {
  return cgen::BuiltinIndex{kind, axis};
}

bool contains(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// The number of the block's group: those of the other axes, in mixed radix.
cgen::Expr group_of_block(const LaunchAxes& axes, const std::vector<int>& groups) {
  std::optional<cgen::Expr> number;
  for (const HardwareAxis& each : axes.axes) {
    if (each.kind == AxisKind::grid && !contains(groups, each.number)) {
      const cgen::Expr here = builtin(cgen::BuiltinKind::block_idx, each.number);
      number = number ? *number * builtin(cgen::BuiltinKind::grid_dim, each.number) + here : here;
    }
  }
  return number.value_or(cgen::literal(0, cgen::u32));
}

cgen::Expr blocks_of_group(const std::vector<int>& groups) {
  cgen::Expr count = builtin(cgen::BuiltinKind::grid_dim, groups.front());
  for (std::size_t i = 1; i < groups.size(); ++i) {
    count = count * builtin(cgen::BuiltinKind::grid_dim, groups[i]);
  }
  return count;
}

/// Whether the thread is the first one; nothing for blocks of one thread.
std::optional<cgen::Expr> is_first_thread(const LaunchAxes& axes) {
  std::optional<cgen::Expr> result;
  for (const HardwareAxis& each : axes.axes) {
    if (each.kind == AxisKind::block) {
      const cgen::Expr is_first = cgen::equal(builtin(cgen::BuiltinKind::thread_idx, each.number),
                                              cgen::literal(0, cgen::u32));
      result = result ? *result && is_first : is_first;
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> add_last_block_counters(const Kernel& kernel,
                                                 const std::vector<LaunchTree>& launches,
                                                 const std::vector<LaunchAxes>& axes,
                                                 std::vector<KernelParameter>& parameters) {
  const bool has_any = std::any_of(launches.begin(), launches.end(), [](const LaunchTree& each) {
    return !each.after_last_block.empty();
  });
  if (!has_any) {
    return std::vector<std::string>(launches.size());
  }
  NameGenerator names = make_name_generator(kernel);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    result.emplace_back();
    if (launches[i].after_last_block.empty()) {
      continue;
    }
    const NameSet parts = parts_of_blocks(kernel, launches[i]);
    for (KernelParameter& each : parameters) {
      each.is_passed_between_blocks = each.is_passed_between_blocks || parts.count(each.name) != 0;
    }
    const std::vector<int> groups = axes_of_groups(kernel, launches[i], axes[i]);
    Expr count = 1;
    for (const HardwareAxis& each : axes[i].axes) {
      count = each.kind == AxisKind::grid && !contains(groups, each.number) ? count * each.extent
                                                                            : count;
    }
    KernelParameter counters;
    counters.name = names.make("last_block_counters");
    counters.type = cgen::u32;
    counters.is_array = true;
    counters.is_written = true;
    counters.temporary_count = simplify_index(count);
    counters.starts_at_zero = true;
    counters.is_passed_between_blocks = true;
    parameters.push_back(counters);
    result.back() = counters.name;
  }
  return result;
}

void append_last_block(const LaunchFacts& launch, const std::vector<int>& groups,
                       const std::string& counters, KernelBody last, KernelBody& body) {
  NameGenerator names = make_name_generator(launch.kernel);
  LastBlock block{cgen::variable(counters, cgen::pointer_to(cgen::in_space(
                                               cgen::AddressSpace::global,
                                               cgen::u32)))[group_of_block(launch.axes, groups)],
                  blocks_of_group(groups),
                  launch.rules.has_threads ? is_first_thread(launch.axes) : std::nullopt};
  block.is_last_name = names.make(block.is_last_name);
  block.counted_name = names.make(block.counted_name);
  cgen::BlockBuilder arrays;  // of the whole function
  cgen::BlockBuilder meeting;
  finish_in_last_block(block, last.statements, arrays, meeting);
  if (block.is_counting) {
    body.memory.bytes += 4;
    body.memory.arrays.emplace_back(block.is_last_name, 4);
  }
  for (const cgen::Statement& each : last.memory.declarations) {
    arrays << each;
  }
  std::vector<cgen::Statement> all = arrays.statements();
  std::move(body.statements.begin(), body.statements.end(), std::back_inserter(all));
  const std::vector<cgen::Statement> rest = meeting.statements();
  all.insert(all.end(), rest.begin(), rest.end());
  body.statements = std::move(all);
  body.memory.bytes += last.memory.bytes;
  std::move(last.memory.arrays.begin(), last.memory.arrays.end(),
            std::back_inserter(body.memory.arrays));
  body.helpers.merge(last.helpers);
}

}  // namespace rtcg::loopy
