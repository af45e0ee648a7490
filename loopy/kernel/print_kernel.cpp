#include "rtcg/loopy/kernel/print_kernel.h"

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

std::string join(const std::vector<Expr>& exprs) {
  std::string text;
  for (const Expr& each : exprs) {
    text += (text.empty() ? "" : ", ") + to_string(each);
  }
  return text;
}

std::string type_text(const std::optional<cgen::Type>& type) {
  if (!type) {
    return "?";
  }
  const std::string name = scalar_type_name(*type);
  return name.empty() ? cgen::describe(*type) : name;
}

/// Nothing where the space is the usual one.
std::string space_text(AddressSpace space) {
  switch (space) {
    case AddressSpace::automatic:
      return {};
    case AddressSpace::private_:
      return "private";
    case AddressSpace::local:
      return "local";
    case AddressSpace::global:
      return "global";
    case AddressSpace::constant:
      return "constant";
    case AddressSpace::image:
      return "image";
  }
  return {};
}

std::string in_braces(const std::vector<std::string>& options) {
  return options.empty() ? "" : fmt::format("  {{{}}}", fmt::join(options, ", "));
}

/// A heading and lines below it; nothing if there are no lines.
std::string section(std::string_view heading, const std::vector<std::string>& lines) {
  return lines.empty() ? "" : fmt::format("{}:\n  {}\n", heading, fmt::join(lines, "\n  "));
}

std::string print_argument(const Argument& argument) {
  std::vector<std::string> options;
  if (!argument.strides_elements.empty()) {
    options.push_back(fmt::format("strides=[{}]", join(argument.strides_elements)));
  }
  if (argument.offset_elements != Expr(0)) {
    options.push_back("offset=" + to_string(argument.offset_elements));
  }
  if (argument.is_array && argument.address_space != AddressSpace::global) {
    options.push_back("space=" + space_text(argument.address_space));
  }
  for (std::string& each : image_options(argument)) {
    options.push_back(std::move(each));
  }
  if (!argument.may_be.empty()) {
    options.push_back(fmt::format("may_be={}", fmt::join(argument.may_be, ":")));
  }
  if (argument.field_of) {
    options.push_back(fmt::format("field={}:{}:{}", argument.field_of->array,
                                  argument.field_of->struct_bytes, argument.field_of->inner_axes));
  }
  return fmt::format("{}: {}{}{}", argument.name, type_text(argument.type),
                     argument.is_array ? fmt::format("[{}]", join(argument.shape)) : "",
                     in_braces(options));
}

/// `column ^ 4*(row/2 % 8)`.
std::string swizzle_text(const ColumnSwizzle& swizzle) {
  const std::string run = swizzle.rows == 1 ? "row" : fmt::format("row/{}", swizzle.rows);
  const std::string pattern = fmt::format("{} % {}", run, swizzle.patterns);
  return swizzle.group == 1 ? "column ^ " + pattern
                            : fmt::format("column ^ {}*({})", swizzle.group, pattern);
}

std::string print_temporary(const Temporary& temporary) {
  std::vector<std::string> options;
  if (!temporary.strides_elements.empty()) {
    options.push_back(fmt::format("strides=[{}]", join(temporary.strides_elements)));
  }
  if (temporary.address_space != AddressSpace::automatic) {
    options.push_back("space=" + space_text(temporary.address_space));
  }
  if (temporary.swizzle.patterns > 1) {
    options.push_back("swizzle=" + swizzle_text(temporary.swizzle));
  }
  if (!temporary.initial_values.empty()) {
    options.push_back(fmt::format("values=[{}]", join(temporary.initial_values)));
  }
  return fmt::format("{}: {}{}{}", temporary.name, type_text(temporary.type),
                     temporary.shape.empty() ? "" : fmt::format("[{}]", join(temporary.shape)),
                     in_braces(options));
}

std::string print_domain(const Domain& domain) {
  const std::string conditions = to_string(domain.constraints);
  return fmt::format("{{[{}]{}{}}}", fmt::join(domain.inames, ", "), conditions.empty() ? "" : ": ",
                     conditions);
}

