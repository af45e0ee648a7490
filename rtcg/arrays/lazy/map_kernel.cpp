#include <fmt/format.h>

#include "rtcg/arrays/lazy/kernel_form.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

/// Code of the element at `index`; `place` is where that is in C order.
void emit_element(const KernelForm& form, const KernelInterface& interface,
                  const std::function<Expr(std::size_t, bool)>& offset, const Expr& place,
                  cgen::BlockBuilder& body) {
  std::vector<Expr> leaf_offsets;
  for (std::size_t leaf = 0; leaf < form.leaves.size(); ++leaf) {
    leaf_offsets.push_back(offset(leaf, false));
  }
  const LoweringPlace lowering{
      form.dialect, body,
      [&](std::uint32_t leaf, int part) { return interface.load(leaf, leaf_offsets[leaf], part); },
      [&](std::uint32_t number, int part) { return interface.number(number, part); }, place};
  const std::vector<Value> values = lower_steps(form.steps, lowering);
  for (std::size_t target = 0; target < form.targets.size(); ++target) {
    interface.store(target, offset(target, true), values[form.roots[target]], body);
  }
}

/// One element a thread, and on by the whole grid.
void emit_flat_loop(const KernelForm& form, KernelInterface& interface, cgen::BlockBuilder& body) {
  const Expr count = interface.add_index_parameter("count");
  const cgen::Type& type = interface.index_type();
  const Expr threads = interface.index(block_threads(form.dialect));
  const Expr first =
      cast(type, cgen::block_idx_x) * threads + cast(type, cgen::thread_idx_x);
  body << cgen::for_(
      type, "i", first, count,
      [&](const Expr& i, cgen::BlockBuilder& loop) {
        const std::vector<Expr> index = interface.split_place(i, 0, form.axes, "i", loop);
        emit_element(
            form, interface,
            [&](std::size_t operand, bool is_target) {
              return is_target ? interface.target_offset(operand, index)
                               : interface.leaf_offset(operand, index);
            },
            i, loop);
      },
      {.step = cast(type, cgen::grid_dim_x) * threads});
}

/// A range of rows and one of columns for each call, so that the inner loop is one that compilers
/// turn into vector code.
void emit_row_loops(const KernelForm& form, KernelInterface& interface, cgen::BlockBuilder& body) {
  const Expr rows = interface.add_index_parameter("rows");
  const Expr rows_each = interface.add_index_parameter("rows_each");
  const Expr columns_each = interface.add_index_parameter("columns_each");
  const cgen::Type& type = interface.index_type();
  const int inner = form.axes - 1;
  const auto range = [&](const char* name, const Expr& block, const Expr& each, const Expr& end) {
    const Expr first =
        interface.declare_index(fmt::format("{}_first", name), cast(type, block) * each, body);
    const Expr last = interface.declare_index(
        fmt::format("{}_end", name), select(end - first < each, end, first + each), body);
    return std::pair(first, last);
  };
  const auto [row_first, row_end] = range("row", cgen::block_idx_x, rows_each, rows);
  const auto [column_first, column_end] =
      range("column", cgen::block_idx_y, columns_each, interface.length(inner));
  const auto row_loop = [&, column_first = column_first, column_end = column_end](
                            const Expr& row, cgen::BlockBuilder& outer) {
    const std::vector<Expr> index = interface.split_place(row, 0, inner, "i", outer);
    std::vector<Expr> bases[2];
    for (std::size_t target = 0; target < form.targets.size(); ++target) {
      bases[1].push_back(interface.declare_index(fmt::format("out{}_row", target),
                                                 interface.target_offset(target, index), outer));
    }
    for (std::size_t leaf = 0; leaf < form.leaves.size(); ++leaf) {
      bases[0].push_back(interface.declare_index(fmt::format("in{}_row", leaf),
                                                 interface.leaf_offset(leaf, index), outer));
    }
    outer << cgen::for_(type, "j", column_first, column_end,
                        [&](const Expr& j, cgen::BlockBuilder& loop) {
                          emit_element(
                              form, interface,
                              [&](std::size_t operand, bool is_target) {
                                return bases[is_target ? 1 : 0][operand] +
                                       (is_target ? interface.target_offset(operand, {j}, inner)
                                                  : interface.leaf_offset(operand, {j}, inner));
                              },
                              row * interface.length(inner) + j, loop);
                        },
                        {});
  };
  body << cgen::for_(type, "row", row_first, row_end, row_loop, {});
}

}  // namespace

cgen::Module finish_module(const KernelForm& form, const KernelInterface& interface,
                           const cgen::BlockBuilder& body) {
  cgen::BlockBuilder items;
  if (form.dialect == cgen::Dialect::c) {
    items << cgen::include_system("math.h");
  }
  cgen::Function function;
  function.result = cgen::void_type;
  function.name = kernel_name;
  function.parameters = interface.parameters();
  function.body = body.block();
  function.specifiers.is_kernel = true;
  function.specifiers.is_extern_c = form.dialect != cgen::Dialect::opencl;
  if (form.dialect == cgen::Dialect::cuda) {
    function.launch_bounds = cgen::LaunchBounds{block_threads(form.dialect), 0};
  } else if (form.dialect == cgen::Dialect::opencl) {
    function.required_work_group_size = {block_threads(form.dialect), 1, 1};
  }
  items << cgen::Statement(std::move(function));
  return {"expression", items.statements()};
}

cgen::Module make_map_module(const KernelForm& form) {
  KernelInterface interface(form);
  cgen::BlockBuilder body;
  if (form.dialect == cgen::Dialect::c) {
    emit_row_loops(form, interface, body);
  } else {
    emit_flat_loop(form, interface, body);
  }
  return finish_module(form, interface, body);
}

}  // namespace rtcg::arrays::detail
