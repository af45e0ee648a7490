// Arrays of a block and private variables: their declarations, names and elements.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/codegen/emitter.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// Aligned as the widest load takes it: compilers then join loads of neighbours by themselves.
constexpr int alignment_bytes = 16;

/// Of an array of a thread or a block: extents in the text are of type int.
constexpr std::int64_t most_elements = std::numeric_limits<std::int32_t>::max();

[[noreturn]] std::int64_t refuse_length(const Temporary& temporary) {
  throw InvalidInput(
      "loopy.generate.temporary_too_long",
      fmt::format("temporary '{}' has more than 2^31 - 1 elements, which no array of "
                  "a thread or a block may have: use shorter tiles or less padding",
                  temporary.name));
}

struct SharedArray {
  cgen::Type element;
  std::string name;
  std::vector<cgen::Expr> lengths;
  std::int64_t bytes = 0;

  /// The type of what is left when the first axes have been indexed.
  [[nodiscard]] cgen::Type with_axes_from(std::size_t first) const {
    cgen::Type type = element;
    for (std::size_t axis = lengths.size(); axis-- > first;) {
      type = cgen::array_of(type, lengths[axis]);
    }
    return type;
  }
};

cgen::Statement shared_array(const SharedArray& array) {
  cgen::Declaration declaration{
      .type = array.with_axes_from(0), .name = array.name, .memory = cgen::MemorySpace::shared};
  if (array.bytes >= alignment_bytes) {
    declaration.align_bytes = alignment_bytes;
  }
  return declaration;
}

/// The arrays as pointers to their first rows, one after the other in memory whose size the launch
/// gives; how many bytes they take.
std::int64_t declare_in_dynamic_memory(const std::vector<SharedArray>& arrays,
                                       const std::string& name, cgen::BlockBuilder& body) {
  const cgen::Expr memory = body.add(cgen::dynamic_shared_array(cgen::u8, name));
  std::int64_t offset = 0;
  for (const SharedArray& each : arrays) {
    const cgen::Type row = cgen::pointer_to(each.with_axes_from(1));
    body << cgen::declare(
        cgen::const_(row), each.name,
        cgen::cast(row, offset == 0 ? memory : memory + static_cast<int>(offset)));
    offset += round_up(each.bytes, alignment_bytes);
  }
  return offset;
}

Expr linear_index(const std::vector<Expr>& indices, const std::vector<Expr>& strides,
                  const Expr& offset) {
  Expr sum = offset;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const Expr index = simplify_index(indices[axis]);
    if (as_integer(index) == 0) {
      continue;
    }
    sum = sum + (as_integer(strides[axis]) == 1 ? index : strides[axis] * index);
  }
  return sum;
}

/// Whether the C of an expression is the same wherever its names mean the same.
bool is_sum_of_products(const Kernel& kernel, const Expr& expr) {
  bool is_plain = true;
  walk(expr, [&](const Expr& part) {
    const Name* name = get_if<Name>(part);
    is_plain =
        is_plain && (name != nullptr ? find_temporary(kernel, name->name) == nullptr
                                     : is<Integer>(part) || is<Sum>(part) || is<Product>(part));
    return is_plain;
  });
  return is_plain;
}

}  // namespace

template <class MakeIndex>
cgen::Expr Emitter::lower_once(std::size_t layout, const std::vector<Expr>& indices,
                               const MakeIndex& make_index, const ExprScope& scope) {
  std::size_t hash = layout;
  for (const Expr& index : indices) {
    hash = hash * 0x9E3779B97F4A7C15U + index.hash();
  }
  for (auto [found, end] = lowered_.equal_range(hash); found != end; ++found) {
    if (found->second.layout == layout && found->second.indices == indices) {
      return found->second.code;
    }
  }
  const Expr index = simplify_index(make_index());  // the inames' values are in already
  cgen::Expr lowered = lower_expr(scope, index, scope.index_type);
  if (is_sum_of_products(launch_.kernel, index)) {
    lowered_.emplace(hash, LoweredIndex{layout, indices, lowered});
  }
  return lowered;
}

