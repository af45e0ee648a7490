#include "tests/loopy/oracle/isl_set.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/ilp.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/val.h>

namespace rtcg::loopy {
namespace {

isl_ctx* context() {
  struct FreeContext {
    void operator()(isl_ctx* each) const { isl_ctx_free(each); }
  };
  // freed after all sets of the thread: those are local to tests
  static thread_local std::unique_ptr<isl_ctx, FreeContext> instance = [] {
    isl_ctx* made = isl_ctx_alloc();
    isl_options_set_on_error(made, ISL_ON_ERROR_ABORT);
    return std::unique_ptr<isl_ctx, FreeContext>(made);
  }();
  return instance.get();
}

/// isl's names are identifiers.
std::string dimension(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw std::logic_error("no dimension '" + name + "'");
  }
  return fmt::format("d{}", found - names.begin());
}

std::string text_of(const Affine& expr, const std::vector<std::string>& names) {
  std::string text = std::to_string(expr.constant());
  for (const Affine::Term& term : expr.terms()) {
    text += fmt::format(" + {}*{}", term.coefficient, dimension(names, term.name));
  }
  return text;
}

std::string dimensions(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    all.push_back(dimension(names, name));
  }
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string text_of(const ConstraintSet& set, const std::vector<std::string>& names) {
  std::vector<std::string> conditions;
  for (const Constraint& each : set.constraints()) {
    conditions.push_back(text_of(each.expr, names) + (each.is_equality ? " = 0" : " >= 0"));
  }
  for (std::size_t i = 0; i < set.congruences().size(); ++i) {
    const Congruence& each = set.congruences()[i];
    conditions.push_back(
        fmt::format("exists(q : {} = {}*q)", text_of(each.expr, names), each.modulus));
  }
  return fmt::format("{{ {}{}{} }}", dimensions(names), conditions.empty() ? "" : " : ",
                     fmt::join(conditions, " and "));
}

std::optional<std::int64_t> number(isl_val* value) {
  const std::unique_ptr<isl_val, decltype(&isl_val_free)> owner(value, isl_val_free);
  if (isl_val_is_int(value) != isl_bool_true) {
    return std::nullopt;
  }
  return isl_val_get_num_si(value);
}

}  // namespace

void IslSet::Free::operator()(isl_set* set) const {
  isl_set_free(set);
}

IslSet::IslSet(const ConstraintSet& set, const std::vector<std::string>& names)
    : IslSet(Handle(isl_set_read_from_str(context(), text_of(set, names).c_str())), names) {}

IslSet::IslSet(Handle set, std::vector<std::string> names)
    : set_(std::move(set)), names_(std::move(names)) {}

bool IslSet::is_empty() const {
  return isl_set_is_empty(set_.get()) == isl_bool_true;
}

bool IslSet::is_subset_of(const IslSet& other) const {
  return isl_set_is_subset(set_.get(), other.set_.get()) == isl_bool_true;
}

bool IslSet::is_equal_to(const IslSet& other) const {
  return isl_set_is_equal(set_.get(), other.set_.get()) == isl_bool_true;
}

std::optional<std::int64_t> IslSet::minimum(const Affine& expr) const {
  const std::string text =
      fmt::format("{{ {} -> [{}] }}", dimensions(names_), text_of(expr, names_));
  isl_aff* aff = isl_aff_read_from_str(context(), text.c_str());
  const std::optional<std::int64_t> result = number(isl_set_min_val(set_.get(), aff));
  isl_aff_free(aff);
  return result;
}

std::optional<std::int64_t> IslSet::maximum(const Affine& expr) const {
  const std::optional<std::int64_t> smallest = minimum(-expr);
  return smallest ? std::optional(-*smallest) : std::nullopt;
}

IslSet IslSet::without(const std::vector<std::string>& names) const {
  isl_set* set = isl_set_copy(set_.get());
  std::vector<std::string> left = names_;
  for (const std::string& name : names) {
    const auto found = std::find(left.begin(), left.end(), name);
    if (found != left.end()) {
      set = isl_set_project_out(set, isl_dim_set, static_cast<unsigned>(found - left.begin()), 1);
      left.erase(found);
    }
  }
  return IslSet(Handle(set), std::move(left));
}

std::string IslSet::text() const {
  char* text = isl_set_to_str(set_.get());
  const std::string result = text;
  std::free(text);
  return result;
}

}  // namespace rtcg::loopy
