#include "rtcg/arrays/kernels/elementwise_kernel.h"

#include "rtcg/arrays/kernels/snippet_code.h"
#include "rtcg/arrays/lazy/element_loops.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/cgen/print/print_module.h"

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
          ElementwiseOptions options)
      : snippets(arguments, std::move(options.preamble)),
        operation(operation_text, arguments),
        before_loop(options.before_loop, numbers_of(arguments)),
        name(std::move(options.name)) {
    snippets.add(operation);
    snippets.add(before_loop);
  }

  detail::SnippetProgram snippets;
  Snippet operation;
  Snippet before_loop;
  std::string name;
  mutable detail::KernelTable kernels;

  [[nodiscard]] cgen::Module make_module(const detail::SnippetForm& form) const {
    detail::SnippetCode code(snippets, form);
    code.add_arguments();
    cgen::BlockBuilder body;
    code.begin_body(body);
    if (!before_loop.tokens().empty()) {
      body << code.statements(before_loop);
    }
    detail::emit_element_loops(
        form.dialect, code.parameters(),
        [&](const std::vector<cgen::Expr>& offsets, const cgen::Expr&, cgen::BlockBuilder& block) {
          code.begin_element(offsets, block);
          block << code.statements(operation);
        },
        body);
    return detail::finish_kernel(form.dialect, code.parameters(), body, code.items());
  }
};

ElementwiseKernel::ElementwiseKernel(const ArgumentList& arguments, std::string_view operation,
                                     ElementwiseOptions options)
    : program_(std::make_shared<Program>(arguments.list(), operation, std::move(options))) {}

void ElementwiseKernel::run(const std::vector<Expression>& values,
                            const ElementwiseLaunch& launch) const {
  const detail::SnippetProgram& snippets = program_->snippets;
  const detail::SnippetBinding binding =
      detail::bind(snippets, values, {launch.range, launch.stream});
  if (binding.shape.contains(0)) {
    return;
  }
  std::vector<Layout> layouts = binding.layouts();
  if (layouts.empty()) {  // nobody asks where the loop is
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
  const detail::ElementPlan plan = detail::plan_elements(binding.stream.device(), lengths);
  runtime::ArgumentPack pack;
  for (const std::int64_t length : lengths) {
    detail::pack_index(pack, length, form.is_wide);
  }
  detail::pack_binding(pack, binding, form, layouts, snippets.uses_count());
  for (const std::int64_t value : plan.more) {
    detail::pack_index(pack, value, form.is_wide);
  }
  const runtime::Kernel& kernel = program_->kernels.get(
      binding.stream.device(), key_of(form), [&] { return program_->make_module(form); },
      program_->name);
  kernel.launch(binding.stream, plan.launch, pack);
}

std::string ElementwiseKernel::text(cgen::Dialect dialect) const {
  detail::SnippetForm form = program_->snippets.contiguous_form(dialect);
  return cgen::print_module(program_->make_module(form), dialect).text;
}

}  // namespace rtcg::arrays
