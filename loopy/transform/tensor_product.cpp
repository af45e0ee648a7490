#include "rtcg/loopy/transform/tensor_product.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/choose_address_spaces.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t column_threads = 4;
constexpr std::int64_t row_threads = 8;

[[noreturn]] void refuse_product(const char* code, const std::string& statement,
                                 const std::string& reason) {
  throw InvalidInput(
      code, fmt::format("tensor cores cannot compute the sum in '{}': {}", statement, reason));
}

/// The length of an iname from 0 to a constant; nothing for any other.
std::optional<std::int64_t> length_from_zero(const Kernel& kernel, const std::string& iname) {
  const ConstraintSet range = constraints_of(kernel, {iname});
  const auto first = range.minimum(Affine(iname));
  const auto last = range.maximum(Affine(iname));
  return first == 0 && last ? std::optional(*last + 1) : std::nullopt;
}

bool mentions_any(const Affine& expr, const NameSet& names) {
  return std::any_of(expr.terms().begin(), expr.terms().end(),
                     [&](const Affine::Term& term) { return names.count(term.name) != 0; });
}

/// The type of a factor, which a cast to the type of the sum does not change.
cgen::Type input_type(const Kernel& kernel, const Expr& factor, const cgen::Type& sum) {
  const Cast* cast = get_if<Cast>(factor);
  return type_of(kernel, cast != nullptr && cast->type == sum ? cast->operand : factor);
}

/// What is summed up, without a cast to the type that it has: sum_f32 writes one.
Expr summed(const Kernel& kernel, const Reduction& reduction) {
  const Expr& operand = reduction.operands.front();
  const Cast* cast = get_if<Cast>(operand);
  return cast != nullptr && type_of(kernel, cast->operand) == cast->type ? cast->operand : operand;
}

class Finder {
 public:
  Finder(Kernel kernel, const Instruction& statement, const Reduction& reduction,
         const std::string& contraction)
      : kernel_(std::move(kernel)), statement_(statement), reduction_(reduction) {
    found_.contraction = contraction;
  }

  TensorProduct find() {
    find_threads();
    find_factors();
    check_values();
    find_atom();
    find_pairs();
    find_bounds();
    return std::move(found_);
  }

 private:
  [[noreturn]] void refuse(const char* code, const std::string& reason) const {
    refuse_product(code, statement_.id, reason);
  }
  [[noreturn]] void refuse_product_form(const std::string& reason) const {
    refuse("loopy.use_tensor_cores.no_product", reason);
  }
  [[noreturn]] void refuse_warp(const std::string& reason) const {
    refuse("loopy.use_tensor_cores.no_warp", reason);
  }

  void find_threads() {
    if (!statement_.predicates.empty()) {
      refuse_product_form("it is computed only under a condition");
    }
    for (const std::string& iname : statement_.within_inames) {
      const InameTag tag = tag_of(kernel_, iname);
      if (tag == InameTag{AxisKind::block, 0} || tag == InameTag{AxisKind::block, 1}) {
        std::string& own = tag.number == 0 ? found_.columns : found_.rows;
        if (!own.empty()) {
          refuse_warp(fmt::format("'{}' and '{}' are both on l.{}", own, iname, tag.number));
        }
        own = iname;
      } else if (tag.kind == AxisKind::ilp || tag.kind == AxisKind::vec) {
        found_.lanes.push_back(iname);
      } else if (tag.kind == AxisKind::ilp_loop || tag.kind == AxisKind::block_auto) {
        refuse_warp(fmt::format("'{}' is tagged {}: use ilp, or an axis of the block", iname,
                                to_string(tag)));
      } else {
        found_.common.insert(iname);
      }
    }
    for (const std::string& iname : reduction_.inames) {
      const InameTag tag = tag_of(kernel_, iname);
      if (tag.is_parallel() || tag.is_lane() || tag.kind == AxisKind::block_auto) {
        refuse_warp(fmt::format("its iname '{}' is tagged {}, not a loop", iname, to_string(tag)));
      }
      if (iname != found_.contraction) {
        found_.common.insert(iname);
      }
    }
    if (found_.rows.empty() || found_.columns.empty()) {
      refuse_warp("rows are on l.1 and columns on l.0, 'i: g.1 ilp*4 l.1*8; j: g.0 ilp*4 l.0*4'");
    }
    const auto rows = length_from_zero(kernel_, found_.rows);
    const auto columns = length_from_zero(kernel_, found_.columns);
    if (!rows || *rows % row_threads != 0 || columns != column_threads) {
      refuse_warp(fmt::format("l.0 has {} threads, of '{}', and l.1 a multiple of {}, of '{}'",
                              column_threads, found_.columns, row_threads, found_.rows));
    }
  }

  /// Inames that the value depends on.
  [[nodiscard]] static NameSet names_in(const Expr& value) { return free_names(value); }

