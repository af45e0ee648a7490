#include "rtcg/arrays/kernels/snippet_form.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/lazy/run.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::arrays::detail {

SnippetProgram::SnippetProgram(std::vector<KernelArgument> argument_list, std::string preamble_text)
    : arguments(std::move(argument_list)), preamble(std::move(preamble_text)) {
  std::set<std::string> seen = {"i"};
  for (const KernelArgument& argument : arguments) {
    if (!is_identifier(argument.name) || !seen.insert(argument.name).second) {
      throw InvalidInput("arrays.snippet_kernel.bad_name",
                         fmt::format("an argument cannot be called '{}': names are C's, different "
                                     "from each other, and i is the index",
                                     argument.name));
    }
  }
  for (const KernelArgument& argument : arguments) {
    dtypes.insert(argument.dtype);
  }
  for (const SnippetToken& token : tokenize_snippet(preamble)) {
    if (token.kind == TokenKind::name) {
      names.insert(token.text);
    }
  }
}

void SnippetProgram::add(const Snippet& snippet) {
  for (const auto& [name, use] : snippet.arrays()) {
    ArrayUse& all = arrays[name];
    all.at_i = all.at_i || use.at_i;
    all.elsewhere = all.elsewhere || use.elsewhere;
    all.bare = all.bare || use.bare;
    all.is_written = all.is_written || use.is_written;
  }
  names.insert(snippet.names().begin(), snippet.names().end());
  uses_place = uses_place || snippet.uses_place();
}

bool SnippetProgram::uses_count() const {
  return names.count("n") != 0 &&
         std::none_of(arguments.begin(), arguments.end(),
                      [](const KernelArgument& argument) { return argument.name == "n"; });
}

SnippetForm SnippetProgram::contiguous_form(cgen::Dialect dialect) const {
  SnippetForm form;
  form.dialect = dialect;
  form.axes = 1;
  for (const KernelArgument& argument : arguments) {
    if (!argument.is_array) {
      continue;
    }
    ArrayForm array{argument.dtype, {}, {}};
    const auto use = arrays.find(argument.name);
    if (use != arrays.end() && use->second.at_i) {
      array.element = form_of(argument.dtype, {1});
    }
    if (use != arrays.end() && (use->second.elsewhere || use->second.bare)) {
      array.by_place = form_of(argument.dtype, {1});
    }
    form.arrays.push_back(array);
  }
  if (uses_place) {
    form.place = form_of(DType::i64, {1});
  }
  return form;
}

std::string key_of(const SnippetForm& form) {
  std::string key =
      fmt::format("{}{}{},", static_cast<int>(form.dialect), form.is_wide ? 'w' : 'n', form.axes);
  const auto append = [&](const std::optional<OperandForm>& operand) {
    if (operand) {
      for (std::size_t axis = 0; axis < operand->axes; ++axis) {
        key.push_back("01s"[static_cast<int>(operand->strides[axis])]);
      }
    } else {
      key.push_back('-');
    }
    key.push_back(';');
  };
  for (const ArrayForm& array : form.arrays) {
    append(array.element);
    append(array.by_place);
  }
  append(form.place);
  return key;
}

std::vector<Layout> SnippetBinding::layouts() const {
  std::vector<Layout> result;
  for (const Operand& operand : arrays) {
    if (operand.element) {
      result.push_back(*operand.element);
    }
  }
  if (has_place) {
    result.push_back(place);
  }
  return result;
}

