#include "rtcg/arrays/kernels/loop_lowering.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/lower_steps.h"
#include "rtcg/arrays/lazy/plain_operations.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/check/check_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/scan.h"

namespace rtcg::arrays::detail {
namespace {

using loopy::ComparisonOp;
using loopy::Expr;
using Operands = std::vector<Expr>;

/// The type in which kernels compute.
cgen::Type computed_type(DType dtype) {
  return is_complex(dtype) ? cgen::complex_of(value_type(dtype)) : value_type(dtype);
}

Expr loop_constant(double value, DType dtype) {
  if (!is_floating(dtype)) {
    return loopy::Integer{static_cast<std::int64_t>(value)};
  }
  return loopy::Real{value, cgen::scalar_kind(value_type(dtype))};
}

Expr loop_number(const NumberValue& number, DType dtype) {
  const auto real = [](double value, DType type) { return loop_constant(value, real_of(type)); };
  if (is_complex(dtype)) {
    return loopy::call("make_complex",
                       {real(number.value.real(), dtype), real(number.value.imag(), dtype)});
  }
  if (is_floating(dtype)) {
    return real(number.value.real(), dtype);
  }
  const auto bits = number.kind == WeakKind::integer || number.kind == WeakKind::boolean
                        ? static_cast<std::int64_t>(number.bits)
                        : static_cast<std::int64_t>(number.value.real());
  const bool is_small = bits > INT32_MIN && bits <= INT32_MAX;
  return is_small ? Expr(bits) : Expr(loopy::Cast{value_type(dtype), bits});
}

Expr from_loop_memory(const Expr& element, DType dtype) {
  if (dtype == DType::boolean) {
    return compare(ComparisonOp::not_equal, element, 0);
  }
  return is_half(dtype) ? Expr(loopy::Cast{cgen::f32, element}) : element;
}

Expr to_loop_memory(const Expr& value, DType dtype) {
  return dtype == DType::boolean || is_half(dtype) ? Expr(loopy::Cast{loop_type(dtype), value})
                                                   : value;
}

Expr converted(const Expr& value, DType from, DType to) {
  if (from == to) {
    return value;
  }
  if (to == DType::boolean) {
    return compare(ComparisonOp::not_equal, value, loop_constant(0, from));
  }
  const bool is_same = value_type(from) == value_type(to) && is_complex(from) == is_complex(to);
  const Expr result = is_same ? value : Expr(loopy::Cast{computed_type(to), value});
  return is_half(to) ? from_loop_memory(to_loop_memory(result, to), to) : result;
}

/// Integers modulo 2^n, as in NumPy.
Expr wrapped(Op op, const Expr& a, const Expr& b, DType dtype) {
  const auto combine = [op](const Expr& left, const Expr& right) {
    return op == Op::add ? left + right : op == Op::subtract ? left - right : left * right;
  };
  if (is_unsigned_integer(dtype) && size_bytes(dtype) >= 4) {
    return combine(a, b);
  }
  const cgen::Type bits = size_bytes(dtype) == 8 ? cgen::u64 : cgen::u32;
  return loopy::Cast{value_type(dtype), combine(loopy::Cast{bits, a}, loopy::Cast{bits, b})};
}

/// In the integers of 32 or 64 bits, whose quotients the loop engine rounds down as NumPy does.
Expr loop_division(Op op, DType dtype, const Operands& operands) {
  const cgen::Type type = helper_type(dtype);
  const bool is_own = type == value_type(dtype);
  const auto wide = [&](const Expr& value) { return is_own ? value : loopy::Cast{type, value}; };
  const Expr a = wide(operands[0]);
  const Expr b = wide(operands[1]);
  const Expr result = op == Op::power          ? loopy::power(a, b)
                      : op == Op::floor_divide ? floor_div(a, b)
                                               : modulo(a, b);
  return is_own ? result : loopy::Cast{value_type(dtype), result};
}

struct InLoops {
  using Expr = loopy::Expr;
  static Expr constant(double value, DType dtype) { return loop_constant(value, dtype); }
  static Expr integer(int value) { return value; }
  static Expr call(cgen::Intrinsic function, const Operands& operands) {
    return loopy::call(std::string(cgen::intrinsic_info(function).name), operands);
  }
  static Expr equal(const Expr& a, const Expr& b) { return compare(ComparisonOp::equal, a, b); }
  static Expr differ(const Expr& a, const Expr& b) {
    return compare(ComparisonOp::not_equal, a, b);
  }
  static Expr less(const Expr& a, const Expr& b) { return compare(ComparisonOp::less, a, b); }
  static Expr less_equal(const Expr& a, const Expr& b) {
    return compare(ComparisonOp::less_equal, a, b);
  }
  static Expr greater(const Expr& a, const Expr& b) { return compare(ComparisonOp::greater, a, b); }
  static Expr both(const Expr& a, const Expr& b) { return loopy::logical_and({a, b}); }
  static Expr either(const Expr& a, const Expr& b) { return loopy::logical_or({a, b}); }
  static Expr one_of(const Expr& a, const Expr& b) {
    return differ(loopy::Cast{cgen::i32, a}, loopy::Cast{cgen::i32, b});
  }
  static Expr negation(const Expr& a) { return loopy::logical_not(a); }
  static Expr select(const Expr& condition, const Expr& a, const Expr& b) {
    return loopy::Conditional{condition, a, b};
  }
  static Expr wrapping(Op op, const Expr& a, const Expr& b, DType dtype) {
    return wrapped(op, a, b, dtype);
  }
  static Expr bits(Op op, const Expr& a, const Expr& b, DType dtype) {
    const loopy::BitOp which = op == Op::bit_and  ? loopy::BitOp::and_
                               : op == Op::bit_or ? loopy::BitOp::or_
                                                  : loopy::BitOp::xor_;
    return loopy::Cast{value_type(dtype), loopy::Bitwise{which, a, b}};
  }
  static Expr inverted(DType dtype, const Expr& a) {
    return bits(Op::bit_xor, a, loopy::Cast{value_type(dtype), -1}, dtype);
  }
};

std::optional<Expr> complex_operation(Op op, const Operands& operands) {
  switch (op) {
    case Op::add:
      return operands[0] + operands[1];
    case Op::subtract:
      return operands[0] - operands[1];
    case Op::multiply:
      return operands[0] * operands[1];
    case Op::negate:
      return -operands[0];
    case Op::make_complex:
      return loopy::call("make_complex", operands);
    case Op::real:
      return loopy::call("real", operands);
    case Op::imag:
      return loopy::call("imag", operands);
    case Op::conj:
      return loopy::call("conj", operands);
    case Op::where:
      return loopy::Conditional{operands[0], operands[1], operands[2]};
    default:
      return std::nullopt;
  }
}

/// @param types  of the operands
std::optional<Expr> real_operation(Op op, DType dtype, const Operands& operands,
                                   const std::vector<DType>& types) {
  if (op == Op::power && !is_integer(dtype)) {
    return loopy::power(operands[0], operands[1]);
  }
  if (helper_of(TapeStep{op, dtype})) {
    return loop_division(op, dtype, operands);
  }
  // u64 and a type with signs have a comparison of their own
  const bool is_mixed = op >= Op::equal && op <= Op::less_equal && types[0] != types[1];
  return is_mixed ? std::nullopt : PlainOperations<InLoops>::find(op, dtype, operands);
}

/// Steps as a function, which the loop engine calls: the operand `k` of a step is parameter `k`, or
/// after the parameters the value of an earlier step.
loopy::TypedFunction function_of(const std::vector<TapeStep>& steps,
                                 const std::vector<DType>& types, const std::string& name) {
  loopy::TypedFunction result;
  result.name = name;
  result.result = computed_type(steps.back().dtype);
  std::vector<Value> parameters;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string parameter = fmt::format("x{}", i);
    const cgen::Type type = computed_type(types[i]);
    const cgen::Expr value = cgen::variable(parameter, type);
    result.parameters.push_back({parameter, type});
    parameters.push_back(is_complex(types[i])
                             ? Value{types[i], cgen::call(cgen::Intrinsic::real, {value}),
                                     cgen::call(cgen::Intrinsic::imag, {value})}
                             : Value{types[i], value, {}});
  }
  for (const loopy::Target target :
       {loopy::Target::host, loopy::Target::opencl, loopy::Target::cuda}) {
    cgen::BlockBuilder body;
    try {
      std::vector<Value> values = parameters;
      for (const TapeStep& step : steps) {
        std::vector<Value> operands;
        for (const std::uint32_t operand : step.operands) {
          if (operand != TapeStep::no_operand) {
            operands.push_back(values[operand]);
          }
        }
        const std::string own = fmt::format("v{}", values.size() - types.size());
        const Value value = lower_step(step, operands, body, own, loopy::dialect_of(target));
        values.push_back(&step == &steps.back() ? value : named(value, own, body));
      }
      const Value& value = values.back();
      body << cgen::return_(
          value.im ? cgen::call(cgen::Intrinsic::make_complex, {value.re, *value.im}) : value.re);
      result.bodies.push_back({target, body.block()});
    } catch (const Unsupported&) {  // and so are kernels that call it, for this target
    }
  }
  return result;
}

/// Whether the value of a node is found on its own: what is no operation on values, and what code
/// of functions has no definition for.
bool is_on_its_own(const ExpressionNode& node) {
  const bool has_operation = node.op > Op::gather && !is_reduction(node.op);
  return !has_operation || (node.op == Op::cast && is_half(node.dtype)) ||
         helper_of(TapeStep{node.op, node.dtype});
}

/// The operations of a node's value as one expression, where those of a value that is used twice
/// count twice.
std::int64_t expanded_size(const ExpressionNode& root,
                           std::unordered_map<const ExpressionNode*, std::int64_t>& known) {
  constexpr std::int64_t enough = std::int64_t{1} << 32;
  std::vector<const ExpressionNode*> pending = {&root};
  while (!pending.empty()) {
    const ExpressionNode& node = *pending.back();
    const std::size_t before = pending.size();
    std::int64_t total = 1;
    for (int i = 0; i < 3 && node.operands[i] && !is_on_its_own(node); ++i) {
      const auto found = known.find(node.operands[i].get());
      if (found == known.end()) {
        pending.push_back(node.operands[i].get());
      } else {
        total = std::min(enough, total + found->second);
      }
    }
    if (pending.size() == before) {
      pending.pop_back();
      known.emplace(&node, total);
    }
  }
  return known.at(&root);
}

bool has_reduction(const ExpressionNode& root) {
  std::vector<const ExpressionNode*> pending = {&root};
  std::set<const ExpressionNode*> seen;
  while (!pending.empty()) {
    const ExpressionNode& node = *pending.back();
    pending.pop_back();
    if (is_reduction(node.op)) {
      return true;
    }
    for (const NodePointer& operand : node.operands) {
      if (operand && seen.insert(operand.get()).second) {
        pending.push_back(operand.get());
      }
    }
  }
  return false;
}

/// The operation of the loop engine by which a reduction runs; of argmin and argmax for numbers
/// without NaNs.
std::string reduction_name(Op op, DType dtype) {
  const bool is_boolean = dtype == DType::boolean;
  switch (op) {
    case Op::sum:
      return is_boolean ? "any" : "sum";
    case Op::product:
      return is_boolean ? "all" : "product";
    case Op::min:
      return is_boolean ? "all" : is_floating(dtype) ? "minimum" : "min";
    case Op::max:
      return is_boolean ? "any" : is_floating(dtype) ? "maximum" : "max";
    case Op::any:
      return "any";
    case Op::all:
      return "all";
    case Op::argmin:
      return "argmin";
    default:
      return "argmax";
  }
}

/// Of two values and their places: the first NaN if there is one, otherwise the first of the least
/// or greatest values. A place below 0 has no value. The condition is a function, which texts call
/// for the value and for the place.
class FirstExtreme {
 public:
  FirstExtreme(bool is_least, DType dtype)
      : is_least_(is_least),
        type_(value_type(dtype)),
        name_(fmt::format("first_{}_of_{}", is_least ? "least" : "greatest", arrays::name(dtype))) {
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] loopy::SubstitutionRule rule() const {
    return {name_,
            {"a", "p", "b", "q"},
            loopy::parse_expr(fmt::format(
                "make_tuple(if({0}(a, p, b, q), b, a), if({0}(a, p, b, q), q, p))", condition())),
            {0, -1}};
  }
  [[nodiscard]] loopy::TypedFunction function() const {
    const cgen::Expr a = cgen::variable("a", type_);
    const cgen::Expr b = cgen::variable("b", type_);
    const cgen::Expr p = cgen::variable("p", cgen::i64);
    const cgen::Expr q = cgen::variable("q", cgen::i64);
    const cgen::Expr is_better = is_least_ ? b < a : b > a;
    const cgen::Expr is_worse = is_least_ ? b > a : b < a;  // first: that is so for most elements
    const cgen::Expr is_first_nan = not_equal(b, b) && (equal(a, a) || q < p);
    cgen::BlockBuilder body;
    body << cgen::return_(
        q >= 0 && (p < 0 || (!is_worse && select(equal(b, a), q < p, is_better || is_first_nan))));
    return {condition(),
            {{"a", type_}, {"p", cgen::i64}, {"b", type_}, {"q", cgen::i64}},
            cgen::boolean,
            {{{}, body.block()}},
            {}};
  }