  void find_factors() {
    if (reduction_.operation != "sum" || reduction_.operands.size() != 1 ||
        !reduction_inames(reduction_.operands.front()).empty()) {
      refuse_product_form("it is not a sum of products");
    }
    const Expr operand = summed(kernel_, reduction_);
    const Product* product = get_if<Product>(operand);
    const std::vector<Expr> factors = product != nullptr ? product->factors : std::vector{operand};
    std::vector<Expr> left;
    std::vector<Expr> right;
    for (const Expr& factor : factors) {
      const NameSet names = names_in(factor);
      const bool has_rows = names.count(found_.rows) != 0;
      const bool has_columns = names.count(found_.columns) != 0;
      if (has_rows && has_columns) {
        refuse_product_form(fmt::format("'{}' depends on the rows '{}' and on the columns '{}'",
                                        to_string(factor), found_.rows, found_.columns));
      }
      (has_columns ? right : left).push_back(factor);
    }
    const bool has_row_factor = std::any_of(left.begin(), left.end(), [&](const Expr& factor) {
      return names_in(factor).count(found_.rows) != 0;
    });
    if (!has_row_factor || right.empty()) {
      refuse_product_form(
          fmt::format("'{}' is not a product of a factor with '{}' and one with '{}'",
                      to_string(operand), found_.rows, found_.columns));
    }
    found_.left = product_of(left);
    found_.right = product_of(right);
    is_regrouped_ = left.size() + right.size() > 2;
  }

  /// Threads use each other's places of the factors: all find the same values there.
  void check_values() const {
    NameSet own = {found_.rows, found_.columns};
    own.insert(found_.lanes.begin(), found_.lanes.end());
    NameSet names = accessed_arrays(reduction_.operands.front());
    names.merge(names_in(reduction_.operands.front()));
    for (const std::string& name : names) {
      const Temporary* temporary = find_temporary(kernel_, name);
      if (temporary == nullptr || temporary->address_space != AddressSpace::private_) {
        continue;
      }
      for (const Instruction& each : kernel_.instructions) {
        const bool is_own = std::any_of(own.begin(), own.end(), [&](const std::string& iname) {
          return each.within_inames.count(iname) != 0;
        });
        if (is_own && written_variables(each).count(name) != 0) {
          refuse_product_form(fmt::format("each thread has values of '{}' of its own", name));
        }
      }
    }
  }

  [[nodiscard]] static Expr product_of(const std::vector<Expr>& factors) {
    return factors.size() == 1 ? factors.front() : Expr(Product{factors});
  }

  void find_atom() {
    const cgen::Type sum = types_of_targets(kernel_, Expr(reduction_)).front();
    const cgen::Type left = input_type(kernel_, found_.left, sum);
    const cgen::Type right = input_type(kernel_, found_.right, sum);
    const cgen::Type multiplied = type_of(kernel_, summed(kernel_, reduction_));
    const auto atom =
        left == right && multiplied == sum ? find_tensor_atom(left, sum) : std::nullopt;
    if (!atom || (is_regrouped_ && !(left == sum))) {
      refuse("loopy.use_tensor_cores.no_atom",
             fmt::format("factors '{}' of {} and '{}' of {}, with sums of {}: there are "
                         "instructions for f64, for f16 and bf16 that are cast to f32, and for i8 "
                         "and u8 that are cast to i32",
                         to_string(found_.left), cgen::describe(left), to_string(found_.right),
                         cgen::describe(right), cgen::describe(sum)));
    }
    found_.atom = *atom;
    for (Expr* factor : {&found_.left, &found_.right}) {
      if (!(type_of(kernel_, *factor) == atom->input)) {
        *factor = get_if<Cast>(*factor)->operand;
      }
    }
    const auto length = length_from_zero(kernel_, found_.contraction);
    if (!length || *length % atom->depth != 0) {
      refuse("loopy.use_tensor_cores.partial_atom",
             fmt::format("'{}' has to run from 0 over a multiple of {} iterations: split it",
                         found_.contraction, atom->depth));
    }
    found_.length = *length;
  }

  void find_pairs() {
    const NameSet left = names_in(found_.left);
    const NameSet right = names_in(found_.right);
    for (const std::string& lane : found_.lanes) {
      const auto length = length_from_zero(kernel_, lane);
      if (!length) {
        refuse_warp(fmt::format("'{}' does not run from 0 to a constant", lane));
      }
      const bool has_left = left.count(lane) != 0;
      const bool has_right = right.count(lane) != 0;
      if (has_left != has_right && *length % 2 == 0) {
        (has_left ? found_.row_pairs : found_.column_pairs) = lane;
      }
    }
    if (found_.row_pairs.empty() || found_.column_pairs.empty()) {
      refuse("loopy.use_tensor_cores.partial_atom",
             "a thread has an even number of rows and an even number of columns, "
             "'i: g.1 ilp*4 l.1*8; j: g.0 ilp*4 l.0*4'");
    }
  }

