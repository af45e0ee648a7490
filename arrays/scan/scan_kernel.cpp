#include "rtcg/arrays/scan/scan_kernel.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/loop_kernel.h"
#include "rtcg/arrays/kernels/snippet.h"
#include "rtcg/arrays/kernels/snippet_form.h"
#include "rtcg/arrays/scan/scan_rows.h"
#include "rtcg/arrays/scan/scan_value.h"
#include "rtcg/arrays/scan/typed_scan.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/analyze/add_function.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/target_of.h"

namespace rtcg::arrays {
namespace {

using detail::Snippet;

/// The argument that the text indexes, if it is `x[i]` and no more.
std::optional<std::size_t> element_named(const std::string& words,
                                         const std::vector<KernelArgument>& arguments,
                                         const std::string& rest = {}) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].is_array && words == arguments[i].name + "[i]" + rest) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace

struct ScanKernel::Program {
  Program(const ResultType& type, const ScanText& text, std::vector<KernelArgument> given,
          ScanKernelOptions chosen, SourceOrigin where)
      : value(type),
        arguments(std::move(given)),
        options(std::move(chosen)),
        scan(text.scan, {}),
        neutral(text.neutral, {}),
        neutral_text(value.neutral(neutral.without_blanks(), text.neutral)),
        has_segments(!text.segment_start.empty()),
        input(text.input, arguments),
        output(text.output, arguments),
        segment_start(text.segment_start, arguments) {
    check();
    const auto uses = [&](const char* name) { return output.names().count(name) != 0; };
    // what the loop engine knows begins with a neutral element of its own
    const auto known = detail::known_operation(scan);
    scans_exclusively = options.is_exclusive && !has_segments && !uses("prev_item") &&
                        !uses("last_item") && (!known || detail::is_neutral(neutral, *known));
    make_kernels(text, where);
    scan_of_values = std::make_unique<detail::ScanCall>(
        loop_kernel(text), value.fields, options.axis.has_value(), options.wisdom_path);
  }

  [[nodiscard]] const loopy::Kernel& loop_kernel() const noexcept {
    return scan_of_values->kernel();
  }

  void run(const std::vector<Expression>& given, const ScanLaunch& launch) const {
    detail::check_argument_count(arguments.size(), given.size());
    const detail::ScanRows rows = detail::scan_rows(arguments, given, options.axis, launch.count);
    if (rows.count() == 0) {
      return;
    }
    const runtime::StreamRef stream = launch.stream.value_or(detail::stream_of_values(given));
    const StreamScope scope(stream);
    std::optional<AnyArray> starts;
    const std::vector<AnyArray> values = values_of(given, rows, stream, starts);
    std::vector<AnyArray> items;
    if (auto target = target_of(given, rows, values[0])) {
      items.push_back(*std::move(target));
    }
    const bool is_done = !items.empty() && value.dtype == value.fields[0].dtype;
    if (!is_done) {
      items = scan_of_values->new_arrays(rows, stream);
    }
    scan_of_values->run(stream, rows, values, items, starts);
    if (!is_done) {
      std::vector<Expression> all = given;
      all.insert(all.end(), items.begin(), items.end());
      add_numbers(rows, all);
      if (starts) {
        all.emplace_back(*starts);
      }
      output_kernel->run(
          all, {options.axis ? std::nullopt : std::optional(Slice{0, rows.length}), stream});
    }
  }

 private:
  detail::ScanValue value;
  std::vector<KernelArgument> arguments;
  ScanKernelOptions options;
  Snippet scan;
  Snippet neutral;
  std::string neutral_text;
  bool has_segments;
  bool scans_exclusively = false;  ///< items leave their own element out
  Snippet input;
  Snippet output;
  Snippet segment_start;
  NameGenerator names{};  // of the texts
  std::optional<ElementwiseKernel> input_kernel{};
  std::optional<ElementwiseKernel> output_kernel{};
  std::unique_ptr<const detail::ScanCall> scan_of_values{};