 private:
  [[nodiscard]] std::string condition() const { return name_ + "_wins"; }

  bool is_least_;
  cgen::Type type_;
  std::string name_;
};

/// Functions between floating-point numbers and integers of the same order, among which a NaN is
/// the greatest (of a maximum) or the least (of a minimum). The other end of the integers is the
/// neutral element, an infinity. A minimum or maximum of such integers is the same in any order of
/// the operations.
class OrderedBits {
 public:
  OrderedBits(bool is_max, bool is_wide)
      : number_(is_wide ? cgen::f64 : cgen::f32),
        bits_(is_wide ? cgen::i64 : cgen::i32),
        greatest_(is_wide ? cgen::Expr(INT64_MAX) : cgen::Expr(INT32_MAX)),
        nan_(is_max ? greatest_ : -greatest_ - 1),
        neutral_(is_max ? -greatest_ - 1 : greatest_),
        infinity_(
            cgen::literal((is_max ? -1 : 1) * std::numeric_limits<double>::infinity(), number_)) {}

  [[nodiscard]] loopy::TypedFunction to_bits() const {
    const cgen::Expr x = cgen::variable("x", number_);
    cgen::BlockBuilder body;
    const cgen::Expr bits = body.add_constant(bits_, "bits", cgen::bit_cast(bits_, x));
    body << cgen::return_(cgen::select(cgen::not_equal(x, x), nan_, in_order(bits)));
    return {to_bits_name, {{"x", number_}}, bits_, {{{}, body.block()}}, {}};
  }
  [[nodiscard]] loopy::TypedFunction from_bits() const {
    const cgen::Expr bits = cgen::variable("bits", bits_);
    cgen::BlockBuilder body;
    body << cgen::return_(cgen::select(cgen::equal(bits, neutral_), infinity_,
                                       cgen::bit_cast(number_, in_order(bits))));
    return {from_bits_name, {{"bits", bits_}}, number_, {{{}, body.block()}}, {}};
  }