  void find_bounds() {
    NameSet inames = statement_.within_inames;
    inames.insert(reduction_.inames.begin(), reduction_.inames.end());
    const ConstraintSet all = constraints_of(kernel_, inames);
    NameSet own = {found_.contraction, found_.rows, found_.columns};
    own.insert(found_.lanes.begin(), found_.lanes.end());
    ConstraintSet known = all.project_out({own.begin(), own.end()});
    for (const std::string& iname : own) {
      known.add_nonnegative(Affine(iname));
      known.add_nonnegative(Affine(*length_from_zero(kernel_, iname) - 1) - Affine(iname));
    }
    check_box(all, known, own);
    found_.left_bounds = bounds_of(found_.left, all, known, own);
    found_.right_bounds = bounds_of(found_.right, all, known, own);
  }

  /// All sums are over the same products.
  void check_box(const ConstraintSet& all, const ConstraintSet& known, NameSet own) const {
    own.erase(found_.contraction);
    for (const Temporary& each : kernel_.temporaries) {
      own.insert(each.name);
    }
    const auto is_bad = [&](const Affine& expr) {
      return expr.coefficient(found_.contraction) != 0 && mentions_any(expr, own);
    };
    const bool has_bad_bound = std::any_of(
        all.constraints().begin(), all.constraints().end(),
        [&](const Constraint& each) { return is_bad(each.expr) && !known.implies(each); });
    const bool has_stride = std::any_of(
        all.congruences().begin(), all.congruences().end(), [&](const Congruence& each) {
          return each.expr.coefficient(found_.contraction) != 0 && !known.implies(each);
        });
    if (has_bad_bound || has_stride) {
      refuse(
          "loopy.use_tensor_cores.not_a_box",
          fmt::format("which values '{}' takes depends on its row or column", found_.contraction));
    }
  }

  /// What a factor has to ask for before it reads, besides what is known. Tiles that were copied
  /// have elements for all iterations, so only what is summed up counts there.
  [[nodiscard]] std::vector<Constraint> bounds_of(const Expr& factor, const ConstraintSet& all,
                                                  const ConstraintSet& known,
                                                  const NameSet& own) const {
    const NameSet names = names_in(factor);
    std::vector<std::string> absent;
    std::copy_if(own.begin(), own.end(), std::back_inserter(absent), [&](const std::string& each) {
      return names.count(each) == 0 && each != found_.contraction;
    });
    const ConstraintSet of_factor = all.project_out(absent);
    const NameSet arrays = accessed_arrays(factor);
    const bool reads_tiles_only =
        std::all_of(arrays.begin(), arrays.end(), [&](const std::string& array) {
          const Temporary* temporary = find_temporary(kernel_, array);
          return temporary != nullptr && temporary->address_space != AddressSpace::global;
        });
    std::vector<Constraint> bounds;
    for (const Constraint& each : of_factor.constraints()) {
      const bool is_summed = each.expr.coefficient(found_.contraction) != 0;
      if (mentions_any(each.expr, own) && !known.implies(each) &&
          (is_summed || !reads_tiles_only)) {
        bounds.push_back(each);
      }
    }
    return bounds;
  }

  const Kernel kernel_;
  const Instruction& statement_;
  const Reduction& reduction_;
  TensorProduct found_{};
  bool is_regrouped_ = false;
};

}  // namespace

std::optional<TensorAtom> find_tensor_atom(const cgen::Type& input, const cgen::Type& sum) {
  const TensorAtom atoms[] = {{cgen::f64, cgen::f64, 4},
                              {cgen::f16, cgen::f32, 16},
                              {cgen::bf16, cgen::f32, 16},
                              {cgen::i8, cgen::i32, 32},
                              {cgen::u8, cgen::i32, 32}};
  const auto found = std::find_if(std::begin(atoms), std::end(atoms), [&](const TensorAtom& each) {
    return each.input == input && each.sum == sum;
  });
  return found == std::end(atoms) ? std::nullopt : std::optional(*found);
}

std::optional<TensorSum> find_tensor_sum(const Kernel& kernel, const Reduction& reduction) {
  if (reduction.operation != "sum" || reduction.operands.size() != 1 ||
      !reduction_inames(reduction.operands.front()).empty()) {
    return std::nullopt;
  }
  const Expr operand = summed(kernel, reduction);
  const Product* product = get_if<Product>(operand);
  if (product == nullptr) {
    return std::nullopt;
  }
  const cgen::Type sum = types_of_targets(kernel, Expr(reduction)).front();
  const cgen::Type input = input_type(kernel, product->factors.front(), sum);
  const bool are_alike =
      type_of(kernel, operand) == sum &&
      std::all_of(product->factors.begin(), product->factors.end(),
                  [&](const Expr& each) { return input_type(kernel, each, sum) == input; });
  const auto atom = find_tensor_atom(input, sum);
  if (!atom || !are_alike || (product->factors.size() > 2 && !(input == sum))) {
    return std::nullopt;
  }
  return TensorSum{*atom, product->factors};
}

TensorProduct find_tensor_product(const Kernel& kernel, const Instruction& statement,
                                  const Reduction& reduction, const std::string& contraction) {
  return Finder(choose_address_spaces(kernel), statement, reduction, contraction).find();
}

}  // namespace rtcg::loopy
