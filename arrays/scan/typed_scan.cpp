#include "rtcg/arrays/scan/typed_scan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/snippet_form.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

// no argument can have these names
constexpr const char* place_name = "i";
constexpr const char* length_name = "N";

}  // namespace

Expression scan_place() {
  return value_of(number_argument(DType::i64, place_name));
}

Expression scan_length() {
  return value_of(number_argument(DType::i64, length_name));
}

namespace detail {
namespace {

using Values = ScanJoin::Values;

/// Names of several values: no argument has a blank in its name.
std::string numbered(const std::string& name, std::size_t value) {
  return fmt::format("{} {}", name, value);
}

Expression symbol(const std::string& name, DType dtype) {
  return value_of(number_argument(dtype, name));
}

bool is_symbol(const Expression& value, const std::string& name) {
  return value.node()->op == Op::argument && *value.node()->argument == name;
}

void for_each_node(const Expression& value,
                   const std::function<void(const ExpressionNode&)>& visit) {
  std::vector<const ExpressionNode*> pending = {value.node().get()};
  std::set<const ExpressionNode*> seen = {pending.front()};
  while (!pending.empty()) {
    const ExpressionNode& node = *pending.back();
    pending.pop_back();
    visit(node);
    for (const NodePointer& operand : node.operands) {
      if (operand && seen.insert(operand.get()).second) {
        pending.push_back(operand.get());
      }
    }
  }
}

bool names(const std::vector<ElementAssignment>& assignments, const std::string& word) {
  bool result = false;
  for (const ElementAssignment& each : assignments) {
    for_each_node(each.value, [&](const ExpressionNode& node) {
      result = result || (node.op == Op::argument && node.argument->rfind(word + " ", 0) == 0);
    });
  }
  return result;
}

[[noreturn]] void refuse_tuple(const char* what, std::size_t found, std::size_t taken) {
  throw InvalidInput("arrays.scan_kernel.tuple",
                     fmt::format("'{}' has {} values, and 'input' has {}: each value of an element "
                                 "needs one",
                                 what, found, taken));
}

/// The operation of the loop engine that does the same, for which threads can share work in more
/// ways. Its neutral element is that of the operation.
std::optional<std::string> known_operation(const Expression& joined, const NumberValue& neutral,
                                           DType dtype, bool is_exclusive) {
  const ExpressionNode& node = *joined.node();
  const auto is_operand = [&](int operand, const char* name) {
    return node.operands[operand] != nullptr && is_symbol(Expression(node.operands[operand]), name);
  };
  if (!((is_operand(0, "a0") && is_operand(1, "b0")) ||
        (is_operand(0, "b0") && is_operand(1, "a0")))) {
    return std::nullopt;
  }
  const bool is_extremum = node.op == Op::maximum || node.op == Op::minimum;
  if (is_extremum && !is_exclusive) {
    return std::string(node.op == Op::maximum ? "max" : "min") + (is_floating(dtype) ? "imum" : "");
  }
  const std::complex<double> one = node.op == Op::multiply ? 1 : 0;
  const bool is_sum = node.op == Op::add || node.op == Op::multiply;
  return is_sum && neutral.value == one
             ? std::optional<std::string>(node.op == Op::add ? "sum" : "product")
             : std::nullopt;
}

}  // namespace

TypedScan::TypedScan(const ScanExpressions& scan, std::vector<KernelArgument> arguments,
                     ScanKernelOptions options)
    : arguments_(std::move(arguments)), options_(std::move(options)) {
  static_cast<void>(SnippetProgram(arguments_, ""));  // checks the names
  for (const KernelArgument& argument : arguments_) {
    if (argument.name == length_name) {
      throw InvalidInput("arrays.scan_kernel.bad_name",
                         "'N' cannot be an argument: it is the number of elements of a scan");
    }
  }
  if (!options_.preamble.empty()) {
    throw Unsupported("arrays.scan_kernel.needs_text",
                      "a preamble is for scans of C text: expressions have no functions in C");
  }
  make_inputs(scan);
  make_outputs(scan);
  scan_ = std::make_unique<ScanCall>(make_kernel(scan), fields_, options_.axis.has_value(),
                                     options_.wisdom_path);
}

void TypedScan::make_inputs(const ScanExpressions& scan) {
  std::map<std::string, Expression> known = detail::values_of(arguments_);
  known.emplace(place_name, scan_place());
  known.emplace(length_name, scan_length());
  if (scan.input.empty()) {
    refuse_tuple("scan", 0, 0);
  }
  for (std::size_t k = 0; k < scan.input.size(); ++k) {
    static_cast<void>(substitute(scan.input[k], known));
    const DType dtype = scan.input[k].dtype();
    if (!is_integer(dtype) && !is_floating(dtype) && !is_complex(dtype)) {
      throw Unsupported("arrays.scan_kernel.type",
                        fmt::format("values of {} are not scanned by a ScanKernel: it takes "
                                    "integers, floating-point and complex numbers",
                                    name(dtype)));
    }
    const bool is_half = dtype == DType::f16 || dtype == DType::bf16;
    fields_.push_back(
        {scan.input.size() == 1 ? std::string() : std::to_string(k), is_half ? DType::f32 : dtype});
    inputs_.push_back(cast(scan.input[k], fields_.back().dtype));
  }
  if (scan.neutral.size() != fields_.size()) {
    refuse_tuple("neutral", scan.neutral.size(), fields_.size());
  }
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    if (number_of(scan.neutral[k]) == nullptr) {
      throw InvalidInput("arrays.scan_kernel.tuple",
                         "a neutral element of a scan is not a number: the same one is neutral for "
                         "all elements");
    }
    neutral_.push_back(as(scan.neutral[k], fields_[k].dtype));
  }
  if (scan.segment_start) {
    static_cast<void>(substitute(*scan.segment_start, known));
    segment_start_ = *scan.segment_start;
  }
}