  static constexpr const char* to_bits_name = "ordered_bits";
  static constexpr const char* from_bits_name = "ordered_number";

 private:
  /// The bits of negative numbers grow with their size. Its own inverse.
  [[nodiscard]] cgen::Expr in_order(const cgen::Expr& bits) const {
    return cgen::select(bits < 0, bits ^ greatest_, bits);
  }

  cgen::Type number_;
  cgen::Type bits_;
  cgen::Expr greatest_;
  cgen::Expr nan_;
  cgen::Expr neutral_;
  cgen::Expr infinity_;
};

loopy::NameSet names_in(const LoopKernelMaker::Index& index) {
  loopy::NameSet names;
  for (const Expr& each : index) {
    if (const auto* name = get_if<loopy::Name>(each)) {
      names.insert(name->name);
    }
  }
  return names;
}

}  // namespace

void refuse_loop(const std::string& reason) {
  throw Unsupported("arrays.as_loop_kernel.no_loop",
                    fmt::format("the loop engine cannot express this kernel: {}", reason));
}

cgen::Type loop_type(DType dtype) {
  if (is_vector(dtype)) {
    refuse_loop(
        fmt::format("it has elements of {}, which the loop engine does not have: use components()",
                    name(dtype)));
  }
  return dtype == DType::bf16 ? cgen::bf16
         : is_complex(dtype)  ? computed_type(dtype)
                              : storage_type(dtype);
}

