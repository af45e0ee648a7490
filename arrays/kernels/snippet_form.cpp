#include "rtcg/arrays/kernels/snippet_form.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/struct_array.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/lazy/run.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/execute/target_of.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::arrays::detail {

SnippetProgram::SnippetProgram(std::vector<KernelArgument> argument_list, std::string preamble_text,
                               SourceOrigin origin)
    : arguments(std::move(argument_list)), preamble(std::move(preamble_text)), where(origin) {
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
    if (argument.structure) {
      add(argument.structure);
    } else {
      dtypes.insert(argument.dtype);
    }
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
    all.is_addressed = all.is_addressed || use.is_addressed;
    all.is_filled = use.is_filled;
  }
  names.insert(snippet.names().begin(), snippet.names().end());
  uses_place = uses_place || snippet.uses_place();
}

void SnippetProgram::add(const std::shared_ptr<const cgen::LaidOutStruct>& structure) {
  const bool is_new = std::none_of(structs.begin(), structs.end(),
                                   [&](const auto& one) { return one->name == structure->name; });
  if (is_new) {
    names.insert(structure->name);
    structs.push_back(structure);
  }
}

std::set<std::string> SnippetProgram::vectors() const {
  std::set<std::string> result;
  for (const KernelArgument& argument : arguments) {
    if (!argument.is_array && is_vector(argument.dtype)) {
      result.insert(argument.name);
    }
  }
  for (const auto& structure : structs) {
    for (const cgen::LaidOutField& field : structure->fields) {
      if (is<cgen::Vector>(field.type)) {
        result.insert(field.name);
      }
    }
  }
  return result;
}

void SnippetProgram::check_structs(runtime::StreamRef stream) const {
  for (const auto& structure : structs) {
    check_struct_layout(stream, *structure);
  }
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
  std::string key = fmt::format("{}{}{},{},", static_cast<int>(form.dialect),
                                form.is_wide ? 'w' : 'n', form.axes, form.lanes);
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

runtime::DeviceAddress SnippetBinding::Operand::address(const Layout& layout) const {
  const runtime::DeviceAddress begin = array.storage()->address();
  // an empty view may begin past the end
  return layout.shape.contains(0)
             ? begin
             : begin + static_cast<std::uint64_t>(layout.offset) * element_bytes;
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

SnippetForm form_of(const SnippetBinding& binding, const std::vector<Layout>& layouts) {
  SnippetForm form;
  form.dialect = loopy::dialect_of(binding.stream.device());
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

bool may_be_packed(const SnippetProgram& program, const SnippetForm& form) {
  const auto is_number = [](const ArrayForm& array) {
    return array.element && !array.by_place && !is_complex(array.dtype) && !is_vector(array.dtype);
  };
  const bool has_structs =
      std::any_of(program.arguments.begin(), program.arguments.end(),
                  [](const KernelArgument& argument) { return argument.structure != nullptr; });
  const bool has_others = std::any_of(program.arrays.begin(), program.arrays.end(),
                                      [](const auto& use) { return use.second.is_addressed; });
  const bool steps_along = !form.place || form.place->strides[0] == StrideClass::one;
  return form.dialect == cgen::Dialect::cuda && form.axes == 1 && steps_along && !has_structs &&
         !has_others && std::all_of(form.arrays.begin(), form.arrays.end(), is_number) &&
         program.names.count("break") == 0 && program.names.count("goto") == 0;
}

std::uint8_t lanes_of(const SnippetProgram& program, const SnippetBinding& binding,
                      const SnippetForm& form, const std::vector<Layout>& layouts) {
  if (!may_be_packed(program, form)) {
    return 1;
  }
  KernelForm all;  // as a map with these targets and leaves has it
  KernelArguments arguments;
  all.dialect = form.dialect;
  all.axes = form.axes;
  arguments.lengths = layouts[0].shape;
  std::size_t array = 0;
  for (const KernelArgument& argument : program.arguments) {
    if (!argument.is_array) {
      continue;
    }
    const bool is_written = program.arrays.at(argument.name).is_written;
    (is_written ? all.targets : all.leaves).push_back(*form.arrays[array].element);
    (is_written ? arguments.targets : arguments.leaves)
        .push_back({binding.arrays[array].address(layouts[array]), layouts[array].strides});
    ++array;
  }
  return lanes_of(all, arguments);
}

void pack_binding(runtime::ArgumentPack& pack, const SnippetBinding& binding,
                  const SnippetForm& form, const std::vector<Layout>& layouts, bool uses_count) {
  auto layout = layouts.begin();
  for (std::size_t i = 0; i < binding.arrays.size(); ++i) {
    const SnippetBinding::Operand& operand = binding.arrays[i];
    if (form.arrays[i].element) {
      operand.array.storage()->use_on(binding.stream);
      pack_operand(pack, *form.arrays[i].element, {operand.address(*layout), layout->strides},
                   form.is_wide);
      ++layout;
    }
    if (form.arrays[i].by_place) {
      operand.array.storage()->use_on(binding.stream);
      pack_operand(pack, *form.arrays[i].by_place,
                   {operand.address(*operand.by_place), operand.by_place->strides}, form.is_wide);
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

runtime::Kernel compile_snippets(runtime::Device device, const cgen::Module& module,
                                 const std::string& name, SourceOrigin where) {
  cgen::check_types(module);
  const cgen::Dialect dialect = loopy::dialect_of(device);
  SourceText source = cgen::print_module(module, dialect);
  cgen::verify_module(
      module, dialect, [&] { return source.text; }, verify_options());
  runtime::CompileOptions options;
  if (dialect == cgen::Dialect::cuda) {
    options.flags.emplace_back("--device-as-default-execution-space");
  } else if (dialect == cgen::Dialect::c) {
    // functions that cannot be replaced are inlined; a pragma in the text would also hide what a
    // preamble declares of libc
    options.flags.emplace_back("-fvisibility=hidden");
  }
  // if a compiler refuses any part of the text, the mistake is in the snippet
  std::fill(source.origins.begin(), source.origins.end(), where);
  return runtime::Program::compile(device, std::move(source), options, name).kernel(kernel_name);
}

}  // namespace rtcg::arrays::detail