void TypedScan::make_outputs(const ScanExpressions& scan) {
  std::map<std::string, Expression> known = detail::values_of(arguments_);
  known.emplace(place_name, scan_place());
  known.emplace(length_name, scan_length());
  ScanItems items;
  const auto add = [&](std::vector<Expression>& list, const char* name) {
    for (std::size_t k = 0; k < fields_.size(); ++k) {
      list.push_back(symbol(numbered(name, k), fields_[k].dtype));
      known.emplace(numbered(name, k), list.back());
    }
  };
  add(items.items, "item");
  add(items.previous_items, "previous");
  add(items.last_items, "last");
  outputs_ = scan.output(items);
  for (const ElementAssignment& each : outputs_) {
    static_cast<void>(detail::target_of(arguments_, each));
    static_cast<void>(substitute(each.value, known));
  }
  uses_last_ = names(outputs_, "last");
  if (has_segments() && uses_last_) {
    throw InvalidInput("arrays.scan_kernel.segments",
                       "a scan of segments has a last item for each of them: keep it from item(), "
                       "where the next element begins a segment");
  }
  scans_exclusively_ =
      options_.is_exclusive && !has_segments() && !uses_last_ && !names(outputs_, "previous");
}

loopy::Kernel TypedScan::make_kernel(const ScanExpressions& scan) const {
  Values before;
  Values after;
  std::vector<std::string> parameters;
  for (const auto& [list, name] : {std::pair(&before, 'a'), std::pair(&after, 'b')}) {
    for (std::size_t k = 0; k < fields_.size(); ++k) {
      parameters.push_back(fmt::format("{}{}", name, k));
      list->push_back(symbol(parameters.back(), fields_[k].dtype));
    }
  }
  Values joined = scan.scan(before, after);
  if (joined.size() != fields_.size()) {
    refuse_tuple("scan", joined.size(), fields_.size());
  }
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    for_each_node(joined[k], [&](const ExpressionNode& node) {
      const bool is_own =
          node.op != Op::leaf && node.op != Op::gather &&
          (node.op != Op::argument ||
           std::find(parameters.begin(), parameters.end(), *node.argument) != parameters.end());
      if (!is_own) {
        throw InvalidInput("arrays.scan_kernel.scan_names",
                           "the expression that joins values uses an array or an argument: it sees "
                           "the values of its operands, so make it one of them");
      }
    });
    joined[k] = fitted(joined[k], fields_[k].dtype);
  }
  // as of cumulative(): names of arrays are those of the kernel of a text
  const auto part = [&](const char* name, std::size_t k) {
    return ScanValue::part(name, fields_[k]);
  };
  const bool is_along_axis = options_.axis.has_value();
  const loopy::Expr length = loopy::Name{"n"};
  const auto element = [&](const std::string& array, const char* iname) {
    const loopy::Expr along = options_.is_reverse ? length - 1 - loopy::Expr(loopy::Name{iname})
                                                  : loopy::Expr(loopy::Name{iname});
    return is_along_axis ? loopy::access(array, {loopy::Name{"o"}, along, loopy::Name{"r"}})
                         : loopy::access(array, {along});
  };
  const auto read = [&](const ExpressionNode& node, const LoopKernelMaker::Index&,
                        const std::optional<loopy::Expr>&) {
    const bool is_parameter =
        std::find(parameters.begin(), parameters.end(), *node.argument) != parameters.end();
    return is_parameter ? loopy::Expr(loopy::Name{*node.argument}) : element(*node.argument, "j");
  };
  LoopKernelMaker maker(options_.name, read, [&](std::int64_t) { return length; }, {});
  const std::vector<loopy::Expr> shape =
      is_along_axis ? std::vector<loopy::Expr>{loopy::Name{"outer"}, length, loopy::Name{"inner"}}
                    : std::vector<loopy::Expr>{length};
  Values values;
  std::vector<loopy::Expr> targets;
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    maker.add_array(part("values", k), fields_[k].dtype, shape);
    maker.add_array(part("items", k), fields_[k].dtype, shape);
    values.push_back(symbol(part("values", k), fields_[k].dtype));
    targets.push_back(element(part("items", k), "i"));
  }
  std::set<std::string> within = {"i"};
  maker.add_loop("i", length);
  maker.add_loop_of_scan("j", "i", scans_exclusively_);
  if (is_along_axis) {
    maker.add_loop("o", loopy::Name{"outer"});
    maker.add_loop("r", loopy::Name{"inner"});
    within.insert({"o", "r"});
  }
  Values neutral = neutral_;
  std::optional<std::string> operation;
  if (has_segments()) {
    maker.add_array("starts", DType::u8, shape);
    // the flags that the operands of a join have: whether a segment begins among their elements
    const Expression begun = symbol("begun", DType::i32);
    const Expression begins = symbol("begins", DType::i32);
    for (std::size_t k = 0; k < fields_.size(); ++k) {
      joined[k] = where(begins > 0, after[k], joined[k]);
    }
    joined.push_back(maximum(begun, begins));
    neutral.push_back(as(0, DType::i32));
    parameters.insert(parameters.begin() + static_cast<std::ptrdiff_t>(fields_.size()), "begun");
    parameters.emplace_back("begins");
    values.push_back(cast(symbol("starts", DType::u8), DType::i32));
    targets.emplace_back(loopy::Name{"has_begun"});
  } else if (fields_.size() == 1) {
    operation =
        known_operation(joined[0], *number_of(neutral_[0]), fields_[0].dtype, scans_exclusively_);
  }
  if (!operation) {
    operation = "join";
    maker.add_operation(*operation, parameters, joined, neutral);
  }
  maker.assign_scan(targets, *operation, values, "j", within);
  maker.add_number("n", cgen::i32, 1);
  if (is_along_axis) {
    maker.add_number("outer", cgen::i32, 1);
    maker.add_number("inner", cgen::i32, 1);
  }
  return maker.finish();
}