  void make_kernels(const ScanText& text, SourceOrigin where) {
    const std::string values = names.make("scan_values");
    const std::string items = names.make("scan_items");
    const std::string starts = names.make("scan_starts");
    const std::string own = names.make("scan_value");
    const std::string inner = options.axis ? names.make("scan_inner") : "1";
    ElementwiseOptions elementwise{options.preamble, {}, options.name, {}};
    if (value.structure) {
      elementwise.structs = {value.structure};
    }
    std::vector<KernelArgument> numbers = {number_argument(DType::i64, "N")};
    if (options.axis) {
      numbers.push_back(number_argument(DType::i64, inner));
    }
    const auto arguments_with = [&](const std::string& name, bool is_const) {
      std::vector<KernelArgument> result = arguments;
      for (const auto& field : value.fields) {
        result.push_back({detail::ScanValue::part(name, field), field.dtype, true, is_const, {}});
      }
      result.insert(result.end(), numbers.begin(), numbers.end());
      if (has_segments) {
        result.push_back({starts, DType::u8, true, is_const, {}});
      }
      return result;
    };

    std::string statements;
    if (value.is_number()) {
      statements = fmt::format("{}[i] = ({});", values, text.input);
    } else {
      statements = fmt::format("{} {} = ({});", value.c_type, own, text.input);
      for (const auto& field : value.fields) {
        statements +=
            fmt::format(" {}[i] = {}.{};", detail::ScanValue::part(values, field), own, field.name);
      }
    }
    if (has_segments) {
      statements += fmt::format(" {}[i] = ({}) ? 1 : 0;", starts, text.segment_start);
    }
    input_kernel.emplace(arguments_with(values, false), statements, elementwise, where);

    // the places of elements that come first and last in the order of the scan
    const std::string place = options.axis ? fmt::format("(i / {} % N)", inner) : std::string("i");
    const std::string first = options.is_reverse ? "N - 1" : "0";
    const std::string before = fmt::format("[i {} {}]", options.is_reverse ? '+' : '-', inner);
    const std::string last =
        options.axis
            ? fmt::format("[i + ({} - {})*{}]", options.is_reverse ? "0" : "N - 1", place, inner)
            : fmt::format("[{}]", options.is_reverse ? "0" : "N - 1");
    const std::string is_first = fmt::format("{} == {}{}", place, first,
                                             has_segments ? fmt::format(" || {}[i]", starts) : "");
    std::string declared;
    const auto declare = [&](const char* name, const std::string& index) {
      if (output.names().count(name) != 0) {
        declared +=
            fmt::format("{} {};\n{}", value.c_type, name, value.assigned(name, items, index));
      }
    };
    const auto declare_before = [&](const char* name) {
      if (output.names().count(name) != 0) {
        declared +=
            fmt::format("{} {};\nif ({}) {{ {} = ({}); }} else {{\n{}}}\n", value.c_type, name,
                        is_first, name, neutral_text, value.assigned(name, items, before));
      }
    };
    if (options.is_exclusive && !scans_exclusively) {
      declare_before("item");
    } else {
      declare("item", "[i]");
    }
    declare_before("prev_item");
    declare("last_item", last);
    output_kernel.emplace(arguments_with(items, true), declared + text.output, elementwise, where);
  }

  void add_numbers(const detail::ScanRows& rows, std::vector<Expression>& all) const {
    all.emplace_back(rows.length);
    if (options.axis) {
      all.emplace_back(rows.inner);
    }
  }

  /// Where the items go if the output is `y[i] = item`.
  [[nodiscard]] std::optional<AnyArray> target_of(const std::vector<Expression>& given,
                                                  const detail::ScanRows& rows,
                                                  const AnyArray& values) const {
    const bool has_own_item = !options.is_exclusive || scans_exclusively;
    if (!value.is_number() || !has_own_item) {
      return std::nullopt;
    }
    const auto open = element_named(output.without_blanks(), arguments, "=item");
    const auto place = open ? open : element_named(output.without_blanks(), arguments, "=item;");
    if (!place) {
      return std::nullopt;
    }
    detail::check_array(arguments[*place], given[*place], true);
    auto items = detail::whole_array(given[*place], value.dtype, rows.shape);
    // in place, elements would be written before others have read them
    return items && items->storage() == values.storage() ? std::nullopt : items;
  }

  /// Reserves the names of the texts, too.
  void check() {
    for (const char* const reserved : {"item", "prev_item", "last_item", "N"}) {
      for (const KernelArgument& argument : arguments) {
        static_cast<void>(names.reserve(argument.name));
        if (argument.name == reserved) {
          throw InvalidInput("arrays.scan_kernel.bad_name",
                             fmt::format("'{}' cannot be an argument: the texts of a scan have it "
                                         "for something else",
                                         reserved));
        }
      }
    }
    check_scan();
    for (const Snippet* each : {&scan, &neutral, &input, &output, &segment_start}) {
      for (const std::string& each_name : each->names()) {
        static_cast<void>(names.reserve(each_name));
      }
    }
    for (const detail::SnippetToken& token : detail::tokenize_snippet(options.preamble)) {
      static_cast<void>(names.reserve(token.text));
    }
  }

