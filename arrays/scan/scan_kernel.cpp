#include "rtcg/arrays/scan/scan_kernel.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/loop_call.h"
#include "rtcg/arrays/kernels/loop_kernel.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/kernels/snippet.h"
#include "rtcg/arrays/kernels/snippet_form.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/analyze/add_function.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/target_of.h"

namespace rtcg::arrays {
namespace {

using detail::Snippet;

/// What values are computed in.
DType carried(DType type) {
  return type == DType::f16 || type == DType::bf16 ? DType::f32 : type;
}

/// As every one of the languages calls it.
const char* c_name(DType type) {
  switch (type) {
    case DType::i8:
      return "signed char";
    case DType::u8:
      return "unsigned char";
    case DType::i16:
      return "short";
    case DType::u16:
      return "unsigned short";
    case DType::i32:
      return "int";
    case DType::u32:
      return "unsigned int";
    case DType::i64:
      return "long";
    case DType::u64:
      return "unsigned long";
    case DType::f64:
      return "double";
    default:
      return "float";
  }
}

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

/// The array of a value if it is contiguous and of that type and number of elements, as one axis.
std::optional<AnyArray> whole_array(const Expression& value, DType dtype, std::int64_t count) {
  const detail::ExpressionNode& node = *value.node();
  const bool fits = node.op == Op::leaf && node.dtype == dtype &&
                    node.array->layout().is_contiguous() && node.array->count() == count;
  return fits ? std::optional(node.array->reshape(count)) : std::nullopt;
}

}  // namespace

struct ScanKernel::Program {
  Program(DType type, ScanText text, std::vector<KernelArgument> given, ScanKernelOptions options,
          SourceOrigin where)
      : dtype(type),
        arguments(std::move(given)),
        scan(text.scan, {}),
        neutral(text.neutral, {}),
        has_segments(!text.segment_start.empty()),
        input(text.input, arguments),
        output(text.output, arguments),
        segment_start(text.segment_start, arguments) {
    check(options.preamble);
    const std::string values = names.make("scan_values");
    const std::string items = names.make("scan_items");
    const std::string starts = names.make("scan_starts");
    const KernelArgument count = number_argument(DType::i64, "N");
    const ElementwiseOptions elementwise{options.preamble, {}, options.name};

    std::vector<KernelArgument> of_input = arguments;
    of_input.push_back(array_argument(carried(dtype), values));
    of_input.push_back(count);
    std::string statements = fmt::format("{}[i] = ({});", values, text.input);
    if (has_segments) {
      of_input.push_back(array_argument(DType::u8, starts));
      statements += fmt::format(" {}[i] = ({}) ? 1 : 0;", starts, text.segment_start);
    }
    input_kernel.emplace(of_input, statements, elementwise, where);

    std::vector<KernelArgument> of_output = arguments;
    of_output.push_back({items, carried(dtype), true, true});
    of_output.push_back(count);
    if (has_segments) {
      of_output.push_back({starts, DType::u8, true, true});
    }
    std::string declared;
    const auto declare = [&](const char* name, const std::string& value) {
      if (output.names().count(name) != 0) {
        declared += fmt::format("const {} {} = {}; ", c_name(dtype), name, value);
      }
    };
    declare("item", items + "[i]");
    declare("prev_item",
            fmt::format("i == 0{} ? ({}) : {}[i - 1]",
                        has_segments ? fmt::format(" || {}[i]", starts) : "", text.neutral, items));
    declare("last_item", items + "[N - 1]");
    output_kernel.emplace(of_output, declared + text.output, elementwise, where);
    scan_of_values = std::make_unique<detail::LoopCall>(
        loop_kernel(text, options), detail::LoopWishes{std::move(options.wisdom_path), {}});
  }

  [[nodiscard]] const loopy::Kernel& loop_kernel() const noexcept {
    return scan_of_values->kernel();
  }

  void run(const std::vector<Expression>& given, const ScanLaunch& launch) const {
    detail::check_argument_count(arguments.size(), given.size());
    const std::int64_t count = launch.count ? *launch.count : count_of(given);
    if (count == 0) {
      return;
    }
    const runtime::StreamRef stream = launch.stream.value_or(stream_of(given));
    const StreamScope scope(stream);
    std::optional<AnyArray> starts;
    const AnyArray values = values_of(given, count, stream, starts);
    const auto target = element_named(output.without_blanks(), arguments, "=item");
    const auto target_closed = element_named(output.without_blanks(), arguments, "=item;");
    std::optional<AnyArray> items;
    if (const auto place = target ? target : target_closed) {
      detail::check_array(arguments[*place], given[*place], true);
      items = whole_array(given[*place], dtype, count);
      // in place, elements would be written before others have read them
      if (items && items->storage() == values.storage()) {
        items.reset();
      }
    }
    const bool is_done = items && dtype == carried(dtype);
    if (!is_done) {
      items.emplace(carried(dtype), Extents{count}, stream);
    }
    std::vector<std::pair<std::string, AnyArray>> arrays = {{"values", values}, {"items", *items}};
    if (starts) {
      arrays.emplace_back("starts", *starts);
    }
    scan_of_values->run(stream, arrays, {{"n", count}});
    if (!is_done) {
      std::vector<Expression> all = given;
      all.emplace_back(*items);
      all.emplace_back(count);
      if (starts) {
        all.emplace_back(*starts);
      }
      output_kernel->run(all, {Slice{0, count}, stream});
    }
  }