void TypedScan::run(const std::vector<Expression>& given, const ScanLaunch& launch) const {
  if (launch.count) {
    throw Unsupported("arrays.scan_kernel.needs_text",
                      "a number of elements is for scans of C text: take a slice of the arrays "
                      "instead");
  }
  check_argument_count(arguments_.size(), given.size());
  const ScanRows rows = scan_rows(arguments_, given, options_.axis, {});
  if (rows.count() == 0) {
    return;
  }
  const runtime::StreamRef stream = launch.stream.value_or(stream_of_values(given));
  const StreamScope scope(stream);
  Bound bound = bind_values(arguments_, given);
  std::vector<AnyArray> targets;
  for (const ElementAssignment& each : outputs_) {
    const std::size_t target = detail::target_of(arguments_, each);
    check_array(arguments_[target], given[target], true);
    targets.push_back(*given[target].node()->array);
  }
  const auto first = std::find_if(arguments_.begin(), arguments_.end(),
                                  [](const auto& each) { return each.is_array; });
  const Extents shape = given[static_cast<std::size_t>(first - arguments_.begin())].shape();
  bound.emplace(place_name, indices(shape));
  bound.emplace(length_name, as(rows.length, DType::i64));
  std::optional<AnyArray> starts;
  const std::vector<AnyArray> values = values_of(bound, rows, stream, starts);
  std::vector<AnyArray> items;
  if (auto target = target_of(bound, rows, values[0])) {
    items.push_back(*std::move(target));
    scan_->run(stream, rows, values, items, starts);
    return;
  }
  items = scan_->new_arrays(rows, stream);
  scan_->run(stream, rows, values, items, starts);
  for (AnyArray& each : items) {
    each = each.reshape(shape);
  }
  if (starts) {
    starts = starts->reshape(shape);
  }
  add_items(bound, rows, items, starts);
  std::vector<Expression> results;
  for (const ElementAssignment& each : outputs_) {
    results.push_back(substitute(each.value, bound));
  }
  evaluate_all_into(results, targets);
}

