// Sums of products by the tensor cores of warps.
#include <algorithm>

#include "rtcg/loopy/preprocess/realizer.h"
#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/tensor_product.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t row_threads = 8;
constexpr std::int64_t column_threads = 4;

/// A private variable, or an element of a private array.
Expr element(const std::string& variable, std::vector<Expr> indices) {
  return indices.empty() ? Expr(Name{variable}) : Expr(Access{variable, std::move(indices)});
}

/// The factor of the columns where a thread has not its own: it has column `column`, 0 to 7, of
/// those that the threads along l.0 hold in a pair of their lanes, 2*columns + column_pairs % 2.
Expr at_column(const Expr& expr, const TensorProduct& product, const Expr& pair,
               const Expr& column) {
  const auto affine = to_affine(expr);
  if (!affine) {
    return map_children(expr,
                        [&](const Expr& child) { return at_column(child, product, pair, column); });
  }
  const std::int64_t step = affine->coefficient(product.column_pairs);
  if (step != 0 && affine->coefficient(product.columns) == 2 * step) {
    const Affine first = affine->substitute(product.columns, 0).substitute(product.column_pairs, 0);
    return to_expr(first) + Expr(2 * step) * pair + Expr(step) * column;
  }
  return substitute(expr, {{product.columns, floor_div(column, 2)},
                           {product.column_pairs, Expr(2) * pair + modulo(column, 2)}});
}

/// `value`, or 0 where the bounds do not hold.
Expr within_bounds(const Expr& value, const std::vector<Constraint>& bounds) {
  std::vector<Expr> conditions;
  for (const Constraint& each : bounds) {
    conditions.push_back(
        compare(each.is_equality ? ComparisonOp::equal : ComparisonOp::greater_equal,
                to_expr(each.expr), 0));
  }
  return conditions.empty() ? value : Expr(Conditional{logical_and(conditions), value, 0});
}

/// A lane of the statements that a sum of products becomes: an iname, or 0 if there is but one.
struct Lane {
  Expr number = 0;
  std::int64_t length = 1;
};

/// The lanes of these statements, and what they stand for in the description.
struct AtomLanes {
  const TensorProduct& product;
  std::vector<Lane> copies{};  ///< of product.lanes
  Lane places{};               ///< of a thread in an atom along the contraction
  Lane row_pairs{};
  Lane column_pairs{};

  /// What stands for a lane of the description in the variable of the sums or of a factor.
  /// @param row, column  of the lanes of pairs
  [[nodiscard]] std::vector<Expr> at(const NameSet& mentioned, const Expr& row,
                                     const Expr& column) const {
    std::vector<Expr> indices;
    for (std::size_t i = 0; i < product.lanes.size(); ++i) {
      const std::string& lane = product.lanes[i];
      if (mentioned.count(lane) != 0) {
        indices.push_back(lane == product.row_pairs      ? row
                          : lane == product.column_pairs ? column
                                                         : copies[i].number);
      }
    }
    return indices;
  }
  [[nodiscard]] std::vector<Expr> lengths_of(const NameSet& mentioned,
                                             std::int64_t columns_in_pair) const {
    std::vector<Expr> lengths;
    for (std::size_t i = 0; i < product.lanes.size(); ++i) {
      const std::string& lane = product.lanes[i];
      if (mentioned.count(lane) != 0) {
        lengths.emplace_back(lane == product.column_pairs ? copies[i].length / columns_in_pair
                                                          : copies[i].length);
      }
    }
    return lengths;
  }
  [[nodiscard]] const Lane& copy_of(const std::string& lane) const {
    const auto found = std::find(product.lanes.begin(), product.lanes.end(), lane);
    return copies[static_cast<std::size_t>(found - product.lanes.begin())];
  }
};

/// The inames of lanes among numbers.
NameSet inames_of(const std::vector<Expr>& numbers) {
  NameSet inames;
  for (const Expr& each : numbers) {
    if (const Name* name = get_if<Name>(each)) {
      inames.insert(name->name);
    }
  }
  return inames;
}

/// `indices` with one more along a lane that has several numbers.
void add_index(std::vector<Expr>& indices, const Lane& lane, const Expr& number) {
  if (lane.length > 1) {
    indices.push_back(number);
  }
}

}  // namespace

