#include "rtcg/loopy/check/check_bounds.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/find_integer_point.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

const std::vector<Expr>* shape_of(const Kernel& kernel, const std::string& array) {
  if (const Argument* argument = find_argument(kernel, array)) {
    return argument->is_array ? &argument->shape : nullptr;
  }
  const Temporary* temporary = find_temporary(kernel, array);
  return temporary == nullptr ? nullptr : &temporary->shape;
}

/// One access on one axis.
class AxisCheck {
 public:
  /// @param instances  in which the access takes place
  AxisCheck(const Kernel& kernel, const ArrayAccess& access, const ConstraintSet& instances,
            std::size_t axis, Expr length)
      : kernel_(kernel),
        access_(access),
        instances_(instances),
        axis_(axis),
        length_(std::move(length)) {}

  void run() const {
    const std::vector<IndexCase> indices = index_cases(access_.indices[axis_]);
    const std::vector<IndexCase> lengths = index_cases(length_);
    // the search cannot use a length in cases (a minimum, say) as a bound
    if (lengths.size() != 1) {
      return;
    }
    for (const IndexCase& index : indices) {
      ConstraintSet context = lengths.front().context;
      context.add(index.context);
      ConstraintSet here;
      if (!context.is_unconstrained()) {
        here = instances_;
        here.add(context);
      }
      const ConstraintSet& where = context.is_unconstrained() ? instances_ : here;
      require_nonnegative(where, index.value);
      require_nonnegative(where, lengths.front().value - index.value - 1);
    }
  }

 private:
  void require_nonnegative(const ConstraintSet& instances, const Affine& value) const {
    if (instances.implies_nonnegative(value)) {
      return;
    }
    ConstraintSet outside = instances;
    outside.add_nonnegative(-value - 1);
    const auto names = witness_names(kernel_, access_.inames, outside);
    if (!names) {
      return;
    }
    const auto witness = find_integer_point(
        outside, *names, [&](const IntegerValues& values) { return is_outside(values); });
    if (witness) {
      complain(*witness);
    }
  }

  /// The search knows what follows from the conditions; this, whether they hold.
  [[nodiscard]] bool is_outside(const IntegerValues& values) const {
    const auto holds = [&](const Expr& condition) {
      return evaluate_integer(condition, values).value_or(0) != 0;
    };
    const auto index = evaluate_integer(access_.indices[axis_], values);
    const auto length = evaluate_integer(length_, values);
    return index && length && (*index < 0 || *index >= *length) &&
           contains(constraints_of(kernel_, access_.inames), values) &&
           std::all_of(access_.conditions.begin(), access_.conditions.end(), holds);
  }

  [[noreturn]] void complain(const IntegerValues& witness) const {
    const Expr text = access_.is_linear ? Expr(LinearAccess{access_.array, access_.indices[0]})
                                        : access(access_.array, access_.indices);
    throw InvalidInput(
        "loopy.check_bounds.out_of_bounds",
        fmt::format("'{}' in statement '{}' {} element {} of axis {}, which has {}: at {}",
                    to_string(text), access_.statement, access_.is_write ? "writes" : "reads",
                    *evaluate_integer(access_.indices[axis_], witness), axis_,
                    *evaluate_integer(length_, witness), describe(kernel_, witness)));
  }

  const Kernel& kernel_;
  const ArrayAccess& access_;
  const ConstraintSet& instances_;
  std::size_t axis_;
  Expr length_;
};

}  // namespace

void check_bounds(const Kernel& kernel) {
  std::optional<NameSet> inames;
  ConstraintSet points;  // of these inames: accesses of one statement share them
  for (const ArrayAccess& access : accesses_of(kernel)) {
    const std::vector<Expr>* shape = shape_of(kernel, access.array);
    // the strides give the places of a linear access
    if (shape == nullptr || access.is_linear || shape->size() != access.indices.size() ||
        // images have values outside, too
        (!access.is_write && find_image(kernel, access.array) != nullptr)) {
      continue;
    }
    if (inames != access.inames) {
      inames = access.inames;
      points = constraints_of(kernel, *inames);
    }
    ConstraintSet guarded;
    if (!access.conditions.empty()) {
      guarded = points;
      for (const Expr& condition : access.conditions) {
        guarded.add(context_of(condition));
      }
    }
    for (std::size_t axis = 0; axis < shape->size(); ++axis) {
      AxisCheck(kernel, access, access.conditions.empty() ? points : guarded, axis, (*shape)[axis])
          .run();
    }
  }
}

}  // namespace rtcg::loopy