/// Arrays of the inputs, of the shape of the rows.
std::vector<AnyArray> TypedScan::values_of(const Bound& bound, const ScanRows& rows,
                                           runtime::StreamRef stream,
                                           std::optional<AnyArray>& starts) const {
  std::vector<AnyArray> result;
  std::vector<Expression> computed;
  std::vector<AnyArray> targets;
  const Extents shape = bound.at(place_name).shape();
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    const Expression value = substitute(inputs_[k], bound);
    if (auto whole = whole_array(value, fields_[k].dtype, rows.shape)) {
      result.push_back(*std::move(whole));
      continue;
    }
    result.emplace_back(fields_[k].dtype, rows.shape, stream);
    computed.push_back(broadcast_to(value, shape));
    targets.push_back(result.back().reshape(shape));
  }
  if (has_segments()) {
    starts.emplace(DType::u8, rows.shape, stream);
    computed.push_back(
        broadcast_to(cast(substitute(*segment_start_, bound) != 0, DType::u8), shape));
    targets.push_back(starts->reshape(shape));
  }
  if (!computed.empty()) {
    evaluate_all_into(computed, targets);
  }
  return result;
}

/// Where the items go if they are all that is written.
std::optional<AnyArray> TypedScan::target_of(const Bound& bound, const ScanRows& rows,
                                             const AnyArray& values) const {
  const bool has_own_item = !options_.is_exclusive || scans_exclusively_;
  if (fields_.size() != 1 || !has_own_item || outputs_.size() != 1 ||
      !is_symbol(outputs_[0].value, numbered("item", 0))) {
    return std::nullopt;
  }
  auto items = whole_array(bound.at(outputs_[0].target), fields_[0].dtype, rows.shape);
  // in place, elements would be written before others have read them
  return items && items->storage() == values.storage() ? std::nullopt : items;
}

void TypedScan::add_items(Bound& bound, const ScanRows& rows, const std::vector<AnyArray>& items,
                          const std::optional<AnyArray>& starts) const {
  const Expression place = bound.at(place_name);
  const Expression along = options_.axis ? floor_divide(place, rows.inner) % rows.length : place;
  const Expression is_end = along == (options_.is_reverse ? rows.length - 1 : 0);
  const Expression is_first = starts ? is_end | (Expression(*starts) != 0) : is_end;
  const Expression distance =
      where(is_end, as(0, DType::i64), options_.is_reverse ? rows.inner : -rows.inner);
  for (std::size_t k = 0; k < items.size(); ++k) {
    const Expression previous = where(is_first, neutral_[k], gather(items[k], distance));
    bound.emplace(numbered("previous", k), previous);
    const bool leaves_out = options_.is_exclusive && !scans_exclusively_;
    bound.emplace(numbered("item", k), leaves_out ? previous : Expression(items[k]));
    if (!uses_last_) {
      continue;
    }
    const std::int64_t end = options_.is_reverse ? 0 : rows.length - 1;
    const AnyArray in_rows = items[k].reshape(rows.outer, rows.length, rows.inner);
    Expression last = in_rows(0, end, 0);
    if (options_.axis) {
      Extents one_in_row = items[k].shape();
      one_in_row[checked_axis(*options_.axis, one_in_row.size())] = 1;
      last = in_rows(whole, end).contiguous().reshape(one_in_row);
    }
    bound.emplace(numbered("last", k), last);
  }
}

}  // namespace detail
}  // namespace rtcg::arrays
