#include "rtcg/loopy/codegen/tile_order.h"

#include <algorithm>

namespace rtcg::loopy {
namespace {

struct TileOrder {
  std::string counter;  ///< the array
  std::string drawn;    ///< the variable for what the block finds in it
};

/// That of one statement.
std::optional<TileOrder> order_of(const Instruction& instruction) {
  const LookBack* look_back = get_if<LookBack>(instruction);
  // a statement that looks has the same
  return look_back == nullptr || look_back->step == LookBack::Step::publishes
             ? std::nullopt
             : std::optional(
                   TileOrder{target_name(look_back->published), target_name(look_back->drawn)});
}

cgen::Expr index_on(cgen::BuiltinKind kind, int axis) {
  return cgen::BuiltinIndex{kind, axis};
}

}  // namespace

void mark_tile_counters(const Kernel& kernel, std::vector<KernelParameter>& parameters) {
  for (const Instruction& each : kernel.instructions) {
    if (const auto order = order_of(each)) {
      for (KernelParameter& parameter : parameters) {
        if (parameter.name == order->counter) {
          parameter.starts_at_zero = true;
          parameter.is_passed_between_blocks = true;
        }
      }
    }
  }
}

std::map<int, cgen::Expr> tiles_in_order(KernelVariables& variables, cgen::BlockBuilder& body,
                                         BlockMemory& memory) {
  const LaunchFacts& launch = variables.launch;
  std::vector<std::string> drawn;
  std::string counter_array;
  int first_axis = 0;
  for (const std::size_t each : launch.statements) {
    const Instruction& instruction = launch.kernel.instructions[each];
    const auto order = order_of(instruction);
    if (!order) {
      continue;
    }
    drawn.push_back(order->drawn);
    if (counter_array.empty()) {
      counter_array = order->counter;
      for (const std::string& iname : instruction.within_inames) {
        const InameTag tag = tag_of(launch.kernel, iname);
        first_axis = tag.kind == AxisKind::grid ? tag.number : first_axis;
      }
    }
  }
  if (drawn.empty()) {
    return {};
  }
  const cgen::Expr counter = cgen::variable(
      counter_array,
      cgen::pointer_to(cgen::in_space(cgen::AddressSpace::global, cgen::u64)))[cgen::Expr(0)];
  const std::string shared = variables.new_name("block_number");
  const cgen::Expr slot =
      body.add(cgen::shared_array(cgen::u64, shared, {cgen::Expr(1)}))[cgen::Expr(0)];
  memory.bytes += 8;
  memory.arrays.emplace_back(shared, 8);
  std::optional<cgen::Expr> is_first;
  std::optional<cgen::Expr> blocks;
  std::vector<int> axes = {first_axis};
  for (const HardwareAxis& each : launch.axes.axes) {
    if (each.kind == AxisKind::grid) {
      const cgen::Expr length = index_on(cgen::BuiltinKind::grid_dim, each.number);
      blocks = blocks ? *blocks * length : length;
      if (each.number != first_axis) {
        axes.push_back(each.number);
      }
      continue;
    }
    const cgen::Expr here = cgen::equal(index_on(cgen::BuiltinKind::thread_idx, each.number),
                                        cgen::literal(0, cgen::u32));
    is_first = is_first ? *is_first && here : here;
  }
  const cgen::Expr number = cgen::cast(cgen::u32, slot);
  const cgen::Expr next_launch =
      ((slot >> cgen::literal(32, cgen::i32)) + cgen::literal(1, cgen::u64))
      << cgen::literal(32, cgen::i32);
  cgen::BlockBuilder draw;
  draw << cgen::assign(slot, cgen::call(cgen::Intrinsic::atomic_add,
                                        {cgen::address_of(counter), cgen::literal(1, cgen::u64)}))
       << cgen::if_(cgen::equal(number, *blocks - cgen::literal(1, cgen::u32)),
                    {cgen::assign(counter, next_launch)});
  body << cgen::if_(*is_first, draw) << cgen::barrier();
  for (const std::string& each : drawn) {
    body << cgen::declare(cgen::const_(cgen::u64), each, slot);
  }
  std::map<int, cgen::Expr> places;
  cgen::Expr rest = number;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const cgen::Expr length = index_on(cgen::BuiltinKind::grid_dim, axes[i]);
    const cgen::Expr place = i + 1 < axes.size() ? rest % length : rest;
    places.emplace(axes[i], cgen::cast(launch.options.index_type, place));
    rest = rest / length;
  }
  return places;
}

}  // namespace rtcg::loopy
