#include "rtcg/arrays/kernels/elementwise_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_kernel.h"
#include "rtcg/arrays/kernels/snippet_code.h"
#include "rtcg/arrays/lazy/element_loops.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/lazy/kernel_table.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/lazy/packs.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::arrays {

using detail::Snippet;

namespace {

std::vector<KernelArgument> numbers_of(const std::vector<KernelArgument>& arguments) {
  std::vector<KernelArgument> result;
  for (const KernelArgument& argument : arguments) {
    if (!argument.is_array) {
      result.push_back(argument);
    }
  }
  return result;
}

}  // namespace

struct ElementwiseKernel::Program {
  Program(const std::vector<KernelArgument>& arguments, std::string_view operation_text,
          ElementwiseOptions options, SourceOrigin where)
      : snippets(arguments, std::move(options.preamble), where),
        operation(operation_text, arguments),
        before_loop(options.before_loop, numbers_of(arguments)),
        name(std::move(options.name)) {
    snippets.add(operation);
    snippets.add(before_loop);
    for (const auto& structure : options.structs) {
      snippets.add(structure);
    }
  }

  detail::SnippetProgram snippets;
  Snippet operation;
  Snippet before_loop;
  std::string name;
  mutable detail::KernelTable<std::string> kernels;

  [[nodiscard]] cgen::Module make_module(const detail::SnippetForm& form) const {
    detail::SnippetCode code(snippets, form);
    code.add_arguments();
    cgen::BlockBuilder body;
    code.begin_body(body);
    if (!before_loop.tokens().empty()) {
      body << code.statements(before_loop);
    }
    const auto element = [&](const std::vector<cgen::Expr>& offsets, const cgen::Expr&,
                             cgen::BlockBuilder& block) {
      code.begin_element(offsets, block);
      block << code.statements(operation);
    };
    const auto pack = [&](const std::vector<cgen::Expr>& offsets, const cgen::Expr&,
                          cgen::BlockBuilder& block) {
      code.packed_element(operation, offsets, block);
    };
    if (form.lanes > 1) {
      detail::emit_pack_loops(form.dialect, code.parameters(), form.lanes, pack, element, body);
    } else {
      detail::emit_element_loops(form.dialect, code.parameters(), element, body);
    }
    return detail::finish_kernel(form.dialect, code.parameters(), body, code.items());
  }
};

struct ElementwiseKernel::Typed {
  std::vector<KernelArgument> arguments;
  std::vector<ElementAssignment> assignments;

  /// An array of one axis, of all elements of the common shape that the range chooses.
  static AnyArray ranged(const AnyArray& array, const Extents& shape, const Slice& range) {
    const std::optional<Layout> flat =
        reshape(arrays::broadcast_to(array.layout(), shape), {element_count(shape)});
    if (!flat) {
      throw InvalidInput("arrays.snippet_kernel.not_contiguous",
                         "a range counts elements in C order, and one of the arrays is not stored "
                         "in: pass a contiguous copy");
    }
    return array.view(*flat)(range);
  }

  void run(std::vector<Expression> values, const ElementwiseLaunch& launch) const {
    std::optional<StreamScope> scope;
    if (launch.stream) {
      scope.emplace(*launch.stream);
    }
    if (launch.range) {
      std::vector<Extents> shapes;
      for (const Expression& value : values) {
        shapes.push_back(value.shape());
      }
      const Extents shape = broadcast_shapes(shapes);
      for (std::size_t k = 0; k < values.size() && k < arguments.size(); ++k) {
        if (arguments[k].is_array) {
          const detail::ExpressionNode& node = *values[k].node();
          values[k] =
              ranged(node.op == Op::leaf ? *node.array : evaluate(values[k]), shape, *launch.range);
        }
      }
    }
    const std::map<std::string, Expression> bound = detail::bind_values(arguments, values);
    std::vector<Expression> results;
    std::vector<AnyArray> targets;
    for (const ElementAssignment& assignment : assignments) {
      const std::size_t target = detail::target_of(arguments, assignment);
      detail::check_array(arguments[target], values[target], true);
      targets.push_back(*values[target].node()->array);
      results.push_back(detail::substitute(assignment.value, bound));
    }
    evaluate_all_into(results, targets);
  }
};