  void check_scan() const {
    const auto& in_scan = scan.names();
    for (const KernelArgument& argument : arguments) {
      const bool is_operand = argument.name == "a" || argument.name == "b";
      if ((in_scan.count(argument.name) != 0 && !is_operand) ||
          neutral.names().count(argument.name) != 0) {
        throw InvalidInput(
            "arrays.scan_kernel.scan_names",
            fmt::format("'{}' joins values and cannot name argument '{}': it sees a and b",
                        scan.without_blanks(), argument.name));
      }
    }
    if (in_scan.count("a") == 0 || in_scan.count("b") == 0) {
      throw InvalidInput("arrays.scan_kernel.scan_names",
                         fmt::format("'{}' does not join two values: it must name a and b",
                                     scan.without_blanks()));
    }
    const bool sees_boundary = in_scan.count("across_seg_boundary") != 0;
    if (sees_boundary != has_segments) {
      throw InvalidInput(
          "arrays.scan_kernel.segments",
          has_segments ? fmt::format("'{}' does not say what happens where a segment begins: write "
                                     "'across_seg_boundary ? b : {}'",
                                     scan.without_blanks(), scan.without_blanks())
                       : std::string("the scan asks for across_seg_boundary, and no segments are "
                                     "given by segment_start"));
    }
    if (has_segments && output.names().count("last_item") != 0) {
      throw InvalidInput("arrays.scan_kernel.segments",
                         "a scan of segments has a last_item for each of them: keep it from item, "
                         "where the next element begins a segment");
    }
  }

  /// items[i] from values[0] to values[i], or from the last one where it is reverse.
  loopy::Kernel loop_kernel(const ScanText& text) {
    const bool is_along_axis = options.axis.has_value();
    const std::string shape = is_along_axis ? "[outer, n, inner]" : "[n]";
    const auto element = [&](const char* iname) {
      const std::string place = options.is_reverse ? fmt::format("n - 1 - {}", iname) : iname;
      return is_along_axis ? fmt::format("[o, {}, r]", place) : fmt::format("[{}]", place);
    };
    loopy::KernelOptions kernel{.name = options.name};
    std::string targets;
    std::string operands;
    for (const auto& field : value.fields) {
      const auto part = [&](const char* name) { return detail::ScanValue::part(name, field); };
      kernel.arguments += fmt::format("{1}: {0}{3}; {2}: {0}{3}; ", name(field.dtype),
                                      part("values"), part("items"), shape);
      targets += fmt::format("{}{}{}", targets.empty() ? "" : ", ", part("items"), element("i"));
      operands += fmt::format(", {}{}", part("values"), element("j"));
    }
    kernel.arguments += has_segments ? fmt::format("starts: u8{}; ", shape) : "";
    kernel.arguments += is_along_axis ? "n, outer, inner: i32" : "n: i32";
    kernel.assumptions = is_along_axis ? "n >= 1 and outer >= 1 and inner >= 1" : "n >= 1";
    const std::string domains =
        fmt::format("{}{{[i]: 0 <= i < n}} {{[j]: 0 <= j {} i}}",
                    is_along_axis ? "{[o, r]: 0 <= o < outer and 0 <= r < inner} " : "",
                    scans_exclusively ? "<" : "<=");
    // blocks share work better if it is known that operands commute
    const auto known = detail::known_operation(scan);
    const bool is_extremum = known == "max" || known == "min";
    if (known && !has_segments && value.is_number() &&
        (is_extremum || detail::is_neutral(neutral, *known))) {
      return loopy::make_kernel(
          domains, fmt::format("{} = scan({}, j{})", targets, *known, operands), kernel);
    }
    const JoinText join = join_text(text);
    kernel.functions = join.functions;
    if (has_segments) {
      targets += ", <i32> has_begun";
      operands += fmt::format(", cast(i32, starts{})", element("j"));
    }
    loopy::Kernel result = loopy::make_kernel(
        domains, fmt::format("{}\n{} = scan({}, j{})", join.rule, targets, join.name, operands),
        kernel);
    std::set<std::string> used = scan.names();
    used.insert(neutral.names().begin(), neutral.names().end());
    used.insert(value.c_type);
    for (const loopy::Target target :
         {loopy::Target::host, loopy::Target::opencl, loopy::Target::cuda}) {
      const cgen::Dialect dialect = loopy::dialect_of(target);
      const std::string preamble = value.definition(dialect) +
                                   detail::standard_preamble(used, {}, dialect) +
                                   detail::portable_preamble(options.preamble, dialect);
      if (!preamble.empty()) {
        result = add_preamble(std::move(result), {target, preamble});
      }
    }
    return result;
  }

