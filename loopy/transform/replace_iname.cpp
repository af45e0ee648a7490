#include "rtcg/loopy/transform/replace_iname.h"

#include <algorithm>
#include <unordered_map>

#include "rtcg/loopy/kernel/call_loops.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/map_kernel.h"

namespace rtcg::loopy {
namespace {

std::vector<std::string> replaced(const std::vector<std::string>& names, std::string_view old,
                                  const std::vector<std::string>& new_names) {
  std::vector<std::string> result;
  for (const std::string& each : names) {
    if (each != old) {
      result.push_back(each);
      continue;
    }
    for (const std::string& name : new_names) {
      if (std::find(result.begin(), result.end(), name) == result.end()) {
        result.push_back(name);
      }
    }
  }
  return result;
}

/// Replaces an iname in expressions; equal indices are simplified once.
class InameReplacer {
 public:
  InameReplacer(std::string_view iname, const Expr& value,
                const std::vector<std::string>& new_inames)
      : iname_(iname), value_(value), new_inames_(new_inames) {}

  Expr replace(const Expr& expr) {
    if (const Name* name = get_if<Name>(expr)) {
      return name->name == iname_ ? value_ : expr;
    }
    if (const Access* element = get_if<Access>(expr)) {
      return replace_in(*element, expr);
    }
    const Expr mapped = map_children(expr, [this](const Expr& child) { return replace(child); });
    const bool is_changed = &mapped.node() != &expr.node();
    if (const LinearAccess* element = get_if<LinearAccess>(mapped);
        element != nullptr && is_changed) {
      return LinearAccess{element->array, simplified(element->index)};
    }
    if (const Reduction* reduction = get_if<Reduction>(mapped)) {
      if (std::find(reduction->inames.begin(), reduction->inames.end(), iname_) !=
          reduction->inames.end()) {
        return Reduction{reduction->operation, replaced(reduction->inames, iname_, new_inames_),
                         reduction->operands, reduction->order};
      }
    }
    return mapped;
  }

 private:
  struct Hash {
    std::size_t operator()(const Expr& expr) const noexcept { return expr.hash(); }
  };

  Expr replace_in(const Access& element, const Expr& expr) {
    std::vector<Expr> indices;
    indices.reserve(element.indices.size());
    bool is_changed = false;
    for (const Expr& index : element.indices) {
      indices.push_back(replace(index));
      is_changed = is_changed || &indices.back().node() != &index.node();
    }
    if (!is_changed) {
      return expr;
    }
    for (Expr& index : indices) {
      index = simplified(index);
    }
    return Access{element.array, std::move(indices)};
  }

  const Expr& simplified(const Expr& index) {
    auto found = simplified_.find(index);
    if (found == simplified_.end()) {
      found = simplified_.emplace(index, simplify_index(index)).first;
    }
    return found->second;
  }

  std::string_view iname_;
  const Expr& value_;
  const std::vector<std::string>& new_inames_;
  std::unordered_map<Expr, Expr, Hash> simplified_;
};

}  // namespace

Expr replace_iname(const Expr& expr, std::string_view iname, const Expr& value,
                   const std::vector<std::string>& new_inames) {
  return InameReplacer(iname, value, new_inames).replace(expr);
}

Kernel replace_iname(Kernel kernel, std::string_view iname, const Expr& value,
                     const std::vector<std::string>& new_inames) {
  InameReplacer replacer(iname, value, new_inames);
  kernel = map_expressions_unless_shadowed(
      std::move(kernel), iname, [&](const Expr& expr) { return replacer.replace(expr); });
  for (Domain& domain : kernel.domains) {
    domain.inames = replaced(domain.inames, iname, new_inames);
  }
  for (Instruction& instruction : kernel.instructions) {
    const auto found = instruction.within_inames.find(iname);
    if (found != instruction.within_inames.end()) {
      instruction.within_inames.erase(found);
      instruction.within_inames.insert(new_inames.begin(), new_inames.end());
    }
  }
  for (std::vector<std::string>& priority : kernel.loop_priorities) {
    priority = replaced(priority, iname, new_inames);
  }
  replace_call_loop(kernel, iname, new_inames);
  return kernel;
}

}  // namespace rtcg::loopy