ElementwiseKernel::ElementwiseKernel(const ArgumentList& arguments,
                                     std::vector<ElementAssignment> assignments)
    : typed_(std::make_shared<Typed>(Typed{arguments.list(), std::move(assignments)})) {
  static_cast<void>(detail::SnippetProgram(typed_->arguments, ""));  // checks the names
  for (const ElementAssignment& assignment : typed_->assignments) {
    static_cast<void>(detail::target_of(typed_->arguments, assignment));
    static_cast<void>(detail::substitute(assignment.value, detail::values_of(typed_->arguments)));
  }
}

ElementwiseKernel::ElementwiseKernel(const ArgumentList& arguments, std::string_view operation,
                                     ElementwiseOptions options, SourceOrigin where)
    : program_(std::make_shared<Program>(arguments.list(), operation, std::move(options), where)) {}

void ElementwiseKernel::run(const std::vector<Expression>& values,
                            const ElementwiseLaunch& launch) const {
  if (typed_) {
    typed_->run(values, launch);
    return;
  }
  const detail::SnippetProgram& snippets = program_->snippets;
  const detail::SnippetBinding binding =
      detail::bind(snippets, values, {launch.range, launch.stream});
  if (binding.shape.contains(0)) {
    return;
  }
  std::vector<Layout> layouts = binding.layouts();
  if (layouts.empty()) {  // no array has a layout for the loop
    layouts.push_back(binding.place);
  }
  collapse(layouts);
  if (layouts[0].axes() == 0) {
    for (Layout& layout : layouts) {
      layout = expand_dims(layout, 0);
    }
  }
  detail::SnippetForm form = form_of(binding, layouts);
  form.axes = static_cast<std::uint8_t>(layouts[0].axes());
  const Extents& lengths = layouts[0].shape;
  form.lanes = lanes_of(snippets, binding, form, layouts);
  const detail::ElementPlan plan =
      detail::plan_elements(binding.stream.device(), lengths, form.lanes);
  runtime::ArgumentPack pack;
  for (const std::int64_t length : lengths) {
    detail::pack_index(pack, length, form.is_wide);
  }
  detail::pack_binding(pack, binding, form, layouts, snippets.uses_count());
  for (const std::int64_t value : plan.more) {
    detail::pack_index(pack, value, form.is_wide);
  }
  const runtime::Kernel& kernel = program_->kernels.get(binding.stream.device(), key_of(form), [&] {
    snippets.check_structs(binding.stream);
    return detail::compile_snippets(binding.stream.device(), program_->make_module(form),
                                    program_->name, snippets.where);
  });
  kernel.launch(binding.stream, plan.launch, pack);
}

loopy::Kernel ElementwiseKernel::as_loop_kernel() const {
  if (!typed_) {
    const bool has_more =
        !program_->snippets.preamble.empty() || !program_->before_loop.tokens().empty();
    return detail::element_loop_kernel(program_->snippets.arguments,
                                       detail::loop_statements(program_->operation, has_more),
                                       program_->name);
  }
  detail::LoopKernelMaker maker = detail::typed_loop_maker(typed_->arguments, "elementwise");
  for (const ElementAssignment& assignment : typed_->assignments) {
    const DType dtype = typed_->arguments[detail::target_of(typed_->arguments, assignment)].dtype;
    maker.assign(loopy::access(assignment.target, {loopy::Name{"i"}}), dtype,
                 *detail::fitted(assignment.value, dtype).node(), {loopy::Name{"i"}});
  }
  maker.add_number("n", cgen::i32, 1);
  return maker.finish();
}

std::string ElementwiseKernel::text(cgen::Dialect dialect) const {
  if (typed_) {
    throw Unsupported("arrays.elementwise_kernel.no_text",
                      "the text of a kernel of expressions depends on the arrays that it runs on");
  }
  detail::SnippetForm form = program_->snippets.contiguous_form(dialect);
  if (may_be_packed(program_->snippets, form)) {
    std::size_t most_bytes = 0;
    for (const detail::ArrayForm& array : form.arrays) {
      most_bytes = std::max(most_bytes, size_bytes(array.dtype));
    }
    form.lanes =
        static_cast<std::uint8_t>(most_bytes == 0 ? 1 : detail::Pack::most_bytes / most_bytes);
  }
  return cgen::print_module(program_->make_module(form), dialect).text;
}

}  // namespace rtcg::arrays
