#include "rtcg/loopy/kernel/kernel.h"

#include <algorithm>
#include <array>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/taken_names.h"
#include "rtcg/loopy/symbolic/name_mark.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// Names of one kernel mostly differ at an end: a1 and a2, i_inner and j_inner.
bool is_same(const std::string& left, std::string_view right) {
  return left.size() == right.size() &&
         (right.empty() ||
          (left.front() == right.front() && left.back() == right.back() && left == right));
}

template <class Named>
const Named* find_by_name(const std::vector<Named>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Named& each) { return is_same(each.name, name); });
  return found == all.end() ? nullptr : &*found;
}

/// Each name that the constraints mention, as often as they do.
template <class Visit>
void for_each_name(const ConstraintSet& set, const Visit& visit) {
  for (const Constraint& constraint : set.constraints()) {
    for (const Affine::Term& term : constraint.expr.terms()) {
      visit(term.name);
    }
  }
  for (const Congruence& congruence : set.congruences()) {
    for (const Affine::Term& term : congruence.expr.terms()) {
      visit(term.name);
    }
  }
}

/// The domains of inames, for many questions in a row: a question takes as long for a kernel with
/// many inames as for one with few. Valid as long as the kernel stays as it is.
class HomeDomains {
 public:
  explicit HomeDomains(const Kernel& kernel) {
    std::size_t count = 0;
    for (const Domain& domain : kernel.domains) {
      count += domain.inames.size();
    }
    std::size_t places = few_.size();
    while (places < 2 * count) {
      places *= 2;
    }
    if (places > few_.size()) {
      many_.resize(places);
    }
    mask_ = places - 1;
    table_ = many_.empty() ? few_.data() : many_.data();
    for (const Domain& domain : kernel.domains) {
      for (const std::string& iname : domain.inames) {
        const std::uint64_t mark = name_mark(iname);
        std::size_t place = place_of(mark);
        while (table_[place].iname != nullptr) {
          place = (place + 1) & mask_;
        }
        table_[place] = {&iname, &domain, mark};  // of an iname in two domains the first is found
      }
    }
  }
  HomeDomains(const HomeDomains&) = delete;
  HomeDomains& operator=(const HomeDomains&) = delete;

  [[nodiscard]] const Domain* find(std::string_view name) const {
    const std::uint64_t mark = name_mark(name);
    for (std::size_t place = place_of(mark); table_[place].iname != nullptr;
         place = (place + 1) & mask_) {
      if (table_[place].mark == mark && *table_[place].iname == name) {
        return table_[place].domain;
      }
    }
    return nullptr;
  }

 private:
  struct Entry {
    const std::string* iname = nullptr;
    const Domain* domain = nullptr;
    std::uint64_t mark = 0;
  };
  [[nodiscard]] std::size_t place_of(std::uint64_t mark) const {
    const std::uint64_t mixed = mark * 0x9E3779B97F4A7C15U;
    return (mixed >> 32) & mask_;
  }

  // a power of two, at most half of it in use
  std::array<Entry, 32> few_{};
  std::vector<Entry> many_{};
  Entry* table_ = nullptr;
  std::size_t mask_ = 0;
};

void add_reads(const HomeDomains& homes, const Expr& expr, NameSet& reads) {
  const auto add = [&](const std::string& name) {
    if (reads.find(name) == reads.end()) {
      reads.insert(name);
    }
  };
  walk(expr, [&](const Expr& part) {
    if (const Access* element = get_if<Access>(part)) {
      add(element->array);
    } else if (const LinearAccess* linear = get_if<LinearAccess>(part)) {
      add(linear->array);
    }
    return true;
  });
  for_each_free_name(expr, [&](const std::string& name) {
    if (homes.find(name) == nullptr) {
      add(name);
    }
  });
}

}  // namespace

const Domain* find_home_domain(const Kernel& kernel, std::string_view iname) {
  for (const Domain& domain : kernel.domains) {
    for (const std::string& own : domain.inames) {
      if (is_same(own, iname)) {
        return &domain;
      }
    }
  }
  return nullptr;
}