bool Emitter::have_same_layout(const IndexedArray& one, const IndexedArray& other) {
  const bool is_c_order = one.strides->empty();
  const bool is_at_same_place = one.offset == nullptr || other.offset == nullptr
                                    ? one.offset == other.offset
                                    : *one.offset == *other.offset;
  return is_at_same_place && is_c_order == other.strides->empty() &&
         (is_c_order ? *one.shape == *other.shape : *one.strides == *other.strides);
}

const Emitter::IndexedArray& Emitter::indexed_array(const std::string& array) {
  const auto known = arrays_.find(array);
  if (known != arrays_.end()) {
    return known->second;
  }
  IndexedArray made;
  const Temporary* temporary = named_.find_temporary(array);
  if (temporary != nullptr && temporary->address_space != AddressSpace::global) {
    made.extents = storage_extents(*temporary);
    made.shape = &temporary->shape;
    made.strides = &temporary->strides_elements;
    cgen::Type type = *temporary->type;
    for (std::size_t axis = made.extents.size(); axis-- > 0;) {
      type = cgen::array_of(type, static_cast<int>(made.extents[axis]));
    }
    if (temporary->address_space == AddressSpace::local ||
        temporary->address_space == AddressSpace::constant) {
      made.variable = cgen::variable(array, made.extents.empty() ? cgen::pointer_to(type) : type);
    }
    if (temporary->address_space == AddressSpace::local && temporary->swizzle.patterns > 1 &&
        launch_.rules.has_banks) {
      const std::optional<RowAxes> axes = find_row_axes(*temporary);
      require_internal(axes && fits_rows(temporary->swizzle, *axes), "rows that a swizzle fits");
      made.swizzle = std::pair(temporary->swizzle, *axes);
    }
    return arrays_.emplace(array, std::move(made)).first->second;
  }
  const Argument* argument = temporary == nullptr ? named_.find_argument(array) : nullptr;
  require_internal(temporary != nullptr || argument != nullptr,
                   "an array that is an argument or a temporary");
  made.shape = argument != nullptr ? &argument->shape : &temporary->shape;
  made.strides = argument != nullptr ? &argument->strides_elements : &temporary->strides_elements;
  made.offset = argument != nullptr ? &argument->offset_elements : nullptr;
  made.variable = cgen::variable(
      array, cgen::pointer_to(argument != nullptr ? *argument->type : *temporary->type));
  const auto same = std::find_if(layouts_.begin(), layouts_.end(), [&](const IndexedArray* each) {
    return have_same_layout(*each, made);
  });
  made.layout = static_cast<std::size_t>(same - layouts_.begin()) + 1;  // 0: indices as they are
  const IndexedArray& result = arrays_.emplace(array, std::move(made)).first->second;
  if (result.layout > layouts_.size()) {
    layouts_.push_back(&result);
  }
  return result;
}

std::vector<std::int64_t> Emitter::storage_extents(const Temporary& temporary) const {
  std::vector<std::int64_t> extents;
  for (const Expr& length : temporary.shape) {
    // one element at least, as C has it: where a domain is empty, none is touched
    extents.push_back(std::max<std::int64_t>(constant_length(temporary, length), 1));
  }
  if (!temporary.strides_elements.empty()) {
    // strides of C order with longer rows are rows of that length; others make one long array
    for (std::size_t axis = extents.size(); axis-- > 1;) {
      const auto outer = as_integer(temporary.strides_elements[axis - 1]);
      const auto inner = as_integer(temporary.strides_elements[axis]);
      if (!outer || !inner || *inner <= 0 || *outer % *inner != 0 ||
          *outer / *inner < extents[axis]) {
        return {};
      }
      extents[axis] = *outer / *inner;
    }
    if (!extents.empty() && as_integer(temporary.strides_elements.back()) != 1) {
      return {};
    }
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    count = extent > most_elements / count ? refuse_length(temporary) : count * extent;
  }
  return extents;
}

std::int64_t Emitter::constant_length(const Temporary& temporary, const Expr& length) const {
  if (const auto affine = to_affine(length)) {
    if (const auto value = launch_.kernel.assumptions.maximum(*affine)) {
      return *value;
    }
  }
  throw InvalidInput(
      "loopy.generate.array_length_not_constant",
      fmt::format("temporary '{}' has an axis of length {}, which is not a constant: "
                  "arrays of a thread or a block need constant lengths",
                  temporary.name, to_string(length)));
}