  /// How the loop engine joins values: a rule of functions in C, one for each field.
  struct JoinText {
    std::string name;
    std::string functions;
    std::string rule;
  };
  JoinText join_text(const ScanText& text) {
    JoinText result{names.make("scan_join"), {}, {}};
    const std::string joined = value.joined(scan.without_blanks(), text.scan);
    const std::string whole = names.make("scan_joined");
    const std::string nothing = names.make("scan_neutral");
    const std::string flag = has_segments ? ", across_seg_boundary: i32" : "";
    const auto parameters = [&](const std::string& operand, bool has_types) {
      std::string list;
      for (const auto& field : value.fields) {
        list += (list.empty() ? "" : ", ") + detail::ScanValue::part(operand, field) +
                (has_types ? fmt::format(": {}", name(field.dtype)) : "");
      }
      return list;
    };
    std::string values;
    std::string neutrals;
    for (const auto& field : value.fields) {
      const auto part = [&](const std::string& of) { return detail::ScanValue::part(of, field); };
      const auto text_of = [&](const std::string& given, const std::string& before) {
        return value.is_number() ? fmt::format("return ({});", given)
                                 : fmt::format("{}const {} value = ({});\nreturn value.{};", before,
                                               value.c_type, given, field.name);
      };
      const std::string operands =
          fmt::format("{0} a;\n{1}{0} b;\n{2}", value.c_type, value.assigned("a", "a", ""),
                      value.assigned("b", "b", ""));
      result.functions += fmt::format("{}({}, {}{}): {} {{\n{}\n}}\n{}(): {} {{\n{}\n}}\n",
                                      part(whole), parameters("a", true), parameters("b", true),
                                      flag, name(field.dtype), text_of(joined, operands),
                                      part(nothing), name(field.dtype), text_of(neutral_text, ""));
      values += fmt::format("{}{}({}, {}{})", values.empty() ? "" : ", ", part(whole),
                            parameters("a", false), parameters("b", false),
                            has_segments ? ", begins" : "");
      neutrals += fmt::format("{}{}()", neutrals.empty() ? "" : ":", part(nothing));
    }
    if (has_segments) {
      result.rule = fmt::format(
          "{}({}, begun, {}, begins) := make_tuple({}, max(begun, begins)) {{neutral={}:0}}",
          result.name, parameters("a", false), parameters("b", false), values, neutrals);
    } else {
      result.rule =
          fmt::format("{}({}, {}) := {} {{neutral={}}}", result.name, parameters("a", false),
                      parameters("b", false),
                      value.is_number() ? values : fmt::format("make_tuple({})", values), neutrals);
    }
    return result;
  }

  /// An array for each field. @param starts  gets the beginnings of segments
  std::vector<AnyArray> values_of(const std::vector<Expression>& given,
                                  const detail::ScanRows& rows, runtime::StreamRef stream,
                                  std::optional<AnyArray>& starts) const {
    const auto source = element_named(input.without_blanks(), arguments);
    if (source && !has_segments && value.is_number() && value.dtype == value.fields[0].dtype) {
      detail::check_array(arguments[*source], given[*source], false);
      if (auto values = detail::whole_array(given[*source], value.dtype, rows.shape)) {
        return {*std::move(values)};
      }
    }
    std::vector<AnyArray> values = scan_of_values->new_arrays(rows, stream);
    std::vector<Expression> all = given;
    all.insert(all.end(), values.begin(), values.end());
    add_numbers(rows, all);
    if (has_segments) {
      starts.emplace(DType::u8, rows.shape, stream);
      all.emplace_back(*starts);
    }
    input_kernel->run(all, {{}, stream});
    return values;
  }
};

ScanKernel::ScanKernel(const ResultType& type, const ScanText& text, const ArgumentList& arguments,
                       ScanKernelOptions options, SourceOrigin where)
    : program_(std::make_shared<const Program>(type, text, arguments.list(), std::move(options),
                                               where)) {}

ScanKernel::ScanKernel(const ScanExpressions& scan, const ArgumentList& arguments,
                       ScanKernelOptions options)
    : typed_(
          std::make_shared<const detail::TypedScan>(scan, arguments.list(), std::move(options))) {}

void ScanKernel::run(const std::vector<Expression>& values, const ScanLaunch& launch) const {
  if (typed_) {
    typed_->run(values, launch);
  } else {
    program_->run(values, launch);
  }
}

loopy::Kernel ScanKernel::as_loop_kernel() const {
  return typed_ ? typed_->loop_kernel() : program_->loop_kernel();
}

}  // namespace rtcg::arrays
