#include "rtcg/loopy/slice/canonical_form.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/text_hash.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/slice/access_groups.h"
#include "rtcg/loopy/slice/slicing_fusion.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy {
namespace {

using Strings = std::vector<std::string>;
/// The present name of a symbol.
using Namer = std::function<std::string(const std::string&)>;

constexpr std::size_t most_symbols = 100;

std::string statement_symbol(const std::string& id) {
  return "@" + id;  // no variable is called so
}

std::string in_order(std::string_view head, const Strings& parts) {
  return fmt::format("({} {})", head, fmt::join(parts, " "));
}
std::string sorted(std::string_view head, Strings parts) {
  std::sort(parts.begin(), parts.end());
  return in_order(head, parts);
}

/// The axes of an argument, from the slowest varying to the fastest, if it is in C order in some
/// order of them.
std::optional<std::vector<std::size_t>> axes_in_c_order(const Argument& argument) {
  std::vector<std::size_t> axes(argument.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  constexpr std::size_t most_axes = 5;
  if (argument.strides_elements.empty() || axes.size() > most_axes) {
    return argument.strides_elements.empty() ? std::optional(axes) : std::nullopt;
  }
  do {
    std::vector<Expr> shape;
    std::vector<Expr> strides;
    for (const std::size_t axis : axes) {
      shape.push_back(argument.shape[axis]);
      strides.push_back(simplify_index(argument.strides_elements[axis]));
    }
    std::vector<Expr> in_c_order = c_order_strides(shape);
    std::transform(in_c_order.begin(), in_c_order.end(), in_c_order.begin(), simplify_index);
    if (strides == in_c_order) {
      return axes;
    }
  } while (std::next_permutation(axes.begin(), axes.end()));
  return std::nullopt;
}

/// Writes parts of a kernel with the names that a Namer gives.
class Writer {
 public:
  Writer(const Kernel& kernel, const Namer& name_of) : kernel_(kernel), name_of_(name_of) {}

  [[nodiscard]] std::string text(const Expr& expr) const {
    return match(
        expr, [](const Integer& e) { return std::to_string(e.value); },
        [](const Real& e) {
          return fmt::format("{:a}{}", e.value,
                             e.stated_kind ? static_cast<int>(*e.stated_kind) : -1);
        },
        [&](const Name& e) { return name_of_(e.name); },
        [&](const Sum& e) { return sorted("+", all(e.terms)); },
        [&](const Product& e) { return sorted("*", all(e.factors)); },
        [&](const Quotient& e) {
          return in_order("/", {text(e.numerator), text(e.denominator)});
        },
        [&](const FloorDiv& e) {
          return in_order("//", {text(e.numerator), text(e.denominator)});
        },
        [&](const Modulo& e) {
          return in_order("%", {text(e.numerator), text(e.denominator)});
        },
        [&](const Power& e) {
          return in_order("**", {text(e.base), text(e.exponent)});
        },
        [&](const Comparison& e) { return comparison(e); },
        [&](const Logical& e) {
          return sorted(e.op == LogicalOp::and_ ? "and" : "or", all(e.operands));
        },
        [&](const Not& e) { return in_order("not", {text(e.operand)}); },
        [&](const Bitwise& e) {
          const bool is_shift = e.op == BitOp::shift_left || e.op == BitOp::shift_right;
          const Strings operands{text(e.left), text(e.right)};
          return is_shift ? in_order(spelling(e.op), operands) : sorted(spelling(e.op), operands);
        },
        [&](const Conditional& e) {
          return in_order("?", {text(e.condition), text(e.then_value), text(e.else_value)});
        },
        [&](const Access& e) { return in_order("at " + name_of_(e.array), indices(e)); },
        [&](const LinearAccess& e) {
          return in_order("linear " + name_of_(e.array), {text(e.index)});
        },
        [&](const Call& e) { return in_order("call " + function(e.function), all(e.arguments)); },
        [&](const Cast& e) { return in_order("to " + cgen::describe(e.type), {text(e.operand)}); },
        [&](const Reduction& e) {
          Strings inames;
          for (const std::string& iname : e.inames) {
            inames.push_back(name_of_(iname));
          }
          const std::string operation = function(e.operation) + " " + sorted("over", inames);
          const std::string reduction = in_order("reduce " + operation, all(e.operands));
          return e.order.empty() ? reduction : in_order("by " + reduction, all(e.order));
        });
  }
  [[nodiscard]] std::string text(const Argument& argument) const {
    const auto axes = axes_in_c_order(argument);
    Strings shape;
    for (std::size_t axis = 0; axis < argument.shape.size(); ++axis) {
      shape.push_back(text(argument.shape[axes ? (*axes)[axis] : axis]));
    }
    Strings others;
    for (const std::string& each : argument.may_be) {
      others.push_back(name_of_(each));
    }
    return fmt::format(
        "argument {} {} {} {} {} {}{}{}{}", name_of_(argument.name), type(argument.type),
        in_order("shape", shape), axes ? "" : in_order("strides", all(argument.strides_elements)),
        text(argument.offset_elements), static_cast<int>(argument.address_space),
        fmt::join(image_options(argument), ""),
        others.empty() ? "" : " " + sorted("may_be", others), argument.field_of ? " field" : "");
  }
  [[nodiscard]] std::string text(const Temporary& temporary) const {
    return fmt::format("temporary {} {} {} {} {} {}", name_of_(temporary.name),
                       type(temporary.type), in_order("shape", all(temporary.shape)),
                       in_order("strides", all(temporary.strides_elements)),
                       in_order("values", all(temporary.initial_values)),
                       static_cast<int>(temporary.address_space));
  }
  [[nodiscard]] std::string text(const Constraint& constraint) const {
    return fmt::format("{} {}", constraint.is_equality ? "zero" : "nonnegative",
                       text(to_expr(constraint.expr)));
  }
  [[nodiscard]] std::string text(const Congruence& congruence) const {
    return fmt::format("multiple {} {}", congruence.modulus, text(to_expr(congruence.expr)));
  }
  [[nodiscard]] std::string text(const SubstitutionRule& rule) const {
    Strings parts = {text(rule.body)};
    for (const Expr& each : rule.neutral) {
      parts.push_back(text(each));
    }
    return in_order(fmt::format("rule {} of {}", name_of_(rule.name), rule.parameters.size()),
                    parts);
  }
  [[nodiscard]] std::string text(const Instruction& instruction) const {
    Strings parts = {"statement", name_of_(statement_symbol(instruction.id)),
                     sorted("within", names(instruction.within_inames)),
                     sorted("if", all(instruction.predicates)),
                     sorted("tags", {instruction.tags.begin(), instruction.tags.end()})};
    Strings before;
    for (const std::string& each : instruction.depends_on) {
      before.push_back(name_of_(statement_symbol(each)));
    }
    parts.push_back(sorted("after", before));
    if (instruction.exchanges_items) {
      parts.emplace_back("exchange");
    }
    parts.push_back(match(
        instruction,
        [&](const Assignment& e) {
          return fmt::format("{} {} {} {}", in_order("set", all(e.targets)), text(e.value),
                             e.is_atomic, e.is_async_copy);
        },
        [](const CopyFence& e) {
          return fmt::format("fence {} {}", static_cast<int>(e.kind), e.open_groups);
        },
        [](const BarrierInstruction& e) {
          return fmt::format("barrier {}", static_cast<int>(e.scope));
        },
        [](const NoOperation&) { return std::string("nothing"); },
        [&](const RawCode& e) { return raw(e); },
        [&](const LookBack& e) {
          Strings looks;
          for_each_part_of(e, [&](const Expr& part, bool) { looks.push_back(text(part)); });
          return in_order(fmt::format("look back {}", static_cast<int>(e.step)), looks);
        },
        [&](const WarpProduct& e) {
          return fmt::format("{} {} {}", in_order("product", all(e.sums)),
                             in_order("left", all(e.left)), in_order("right", all(e.right)));
        }));
    return in_order("", parts);
  }

 private:
  [[nodiscard]] Strings all(const std::vector<Expr>& exprs) const {
    Strings result;
    for (const Expr& each : exprs) {
      result.push_back(text(each));
    }
    return result;
  }
  [[nodiscard]] Strings names(const NameSet& symbols) const {
    Strings result;
    for (const std::string& each : symbols) {
      result.push_back(name_of_(each));
    }
    return result;
  }
  [[nodiscard]] std::string function(const std::string& name) const {
    return find_rule(kernel_, name) != nullptr ? name_of_(name) : name;
  }
  [[nodiscard]] static std::string type(const std::optional<cgen::Type>& type) {
    return type ? cgen::describe(*type) : "?";
  }
  /// `a > b` is `b < a`.
  [[nodiscard]] std::string comparison(const Comparison& e) const {
    const Strings operands{text(e.left), text(e.right)};
    const Strings turned{operands[1], operands[0]};
    switch (e.op) {
      case ComparisonOp::greater:
        return in_order("<", turned);
      case ComparisonOp::greater_equal:
        return in_order("<=", turned);
      case ComparisonOp::equal:
      case ComparisonOp::not_equal:
        return sorted(spelling(e.op), operands);
      case ComparisonOp::less:
      case ComparisonOp::less_equal:
        break;
    }
    return in_order(spelling(e.op), operands);
  }
  [[nodiscard]] Strings indices(const Access& e) const {
    Strings result = all(e.indices);
    const Argument* const argument = find_argument(kernel_, e.array);
    const auto axes = argument != nullptr && argument->shape.size() == result.size()
                          ? axes_in_c_order(*argument)
                          : std::nullopt;
    if (!axes) {
      return result;
    }
    Strings turned;
    for (const std::size_t axis : *axes) {
      turned.push_back(result[axis]);
    }
    return turned;
  }
  [[nodiscard]] std::string raw(const RawCode& e) const {
    Strings parts = {e.text, sorted("reads", names(e.reads)), sorted("writes", names(e.writes))};
    for (const RawPart& each : e.parts) {
      parts.push_back(fmt::format("{} {} {}", text(each.expr), each.is_read, each.is_written));
    }
    return in_order("raw", parts);
  }

  const Kernel& kernel_;
  const Namer& name_of_;
};

/// A part of a kernel, and the symbols in it.
struct Item {
  std::function<std::string(const Namer&)> text{};
  std::set<std::string> symbols{};
};

std::vector<Item> items_of(const Kernel& kernel) {
  std::vector<Item> items;
  const auto add = [&](const auto& part) {
    Item item{
        [&kernel, &part](const Namer& name_of) { return Writer(kernel, name_of).text(part); }};
    static_cast<void>(item.text([&](const std::string& symbol) {
      item.symbols.insert(symbol);
      return symbol;
    }));
    items.push_back(std::move(item));
  };
  const auto add_all = [&](const auto& parts) {
    for (const auto& each : parts) {
      add(each);
    }
  };
  for (const Domain& domain : kernel.domains) {
    add_all(domain.constraints.constraints());
    add_all(domain.constraints.congruences());
  }
  add_all(kernel.assumptions.constraints());
  add_all(kernel.assumptions.congruences());
  add_all(kernel.arguments);
  add_all(kernel.temporaries);
  add_all(kernel.rules);
  add_all(kernel.instructions);
  return items;
}

/// Symbols and their colours: what is known to be different has different ones.
class Colours {
 public:
  Colours(const Kernel& kernel, const std::vector<Item>& items) : items_(items) {
    const auto add = [&](const std::string& symbol, int kind) {
      if (colours_.try_emplace(symbol, kind).second) {
        symbols_.push_back(symbol);
      }
    };
    for (const std::string& iname : all_inames(kernel)) {
      add(iname, 0);
    }
    for (const Item& item : items) {
      for (const std::string& symbol : item.symbols) {
        add(symbol, symbol.starts_with('@') ? 2 : find_rule(kernel, symbol) != nullptr ? 3 : 1);
      }
    }
  }

  [[nodiscard]] const std::vector<std::string>& symbols() const { return symbols_; }

  /// Until each symbol has a colour of its own.
  void separate() {
    refine();
    while (count() < symbols_.size()) {
      give_one_its_own();
      refine();
    }
  }
  [[nodiscard]] int of(const std::string& symbol) const { return colours_.at(symbol); }

 private:
  [[nodiscard]] std::size_t count() const {
    std::set<int> different;
    for (const auto& [symbol, colour] : colours_) {
      different.insert(colour);
    }
    return different.size();
  }
  /// By what the items say of each symbol, until nothing changes.
  void refine() {
    for (std::size_t before = 0; before < count();) {
      before = count();
      std::map<std::string, std::pair<int, Strings>> signatures;
      for (const std::string& symbol : symbols_) {
        signatures[symbol].first = colours_.at(symbol);
      }
      for (const Item& item : items_) {
        for (const std::string& marked : item.symbols) {
          signatures[marked].second.push_back(item.text([&](const std::string& symbol) {
            return symbol == marked ? "*" : fmt::format("c{}", colours_.at(symbol));
          }));
        }
      }
      std::map<std::pair<int, Strings>, int> numbers;
      for (auto& [symbol, signature] : signatures) {
        std::sort(signature.second.begin(), signature.second.end());
        numbers.emplace(signature, 0);
      }
      int next = 0;
      for (auto& [signature, number] : numbers) {
        number = next++;
      }
      for (const auto& [symbol, signature] : signatures) {
        colours_[symbol] = numbers.at(signature);
      }
    }
  }
  /// The first symbol of the first colour that several have: where these are symmetric it does not
  /// matter which.
  void give_one_its_own() {
    std::map<int, Strings> by_colour;
    for (const std::string& symbol : symbols_) {
      by_colour[colours_.at(symbol)].push_back(symbol);
    }
    const auto shared = std::find_if(by_colour.begin(), by_colour.end(),
                                     [](const auto& each) { return each.second.size() > 1; });
    for (auto& [symbol, colour] : colours_) {
      colour = 2 * colour + 1;
    }
    --colours_.at(shared->second.front());
  }

  const std::vector<Item>& items_;
  std::vector<std::string> symbols_{};
  std::map<std::string, int> colours_{};
};

std::map<std::string, std::vector<std::size_t>, std::less<>> canonical_groups(
    const Kernel& kernel, const Namer& canonical) {
  std::map<std::string, std::vector<std::size_t>, std::less<>> result;
  for (const Argument& argument : kernel.arguments) {
    const auto groups = detail::access_groups(kernel, argument.name);
    if (groups.size() < 2) {
      continue;
    }
    std::vector<std::pair<std::string, std::size_t>> order;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Strings reads;
      for (const ArrayAccess& read : groups[i].reads) {
        reads.push_back(Writer(kernel, canonical).text(Expr(Access{read.array, read.indices})));
      }
      order.emplace_back(sorted("", reads), i);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::size_t>& places = result[argument.name];
    places.resize(groups.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
      places[order[place].second] = place;
    }
  }
  return result;
}

/// `k_0` where `k` is renamed; a loop that is not cut has the name of its iname.
std::string renamed_loop(const std::string& loop, const Renaming& names) {
  if (const auto found = names.find(loop); found != names.end()) {
    return found->second;
  }
  const std::size_t cut = loop.rfind('_');
  const auto found =
      cut == std::string::npos ? names.end() : names.find(std::string_view(loop).substr(0, cut));
  return found == names.end() ? loop : found->second + loop.substr(cut);
}

/// @param group_of  of an array of the slicing: which group stands for which
Slicing renamed(Slicing slicing, Renaming names,
                const std::function<std::int64_t(const FetchPlan&)>& group_of) {
  for (InameFusion& each : slicing.fusions) {
    for (FusedIname& part : each.parts) {
      part.iname = renamed_loop(part.iname, names);
    }
    const std::string name = detail::fused_name(each.parts);
    names[each.name] = name;
    each.name = name;
  }
  const auto rename = [&](std::string& name) { name = renamed_loop(name, names); };
  for (InameSlicing& each : slicing.inames) {
    rename(each.iname);
  }
  for (FetchPlan& each : slicing.fetches) {
    each.group = group_of(each);
    rename(each.array);
    std::for_each(each.swept.begin(), each.swept.end(), rename);
    if (!each.at.empty()) {
      rename(each.at);
    }
  }
  for (MarchPlan& each : slicing.marches) {
    rename(each.iname);
  }
  for (QueuePlan& each : slicing.queues) {
    rename(each.array);
    if (!each.along.empty()) {
      rename(each.along);
    }
  }
  for (LayoutPlan& each : slicing.layouts) {
    rename(each.array);
  }
  for (KeepPlan& each : slicing.keeps) {
    rename(each.array);
    std::for_each(each.over.begin(), each.over.end(), rename);
  }
  for (BufferPlan& each : slicing.buffers) {
    rename(each.array);
  }
  for (PrivatePlan& each : slicing.privates) {
    rename(each.array);
  }
  std::for_each(slicing.atomic_reductions.begin(), slicing.atomic_reductions.end(), rename);
  std::for_each(slicing.last_block_reductions.begin(), slicing.last_block_reductions.end(), rename);
  std::for_each(slicing.look_back.begin(), slicing.look_back.end(), rename);
  std::for_each(slicing.exchanges.begin(), slicing.exchanges.end(), rename);
  std::for_each(slicing.launches.begin(), slicing.launches.end(), rename);
  std::for_each(slicing.global_values.begin(), slicing.global_values.end(), rename);
  for (std::vector<std::string>& each : slicing.online) {
    std::for_each(each.begin(), each.end(), rename);
  }
  std::for_each(slicing.loop_order.begin(), slicing.loop_order.end(), rename);
  return slicing;
}

}  // namespace

CanonicalForm canonical_form(const Kernel& kernel) {
  const Kernel typed = infer_types(expand_subst(kernel));
  const std::vector<Item> items = items_of(typed);
  Colours colours(typed, items);
  CanonicalForm form;
  if (colours.symbols().size() > most_symbols) {
    return form;
  }
  colours.separate();
  Strings by_colour = colours.symbols();
  std::sort(by_colour.begin(), by_colour.end(),
            [&](const auto& a, const auto& b) { return colours.of(a) < colours.of(b); });
  Renaming all;
  for (const std::string& symbol : by_colour) {
    const bool is_statement = symbol.starts_with('@');
    const char kind = is_iname(typed, symbol) ? 'i' : is_statement ? 's' : 'v';
    all[symbol] = fmt::format("{}{}", kind, all.size());
    if (!is_statement && find_rule(typed, symbol) == nullptr) {
      form.names[symbol] = all[symbol];
    }
  }
  const Namer canonical = [&](const std::string& symbol) { return all.find(symbol)->second; };
  Strings lines;
  for (const Item& item : items) {
    lines.push_back(item.text(canonical));
  }
  std::sort(lines.begin(), lines.end());
  form.key = fmt::format("{:016x}", text_hash(fmt::format("{}", fmt::join(lines, "\n"))));
  form.groups = canonical_groups(typed, canonical);
  return form;
}

Slicing to_canonical(Slicing slicing, const CanonicalForm& form) {
  return renamed(std::move(slicing), form.names, [&](const FetchPlan& plan) {
    const auto places = form.groups.find(plan.array);
    const auto group = static_cast<std::size_t>(plan.group);
    return places == form.groups.end() || group < 1 || group > places->second.size()
               ? plan.group
               : static_cast<std::int64_t>(places->second[group - 1] + 1);
  });
}

Slicing from_canonical(Slicing slicing, const CanonicalForm& form) {
  Renaming back;
  for (const auto& [own, canonical] : form.names) {
    back.emplace(canonical, own);
  }
  return renamed(std::move(slicing), back, [&](const FetchPlan& plan) {
    const auto own = back.find(plan.array);
    const auto places = own == back.end() ? form.groups.end() : form.groups.find(own->second);
    if (places == form.groups.end() || plan.group < 1) {
      return plan.group;
    }
    const auto found = std::find(places->second.begin(), places->second.end(),
                                 static_cast<std::size_t>(plan.group - 1));
    return found == places->second.end() ? plan.group : found - places->second.begin() + 1;
  });
}

}  // namespace rtcg::loopy