const Argument* find_argument(const Kernel& kernel, std::string_view name) {
  return find_by_name(kernel.arguments, name);
}
const Temporary* find_temporary(const Kernel& kernel, std::string_view name) {
  return find_by_name(kernel.temporaries, name);
}
const SubstitutionRule* find_rule(const Kernel& kernel, std::string_view name) {
  return find_by_name(kernel.rules, name);
}

const TypedFunction* find_typed_function(const Kernel& kernel, std::string_view name) {
  return find_by_name(kernel.functions, name);
}

const Instruction* find_instruction(const Kernel& kernel, std::string_view id) {
  for (const Instruction& instruction : kernel.instructions) {
    if (instruction.id == id) {
      return &instruction;
    }
  }
  return nullptr;
}

bool is_iname(const Kernel& kernel, std::string_view name) {
  return find_home_domain(kernel, name) != nullptr;
}

InameTag tag_of(const Kernel& kernel, std::string_view iname) {
  const auto found = kernel.iname_tags.find(iname);
  return found == kernel.iname_tags.end() ? InameTag{} : found->second;
}

std::vector<std::string> all_inames(const Kernel& kernel) {
  std::vector<std::string> inames;
  for (const Domain& domain : kernel.domains) {
    inames.insert(inames.end(), domain.inames.begin(), domain.inames.end());
  }
  return inames;
}

NameSet parameters(const Kernel& kernel) {
  NameSet names;
  const HomeDomains homes(kernel);
  const auto add = [&](const std::string& name) {
    if (homes.find(name) == nullptr && names.find(name) == names.end()) {
      names.insert(name);
    }
  };
  for (const Domain& domain : kernel.domains) {
    for_each_name(domain.constraints, add);
  }
  for_each_name(kernel.assumptions, add);
  return names;
}

namespace {

/// Calls `visit(domain)` for the domains of the inames, and for those that these depend on, each
/// once.
template <class Visit>
void for_each_domain_around(const Kernel& kernel, const HomeDomains& homes, const NameSet& inames,
                            const Visit& visit) {
  std::vector<bool> is_found(kernel.domains.size());
  std::vector<const Domain*> open;
  const auto find = [&](const std::string& iname) {
    const Domain* domain = homes.find(iname);
    if (domain == nullptr) {
      return;
    }
    const auto place = static_cast<std::size_t>(domain - kernel.domains.data());
    if (!is_found[place]) {
      is_found[place] = true;
      open.push_back(domain);
    }
  };
  std::for_each(inames.begin(), inames.end(), find);
  while (!open.empty()) {
    const Domain& domain = *open.back();
    open.pop_back();
    visit(domain);
    if (kernel.domains.size() > 1) {
      for_each_name(domain.constraints, find);
    }
  }
}

}  // namespace

NameSet with_parent_inames(const Kernel& kernel, const NameSet& inames) {
  const HomeDomains homes(kernel);
  NameSet all;
  for (const std::string& iname : inames) {
    if (homes.find(iname) != nullptr) {
      all.insert(all.end(), iname);
    }
  }
  if (kernel.domains.size() == 1) {
    return all;
  }
  for_each_domain_around(kernel, homes, inames, [&](const Domain& domain) {
    for_each_name(domain.constraints, [&](const std::string& each) {
      const Domain* home = homes.find(each);
      if (home != nullptr && home != &domain) {
        all.insert(each);
      }
    });
  });
  return all;
}

ConstraintSet constraints_of(const Kernel& kernel, const NameSet& inames) {
  std::vector<bool> is_around(kernel.domains.size());
  const HomeDomains homes(kernel);
  for_each_domain_around(kernel, homes, inames, [&](const Domain& domain) {
    is_around[static_cast<std::size_t>(&domain - kernel.domains.data())] = true;
  });
  ConstraintSet result = kernel.assumptions;
  for (std::size_t i = 0; i < kernel.domains.size(); ++i) {
    if (is_around[i]) {
      result.add(kernel.domains[i].constraints);
    }
  }
  return result;
}