std::int64_t Emitter::linear_length(const Temporary& temporary) const {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < temporary.shape.size(); ++axis) {
    const std::int64_t stride = as_integer(temporary.strides_elements[axis]).value_or(1);
    const std::int64_t steps = constant_length(temporary, temporary.shape[axis]) - 1;
    if (stride > most_elements || steps > most_elements ||
        (last += std::max<std::int64_t>(steps, 0) * stride) >= most_elements) {
      refuse_length(temporary);
    }
  }
  return last + 1;
}

void Emitter::declare_local_arrays(const LoopTree& tree, cgen::BlockBuilder& body,
                                   EmittedBody& result) {
  if (std::none_of(
          launch_.kernel.temporaries.begin(), launch_.kernel.temporaries.end(),
          [](const Temporary& each) { return each.address_space == AddressSpace::local; })) {
    return;
  }
  NameSet used;
  for (const std::size_t statement : statements_in(tree)) {
    used.merge(written_variables(launch_.kernel.instructions[statement]));
    used.merge(read_variables(launch_.kernel, launch_.kernel.instructions[statement]));
  }
  std::vector<SharedArray> arrays;
  for (const Temporary& temporary : launch_.kernel.temporaries) {
    if (temporary.address_space != AddressSpace::local || used.count(temporary.name) == 0) {
      continue;
    }
    std::vector<std::int64_t> extents = storage_extents(temporary);
    if (extents.empty() && !temporary.shape.empty()) {
      extents = {linear_length(temporary)};
    }
    if (extents.empty()) {
      extents = {1};  // a scalar that all threads share
    }
    std::int64_t bytes = loopy::size_bytes(*temporary.type);
    std::vector<cgen::Expr> lengths;
    for (const std::int64_t extent : extents) {
      bytes *= extent;
      lengths.emplace_back(static_cast<int>(extent));
    }
    result.shared_bytes += bytes;
    result.shared_arrays.emplace_back(temporary.name, bytes);
    arrays.push_back({*temporary.type, temporary.name, std::move(lengths), bytes});
  }
  if (result.shared_bytes > launch_.rules.most_static_shared_bytes) {
    result.is_shared_dynamic = true;
    result.shared_bytes = declare_in_dynamic_memory(arrays, new_name("block_memory"), body);
    return;
  }
  for (const SharedArray& each : arrays) {
    if (launch_.rules.has_threads) {
      body << shared_array(each);
    } else {
      body << cgen::declare(each.with_axes_from(0), each.name);
    }
  }
}

ExprScope Emitter::scope_of(const EmitContext& context) {
  ExprScope scope;
  scope.kernel = &launch_.kernel;
  scope.index_type = launch_.options.index_type;
  scope.context = &context.assumptions;
  scope.has_asked_context = &has_asked_context_;
  scope.values = &context.values;
  scope.helpers = &helpers_;
  scope.variable = [this, &context](const std::string& name) { return variable_of(name, context); };
  scope.element = [this, &context](const std::string& array, const std::vector<Expr>& indices) {
    return element_of(array, indices, context);
  };
  scope.linear_element = [this, &context](const std::string& array, const Expr& index) {
    const Argument* argument = named_.find_argument(array);
    const Temporary* temporary = named_.find_temporary(array);
    const cgen::Type type = argument != nullptr ? *argument->type : *temporary->type;
    return cgen::variable(array, cgen::pointer_to(type))[lower_index(scope_of(context), index)];
  };
  return scope;
}

cgen::Expr Emitter::variable_of(const std::string& name, const EmitContext& context) {
  if (const Temporary* temporary = named_.find_temporary(name)) {
    if (temporary->address_space == AddressSpace::local ||
        temporary->address_space == AddressSpace::global) {
      return cgen::variable(name, cgen::pointer_to(*temporary->type))[0];
    }
    return private_variable(*temporary, context);
  }
  if (const Argument* argument = named_.find_argument(name)) {
    return cgen::variable(name, *argument->type);
  }
  return cgen::variable(name, launch_.options.index_type);
}