std::string print_statement(const Instruction& instruction) {
  std::vector<std::string> options;
  if (!instruction.within_inames.empty()) {
    options.push_back(fmt::format("inames={}", fmt::join(instruction.within_inames, ":")));
  }
  if (!instruction.depends_on.empty()) {
    options.push_back(fmt::format("dep={}", fmt::join(instruction.depends_on, ":")));
  }
  if (!instruction.predicates.empty()) {
    options.push_back("if=" + to_string(logical_and(instruction.predicates)));
  }
  for (std::string& each : manner_options(instruction)) {
    options.push_back(std::move(each));
  }
  return fmt::format("{}: {}{}", instruction.id, to_string(instruction), in_braces(options));
}

std::string print_step(const RecipeStep& step) {
  std::vector<std::string> parts = step.arguments;
  for (const auto& [name, value] : step.options) {
    parts.push_back(fmt::format("{}={}", name, value));
  }
  return fmt::format("{}({})", step.transformation, fmt::join(parts, ", "));
}

/// The text with its parts as kernels are written, and with quotes and line ends escaped.
std::string raw_text(const RawCode& raw) {
  std::string text;
  for (std::size_t i = 0; i < raw.text.size(); ++i) {
    const char c = raw.text[i];
    if (c == '$' && raw.text.compare(i, 2, "${") == 0) {
      const std::size_t end = raw.text.find('}', i);
      const std::size_t number = std::stoul(raw.text.substr(i + 2, end - i - 2));
      text += "${" + to_string(raw.parts.at(number).expr) + "}";
      i = end;
    } else if (c == '"' || c == '\\') {
      text += std::string("\\") + c;
    } else if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

template <class Values, class Print>
std::vector<std::string> lines_of(const Values& values, const Print& print) {
  std::vector<std::string> lines;
  for (const auto& each : values) {
    lines.push_back(print(each));
  }
  return lines;
}

/// `reads=a:b`, `writes=c`: the variables that C text accesses.
void add_raw_options(const RawCode& raw, std::vector<std::string>& options) {
  NameSet reads = raw.reads;
  NameSet writes = raw.writes;
  for (const RawPart& part : raw.parts) {
    if (part.is_written) {
      writes.insert(target_name(part.expr));
      if (part.is_read) {
        reads.insert(target_name(part.expr));
      }
    }
  }
  for (const auto& [key, names] : {std::pair("reads", &reads), std::pair("writes", &writes)}) {
    if (!names->empty()) {
      options.push_back(fmt::format("{}={}", key, fmt::join(*names, ":")));
    }
  }
}

}  // namespace

std::string_view name(ImageReads::Outside outside) {
  switch (outside) {
    case ImageReads::Outside::clamp:
      return "clamp";
    case ImageReads::Outside::border:
      return "border";
    case ImageReads::Outside::wrap:
      return "wrap";
    case ImageReads::Outside::mirror:
      break;
  }
  return "mirror";
}

std::vector<std::string> image_options(const Argument& argument) {
  std::vector<std::string> options;
  if (argument.image_reads.between == ImageReads::Between::linear) {
    options.emplace_back("filter=linear");
  }
  if (argument.image_reads.outside != ImageReads::Outside::clamp) {
    options.push_back(fmt::format("address={}", name(argument.image_reads.outside)));
  }
  if (argument.image_reads.has_layers) {
    options.emplace_back("layers");
  }
  if (argument.image_reads.levels != 1) {
    options.push_back(fmt::format("levels={}", argument.image_reads.levels));
  }
  if (argument.image_reads.between_levels == ImageReads::Between::linear) {
    options.emplace_back("level_filter=linear");
  }
  return options;
}

std::vector<std::string> manner_options(const Instruction& instruction) {
  std::vector<std::string> options;
  if (!instruction.tags.empty()) {
    options.push_back(fmt::format("tags={}", fmt::join(instruction.tags, ":")));
  }
  if (const Assignment* assignment = get_if<Assignment>(instruction)) {
    if (assignment->is_atomic) {
      options.emplace_back("atomic");
    }
    if (assignment->is_async_copy) {
      options.emplace_back("asynchronous");
    }
  }
  if (instruction.exchanges_items) {
    options.emplace_back("exchange_items");
  }
  if (instruction.is_same_in_all_threads) {
    options.emplace_back("same_in_all_threads");
  }
  if (instruction.disjoint_at) {
    options.push_back(disjoint_text(instruction));
  }
  if (instruction.call_site != nullptr) {
    options.push_back("call=" + to_string(*instruction.call_site));
  }
  if (const RawCode* raw = get_if<RawCode>(instruction)) {
    add_raw_options(*raw, options);
  }
  return options;
}

std::string to_string(const Instruction& instruction) {
  return match(
      instruction,
      [](const Assignment& e) {
        return fmt::format("{} = {}", join(e.targets), to_string(e.value));
      },
      [](const CopyFence& e) {
        return e.kind == CopyFenceKind::commit
                   ? std::string("... commit copies")
                   : fmt::format("... wait for copies, but for {} groups", e.open_groups);
      },
      [](const BarrierInstruction& e) {
        return std::string(e.scope == BarrierScope::local ? "... lbarrier"
                           : e.is_passed_by_last_block    ? "... last_block"
                                                          : "... gbarrier");
      },
      [](const NoOperation&) { return std::string("... nop"); },
      [](const RawCode& e) { return fmt::format("... c \"{}\"", raw_text(e)); },
      [](const LookBack& e) {
        std::string text = fmt::format(
            "... {} along {} of {}", e.step == LookBack::Step::publishes ? "publish" : "look back",
            to_string(e.tile), to_string(e.published));
        for (const LookBack::Value& each : e.values) {
          text += fmt::format(": {} of {} = {}", to_string(each.before), to_string(each.total),
                              to_string(each.found_and_before));
        }
        return text;
      },
      [](const WarpProduct& e) {
        return fmt::format("... warp product: {} += {} * {}", join(e.sums), join(e.left),
                           join(e.right));
      });
}

std::string to_string(const SubstitutionRule& rule) {
  std::vector<std::string> neutral;
  for (const Expr& each : rule.neutral) {
    neutral.push_back(to_string(each));
  }
  return fmt::format(
      "{}({}) := {}{}", rule.name, fmt::join(rule.parameters, ", "), to_string(rule.body),
      neutral.empty() ? "" : fmt::format("  {{neutral={}}}", fmt::join(neutral, ":")));
}

std::string to_string(const CallSite& call) {
  std::string text = call.function + "(" + call.call;
  for (const auto& [variable, parameter] : call.parameter_names) {
    text += ", " + variable + "=" + parameter;
  }
  return text + ")";
}

std::string to_string(const Kernel& kernel) {
  std::string text = fmt::format("kernel {}\n", kernel.name);
  text += section("arguments", lines_of(kernel.arguments, print_argument));
  text += section("domains", lines_of(kernel.domains, print_domain));
  if (!kernel.assumptions.is_unconstrained()) {
    text += section("assumptions", {to_string(kernel.assumptions)});
  }
  text += section("inames", lines_of(all_inames(kernel), [&](const std::string& iname) {
                    return fmt::format("{}: {}", iname, to_string(tag_of(kernel, iname)));
                  }));
  text += section("order of loops", lines_of(kernel.loop_priorities, [](const auto& inames) {
                    return fmt::format("{}", fmt::join(inames, ", "));
                  }));
  if (kernel.swizzle_blocks != 0) {
    text +=
        section("order of blocks", {fmt::format("{} along g.1 at a time", kernel.swizzle_blocks)});
  }
  text += section("blocks", lines_of(kernel.walking_blocks, [](const auto& each) {
                    return fmt::format("{} walk along g.{}", to_string(each.second), each.first);
                  }));
  if (kernel.joins_launches) {
    text += section("launches", {"joined"});
  }
  text += section("temporaries", lines_of(kernel.temporaries, print_temporary));
  text += section("rules", lines_of(kernel.rules,
                                    [](const SubstitutionRule& rule) { return to_string(rule); }));
  text += section("functions", lines_of(kernel.functions, [](const TypedFunction& function) {
                    return to_string(function);
                  }));
  text += section("preambles", lines_of(kernel.preambles, [](const Preamble& preamble) {
                    return to_string(preamble);
                  }));
  text += section("statements", lines_of(kernel.instructions, print_statement));
  text += section("recipe", lines_of(kernel.recipe, print_step));
  return text;
}

std::string disjoint_text(const Instruction& instruction) {
  std::string text = "disjoint";
  for (const Expr& each : *instruction.disjoint_at) {
    text += (text.find('=') == std::string::npos ? "=" : ":") + to_string(each);
  }
  return text;
}

}  // namespace rtcg::loopy