NameSet read_variables(const Kernel& kernel, const Instruction& instruction) {
  NameSet reads;
  const HomeDomains homes(kernel);
  if (const RawCode* raw = get_if<RawCode>(instruction)) {
    reads = raw->reads;
  }
  for_each_part(instruction, [&](const Expr& part, bool is_read, bool) {
    if (is_read) {
      add_reads(homes, part, reads);
    }
  });
  if (const Assignment* assignment = get_if<Assignment>(instruction)) {
    add_reads(homes, assignment->value, reads);
  }
  for_each_target(instruction, [&](const Expr& target) {
    for_each_child(target, [&](const Expr& index) { add_reads(homes, index, reads); });
  });
  for (const Expr& predicate : instruction.predicates) {
    add_reads(homes, predicate, reads);
  }
  // bounds may be scalars that statements assign
  const auto add_bound = [&](const std::string& name) {
    const Temporary* bound = homes.find(name) == nullptr && reads.count(name) == 0
                                 ? find_temporary(kernel, name)
                                 : nullptr;
    if (bound != nullptr && bound->shape.empty()) {
      reads.insert(name);
    }
  };
  const Domain* last = nullptr;  // neighbours mostly have one domain
  for (const std::string& iname : instruction.within_inames) {
    const Domain* domain = kernel.temporaries.empty() ? nullptr : homes.find(iname);
    if (domain != nullptr && domain != last) {
      for_each_name(domain->constraints, add_bound);
    }
    last = domain;
  }
  return reads;
}

bool touches(const Kernel& kernel, const Instruction& instruction, const std::string& variable) {
  return written_variables(instruction).count(variable) != 0 ||
         read_variables(kernel, instruction).count(variable) != 0;
}

NameSet written_variables(const Instruction& instruction) {
  NameSet written;
  if (const RawCode* raw = get_if<RawCode>(instruction)) {
    written = raw->writes;
  }
  for_each_target(instruction, [&](const Expr& target) { written.insert(target_name(target)); });
  return written;
}

bool may_be_same(const Argument& one, const Argument& other) {
  const auto names = [](const Argument& argument, const std::string& name) {
    return std::find(argument.may_be.begin(), argument.may_be.end(), name) != argument.may_be.end();
  };
  return names(one, other.name) || names(other, one.name);
}

bool is_overwritten(const Kernel& kernel, const std::string& variable) {
  const Argument* argument = find_argument(kernel, variable);
  return std::any_of(
      kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& each) {
        const NameSet written = written_variables(each);
        return written.count(variable) != 0 ||
               std::any_of(written.begin(), written.end(), [&](const std::string& name) {
                 const Argument* other = find_argument(kernel, name);
                 return argument != nullptr && other != nullptr && may_be_same(*argument, *other);
               });
      });
}

std::vector<Expr> targets_of(const Instruction& instruction) {
  std::vector<Expr> targets;
  for_each_target(instruction, [&](const Expr& target) { targets.push_back(target); });
  return targets;
}

const std::string& target_name(const Expr& target) {
  if (const Name* scalar = get_if<Name>(target)) {
    return scalar->name;
  }
  if (const LinearAccess* linear = get_if<LinearAccess>(target)) {
    return linear->array;
  }
  const Access* element = get_if<Access>(target);
  require_internal(element != nullptr, "a target that is a name or an access");
  return element->array;
}

NameSet reduction_inames(const Instruction& instruction) {
  NameSet inames;
  for_each_expression(instruction, [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      if (const Reduction* reduction = get_if<Reduction>(part)) {
        inames.insert(reduction->inames.begin(), reduction->inames.end());
      }
      return true;
    });
  });
  return inames;
}