LoopKernelMaker::LoopKernelMaker(std::string name, Read read, Length length, Options options)
    : read_(std::move(read)), length_(std::move(length)), options_(std::move(options)) {
  kernel_.name = std::move(name);
}

void LoopKernelMaker::add_array(const std::string& name, DType dtype, std::vector<Expr> shape,
                                std::vector<Expr> strides_elements) {
  loopy::Argument argument;
  argument.name = name;
  argument.type = loop_type(dtype);
  argument.is_array = true;
  argument.shape = std::move(shape);
  argument.strides_elements = std::move(strides_elements);
  argument.is_shape_stated = true;
  kernel_.arguments.push_back(std::move(argument));
}

void LoopKernelMaker::add_number(const std::string& name, const cgen::Type& type,
                                 std::optional<std::int64_t> least) {
  loopy::Argument argument;
  argument.name = name;
  argument.type = type;
  kernel_.arguments.push_back(std::move(argument));
  if (least) {
    kernel_.assumptions.add_nonnegative(loopy::Affine(name) - loopy::Affine(*least));
  }
}

void LoopKernelMaker::assume_multiple(const std::string& number, std::int64_t factor) {
  if (factor > 1) {
    kernel_.assumptions.add(loopy::Congruence{loopy::Affine(number), factor});
  }
}

