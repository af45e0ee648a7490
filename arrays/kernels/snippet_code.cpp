#include "rtcg/arrays/kernels/snippet_code.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/packs.h"
#include "rtcg/cgen/build/fresh_names.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/print/print_module.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

/// Knows the words of the dialect and all names of the user.
std::shared_ptr<NameGenerator> names_for(const SnippetProgram& program, cgen::Dialect dialect) {
  auto names = std::make_shared<NameGenerator>(cgen::fresh_names(dialect));
  for (const std::string& name : program.names) {
    names->reserve(name);
  }
  for (const KernelArgument& argument : program.arguments) {
    names->reserve(argument.name);
  }
  names->reserve(kernel_name);
  names->reserve("i");
  return names;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \n\t");
  const std::size_t end = text.find_last_not_of(" \n\t");
  return begin == std::string::npos ? std::string() : text.substr(begin, end + 1 - begin);
}

cgen::Statement raw(std::string text, const std::set<std::string>& names) {
  return cgen::Statement(cgen::RawStatement{std::move(text), {}, {names.begin(), names.end()}});
}

}  // namespace

std::string closed(std::string text) {
  text = trimmed(text);
  if (!text.empty() && text.back() != ';' && text.back() != '}') {
    text.push_back(';');
  }
  return text;
}

SnippetCode::SnippetCode(const SnippetProgram& program, const SnippetForm& form)
    : program_(program),
      form_(form),
      names_(names_for(program, form.dialect)),
      parameters_(form.is_wide, form.axes,
                  [names = names_](const std::string& name) { return names->make(name); }) {
  text_.dialect = form.dialect;
  text_.vectors = program.vectors();
  for (const auto& structure : program.structs) {
    items_.push_back(structure->definition);
    items_.push_back(raw(fmt::format("typedef struct {0} {0};", structure->name), {}));
    items_.push_back(cgen::Statement(cgen::BlankLine{}));
  }
  const auto is_half_vector = [](DType dtype) {
    return is_vector(dtype) && element_of(dtype) == DType::f16;
  };
  if (form.dialect == cgen::Dialect::cuda && program.dtypes.count(DType::f16) == 0 &&
      std::any_of(program.dtypes.begin(), program.dtypes.end(), is_half_vector)) {
    items_.push_back(cgen::Statement(cgen::Include{"cuda_fp16.h", true}));
    items_.push_back(cgen::Statement(cgen::BlankLine{}));
  }
  std::string text = standard_preamble(program.names, program.dtypes, form.dialect);
  text += portable_preamble(program.preamble, form.dialect, text_.vectors);
  text = trimmed(text);
  if (text.empty()) {
    return;
  }
  items_.push_back(raw(text, program.names));
  items_.push_back(cgen::Statement(cgen::BlankLine{}));
}

std::string SnippetCode::spelling(const cgen::Type& type) const {
  return cgen::print_declarator(type, "", form_.dialect);
}

void SnippetCode::add_arguments() {
  std::size_t array = 0;
  for (const KernelArgument& argument : program_.arguments) {
    if (argument.is_array) {
      add_array(argument, form_.arrays[array++]);
    }
  }
  if (form_.place) {
    place_ = parameters_.add_steps(*form_.place, names_->make("i_of"));
    first_ = parameters_.add_index_parameter("i_first");
  }
  for (const KernelArgument& argument : program_.arguments) {
    if (!argument.is_array) {
      add_number(argument);
    }
  }
  if (program_.uses_count()) {
    parameters_.add(parameters_.index_type(), "n");
  }
}

void SnippetCode::add_array(const KernelArgument& argument, const ArrayForm& form) {
  const auto use = program_.arrays.find(argument.name);
  const bool is_written = use != program_.arrays.end() && use->second.is_written;
  const cgen::Type element = argument.structure ? cgen::named(argument.structure->name)
                                                : snippet_storage_type(form.dtype, form_.dialect);
  const std::string name =
      cgen::is_reserved(form_.dialect, argument.name) ? names_->make(argument.name) : argument.name;
  ArrayText& text = text_.arrays[argument.name];
  text.dtype = form.dtype;
  text.has_struct = argument.structure != nullptr;
  if (form.element) {
    operands_.push_back(parameters_.add_operand(*form.element, element, name, is_written));
    operand_names_.push_back(argument.name);
    text.pointer = name;
  }
  if (form.by_place) {
    // own axes: no operand of the loops
    cgen::Type all =
        cgen::in_space(cgen::AddressSpace::global, is_written ? element : cgen::const_(element));
    text.pointer = form.element ? names_->make(argument.name + "_all") : name;
    parameters_.add_pointer(all, text.pointer);
    add_by_place(argument.name, *form.by_place, text);
  }
}

