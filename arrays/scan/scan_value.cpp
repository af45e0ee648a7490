#include "rtcg/arrays/scan/scan_value.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/snippet.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

/// What values are computed in.
DType carried(DType type) {
  return type == DType::f16 || type == DType::bf16 ? DType::f32 : type;
}

bool is_scanned(DType dtype) {
  return is_integer(dtype) || is_floating(dtype);
}

}  // namespace

ScanValue::ScanValue(const ResultType& type)
    : dtype(type.dtype()), structure(type.shared_structure()) {
  if (structure) {
    c_type = structure->name;
    for (const cgen::LaidOutField& field : structure->fields) {
      const std::optional<DType> of_field = dtype_of_field(field);
      if (!of_field || !is_scanned(*of_field)) {
        throw Unsupported("arrays.scan_kernel.type",
                          fmt::format("field '{}' of struct '{}' is not an integer or a "
                                      "floating-point number: a struct that is scanned has "
                                      "no other fields",
                                      field.name, structure->name));
      }
      fields.push_back({field.name, *of_field});
    }
    return;
  }
  if (!is_scanned(dtype) && !is_complex(dtype)) {
    throw Unsupported("arrays.scan_kernel.type",
                      fmt::format("values of {} are not scanned by a ScanKernel: it takes "
                                  "integers, floating-point and complex numbers, and structs",
                                  name(dtype)));
  }
  c_type = c_name(dtype);
  if (is_complex(dtype)) {
    fields = {{"re", real_of(dtype)}, {"im", real_of(dtype)}};
  } else {
    fields = {{"", carried(dtype)}};
  }
}

std::string ScanValue::part(const std::string& name, const Field& field) {
  return field.name.empty() ? name : name + "_" + field.name;
}

std::string ScanValue::assigned(const std::string& name, const std::string& source,
                                const std::string& index) const {
  std::string result;
  for (const Field& field : fields) {
    result += fmt::format("{}{}{} = {}{};\n", name, field.name.empty() ? "" : ".", field.name,
                          part(source, field), index);
  }
  return result;
}

std::string ScanValue::joined(const std::string& words, const std::string& text) const {
  if (!is_complex(dtype) ||
      (words != "a+b" && words != "b+a" && words != "a*b" && words != "b*a")) {
    return text;
  }
  return fmt::format("{}_{}({}, {})", c_type, words[1] == '+' ? "add" : "mul", words[0], words[2]);
}

std::string ScanValue::neutral(const std::string& words, const std::string& text) const {
  return is_complex(dtype) && (words == "0" || words == "1")
             ? fmt::format("{}_make({}, 0)", c_type, words)
             : text;
}

std::string ScanValue::definition(cgen::Dialect dialect) const {
  return structure
             ? fmt::format("{0}\ntypedef struct {1} {1};\n",
                           cgen::print_statement(structure->definition, dialect), structure->name)
             : std::string();
}

}  // namespace rtcg::arrays::detail