void LoopKernelMaker::add_loop(const std::string& iname, const Expr& length) {
  const auto* name = get_if<loopy::Name>(length);
  const loopy::Affine end = name != nullptr ? loopy::Affine(name->name)
                                            : loopy::Affine(loopy::as_integer(length).value());
  loopy::Domain domain;
  domain.inames = {iname};
  domain.constraints.add_nonnegative(loopy::Affine(iname));
  domain.constraints.add_nonnegative(end - loopy::Affine(iname) - loopy::Affine(1));
  kernel_.domains.push_back(std::move(domain));
}

void LoopKernelMaker::add_loop_of_scan(const std::string& iname, const std::string& last,
                                       bool is_exclusive) {
  loopy::Domain domain;
  domain.inames = {iname};
  domain.constraints.add_nonnegative(loopy::Affine(iname));
  domain.constraints.add_nonnegative(loopy::Affine(last) - loopy::Affine(iname) -
                                     loopy::Affine(is_exclusive ? 1 : 0));
  kernel_.domains.push_back(std::move(domain));
}

void LoopKernelMaker::assign_scan(const Expr& target, Op op, const ExpressionNode& node,
                                  const std::string& iname, const Index& operand,
                                  const Index& within) {
  Expr element = value(node, operand);
  const bool has_bits = (op == Op::min || op == Op::max) && is_floating(node.dtype);
  if (has_bits) {
    const OrderedBits bits(op == Op::max, value_type(node.dtype) == cgen::f64);
    kernel_.functions.push_back(bits.to_bits());
    kernel_.functions.push_back(bits.from_bits());
    element = loopy::call(OrderedBits::to_bits_name, {element});
  }
  const Expr running = loopy::scan(
      loopy::Reduction{reduction_name(op, has_bits ? DType::i64 : node.dtype), {iname}, {element}});
  const Expr result = has_bits ? loopy::call(OrderedBits::from_bits_name, {running}) : running;
  add_statement({to_loop_memory(result, node.dtype), {}}, target, within);
}

void LoopKernelMaker::add_operation(const std::string& name,
                                    const std::vector<std::string>& parameters,
                                    const std::vector<Expression>& values,
                                    const std::vector<Expression>& neutral) {
  loopy::SubstitutionRule rule{name, parameters, 0, {}};
  Operands joined;
  for (std::size_t i = 0; i < values.size(); ++i) {
    joined.push_back(value(*values[i].node(), {}));
    rule.neutral.push_back(value(*neutral[i].node(), {}));
  }
  rule.body = joined.size() == 1 ? joined.front() : loopy::call("make_tuple", joined);
  kernel_.rules.push_back(std::move(rule));
}

void LoopKernelMaker::assign_scan(const std::vector<Expr>& targets, const std::string& operation,
                                  const std::vector<Expression>& values, const std::string& iname,
                                  const std::set<std::string>& within) {
  loopy::Reduction running{operation, {iname}, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    running.operands.push_back(value(*values[i].node(), {}));
    if (const auto* name = get_if<loopy::Name>(targets[i])) {
      kernel_.temporaries.push_back({.name = name->name, .type = computed_type(values[i].dtype())});
    }
  }
  loopy::Instruction instruction;
  instruction.id = "set_" + loopy::target_name(targets.front());
  instruction.within_inames.insert(within.begin(), within.end());
  instruction.kind = loopy::Assignment{targets, loopy::scan(std::move(running))};
  kernel_.instructions.push_back(std::move(instruction));
}