void SnippetCode::add_by_place(const std::string& name, const OperandForm& form, ArrayText& text) {
  std::vector<std::string> strides;
  for (std::size_t axis = 0; axis < form.axes; ++axis) {
    const StrideClass stride = form.strides[axis];
    strides.push_back(stride == StrideClass::none ? "0"
                      : stride == StrideClass::one
                          ? "1"
                          : names_->make(fmt::format("{}_p{}", name, axis)));
    if (stride == StrideClass::other) {
      parameters_.add(parameters_.index_type(), strides.back());
    }
  }
  std::vector<std::string> lengths;
  for (std::size_t axis = 1; axis < form.axes; ++axis) {
    lengths.push_back(names_->make(fmt::format("{}_n{}", name, axis)));
    parameters_.add(parameters_.index_type(), lengths.back());
  }
  if (form.axes < 2) {
    const bool is_plain = form.axes == 1 && strides[0] == "1";
    if (!is_plain) {
      text.before_place = fmt::format("(");  // g++ 12 warns of what a literal would do
      text.after_place = fmt::format(") * {}", form.axes == 0 ? "0" : strides[0]);
    }
    return;
  }
  const std::string function = names_->make(name + "_offset");
  const std::string index = spelling(parameters_.index_type());
  std::string parameters = index + " place";
  std::string body;
  for (std::size_t axis = form.axes; axis-- > 0;) {
    body += axis == 0 ? fmt::format("  return offset + place * s0;\n")
                      : fmt::format("  offset += place % n{0} * s{0};\n  place /= n{0};\n", axis);
    parameters += fmt::format(", {0} s{1}", index, axis);
    parameters += axis == 0 ? std::string() : fmt::format(", {0} n{1}", index, axis);
  }
  items_.push_back(raw(fmt::format("static {}inline {} {}({}) {{\n  {} offset = 0;\n{}}}",
                                   form_.dialect == cgen::Dialect::cuda ? "__device__ " : "", index,
                                   function, parameters, index, body),
                       {function}));
  items_.push_back(cgen::Statement(cgen::BlankLine{}));
  text.before_place = function + "(";
  for (std::size_t axis = form.axes; axis-- > 0;) {
    text.after_place += fmt::format(", {}", strides[axis]);
    text.after_place += axis == 0 ? std::string() : fmt::format(", {}", lengths[axis - 1]);
  }
  text.after_place += ")";
}

void SnippetCode::add_number(const KernelArgument& argument) {
  std::string name = argument.name;
  if (cgen::is_reserved(form_.dialect, name)) {
    name = text_.others[argument.name] = names_->make(name);
  }
  if (is_vector(argument.dtype)) {
    add_vector(argument.dtype, name);
    return;
  }
  if (!is_complex(argument.dtype)) {
    parameters_.add(argument.dtype == DType::boolean ? cgen::u8 : value_type(argument.dtype), name);
    return;
  }
  const std::string re = names_->make(name + "_re");
  const std::string im = names_->make(name + "_im");
  parameters_.add(value_type(argument.dtype), re);
  parameters_.add(value_type(argument.dtype), im);
  const std::string type = argument.dtype == DType::c64 ? "complex64" : "complex128";
  start_.push_back(
      raw(fmt::format("const {0} {1} = {0}_make({2}, {3});", type, name, re, im), {name, re, im}));
}

void SnippetCode::add_vector(DType dtype, const std::string& name) {
  std::vector<std::string> components;
  for (int lane = 0; lane < lanes_of(dtype); ++lane) {
    components.push_back(names_->make(fmt::format("{}_{}", name, "xyzw"[lane])));
    parameters_.add(value_type(dtype), components.back());
  }
  start_.push_back(
      raw(fmt::format("const {0} {1} = make_{0}({2});", arrays::name(snippet_vector(dtype)), name,
                      fmt::join(components, ", ")),
          {components.begin(), components.end()}));
}

void SnippetCode::begin_body(cgen::BlockBuilder& body) const {
  for (const cgen::Statement& statement : start_) {
    body << statement;
  }
}

