// The values of a launch, checked against what a snippet does with them.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/snippet_form.h"
#include "rtcg/arrays/kernels/struct_array.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/execute/target_of.h"

namespace rtcg::arrays::detail {
namespace {

TapeNumber number_for(const KernelArgument& argument, DType dtype, const Expression& value) {
  const NumberValue* number = number_of(value);
  if (number == nullptr) {
    throw InvalidInput("arrays.snippet_kernel.not_a_number",
                       fmt::format("argument '{}' takes a number, an array is given: declare it "
                                   "as pointer and write {}[i]",
                                   argument.name, argument.name));
  }
  const bool is_exact = number->kind == WeakKind::boolean || number->kind == WeakKind::integer;
  const bool fits =
      is_exact || is_complex(dtype) || (number->kind == WeakKind::real && is_floating(dtype));
  if (!fits) {
    throw InvalidInput(
        "arrays.snippet_kernel.wrong_dtype",
        fmt::format("argument '{}' is {}, a {} number is given", argument.name,
                    name(argument.dtype), number->kind == WeakKind::real ? "real" : "complex"));
  }
  const Expression cast = cast_number(*number, dtype);
  return {dtype, *number_of(cast)};
}

void add_numbers(const KernelArgument& argument, DType dtype, const NodePointer& value,
                 std::vector<TapeNumber>& numbers) {
  if (!is_vector(dtype)) {
    numbers.push_back(number_for(argument, dtype, Expression(value)));
  } else if (value->op == Op::vector && value->dtype == dtype) {
    for (int i = 0; i < 3 && value->operands[i]; ++i) {
      add_numbers(argument, value->operands[i]->dtype, value->operands[i], numbers);
    }
  } else {
    throw InvalidInput(
        "arrays.snippet_kernel.not_a_number",
        fmt::format("argument '{}' takes a ShortVector that is {}", argument.name, name(dtype)));
  }
}

}  // namespace

void check_argument_count(std::size_t taken, std::size_t given) {
  if (taken != given) {
    throw InvalidInput("arrays.snippet_kernel.argument_count",
                       fmt::format("the kernel takes {} arguments, {} are given", taken, given));
  }
}

void check_array(const KernelArgument& argument, const Expression& value, bool is_written) {
  const bool is_number = number_of(value) != nullptr || value.node()->op == Op::vector;
  if (is_number || (is_written && value.node()->op != Op::leaf)) {
    throw InvalidInput(
        "arrays.snippet_kernel.not_an_array",
        fmt::format("argument '{}' takes an array; {} is given", argument.name,
                    is_number ? "a number" : "an expression, which cannot be written,"));
  }
  if (value.node()->op == Op::leaf && value.dtype() != argument.dtype) {
    throw InvalidInput("arrays.snippet_kernel.wrong_dtype",
                       fmt::format("argument '{}' takes an array of {}, one of {} is given",
                                   argument.name, name(argument.dtype), name(value.dtype())));
  }
}

std::vector<TapeNumber> bind_numbers(const KernelArgument& argument, const Expression& value) {
  std::vector<TapeNumber> result;
  add_numbers(argument, argument.dtype, value.node(), result);
  return result;
}

namespace {

class Binder {
 public:
  Binder(const SnippetProgram& program, const std::vector<Expression>& values,
         const BindOptions& options)
      : program_(program), options_(options) {
    check_argument_count(program.arguments.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const KernelArgument& argument = program.arguments[i];
      if (argument.is_array) {
        arrays_.emplace_back(&argument, array_of(argument, values[i]));
      } else {
        const std::vector<TapeNumber> numbers = bind_numbers(argument, values[i]);
        numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
      }
    }
  }

  SnippetBinding run() {
    SnippetBinding binding{{}, {}, false, 0, {}, std::move(numbers_), choose_stream()};
    choose_shape(binding);
    for (const auto& [argument, array] : arrays_) {
      binding.arrays.push_back(operand_of(*argument, array, binding));
    }
    binding.has_place = binding.has_place || program_.uses_place;
    return binding;
  }

 private:
  [[nodiscard]] ArrayUse use_of(const KernelArgument& argument) const {
    const auto found = program_.arrays.find(argument.name);
    return found == program_.arrays.end() ? ArrayUse{} : found->second;
  }

  [[nodiscard]] AnyArray array_of(const KernelArgument& argument, const Expression& value) const {
    const ExpressionNode& node = *value.node();
    const bool is_written = use_of(argument).is_written;
    check_array(argument, value, is_written);
    if (node.op != Op::leaf) {
      return evaluate_as(value, argument.dtype);
    }
    if (is_written && may_repeat_elements(node.array->layout())) {
      throw InvalidInput("arrays.assign.repeated_elements",
                         fmt::format("argument '{}' is written and has elements at several indices "
                                     "at once: copy it before",
                                     argument.name));
    }
    return argument.structure
               ? node.array->view(layout_of_structs(*node.array, argument.structure->size_bytes))
               : *node.array;
  }

  runtime::StreamRef choose_stream() const {
    const AnyArray* first = nullptr;
    for (const auto& [argument, array] : arrays_) {
      first = first == nullptr ? &array : first;
      if (!(array.device() == first->device())) {
        throw InvalidInput(
            "arrays.evaluate.mixed_devices",
            fmt::format("argument '{}' is on {}, another on {}: copy one with copy_to()",
                        argument->name, runtime::to_string(array.device().info().id),
                        runtime::to_string(first->device().info().id)));
      }
    }
    if (options_.stream) {
      return *options_.stream;
    }
    return first != nullptr ? current_stream(first->stream()) : current_stream();
  }