/// The index of the operand's element for that of the element that is computed of it.
LoopKernelMaker::Index LoopKernelMaker::broadcast(const Index& index, const Extents& shape) {
  const int missing = static_cast<int>(index.size()) - shape.size();
  if (missing < 0) {
    refuse_loop("it has arrays besides its arguments");
  }
  Index result;
  for (int axis = 0; axis < shape.size(); ++axis) {
    result.push_back(shape[axis] == 1 ? Expr(0) : index[static_cast<std::size_t>(missing + axis)]);
  }
  return result;
}

Expr LoopKernelMaker::operand(const ExpressionNode& node, int number, const Index& index) {
  const ExpressionNode& own = *node.operands[number];
  return value(own, broadcast(index, own.shape));
}

/// The place of the element at `index` in C order.
Expr LoopKernelMaker::place_of(const Index& index, const Extents& shape) const {
  std::optional<Expr> place;
  for (int axis = 0; axis < shape.size(); ++axis) {
    const Expr& here = index[static_cast<std::size_t>(axis)];
    place = place ? *place * length_(shape[axis]) + here : Expr(loopy::Cast{cgen::i64, here});
  }
  return place.value_or(0);
}

Expr LoopKernelMaker::value(const ExpressionNode& node, const Index& index) {
  constexpr int most_steps = 20'000;
  constexpr int most_operations = 500;  // of an expression; more are a function
  if (++steps_ > most_steps) {
    refuse_loop(
        fmt::format("it has more than {} operations, where those of reductions, places and "
                    "integer quotients that are used twice count twice",
                    most_steps));
  }
  static_cast<void>(loop_type(node.dtype));
  if (is_reduction(node.op)) {
    return total(node, index);
  }
  if (!is_on_its_own(node) && expanded_size(node, expanded_sizes_) > most_operations) {
    return as_function(node, index);
  }
  switch (node.op) {
    case Op::leaf:
    case Op::argument:
      return from_loop_memory(read_(node, index, {}), node.dtype);
    case Op::number:
      return options_.number && is_floating(node.dtype) ? options_.number(*node.number, node.dtype)
                                                        : loop_number(*node.number, node.dtype);
    case Op::indices:
      return place_of(index, node.shape);
    case Op::sparse_product:
      refuse_loop("it has a product with a sparse matrix: evaluate that before");
    case Op::gather:
      return from_loop_memory(read_(node, index, operand(node, 0, index)), node.dtype);
    case Op::cast:
      return converted(operand(node, 0, index), node.operands[0]->dtype, node.dtype);
    default:
      break;
  }
  Operands operands;
  std::vector<DType> types;
  bool has_complex = is_complex(node.dtype);
  for (int i = 0; i < 3 && node.operands[i]; ++i) {
    operands.push_back(operand(node, i, index));
    types.push_back(node.operands[i]->dtype);
    has_complex = has_complex || is_complex(types.back());
  }
  const std::optional<Expr> result = has_complex
                                         ? complex_operation(node.op, operands)
                                         : real_operation(node.op, node.dtype, operands, types);
  if (result) {
    return *result;
  }
  TapeStep step{node.op, node.dtype};
  for (std::uint32_t i = 0; i < types.size(); ++i) {
    step.operands[i] = i;
  }
  return called({step}, types, operands);
}

Expr LoopKernelMaker::called(const std::vector<TapeStep>& steps, const std::vector<DType>& types,
                             const std::vector<Expr>& operands) {
  auto found = std::find_if(functions_.begin(), functions_.end(), [&](const Function& each) {
    return each.steps == steps && each.types == types;
  });
  if (found == functions_.end()) {
    const std::string name = fmt::format("function{}", functions_.size());
    kernel_.functions.push_back(function_of(steps, types, name));
    found = functions_.insert(found, {steps, types, name});
  }
  return loopy::call(found->name, operands);
}