  DType dtype;
  std::vector<KernelArgument> arguments;
  Snippet scan;
  Snippet neutral;
  bool has_segments;
  Snippet input;
  Snippet output;
  Snippet segment_start;
  NameGenerator names;  // of the texts
  std::optional<ElementwiseKernel> input_kernel;
  std::optional<ElementwiseKernel> output_kernel;
  std::unique_ptr<const detail::LoopCall> scan_of_values;

  /// Reserves the names of the texts, too.
  void check(const std::string& preamble) {
    if (!is_integer(dtype) && !is_floating(dtype)) {
      throw Unsupported("arrays.scan_kernel.type",
                        fmt::format("values of {} are not scanned by a ScanKernel: it takes "
                                    "integers and floating-point numbers",
                                    name(dtype)));
    }
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
    for (const detail::SnippetToken& token : detail::tokenize_snippet(preamble)) {
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

  /// items[i] from values[0] to values[i].
  loopy::Kernel loop_kernel(const ScanText& text, const ScanKernelOptions& options) {
    const std::string type(name(carried(dtype)));
    loopy::KernelOptions kernel{.name = options.name};
    kernel.arguments = fmt::format("values: {0}[n]; {1}items: {0}[n]; n: i32", type,
                                   has_segments ? "starts: u8[n]; " : "");
    kernel.assumptions = "n >= 1";
    const std::string domains = "{[i]: 0 <= i < n} {[j]: 0 <= j <= i}";
    // blocks share work better if it is known that operands commute
    const auto known = detail::known_operation(scan);
    const bool is_extremum = known == "max" || known == "min";
    if (known && !has_segments && (is_extremum || detail::is_neutral(neutral, *known))) {
      return loopy::make_kernel(domains, fmt::format("items[i] = scan({}, j, values[j])", *known),
                                kernel);
    }
    const std::string join = names.make("scan_join");
    const std::string joined = names.make("scan_joined");
    const std::string nothing = names.make("scan_neutral");
    kernel.functions = fmt::format(
        "{0}(a: {1}, b: {1}{2}): {1} {{ return ({3}); }}\n{4}(): {1} {{ return ({5}); }}", joined,
        type, has_segments ? ", across_seg_boundary: i32" : "", text.scan, nothing, text.neutral);
    const std::string statements =
        has_segments ? fmt::format(
                           "{0}(a, begun, b, begins) := make_tuple({1}(a, b, begins), "
                           "max(begun, begins)) {{neutral={2}():0}}\n"
                           "items[i], <i32> has_begun = scan({0}, j, values[j], "
                           "cast(i32, starts[j]))",
                           join, joined, nothing)
                     : fmt::format(
                           "{0}(a, b) := {1}(a, b) {{neutral={2}()}}\n"
                           "items[i] = scan({0}, j, values[j])",
                           join, joined, nothing);
    loopy::Kernel result = loopy::make_kernel(domains, statements, kernel);
    std::set<std::string> used = scan.names();
    used.insert(neutral.names().begin(), neutral.names().end());
    for (const loopy::Target target :
         {loopy::Target::host, loopy::Target::opencl, loopy::Target::cuda}) {
      const cgen::Dialect dialect = loopy::dialect_of(target);
      const std::string preamble = detail::standard_preamble(used, {}, dialect) +
                                   detail::portable_preamble(options.preamble, dialect);
      if (!preamble.empty()) {
        result = add_preamble(std::move(result), {target, preamble});
      }
    }
    return result;
  }

  [[nodiscard]] std::int64_t count_of(const std::vector<Expression>& given) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].is_array) {
        return element_count(given[i].shape());
      }
    }
    throw InvalidInput("arrays.scan_kernel.no_count",
                       "a scan without arrays has no number of elements: give ScanLaunch::count");
  }

  static runtime::StreamRef stream_of(const std::vector<Expression>& given) {
    for (const Expression& value : given) {
      if (value.node()->array) {
        return current_stream(value.node()->array->stream());
      }
    }
    return current_stream();
  }

  /// @param starts  gets the beginnings of segments
  AnyArray values_of(const std::vector<Expression>& given, std::int64_t count,
                     runtime::StreamRef stream, std::optional<AnyArray>& starts) const {
    const auto source = element_named(input.without_blanks(), arguments);
    if (source && !has_segments && dtype == carried(dtype)) {
      detail::check_array(arguments[*source], given[*source], false);
      if (auto values = whole_array(given[*source], dtype, count)) {
        return *values;
      }
    }
    AnyArray values(carried(dtype), {count}, stream);
    std::vector<Expression> all = given;
    all.emplace_back(values);
    all.emplace_back(count);
    if (has_segments) {
      starts.emplace(DType::u8, Extents{count}, stream);
      all.emplace_back(*starts);
    }
    input_kernel->run(all, {{}, stream});
    return values;
  }
};

ScanKernel::ScanKernel(DType type, ScanText text, const ArgumentList& arguments,
                       ScanKernelOptions options, SourceOrigin where)
    : program_(std::make_shared<const Program>(type, std::move(text), arguments.list(),
                                               std::move(options), where)) {}

void ScanKernel::run(const std::vector<Expression>& values, const ScanLaunch& launch) const {
  program_->run(values, launch);
}

loopy::Kernel ScanKernel::as_loop_kernel() const {
  return program_->loop_kernel();
}

}  // namespace rtcg::arrays