  /// Sets shape, place and count.
  void choose_shape(SnippetBinding& binding) {
    std::vector<Extents> shapes;
    for (const auto& [argument, array] : arrays_) {
      if (use_of(*argument).at_i) {
        shapes.push_back(array.shape());
      }
    }
    if (!shapes.empty()) {
      whole_ = broadcast_shapes(shapes);
      for (const auto& [argument, array] : arrays_) {
        const ArrayUse use = use_of(*argument);
        if (use.at_i && use.is_written && !(array.shape() == whole_)) {
          throw InvalidInput(
              "arrays.snippet_kernel.written_shape",
              fmt::format("argument '{}' of shape {} is written at each element of "
                          "shape {}",
                          argument->name, to_string(array.shape()), to_string(whole_)));
        }
      }
      binding.count = element_count(whole_);
      binding.place = make_layout(whole_);
      if (options_.range) {
        const Index index[] = {*options_.range};
        binding.place = slice(make_layout({binding.count}), index);
      }
    } else {
      binding.place = place_of_range();
      binding.count = binding.place.shape[0];
      whole_ = binding.place.shape;
    }
    binding.shape = binding.place.shape;
  }

  [[nodiscard]] Layout place_of_range() const {
    if (!options_.range || !options_.range->end) {
      throw InvalidInput("arrays.snippet_kernel.no_shape",
                         "no array is named by x[i], so the range of i is "
                         "unknown: give a range with its end");
    }
    const Slice& range = *options_.range;
    const std::int64_t begin = range.begin.value_or(0);
    if (range.step == 0) {
      throw InvalidInput("arrays.slice.zero_step", "a range has a step of 0");
    }
    const std::int64_t first = range.step > 0 ? begin : *range.end;
    const std::int64_t last = range.step > 0 ? *range.end : begin;
    if (first >= last) {
      return {{0}, {range.step}, begin};
    }
    // as unsigned: the distance of two places may exceed 2^63, and the least step cannot be negated
    const std::uint64_t distance =
        static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    const std::uint64_t step = range.step > 0 ? static_cast<std::uint64_t>(range.step)
                                              : 0 - static_cast<std::uint64_t>(range.step);
    const std::uint64_t count = (distance - 1) / step + 1;
    if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw InvalidInput(
          "arrays.extents.too_large",
          fmt::format("a range from {} to {} has 2^63 places or more", begin, *range.end));
    }
    return {{static_cast<std::int64_t>(count)}, {range.step}, begin};
  }

  SnippetBinding::Operand operand_of(const KernelArgument& argument, const AnyArray& array,
                                     SnippetBinding& binding) const {
    const ArrayUse use = use_of(argument);
    SnippetBinding::Operand operand{
        array,
        argument.structure ? argument.structure->size_bytes : size_bytes(argument.dtype),
        {},
        {}};
    const Layout layout = use.at_i ? arrays::broadcast_to(array.layout(), whole_) : array.layout();
    bool needs_place = use.elsewhere || use.bare;
    if (use.at_i && !options_.range) {
      operand.element = layout;
    } else if (use.at_i) {
      const std::optional<Layout> flat = arrays::reshape(layout, {binding.count});
      if (flat) {
        const Index index[] = {*options_.range};
        operand.element = slice(*flat, index);
      } else {
        needs_place = true;
        binding.has_place = true;
      }
    }
    if (use.bare && !layout.is_contiguous()) {
      throw InvalidInput("arrays.snippet_kernel.not_contiguous",
                         fmt::format("the snippet takes '{}' as a pointer, but its elements do not "
                                     "follow each other: pass a contiguous copy, or index it",
                                     argument.name));
    }
    check_alignment(argument, operand.address(array.layout()));
    if (needs_place) {
      std::vector<Layout> alone = {layout};
      collapse(alone, {.may_reorder = false});
      operand.by_place = alone[0];
    }
    return operand;
  }

  /// Devices read short vectors and structs as one where they are aligned as their types are.
  void check_alignment(const KernelArgument& argument, runtime::DeviceAddress address) const {
    const cgen::Dialect dialect = loopy::dialect_of(arrays_[0].second.device());
    const std::size_t element = size_bytes(element_of(argument.dtype));
    std::size_t alignment = 1;
    if (argument.structure) {
      alignment = argument.structure->alignment_bytes;
    } else if (is_vector(argument.dtype)) {
      const bool is_loose = dialect == cgen::Dialect::c || lanes_of(argument.dtype) == 3 ||
                            (is_half(argument.dtype) && dialect == cgen::Dialect::opencl);
      const std::size_t most = dialect == cgen::Dialect::cuda ? 16 : 32;
      alignment = is_loose ? element : std::min(size_bytes(argument.dtype), most);
    }
    if (address % alignment != 0) {
      throw InvalidInput(
          "arrays.snippet_kernel.misaligned",
          fmt::format("argument '{}' begins at an address that is not a multiple of {} "
                      "bytes, which its elements need: pass a copy",
                      argument.name, alignment));
    }
  }

  const SnippetProgram& program_;
  const BindOptions& options_;
  std::vector<std::pair<const KernelArgument*, AnyArray>> arrays_;
  std::vector<TapeNumber> numbers_;
  Extents whole_;
};

}  // namespace

SnippetBinding bind(const SnippetProgram& program, const std::vector<Expression>& values,
                    const BindOptions& options) {
  return Binder(program, values, options).run();
}

}  // namespace rtcg::arrays::detail