Expr LoopKernelMaker::as_function(const ExpressionNode& root, const Index& index) {
  std::vector<const ExpressionNode*> inner;  // operands before those that use them
  std::vector<const ExpressionNode*> outer;
  std::set<const ExpressionNode*> seen;
  std::vector<const ExpressionNode*> pending = {&root};
  while (!pending.empty()) {
    const ExpressionNode& node = *pending.back();
    const std::size_t before = pending.size();
    for (int i = 0; i < 3 && node.operands[i] && !is_on_its_own(node); ++i) {
      if (seen.count(node.operands[i].get()) == 0) {
        pending.push_back(node.operands[i].get());
      }
    }
    if (pending.size() == before) {
      pending.pop_back();
      if (seen.insert(&node).second) {
        (is_on_its_own(node) ? outer : inner).push_back(&node);
      }
    }
  }
  std::vector<DType> types;
  std::vector<Expr> operands;
  std::map<const ExpressionNode*, std::size_t> places;
  for (const ExpressionNode* each : outer) {
    const Expr own = value(*each, broadcast(index, each->shape));
    std::size_t place = 0;
    while (place < types.size() && !(types[place] == each->dtype && operands[place] == own)) {
      ++place;
    }
    if (place == types.size()) {
      types.push_back(each->dtype);
      operands.push_back(own);
    }
    places.emplace(each, place);
  }
  std::vector<TapeStep> steps;
  for (const ExpressionNode* each : inner) {
    static_cast<void>(loop_type(each->dtype));
    steps.push_back(TapeStep{each->op, each->dtype});
    for (int i = 0; i < 3 && each->operands[i]; ++i) {
      steps.back().operands[i] = static_cast<std::uint32_t>(places.at(each->operands[i].get()));
    }
    places.emplace(each, types.size() + steps.size() - 1);
  }
  return called(steps, types, operands);
}

LoopKernelMaker::Around LoopKernelMaker::around_root(const ExpressionNode& node,
                                                     const Index& index) {
  const Extents& shape = node.operands[0]->shape;
  if (has_reduction(*node.operands[0])) {
    return around(node, index);
  }
  const auto found = std::find_if(shared_.begin(), shared_.end(), [&](const Shared& each) {
    return each.shape == shape && each.axes == node.axes && each.keeps_axes == node.keeps_axes &&
           each.index == index;
  });
  if (found != shared_.end()) {
    return found->around;
  }
  shared_.push_back({shape, node.axes, node.keeps_axes, index, around(node, index)});
  return shared_.back().around;
}

LoopKernelMaker::Around LoopKernelMaker::around(const ExpressionNode& node, const Index& index) {
  const Extents& shape = node.operands[0]->shape;
  Around result;
  std::size_t kept = 0;
  for (int axis = 0; axis < shape.size(); ++axis) {
    if (!node.axes.contains(axis)) {
      result.operand.push_back(index[kept++]);
      continue;
    }
    kept += node.keeps_axes ? 1 : 0;
    if (shape[axis] == 1) {
      result.operand.emplace_back(0);
      continue;
    }
    const std::string iname = fmt::format("r{}", reduced_.size());
    reduced_.insert(iname);
    add_loop(iname, length_(shape[axis]));
    result.inames.push_back(iname);
    result.operand.emplace_back(loopy::Name{iname});
  }
  return result;
}

Expr LoopKernelMaker::total(const ExpressionNode& node, const Index& index) {
  for (const Total& each : totals_) {
    if (each.node == &node && each.index == index) {
      used_.insert(each.name);
      return loopy::Name{each.name};
    }
  }
  const loopy::NameSet inames = names_in(index);
  const bool is_within = std::any_of(inames.begin(), inames.end(), [&](const std::string& iname) {
    return reduced_.count(iname) != 0;
  });
  if (is_within && finds_place(node.op)) {  // a value and its place are no value of an expression
    return total_from_array(node, index);
  }
  const loopy::NameSet outer = std::exchange(used_, {});
  const Reduced result = reduced(node, around(node, index));
  if (is_within) {  // a sum of sums: one of them for each element that the other one takes
    used_.insert(outer.begin(), outer.end());
    return result.value;
  }
  const std::string name = fmt::format("total{}", totals_.size());
  kernel_.temporaries.push_back({.name = name, .type = computed_type(node.dtype)});
  add_statement(result, loopy::Name{name}, index);
  used_ = outer;
  totals_.push_back({&node, index, name});
  used_.insert(name);
  return loopy::Name{name};
}