std::optional<std::vector<Expr>> Realizer::on_tensor_cores(const Reduction& reduction,
                                                           const ReductionOperation& operation,
                                                           const Instruction& statement) {
  const auto tagged = std::find_if(
      reduction.inames.begin(), reduction.inames.end(),
      [&](const auto& iname) { return tag_of(kernel_, iname).kind == AxisKind::tensor; });
  if (tagged == reduction.inames.end()) {
    return std::nullopt;
  }
  const Instruction around = guarded(statement);
  Kernel described = kernel_;
  described.instructions = described_;
  const TensorProduct product = find_tensor_product(described, around, reduction, *tagged);
  const std::int64_t places = product.atom.depth / column_threads;

  // all threads take part, also those beyond the domain
  const std::string rows = whole_axis(product.rows);
  const std::string columns = whole_axis(product.columns);
  NameSet threads = around.within_inames;
  std::erase_if(threads, [&](const std::string& each) {
    return each == product.rows || each == product.columns || tag_of(kernel_, each).is_lane();
  });
  threads.insert({rows, columns});
  NameSet loops = threads;
  loops.insert(reduction.inames.begin(), reduction.inames.end());
  loops.erase(product.contraction);

  const auto add_iname = [&](const std::string& base, std::int64_t length, AxisKind kind) {
    return length == 1 ? Lane{} : Lane{Name{add_loop(base, 0, length, {kind})}, length};
  };
  const Lane atoms = add_iname(product.contraction + "_atom", product.length / product.atom.depth,
                               AxisKind::unroll);
  loops.merge(inames_of({atoms.number}));
  AtomLanes lanes{product};
  lanes.places = add_iname(product.contraction + "_place", places, AxisKind::vec);
  lanes.row_pairs =
      add_iname(product.row_pairs + "_pair", length_of(product.row_pairs) / 2, AxisKind::ilp);
  lanes.column_pairs =
      add_iname(product.column_pairs + "_pair", length_of(product.column_pairs) / 2, AxisKind::ilp);
  for (const std::string& lane : product.lanes) {
    lanes.copies.push_back({Name{whole_axis(lane)}, length_of(lane)});
  }
  const auto within = [](NameSet around_lanes, const std::vector<Expr>& numbers) {
    around_lanes.merge(inames_of(numbers));
    return around_lanes;
  };
  const NameSet all(product.lanes.begin(), product.lanes.end());
  const Expr row = lanes.copy_of(product.row_pairs).number;
  const Expr column = lanes.copy_of(product.column_pairs).number;

  const std::string sums = add_temporary(base_name(reduction), product.atom.sum,
                                         AddressSpace::private_, lanes.lengths_of(all, 1));
  const std::vector<Expr> each_sum = lanes.at(all, row, column);
  const std::string init =
      add_statement(sums + "_init", element(sums, each_sum), operation.neutral().front(),
                    within(threads, each_sum), around, "");

  struct Factor {
    std::string variable{};
    std::string last{};
  };
  const auto load = [&](const Expr& factor, const std::vector<Constraint>& bounds, bool is_left) {
    const NameSet mentioned = free_names(factor);
    std::vector<Expr> indices = lanes.at(mentioned, row, lanes.column_pairs.number);
    std::vector<Expr> lengths = lanes.lengths_of(mentioned, 2);
    Substitution values = {
        {product.rows, Name{rows}},
        {product.contraction,
         simplify_index(Expr(product.atom.depth) * atoms.number +
                        Expr(places) * Expr(Name{columns}) + lanes.places.number)}};
    for (std::size_t i = 0; i < product.lanes.size(); ++i) {
      values.emplace(product.lanes[i], lanes.copies[i].number);
    }
    Expr value = within_bounds(factor, bounds);
    if (!is_left) {
      const Expr thread = Name{rows};
      value =
          at_column(value, product, lanes.column_pairs.number,
                    length_of(product.rows) == row_threads ? thread : modulo(thread, row_threads));
    }
    add_index(indices, lanes.places, lanes.places.number);
    add_index(lengths, lanes.places, lanes.places.length);
    const std::string variable = add_temporary(sums + (is_left ? "_left" : "_right"),
                                               product.atom.input, AddressSpace::private_, lengths);
    return Factor{variable,
                  add_statement(variable + "_load", element(variable, indices),
                                substitute(value, values), within(loops, indices), around, "")};
  };
  const Factor left = load(product.left, product.left_bounds, true);
  const Factor right = load(product.right, product.right_bounds, false);

  const auto of_pair = [](const Lane& pairs, int number) {
    return simplify_index(Expr(2) * pairs.number + Expr(number));
  };
  const auto part_of = [&](const Factor& factor, const Expr& value, const Expr& at_row, int place) {
    std::vector<Expr> indices = lanes.at(free_names(value), at_row, lanes.column_pairs.number);
    add_index(indices, lanes.places, place);
    return element(factor.variable, indices);
  };
  WarpProduct multiply{product.atom};
  for (int i = 0; i < 2; ++i) {
    const Expr at_row = of_pair(lanes.row_pairs, i);
    for (int j = 0; j < 2; ++j) {
      multiply.sums.push_back(element(sums, lanes.at(all, at_row, of_pair(lanes.column_pairs, j))));
    }
    for (int place = 0; place < places; ++place) {
      multiply.left.push_back(part_of(left, product.left, at_row, place));
    }
  }
  for (int place = 0; place < places; ++place) {
    multiply.right.push_back(part_of(right, product.right, 0, place));
  }
  const std::vector<Expr> numbers =
      lanes.at(all, lanes.row_pairs.number, lanes.column_pairs.number);
  Instruction update;
  update.id = names_.make(sums + "_update");
  update.kind = std::move(multiply);
  update.within_inames = with_parent_inames(kernel_, within(loops, numbers));
  update.depends_on = around.depends_on;
  update.depends_on.insert({init, left.last, right.last});
  update.call_site = around.call_site;
  new_dependencies_.insert(update.id);
  kernel_.instructions.push_back(std::move(update));
  return std::vector<Expr>{element(sums, as_names(product.lanes))};
}

}  // namespace rtcg::loopy