cgen::Expr Emitter::private_variable(const Temporary& temporary, const EmitContext& context) {
  const std::string name = private_name(temporary, context);
  PrivateVariable variable{*temporary.type, {}, false, temporary.name};
  cgen::Type type = *temporary.type;
  const bool is_spread = launch_.spread.count(temporary.name) != 0;
  if (is_spread) {
    for (const HardwareAxis* axis : launch_.thread_loops) {
      variable.extents.emplace_back(static_cast<int>(*as_integer(axis->extent)));
    }
    variable.is_at_top = true;
  }
  std::vector<std::int64_t> own = storage_extents(temporary);
  if (own.empty() && !temporary.shape.empty()) {
    own = {linear_length(temporary)};
  }
  for (const std::int64_t extent : own) {
    variable.extents.emplace_back(static_cast<int>(extent));
  }
  for (std::size_t axis = variable.extents.size(); axis-- > 0;) {
    type = cgen::array_of(type, variable.extents[axis]);
  }
  variables_.emplace(name, variable);
  cgen::Expr result = cgen::variable(name, type);
  if (is_spread) {
    for (const HardwareAxis* axis : launch_.thread_loops) {
      const ExprScope scope = scope_of(context);
      result = result[lower_index(scope, Expr(Name{axis->variable}) - axis->first)];
    }
  }
  return result;
}

std::string Emitter::lane_base(const std::string& temporary) const {
  if (launch_.facts.lanes_of_temporary(temporary).empty()) {
    return temporary;
  }
  const auto known = lane_bases_.find(temporary);
  if (known != lane_bases_.end()) {
    return known->second;
  }
  std::string base = temporary;
  const auto is_like = [&](const std::string& name) {
    return name.size() > base.size() + 1 && name.compare(0, base.size(), base) == 0 &&
           name[base.size()] == '_' && name[base.size() + 1] >= '0' && name[base.size() + 1] <= '9';
  };
  const auto is_taken = [&] {
    const std::vector<std::string> inames = all_inames(launch_.kernel);
    return std::any_of(inames.begin(), inames.end(), is_like) ||
           std::any_of(launch_.kernel.temporaries.begin(), launch_.kernel.temporaries.end(),
                       [&](const Temporary& each) { return is_like(each.name); }) ||
           std::any_of(launch_.kernel.arguments.begin(), launch_.kernel.arguments.end(),
                       [&](const Argument& each) { return is_like(each.name); });
  };
  while (is_taken()) {
    base += "_lane";
  }
  lane_bases_.emplace(temporary, base);
  return base;
}

std::string Emitter::private_name(const Temporary& temporary, const EmitContext& context) const {
  std::string name = lane_base(temporary.name);
  for (const std::string& lane : launch_.facts.lanes_of_temporary(temporary.name)) {
    const auto value = context.values.find(lane);
    if (value == context.values.end() || !value->second.is_constant()) {
      throw InvalidInput(
          "loopy.generate.outside_lane",
          fmt::format("'{}' has a value for each '{}', but is read by a statement that is not "
                      "within '{}': add the iname to that statement",
                      temporary.name, lane, lane));
    }
    const std::int64_t number = value->second.constant();
    name += number < 0 ? "_m" : "_";
    name += std::to_string(std::abs(number));
  }
  return name;
}

cgen::Expr Emitter::element_of(const std::string& name, const std::vector<Expr>& logical_indices,
                               const EmitContext& context) {
  const ExprScope scope = scope_of(context);
  const IndexedArray& array = indexed_array(name);
  const std::vector<Expr> indices =
      array.swizzle ? swizzled_indices(array.swizzle->first, array.swizzle->second, logical_indices,
                                       context.assumptions)
                    : logical_indices;
  cgen::Expr result =
      array.variable ? *array.variable : private_variable(*named_.find_temporary(name), context);
  if (array.layout != 0) {
    if (context.frame != nullptr) {
      return result[index_in_frame(*context.frame, name, array, indices, scope)];
    }
    return result[lower_once(
        array.layout, indices,
        [&] {
          return linear_index(
              indices, array.strides->empty() ? c_order_strides(*array.shape) : *array.strides,
              array.offset != nullptr ? *array.offset : Expr(0));
        },
        scope)];
  }
  if (array.extents.empty()) {
    return result[lower_index(scope, linear_index(indices, *array.strides, 0))];
  }
  for (const Expr& index : indices) {
    result = result[lower_once(
        0, {index}, [&] { return index; }, scope)];
  }
  return result;
}

}  // namespace rtcg::loopy
