#include "rtcg/loopy/analyze/update.h"

#include <algorithm>

#include "rtcg/loopy/analyze/order_free.h"
#include "rtcg/loopy/analyze/reduction_operation.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

// no names of kernels: these have no spaces
const char* const left_name = "left operand";
const char* const right_name = "right operand";

bool reads(const Expr& expr, const Expr& target) {
  bool is_read = false;
  walk(expr, [&](const Expr& part) {
    is_read = is_read || part == target;
    return !is_read;
  });
  return is_read;
}

Expr with_replaced(const Expr& expr, const Expr& from, const Expr& to) {
  return expr == from ? to : map_children(expr, [&](const Expr& child) {
    return with_replaced(child, from, to);
  });
}

/// `target op the rest`: the name of the reduction, and its form.
struct KnownForm {
  std::string reduction;
  Expr form;
};

std::optional<KnownForm> find_known(const Expr& value, const Expr& target) {
  const Expr left = name(left_name);
  const Expr right = name(right_name);
  const auto is_once = [&](const std::vector<Expr>& parts) {
    return std::count(parts.begin(), parts.end(), target) == 1 &&
           std::count_if(parts.begin(), parts.end(),
                         [&](const Expr& each) { return reads(each, target); }) == 1;
  };
  if (const Sum* sum = get_if<Sum>(value); sum != nullptr && is_once(sum->terms)) {
    return KnownForm{"sum", Sum{{left, right}}};
  }
  if (const Product* product = get_if<Product>(value);
      product != nullptr && is_once(product->factors)) {
    return KnownForm{"product", Product{{left, right}}};
  }
  const Call* call = get_if<Call>(value);
  if (call != nullptr && (call->function == "min" || call->function == "max") &&
      call->arguments.size() == 2 && is_once(call->arguments)) {
    return KnownForm{call->function, Call{call->function, {left, right}}};
  }
  return std::nullopt;
}

/// The form of another update: all that it reads but the target and scalars of the kernel is one
/// expression.
std::optional<Expr> find_form(const Kernel& kernel, const Expr& value, const Expr& target) {
  std::vector<Expr> candidates;
  walk(value, [&](const Expr& part) {
    if (!reads(part, target) && !is<Integer>(part) && !is<Real>(part)) {
      candidates.push_back(part);
    }
    return part != target;
  });
  for (const Expr& operand : candidates) {
    const Expr form =
        with_replaced(with_replaced(value, target, name(left_name)), operand, name(right_name));
    bool has_right = false;
    bool is_closed = accessed_arrays(form).empty() && reduction_inames(form).empty();
    for (const std::string& each : free_names(form)) {
      const Argument* argument = find_argument(kernel, each);
      has_right = has_right || each == right_name;
      is_closed = is_closed && (each == left_name || each == right_name ||
                                (argument != nullptr && !argument->is_array));
    }
    if (has_right && is_closed) {
      return form;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Update> Update::find(const Kernel& kernel, const Assignment& assignment) {
  if (!assignment.is_atomic || assignment.targets.size() != 1 ||
      !is<Access>(assignment.targets.front())) {
    return std::nullopt;
  }
  const Expr& target = assignment.targets.front();
  const cgen::Type type = type_of(kernel, target);
  const auto neutral_of = [&](const std::string& reduction) {
    return ReductionOperation(kernel, Reduction{reduction, {"i"}, {target}}, {type})
        .neutral()
        .front();
  };
  if (const auto known = find_known(assignment.value, target)) {
    if (known->reduction == "min" && may_lose_sign(type, type_of(kernel, assignment.value))) {
      return std::nullopt;
    }
    return Update(known->reduction, neutral_of(known->reduction), known->form);
  }
  const auto form = find_form(kernel, assignment.value, target);
  if (!form || why_order_matters(kernel, target, assignment.value)) {
    return std::nullopt;
  }
  // from f(f(x, a), b) = f(f(x, b), a) and f(neutral, a) = a follows that f commutes, and with it
  // that f(f(a, x), b) = f(a, f(x, b))
  const auto kind = cgen::scalar_kind(type);
  std::vector<Expr> candidates = {0, 1};
  if (kind && cgen::is_integral(*kind)) {
    candidates.push_back(-1);
  }
  if (kind) {
    candidates.push_back(neutral_of("min"));
    candidates.push_back(neutral_of("max"));
  }
  const Expr value = with_replaced(*form, name(left_name), target);
  for (const Expr& candidate : candidates) {
    if (is_neutral(kernel, target, value, candidate, name(right_name))) {
      return Update("", candidate, *form);
    }
  }
  return std::nullopt;
}

Expr Update::combine(const Expr& left, const Expr& right) const {
  return substitute(form_, {{left_name, left}, {right_name, right}});
}

bool Update::is_like(const Update& other) const {
  return form_ == other.form_;
}

bool may_lose_sign(const cgen::Type& stored, const cgen::Type& given) {
  const auto stored_kind = cgen::scalar_kind(stored);
  const auto given_kind = cgen::scalar_kind(given);
  return stored_kind && given_kind && cgen::is_integral(*stored_kind) &&
         cgen::is_integral(*given_kind) && !cgen::is_signed(*stored_kind) &&
         cgen::is_signed(*given_kind);
}

}  // namespace rtcg::loopy
