#include "rtcg/loopy/codegen/kernel_variables.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/fold_quotients.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/codegen/array_storage.h"
#include "rtcg/loopy/codegen/call_runs.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

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

/// The index of an element from where the function's pointer points to.
Expr index_in_frame(const Kernel& kernel, CallFrame& frame, const std::string& name,
                    const std::vector<Expr>& strides, const std::vector<Expr>& indices) {
  std::vector<Affine> outer(indices.size());
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const std::optional<Affine> affine = to_affine(simplify_index(indices[axis]));
    if (!affine) {
      continue;
    }
    for (const Affine::Term& term : affine->terms()) {
      const bool is_outside =
          frame.inames.count(term.name) == 0 && find_temporary(kernel, term.name) == nullptr;
      if (is_outside) {
        outer[axis] = outer[axis] + Affine(term.name, term.coefficient);
      }
    }
  }
  // all accesses count from where the first one does
  const std::vector<Affine>& base = frame.bases.emplace(name, outer).first->second;
  Expr place = 0;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const Expr index = simplify_index(indices[axis] - to_expr(base[axis]));
    place = place + (as_integer(strides[axis]) == 1 ? index : strides[axis] * index);
  }
  return place;
}

/// What the C of an expression of integers depends on.
enum class DependsOn {
  names,    ///< on what they mean alone
  context,  ///< and on what is known there: quotients
  lanes,    ///< on the values of lanes, or on what is not looked into
};

DependsOn dependence_of(const Kernel& kernel, const Expr& expr) {
  DependsOn result = DependsOn::names;
  walk(expr, [&](const Expr& part) {
    const Name* name = get_if<Name>(part);
    const bool is_quotient = is<FloorDiv>(part) || is<Modulo>(part);
    const bool is_plain = name != nullptr ? find_temporary(kernel, name->name) == nullptr
                                          : is<Integer>(part) || is<Sum>(part) || is<Product>(part);
    if (!is_plain && !is_quotient) {
      result = DependsOn::lanes;
    } else if (is_quotient && result == DependsOn::names) {
      result = DependsOn::context;
    }
    return result != DependsOn::lanes;
  });
  return result;
}

}  // namespace

std::vector<Expr> strides_or_c_order(const std::vector<Expr>& strides,
                                     const std::vector<Expr>& shape) {
  return strides.empty() ? c_order_strides(shape) : strides;
}

KernelVariables::KernelVariables(const LaunchFacts& of_launch)
    : launch(of_launch), named_(launch.kernel), types_([this](const std::string& name) {
        return declared_type(launch.kernel, named_, name);
      }) {}

cgen::Type KernelVariables::type_of(const Expr& expr) const {
  return loose_types_of_targets(launch.kernel, types_, expr).front().type;
}

std::string KernelVariables::new_name(const std::string& base) {
  if (!new_names_) {
    new_names_ = make_name_generator(launch.kernel);
  }
  return new_names_->make(base);
}

cgen::Statement KernelVariables::call(const HelperFunction& helper,
                                      std::vector<cgen::Expr> arguments) {
  helpers_.insert(helper);
  return cgen::Statement(cgen::call(helper.name(), std::move(arguments), cgen::void_type));
}

template <class MakeIndex>
cgen::Expr KernelVariables::lower_once(std::size_t layout, const std::vector<Expr>& indices,
                                       const MakeIndex& make_index, const ExprScope& scope) {
  const auto note_question = [&] {
    if (scope.has_asked_context != nullptr) {
      *scope.has_asked_context = true;
    }
  };
  std::size_t hash = layout;
  for (const Expr& index : indices) {
    hash = hash * 0x9E3779B97F4A7C15U + index.hash();
  }
  for (auto [found, end] = lowered_.equal_range(hash); found != end; ++found) {
    const LoweredIndex& known = found->second;
    if (known.layout != layout || known.indices != indices) {
      continue;
    }
    if (known.context == nullptr) {
      return known.code;
    }
    if (*known.context == *scope.context) {
      note_question();
      return known.code;
    }
  }
  const Expr index = simplify_index(make_index());  // the inames' values are in already
  const Expr folded = fold_quotients(index, [&](const Affine& value) {
    note_question();
    return scope.context->implies_nonnegative(value);
  });
  cgen::Expr lowered = lower_expr(scope, folded, scope.index_type);
  const DependsOn dependence = dependence_of(launch.kernel, index);
  if (dependence != DependsOn::lanes) {
    lowered_.emplace(
        hash,
        LoweredIndex{layout, indices,
                     dependence == DependsOn::context ? shared(*scope.context) : nullptr, lowered});
  }
  return lowered;
}