Instruction map_expressions(Instruction instruction, const std::function<Expr(const Expr&)>& map) {
  if (Assignment* assignment = boost::variant2::get_if<Assignment>(&instruction.kind)) {
    for (Expr& target : assignment->targets) {
      target = map(target);
    }
    assignment->value = map(assignment->value);
  }
  if (RawCode* raw = boost::variant2::get_if<RawCode>(&instruction.kind)) {
    for (RawPart& part : raw->parts) {
      part.expr = map(part.expr);
    }
  }
  if (LookBack* look_back = boost::variant2::get_if<LookBack>(&instruction.kind)) {
    for_each_part_of(*look_back, [&](Expr& part, bool) { part = map(part); });
  }
  if (WarpProduct* product = boost::variant2::get_if<WarpProduct>(&instruction.kind)) {
    for_each_part_of(*product, [&](Expr& part, bool) { part = map(part); });
  }
  for (Expr& predicate : instruction.predicates) {
    predicate = map(predicate);
  }
  if (instruction.disjoint_at) {
    for (Expr& each : *instruction.disjoint_at) {
      each = map(each);
    }
  }
  return instruction;
}

Kernel map_expressions(Kernel kernel, const std::function<Expr(const Expr&)>& map) {
  for (Instruction& instruction : kernel.instructions) {
    instruction = map_expressions(std::move(instruction), map);
  }
  for (SubstitutionRule& rule : kernel.rules) {
    rule.body = map(rule.body);
  }
  return kernel;
}

namespace {

/// All names that a new one may not be; some several times.
template <class Function>
void for_each_taken_name(const Kernel& kernel, const Function& function) {
  const auto visit_expression = [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      if (const Name* scalar = get_if<Name>(part)) {
        function(scalar->name);
      } else if (const Access* element = get_if<Access>(part)) {
        function(element->array);
      } else if (const LinearAccess* linear = get_if<LinearAccess>(part)) {
        function(linear->array);
      } else if (const Call* call = get_if<Call>(part)) {
        function(call->function);
      }
      return true;
    });
  };
  for (const Domain& domain : kernel.domains) {
    std::for_each(domain.inames.begin(), domain.inames.end(), function);
  }
  const NameSet all_parameters = parameters(kernel);  // as long as the function may keep views
  std::for_each(all_parameters.begin(), all_parameters.end(), function);
  for (const Argument& argument : kernel.arguments) {
    function(argument.name);
  }
  for (const Temporary& temporary : kernel.temporaries) {
    function(temporary.name);
  }
  for (const TypedFunction& typed : kernel.functions) {
    function(typed.name);
  }
  for (const SubstitutionRule& rule : kernel.rules) {
    function(rule.name);
    visit_expression(rule.body);
  }
  for (const Instruction& instruction : kernel.instructions) {
    function(instruction.id);
    for_each_expression(instruction, visit_expression);
  }
}

}  // namespace

NameGenerator make_name_generator(const Kernel& kernel) {
  NameGenerator names;
  // expressions mention few names, again and again
  std::array<std::string_view, 64> recent{};
  const auto reserve = [&](std::string_view name) {
    const std::size_t slot = name.empty() ? 0
                                          : name.size() + 5 * static_cast<std::size_t>(name[0]) +
                                                17 * static_cast<std::size_t>(name.back());
    std::string_view& known = recent[slot % recent.size()];
    if (known != name) {
      names.reserve(name);
      known = name;
    }
  };
  for_each_taken_name(kernel, reserve);
  return names;
}

bool is_name_taken(const Kernel& kernel, std::string_view name) {
  bool is_taken = false;
  for_each_taken_name(kernel, [&](std::string_view each) { is_taken = is_taken || each == name; });
  return is_taken;
}

std::vector<Expr> c_order_strides(const std::vector<Expr>& shape) {
  std::vector<Expr> strides(shape.size(), Expr(1));
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] = simplify_index(shape[axis] * strides[axis]);
  }
  return strides;
}

}  // namespace rtcg::loopy