void SnippetCode::begin_element(const std::vector<Expr>& offsets, cgen::BlockBuilder& body) {
  for (std::size_t k = 0; k < operands_.size(); ++k) {
    const std::size_t operand = operands_[k];
    const Expr at =
        parameters_.declare_index(parameters_.name(operand) + "_at", offsets[operand], body);
    text_.arrays[operand_names_[k]].element =
        fmt::format("{}[{}]", parameters_.name(operand), cgen::print_expr(at, form_.dialect));
  }
  if (place_) {
    body << cgen::declare(cgen::const_(parameters_.index_type()), "i", *first_ + offsets[*place_]);
  }
}

void SnippetCode::packed_element(const Snippet& snippet, const std::vector<Expr>& offsets,
                                 cgen::BlockBuilder& body) {
  const int lanes = form_.lanes;
  std::vector<std::function<void()>> stores;
  std::vector<Expr> held(operands_.size(), Expr(0));
  for (std::size_t k = 0; k < operands_.size(); ++k) {
    const OperandForm& operand = parameters_.form(operands_[k]);
    if (operand.strides[0] != StrideClass::one) {
      continue;
    }
    const ArrayUse& use = program_.arrays.at(operand_names_[k]);
    const Pack pack = pack_of(operand.dtype, lanes, form_.dialect);
    const cgen::Type element = snippet_storage_type(operand.dtype, form_.dialect);
    const std::string name = operand_names_[k];
    const Expr values =
        body.add(cgen::declare(cgen::array_of(element, lanes), names_->make(name + "_values")));
    held[k] = values;
    const Expr offset = offsets[operands_[k]];
    if (!use.is_filled) {
      const Expr packed =
          body.add_constant(pack.type(), names_->make(name + "_pack"),
                            parameters_.object(operands_[k], offset, pack.type(), false));
      for (int lane = 0; lane < lanes; ++lane) {
        body << assign(values[lane], pack.element(packed, lane, 0));
      }
    }
    if (use.is_written) {
      stores.emplace_back([&, k, pack, values, offset] {
        std::vector<Expr> elements;
        for (int lane = 0; lane < lanes; ++lane) {
          elements.emplace_back(values[lane]);
        }
        body << assign(parameters_.object(operands_[k], offset, pack.type(), true),
                       pack.join(elements));
      });
    }
  }
  const auto one = [&](const Expr& lane, cgen::BlockBuilder& block) {
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const Expr first = parameters_.pointer(operands_[k])[0];  // of what is the same everywhere
      const bool is_held = parameters_.form(operands_[k]).strides[0] == StrideClass::one;
      text_.arrays[operand_names_[k]].element =
          cgen::print_expr(is_held ? Expr(held[k][lane]) : first, form_.dialect);
    }
    if (place_) {
      const Expr step = parameters_.form(*place_).strides[0] == StrideClass::one ? lane : Expr(0);
      block << cgen::declare(cgen::const_(parameters_.index_type()), "i",
                             *first_ + offsets[*place_] + step);
    }
    block << statements(snippet);
  };
  body << cgen::for_(parameters_.index_type(), names_->make("lane"), parameters_.index(0),
                     parameters_.index(lanes), one, {.unroll = 0});
  for (const auto& store : stores) {
    store();
  }
}

cgen::Statement SnippetCode::statements(const Snippet& snippet) const {
  return raw(closed(rewrite(snippet, text_)), snippet.names());
}

Expr SnippetCode::value(const Snippet& snippet, const cgen::Type& type) const {
  return Expr(cgen::RawExpr{
      trimmed(rewrite(snippet, text_)), type, {snippet.names().begin(), snippet.names().end()}});
}

std::string SnippetCode::add_function(const cgen::Type& result,
                                      const std::vector<cgen::Parameter>& parameters,
                                      const Snippet& snippet, const std::string& name,
                                      bool has_lanes) {
  const std::string made = names_->make(name);
  cgen::Function function;
  function.result = result;
  function.name = made;
  function.parameters = parameters;
  SnippetNames none;
  none.dialect = form_.dialect;
  none.vectors = text_.vectors;
  for (const cgen::Parameter& parameter : parameters) {
    if (has_lanes) {
      none.vectors.insert(parameter.name);
    }
  }
  const Expr value(cgen::RawExpr{
      trimmed(rewrite(snippet, none)), result, {snippet.names().begin(), snippet.names().end()}});
  function.body = cgen::BlockBuilder({cgen::return_(value)}).block();
  function.specifiers.is_device = true;
  function.specifiers.is_static = true;
  function.specifiers.is_inline = true;
  items_.push_back(cgen::Statement(std::move(function)));
  items_.push_back(cgen::Statement(cgen::BlankLine{}));
  return made;
}

}  // namespace rtcg::arrays::detail
