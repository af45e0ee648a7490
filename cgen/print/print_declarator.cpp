// Declarations mirror use, so they are written from the name outwards: each layer of the type wraps
// what is written so far, and parentheses keep `*` and `&` from binding to the wrong layer.
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/print/printer.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::cgen {

namespace {

std::string qualifier_words(const Qualified& qualified, Dialect dialect) {
  std::string words(address_space_name(qualified.space, dialect));
  const auto add = [&](std::string_view word) {
    words.append(words.empty() ? "" : " ").append(word);
  };
  if (qualified.is_const) {
    add("const");
  }
  if (qualified.is_volatile) {
    add("volatile");
  }
  return words;
}

std::string_view record_word(RecordTag tag) {
  switch (tag) {
    case RecordTag::struct_:
      return "struct ";
    case RecordTag::union_:
      return "union ";
    case RecordTag::class_:
      return "class ";
  }
  return "";
}

std::string image_name(const Image& image, Dialect dialect) {
  if (image.texel && dialect != Dialect::opencl) {
    const bool is_texture = image.access == ImageAccess::read_only;
    if (dialect == Dialect::cuda) {
      return is_texture ? "cudaTextureObject_t" : "cudaSurfaceObject_t";
    }
    return is_texture ? "rtcg_texture" : "rtcg_surface";
  }
  static constexpr std::string_view access[] = {"__read_only ", "__write_only ", "__read_write "};
  return std::string(access[static_cast<int>(image.access)]) + "image" +
         std::to_string(image.dimensions) + "d_" + (image.is_array ? "array_t" : "t");
}

}  // namespace

std::string Printer::base_type(const Type& type) const {
  return match(
      type,
      [&](const Unknown&) -> std::string {
        throw InvalidInput("cgen.print.untyped",
                           "cannot print a type that was never stated: give the declaration, "
                           "parameter or cast a type");
      },
      [&](const Scalar& t) { return std::string(scalar_name(t.kind, dialect_)); },
      [&](const Vector& t) { return vector_name(t, dialect_); },
      [&](const Complex& t) {
        const std::string element = base_type(t.element);
        return dialect_ == Dialect::c        ? element + " _Complex"
               : dialect_ == Dialect::opencl ? element + "2"  // as lowered
               : dialect_ == Dialect::cuda   ? "rtcg_complex<" + element + ">"
                                             : "std::complex<" + element + ">";
      },
      [&](const Auto&) { return std::string("auto"); },
      [&](const Named& t) {
        if (t.arguments.empty()) {
          return t.name;
        }
        Printer nested(dialect_, options_);
        nested.out.append(t.name);
        nested.template_arguments(t.arguments);
        return nested.out.take().text;
      },
      [&](const Record& t) {
        return std::string(words_.has_record_names ? "" : record_word(t.tag)) + t.name;
      },
      [&](const Enumeration& t) {
        return std::string(words_.has_record_names ? "" : "enum ") + t.name;
      },
      [&](const Image& t) { return image_name(t, dialect_); },
      [&](const Decltype& t) {
        Printer nested(dialect_, options_);
        if (t.expression) {
          nested.expr(*t.expression, Level::comma);
        }
        return "decltype(" + (t.expression ? nested.out.take().text : "auto") + ")";
      },
      [&](const auto&) -> std::string {
        throw InvalidInput("cgen.print.untyped",
                           "cannot print the type " + describe(type) +
                               " of an ill-typed expression: check_types says what is wrong");
      });
}

std::string Printer::extent_text(const Array& array) const {
  if (!array.extent) {
    return "[]";
  }
  Printer nested(dialect_, options_);
  nested.expr(*array.extent, Level::comma);
  return "[" + nested.out.take().text + "]";
}

std::string Printer::declarator_text(const Type& type, std::string inner) const {
  const Qualified qualified = qualifiers_of(type);
  const std::string words = qualifier_words(qualified, dialect_);
  const auto wrap_if_needed = [](const Type& target, std::string text) {
    const Type bare = without_qualifiers(target);
    const bool binds_tighter = is<Array>(bare) || is<FunctionType>(bare);
    return binds_tighter ? "(" + std::move(text) + ")" : std::move(text);
  };
  const auto spaced = [](std::string text, const std::string& name) {
    const bool needs_blank = !name.empty() && name[0] != '[' && name[0] != '(';
    return text + (needs_blank && text.back() != '*' ? " " : "") + name;
  };
  if (const Pointer* pointer = get_if<Pointer>(qualified.type)) {
    std::string text = "*" + words;
    if (pointer->is_restrict) {
      text.append(words.empty() ? "" : " ").append(words_.restrict_);
    }
    return declarator_text(pointer->pointee, wrap_if_needed(pointer->pointee, spaced(text, inner)));
  }
  if (const Reference* reference = get_if<Reference>(qualified.type)) {
    // a reference itself is never const: `const` of one is meaningless and left out
    std::string text = (reference->is_rvalue ? "&&" : "&") + inner;
    return declarator_text(reference->referee, wrap_if_needed(reference->referee, std::move(text)));
  }
  if (const Array* array = get_if<Array>(qualified.type)) {
    Qualified element = qualifiers_of(array->element);
    element.is_const |= qualified.is_const;
    element.is_volatile |= qualified.is_volatile;
    if (element.space == AddressSpace::unspecified) {
      element.space = qualified.space;
    }
    return declarator_text(element, std::move(inner) + extent_text(*array));
  }
  if (const FunctionType* function = get_if<FunctionType>(qualified.type)) {
    std::string list;
    for (const Type& parameter : function->parameters) {
      list.append(list.empty() ? "" : ", ").append(declarator_text(parameter, ""));
    }
    if (function->is_variadic) {
      list.append(list.empty() ? "" : ", ").append("...");
    }
    if (list.empty() && dialect_ != Dialect::cpp && dialect_ != Dialect::cuda) {
      list = "void";
    }
    return declarator_text(function->result, std::move(inner) + "(" + list + ")");
  }
  std::string text =
      words.empty() ? base_type(qualified.type) : words + " " + base_type(qualified.type);
  if (!inner.empty() && inner[0] != '[') {
    text += ' ';
  }
  return text + inner;
}

void Printer::declarator(const Type& type, std::string_view name) {
  if (const Scalar* scalar = get_if<Scalar>(type)) {  // nearly always
    out.append(scalar_name(scalar->kind, dialect_));
    if (!name.empty()) {
      out.append(' ');
      out.append(name);
    }
    return;
  }
  out.append(declarator_text(type, std::string(name)));
}

}  // namespace rtcg::cgen