/// The element of an array with all results, which is there before the statements that read it.
Expr LoopKernelMaker::total_from_array(const ExpressionNode& node, const Index& index) {
  Index element;
  for (int axis = 0; axis < node.shape.size(); ++axis) {
    if (node.shape[axis] != 1) {
      element.push_back(index[static_cast<std::size_t>(axis)]);
    }
  }
  const auto [found, is_new] = arrays_of_totals_.try_emplace(&node);
  if (is_new) {
    found->second = fmt::format("totals{}", arrays_of_totals_.size() - 1);
    loopy::Temporary array{.name = found->second, .type = computed_type(node.dtype)};
    array.address_space = loopy::AddressSpace::global;
    Index own;
    Index target;
    for (int axis = 0; axis < node.shape.size(); ++axis) {
      own.emplace_back(0);
      if (node.shape[axis] != 1) {
        const std::string iname = fmt::format("{}_{}", array.name, axis);
        array.shape.push_back(length_(node.shape[axis]));
        add_loop(iname, array.shape.back());
        own.back() = loopy::Name{iname};
        target.push_back(own.back());
      }
    }
    kernel_.temporaries.push_back(array);
    const loopy::NameSet outer = std::exchange(used_, {});
    add_statement(reduced(node, around(node, own)), loopy::access(array.name, target), own);
    used_ = outer;
  }
  used_.insert(found->second);
  return loopy::access(found->second, element);
}

void LoopKernelMaker::add_statement(const Reduced& result, const Expr& target, const Index& index) {
  loopy::Instruction instruction;
  instruction.id = "set_" + loopy::target_name(target);
  while (find_instruction(kernel_, instruction.id) != nullptr) {
    instruction.id += "_again";
  }
  for (const std::string& each : std::exchange(used_, {})) {
    instruction.depends_on.insert("set_" + each);
  }
  if (!options_.has_distinct_arrays && !kernel_.instructions.empty() &&
      is<loopy::Access>(target)) {  // assignments in their order
    instruction.depends_on.insert(kernel_.instructions.back().id);
  }
  instruction.within_inames = names_in(index);
  loopy::Assignment assignment{{target}, result.value};
  if (result.best) {
    assignment.targets.insert(assignment.targets.begin(), *result.best);
  }
  instruction.kind = std::move(assignment);
  kernel_.instructions.push_back(std::move(instruction));
}

void LoopKernelMaker::assign(const Expr& target, DType target_type, const ExpressionNode& node,
                             const Index& index) {
  if (is_reduction(node.op)) {
    const Around own = around_root(node, index);
    assign_reduction(target, node, own.inames, own.operand, index);
    return;
  }
  const Expr result = converted(value(node, index), node.dtype, target_type);
  add_statement({to_loop_memory(result, target_type), {}}, target, index);
}

void LoopKernelMaker::assign_reduction(const Expr& target, const ExpressionNode& node,
                                       const std::vector<std::string>& inames, const Index& operand,
                                       const Index& index) {
  Reduced result = reduced(node, {inames, operand});
  if (!finds_place(node.op)) {
    result.value = to_loop_memory(result.value, node.dtype);
  }
  add_statement(result, target, index);
}

LoopKernelMaker::Reduced LoopKernelMaker::reduced(const ExpressionNode& node, const Around& own) {
  const ExpressionNode& operand = *node.operands[0];
  const Expr element = value(operand, own.operand);
  std::string operation = reduction_name(node.op, node.dtype);
  if (!finds_place(node.op)) {
    const Expr part = converted(element, operand.dtype, node.dtype);
    return {own.inames.empty() ? part : loopy::Reduction{operation, own.inames, {part}}, {}};
  }
  if (own.inames.empty()) {
    return {0, {}};
  }
  Index places;
  Extents lengths;
  for (const std::int64_t axis : node.axes) {
    places.push_back(own.operand[static_cast<std::size_t>(axis)]);
    lengths.push_back(operand.shape[static_cast<int>(axis)]);
  }
  const Expr place = operand.shape.empty()  // of a kernel's arguments
                         ? Expr(loopy::Cast{cgen::i64, loopy::Name{own.inames[0]}})
                         : place_of(places, lengths);
  const std::string best = fmt::format("best{}", kernel_.temporaries.size());
  kernel_.temporaries.push_back({.name = best, .type = computed_type(operand.dtype)});
  if (is_floating(operand.dtype)) {
    const FirstExtreme first(node.op == Op::argmin, operand.dtype);
    operation = first.name();
    if (find_rule(kernel_, operation) == nullptr) {
      kernel_.rules.push_back(first.rule());
      kernel_.functions.push_back(first.function());
    }
  }
  return {loopy::Reduction{operation, own.inames, {element, place}}, loopy::Name{best}};
}

loopy::Kernel LoopKernelMaker::finish() {
  try {
    loopy::check_kernel(kernel_);
  } catch (const InvalidInput& error) {
    refuse_loop(error.what());
  } catch (const Unsupported& error) {
    refuse_loop(error.what());
  }
  return std::move(kernel_);
}

}  // namespace rtcg::arrays::detail