namespace {

class Binder {
 public:
  Binder(const SnippetProgram& program, const std::vector<Expression>& values,
         const BindOptions& options)
      : program_(program), options_(options) {
    if (values.size() != program.arguments.size()) {
      throw InvalidInput("arrays.snippet_kernel.argument_count",
                         fmt::format("the kernel takes {} arguments, {} are given",
                                     program.arguments.size(), values.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const KernelArgument& argument = program.arguments[i];
      if (argument.is_array) {
        arrays_.emplace_back(&argument, array_of(argument, values[i]));
      } else {
        numbers_.push_back(number_of(argument, values[i]));
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
    if (node.op == Op::number || (is_written && node.op != Op::leaf)) {
      throw InvalidInput("arrays.snippet_kernel.not_an_array",
                         fmt::format("argument '{}' takes an array; {} is given", argument.name,
                                     node.op == Op::number ? "a number"
                                                           : "an expression, which nobody can "
                                                             "write to,"));
    }
    if (node.op != Op::leaf) {
      return evaluate_as(value, argument.dtype);
    }
    if (node.dtype != argument.dtype) {
      throw InvalidInput("arrays.snippet_kernel.wrong_dtype",
                         fmt::format("argument '{}' takes an array of {}, one of {} is given",
                                     argument.name, name(argument.dtype), name(node.dtype)));
    }
    if (is_written && may_repeat_elements(node.array->layout())) {
      throw InvalidInput("arrays.assign.repeated_elements",
                         fmt::format("argument '{}' is written and has elements at several indices "
                                     "at once: copy it before",
                                     argument.name));
    }
    return *node.array;
  }

  static TapeNumber number_of(const KernelArgument& argument, const Expression& value) {
    const NumberValue* number = detail::number_of(value);
    if (number == nullptr) {
      throw InvalidInput("arrays.snippet_kernel.not_a_number",
                         fmt::format("argument '{}' takes a number, an array is given: declare it "
                                     "as pointer and write {}[i]",
                                     argument.name, argument.name));
    }
    const bool is_exact = number->kind == WeakKind::boolean || number->kind == WeakKind::integer;
    const bool fits = is_exact || is_complex(argument.dtype) ||
                      (number->kind == WeakKind::real && is_floating(argument.dtype));
    if (!fits) {
      throw InvalidInput(
          "arrays.snippet_kernel.wrong_dtype",
          fmt::format("argument '{}' is {}, a {} number is given", argument.name,
                      name(argument.dtype), number->kind == WeakKind::real ? "real" : "complex"));
    }
    const Expression cast = cast_number(*number, argument.dtype);
    return {argument.dtype, *detail::number_of(cast)};
  }

  runtime::StreamRef choose_stream() const {
    const AnyArray* first = nullptr;
    for (const auto& [argument, array] : arrays_) {
      first = first == nullptr ? &array : first;
      if (!(array.device() == first->device())) {
        throw InvalidInput("arrays.evaluate.mixed_devices",
                           fmt::format("argument '{}' is on {}, another on {}: copy one over",
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
                         "no array is named by x[i], so that nothing says how "
                         "far i runs: give a "
                         "range with its end");
    }
    const Slice& range = *options_.range;
    const std::int64_t begin = range.begin.value_or(0);
    if (range.step == 0) {
      throw InvalidInput("arrays.slice.zero_step", "a range has a step of 0");
    }
    const std::int64_t distance = range.step > 0 ? *range.end - begin : begin - *range.end;
    const std::int64_t step = std::abs(range.step);
    return {{std::max<std::int64_t>((distance + step - 1) / step, 0)}, {range.step}, begin};
  }

  SnippetBinding::Operand operand_of(const KernelArgument& argument, const AnyArray& array,
                                     SnippetBinding& binding) const {
    const ArrayUse use = use_of(argument);
    SnippetBinding::Operand operand{array, {}, {}};
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
    if (needs_place) {
      std::vector<Layout> alone = {layout};
      collapse(alone, {.may_reorder = false});
      operand.by_place = alone[0];
    }
    return operand;
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

SnippetForm form_of(const SnippetBinding& binding, const std::vector<Layout>& layouts) {
  SnippetForm form;
  form.dialect = dialect_of(binding.stream.device());
  auto layout = layouts.begin();
  const auto add = [&](DType dtype, const Layout& one) {
    form.is_wide = form.is_wide || !fits_32_bits(dtype, one);
    return form_of(dtype, one.strides);
  };
  for (const SnippetBinding::Operand& operand : binding.arrays) {
    ArrayForm array{operand.array.dtype(), {}, {}};
    if (operand.element) {
      array.element = add(array.dtype, *layout++);
    }
    if (operand.by_place) {
      array.by_place = add(array.dtype, *operand.by_place);
    }
    form.arrays.push_back(array);
  }
  if (binding.has_place) {
    form.is_wide = form.is_wide || std::abs(layout->offset) >= (1 << 29);
    form.place = add(DType::i64, *layout++);
  }
  form.is_wide = form.is_wide || binding.count >= (1 << 29);
  return form;
}

void pack_binding(runtime::ArgumentPack& pack, const SnippetBinding& binding,
                  const SnippetForm& form, const std::vector<Layout>& layouts, bool uses_count) {
  auto layout = layouts.begin();
  for (std::size_t i = 0; i < binding.arrays.size(); ++i) {
    const SnippetBinding::Operand& operand = binding.arrays[i];
    if (form.arrays[i].element) {
      operand.array.storage()->use_on(binding.stream);
      pack_operand(pack, *form.arrays[i].element,
                   {operand.array.view(*layout).address(), layout->strides}, form.is_wide);
      ++layout;
    }
    if (form.arrays[i].by_place) {
      operand.array.storage()->use_on(binding.stream);
      pack_operand(pack, *form.arrays[i].by_place,
                   {operand.array.view(*operand.by_place).address(), operand.by_place->strides},
                   form.is_wide);
      for (int axis = 1; axis < operand.by_place->axes(); ++axis) {
        pack_index(pack, operand.by_place->shape[axis], form.is_wide);
      }
    }
  }
  if (form.place) {
    for (int axis = 0; axis < form.place->axes; ++axis) {
      if (form.place->strides[static_cast<std::size_t>(axis)] == StrideClass::other) {
        pack_index(pack, layout->strides[axis], form.is_wide);
      }
    }
    pack_index(pack, layout->offset, form.is_wide);
  }
  for (const TapeNumber& number : binding.numbers) {
    pack_number(pack, number);
  }
  if (uses_count) {
    pack_index(pack, binding.count, form.is_wide);
  }
}

const runtime::Kernel& KernelTable::get(runtime::Device device, const std::string& key,
                                        const std::function<cgen::Module()>& make_module,
                                        const std::string& name) {
  Entry* entry = nullptr;
  {
    const std::lock_guard lock(mutex_);
    entry = &tables_[&device.backend()][key];  // nodes of these tables stay in place
  }
  const std::lock_guard lock(entry->mutex);
  if (!entry->kernel) {
    const cgen::Module module = make_module();
    cgen::check_types(module);
    runtime::CompileOptions options;
    if (dialect_of(device) == cgen::Dialect::cuda) {
      options.flags.emplace_back("--device-as-default-execution-space");
    }
    entry->kernel = runtime::Program::compile(
                        device, cgen::print_module(module, dialect_of(device)), options, name)
                        .kernel(kernel_name);
  }
  return *entry->kernel;
}

}  // namespace rtcg::arrays::detail