const std::shared_ptr<const ConstraintSet>& KernelVariables::shared(const ConstraintSet& context) {
  if (last_context_ == nullptr || *last_context_ != context) {
    last_context_ = std::make_shared<const ConstraintSet>(context);
  }
  return last_context_;
}

bool KernelVariables::have_same_layout(const IndexedArray& one, const IndexedArray& other) {
  const bool is_c_order = one.strides->empty();
  const bool is_at_same_place = one.offset == nullptr || other.offset == nullptr
                                    ? one.offset == other.offset
                                    : *one.offset == *other.offset;
  return is_at_same_place && is_c_order == other.strides->empty() &&
         (is_c_order ? *one.shape == *other.shape : *one.strides == *other.strides);
}

const KernelVariables::IndexedArray& KernelVariables::indexed_array(const std::string& array) {
  const auto known = arrays_.find(array);
  if (known != arrays_.end()) {
    return known->second;
  }
  IndexedArray made;
  const Temporary* temporary = named_.find_temporary(array);
  if (temporary != nullptr && temporary->address_space != AddressSpace::global) {
    made.extents = storage_extents(launch.kernel, *temporary);
    made.shape = &temporary->shape;
    made.strides = &temporary->strides_elements;
    if (temporary->address_space == AddressSpace::local ||
        temporary->address_space == AddressSpace::constant) {
      made.variable =
          cgen::variable(array, made.extents.empty() ? cgen::pointer_to(*temporary->type)
                                                     : array_type(*temporary->type, made.extents));
    }
    if (temporary->address_space == AddressSpace::local && temporary->swizzle.patterns > 1 &&
        launch.rules.has_banks) {
      const std::optional<RowAxes> axes = find_row_axes(*temporary);
      require_internal(axes && fits_rows(temporary->swizzle, *axes), "rows that a swizzle fits");
      made.swizzle = std::pair(temporary->swizzle, *axes);
    }
    return arrays_.emplace(array, std::move(made)).first->second;
  }
  const Argument* argument = temporary == nullptr ? named_.find_argument(array) : nullptr;
  require_internal(temporary != nullptr || argument != nullptr,
                   "an array that is an argument or a temporary");
  if (argument != nullptr && argument->address_space == AddressSpace::image) {
    made.is_image = true;
    made.variable = cgen::variable(array, image_type(launch.kernel, *argument));
    return arrays_.emplace(array, std::move(made)).first->second;
  }
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

ExprScope KernelVariables::scope_of(const EmitContext& context, bool* has_asked_context) {
  ExprScope scope;
  scope.kernel = &launch.kernel;
  scope.index_type = launch.options.index_type;
  scope.context = &context.assumptions;
  scope.has_asked_context = has_asked_context;
  scope.values = &context.values;
  scope.helpers = &helpers_;
  scope.variable = [this, &context](const std::string& name) { return variable_of(name, context); };
  scope.element = [this, &context, has_asked_context](const std::string& array,
                                                      const std::vector<Expr>& indices) {
    return element_of(array, indices, context, scope_of(context, has_asked_context));
  };
  scope.texel = [this, &context, has_asked_context](const std::string& image,
                                                    std::vector<cgen::Expr> coordinates) {
    return texel(image, std::move(coordinates), scope_of(context, has_asked_context));
  };
  scope.linear_element = [this, &context, has_asked_context](const std::string& array,
                                                             const Expr& index) {
    const Argument* argument = named_.find_argument(array);
    const Temporary* temporary = named_.find_temporary(array);
    const cgen::Type type = argument != nullptr ? *argument->type : *temporary->type;
    return cgen::variable(
        array, cgen::pointer_to(type))[lower_index(scope_of(context, has_asked_context), index)];
  };
  return scope;
}

cgen::Expr KernelVariables::variable_of(const std::string& name, const EmitContext& context) {
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
  return cgen::variable(name, launch.options.index_type);
}

cgen::Expr KernelVariables::private_variable(const Temporary& temporary,
                                             const EmitContext& context) {
  const std::string name = private_name(temporary, context);
  const bool is_spread = launch.spread.count(temporary.name) != 0;
  auto known = private_variables_.find(name);
  if (known == private_variables_.end()) {
    std::vector<int> extents;
    for (const HardwareAxis* axis : launch.thread_loops) {
      if (is_spread) {
        extents.push_back(static_cast<int>(*as_integer(axis->extent)));
      }
    }
    for (const int extent : declared_extents(launch.kernel, temporary)) {
      extents.push_back(extent);
    }
    known = private_variables_
                .emplace(name, PrivateVariable{*temporary.type, std::move(extents), is_spread,
                                               temporary.name})
                .first;
  }
  cgen::Expr result = cgen::variable(name, array_type(known->second.type, known->second.extents));
  if (is_spread) {
    for (const HardwareAxis* axis : launch.thread_loops) {
      const ExprScope scope = scope_of(context);
      result = result[lower_index(scope, Expr(Name{axis->variable}) - axis->first)];
    }
  }
  return result;
}

const std::string& KernelVariables::lane_base(const std::string& temporary) {
  const auto known = lane_bases_.find(temporary);
  if (known != lane_bases_.end() || launch.facts.lanes_of_temporary(temporary).empty()) {
    return known != lane_bases_.end() ? known->second : temporary;
  }
  std::string base = temporary;
  const auto is_like = [&](const std::string& name) {
    return name.size() > base.size() + 1 && name.compare(0, base.size(), base) == 0 &&
           name[base.size()] == '_' && name[base.size() + 1] >= '0' && name[base.size() + 1] <= '9';
  };
  const NameSet taken = known_names(launch.kernel);
  while (std::any_of(taken.begin(), taken.end(), is_like)) {
    base += "_lane";
  }
  return lane_bases_.emplace(temporary, base).first->second;
}

std::string KernelVariables::private_name(const Temporary& temporary, const EmitContext& context) {
  std::string name = lane_base(temporary.name);
  for (const std::string& lane : launch.facts.lanes_of_temporary(temporary.name)) {
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

cgen::Expr KernelVariables::texel(const std::string& image, std::vector<cgen::Expr> coordinates,
                                  const ExprScope& scope) {
  const IndexedArray& array = indexed_array(image);
  const Argument& argument = *named_.find_argument(image);
  const ImageReads& reads = argument.image_reads;
  std::optional<cgen::Expr> last;
  if (reads.levels > 1) {
    last = cgen::Expr(0.0f);
    if (coordinates.size() > argument.shape.size()) {
      last = coordinates.back();
      coordinates.pop_back();
    }
  } else if (reads.has_layers) {
    if (has_normalised_coordinates(reads) && launch.rules.dialect == cgen::Dialect::opencl) {
      throw Unsupported("loopy.generate.layers_that_repeat",
                        fmt::format("image '{}' of kernel '{}' has layers and address={}, which "
                                    "OpenCL C is not given: PoCL fetches from the wrong layer. "
                                    "Use address=clamp or border",
                                    image, launch.kernel.name, loopy::name(reads.outside)));
    }
    // the nearest layer; devices do not agree about negative numbers
    last = cgen::call(cgen::Intrinsic::max, {coordinates.front(), cgen::Expr(0)});
    coordinates.erase(coordinates.begin());
  }
  const std::size_t first = argument.shape.size() - coordinates.size();
  for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
    cgen::Expr& each = coordinates[axis];
    each = each + 0.5f;  // the centre of the texel
    if (has_normalised_coordinates(reads)) {
      const cgen::Expr length = lower_index(scope, argument.shape[first + axis]);
      each = each * (1.0f / cgen::cast(cgen::f32, length));
    }
  }
  std::reverse(coordinates.begin(), coordinates.end());  // the fastest axis is the first one there
  if (last) {
    coordinates.push_back(*last);
  }
  const cgen::Expr fetched = cgen::fetch(*array.variable, std::move(coordinates));
  const cgen::Type element = *argument.type;
  if (!is<cgen::Complex>(element)) {
    return fetched;
  }
  const HelperFunction function(Helper::complex_of_texel, element);
  helpers_.insert(function);
  return cgen::call(function.name(), {fetched}, element);
}

cgen::Statement KernelVariables::write_texel(const Access& element, const cgen::Expr& value,
                                             const ExprScope& scope) {
  const IndexedArray& array = indexed_array(element.array);
  const Argument& argument = *named_.find_argument(element.array);
  std::vector<cgen::Expr> places;
  for (const Expr& of_lanes : element.indices) {
    const Expr index = with_values(*scope.values, of_lanes);
    const cgen::Expr code = lower_once(
        0, {index}, [&] { return index; }, scope);
    places.push_back(cgen::cast(cgen::i32, code));
  }
  const std::size_t layers = argument.image_reads.has_layers ? 1 : 0;
  std::reverse(places.begin() + static_cast<std::ptrdiff_t>(layers), places.end());
  std::rotate(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(layers), places.end());
  cgen::Expr texel = value;
  if (is<cgen::Complex>(*argument.type)) {
    const HelperFunction function(Helper::texel_of_complex, *argument.type);
    helpers_.insert(function);
    texel = cgen::call(function.name(), {value}, texel_type(*argument.type));
  }
  return cgen::write_texel(*array.variable, texel, std::move(places));
}

cgen::Expr KernelVariables::element_of(const std::string& name,
                                       const std::vector<Expr>& logical_indices,
                                       const EmitContext& context, const ExprScope& scope) {
  const IndexedArray& array = indexed_array(name);
  if (array.is_image) {
    const bool has_layers = named_.find_argument(name)->image_reads.has_layers;
    std::vector<cgen::Expr> coordinates;
    for (const Expr& index : logical_indices) {
      const cgen::Expr code = lower_once(
          0, {index}, [&] { return index; }, scope);
      const bool is_layer = has_layers && coordinates.empty();
      coordinates.push_back(cgen::cast(is_layer ? cgen::i32 : cgen::f32, code));
    }
    return texel(name, std::move(coordinates), scope);
  }
  const std::vector<Expr> indices =
      array.swizzle ? swizzled_indices(array.swizzle->first, array.swizzle->second, logical_indices,
                                       context.assumptions)
                    : logical_indices;
  cgen::Expr result =
      array.variable ? *array.variable : private_variable(*named_.find_temporary(name), context);
  if (array.layout != 0 && context.frame != nullptr) {
    return result[lower_index(
        scope, index_in_frame(launch.kernel, *context.frame, name,
                              strides_or_c_order(*array.strides, *array.shape), indices))];
  }
  if (array.layout != 0) {
    const auto make_index = [&] {
      return linear_index(indices, strides_or_c_order(*array.strides, *array.shape),
                          array.offset != nullptr ? *array.offset : Expr(0));
    };
    return result[lower_once(array.layout, indices, make_index, scope)];
  }
  if (array.extents.empty()) {
    const Expr place = linear_index(indices, *array.strides, 0);
    return result[lower_once(
        0, {place}, [&] { return place; }, scope)];
  }
  for (const Expr& index : indices) {
    result = result[lower_once(
        0, {index}, [&] { return index; }, scope)];
  }
  return result;
}

}  // namespace rtcg::loopy
