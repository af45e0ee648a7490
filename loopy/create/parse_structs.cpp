#include "rtcg/loopy/create/parse_structs.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

constexpr const char* structs_code = "loopy.make_kernel.structs";

const cgen::Record* record_of(const cgen::Type& type) {
  return get_if<cgen::Record>(type);
}

class StructReader {
 public:
  explicit StructReader(std::string_view text) : reader_(text, structs_code) {}

  Structs run() {
    while (!reader_.is_at_end()) {
      if (!reader_.accept(";")) {
        read_struct();
      }
    }
    return std::move(structs_);
  }

 private:
  void read_struct() {
    const std::size_t column = reader_.peek().column;
    const std::string name = reader_.expect_name("the name of a struct");
    if (structs_.count(name) != 0 || parse_scalar_type(name)) {
      reader_.fail_at(column, fmt::format("there is a type '{}' already", name));
    }
    std::vector<cgen::RecordField> fields;
    reader_.expect("{");
    while (!reader_.accept("}")) {
      read_fields(fields);
      if (!reader_.accept(";")) {
        reader_.expect("}");
        break;
      }
    }
    if (fields.empty()) {
      reader_.fail_at(column, fmt::format("struct '{}' has no fields", name));
    }
    structs_.emplace(name, cgen::lay_out_struct(name, fields));
  }

  /// `x, y: f32[3]`.
  void read_fields(std::vector<cgen::RecordField>& fields) {
    std::vector<std::string> names;
    do {
      const std::size_t column = reader_.peek().column;
      names.push_back(reader_.expect_name("the name of a field"));
      for (const cgen::RecordField& known : fields) {
        if (known.name == names.back()) {
          reader_.fail_at(column, fmt::format("a second field '{}'", known.name));
        }
      }
      fields.push_back({names.back(), cgen::u8});
    } while (reader_.accept(","));
    reader_.expect(":");
    const cgen::Type type = read_type();
    for (std::size_t i = fields.size() - names.size(); i < fields.size(); ++i) {
      fields[i].type = type;
    }
  }

  cgen::Type read_type() {
    const std::size_t column = reader_.peek().column;
    const std::string name = reader_.expect_name("a type");
    std::optional<cgen::Type> type = parse_scalar_type(name);
    if (const auto known = structs_.find(name); known != structs_.end()) {
      type = known->second.type;
    }
    if (!type) {
      reader_.fail_at(column, fmt::format("'{}' is not a type: write f32, f64, i32, ..., or the "
                                          "name of a struct above",
                                          name));
    }
    std::vector<std::int64_t> lengths;
    if (reader_.accept("[")) {
      do {
        const std::size_t place = reader_.peek().column;
        const auto length = as_integer(read_expr(reader_));
        if (!length || *length < 1 || *length > most_elements) {
          reader_.fail_at(
              place, fmt::format("the length of a field is a number from 1 to {}", most_elements));
        }
        lengths.push_back(*length);
      } while (reader_.accept(","));
      reader_.expect("]");
    }
    for (auto length = lengths.rbegin(); length != lengths.rend(); ++length) {
      type = cgen::array_of(*type, static_cast<int>(*length));
    }
    return *type;
  }

  static constexpr std::int64_t most_elements = 1 << 20;

  TokenReader reader_;
  Structs structs_;
};

class FieldArguments {
 public:
  FieldArguments(const Argument& array, const cgen::LaidOutStruct& laid_out)
      : array_(array), laid_out_(laid_out) {}

  std::vector<Argument> run() {
    for (const cgen::LaidOutField& each : laid_out_.fields) {
      add(each.name, each.type, each.offset_bytes, {}, {});
    }
    return std::move(arguments_);
  }

 private:
  /// @param lengths, strides  of axes of the field, the strides in bytes
  void add(const std::string& path, const cgen::Type& type, std::size_t offset_bytes,
           std::vector<Expr> lengths, std::vector<std::size_t> strides) {
    if (const cgen::Array* rows = get_if<cgen::Array>(type)) {
      const std::size_t stride = cgen::layout_of(rows->element).size_bytes;
      lengths.emplace_back(static_cast<std::int64_t>(cgen::layout_of(type).size_bytes / stride));
      strides.push_back(stride);
      add(path, rows->element, offset_bytes, std::move(lengths), std::move(strides));
      return;
    }
    if (const cgen::Record* record = record_of(type)) {
      std::size_t place = 0;
      for (const cgen::RecordField& each : record->fields) {
        const cgen::TypeLayout layout = cgen::layout_of(each.type);
        place =
            (place + layout.alignment_bytes - 1) / layout.alignment_bytes * layout.alignment_bytes;
        add(path + "." + each.name, each.type, offset_bytes + place, lengths, strides);
        place += layout.size_bytes;
      }
      return;
    }
    const auto size = static_cast<std::size_t>(size_bytes(type));
    const auto is_whole = [&](std::size_t bytes) { return bytes % size == 0; };
    if (!is_whole(offset_bytes) || !is_whole(laid_out_.size_bytes) ||
        !std::all_of(strides.begin(), strides.end(), is_whole)) {
      return;  // no index of such numbers leads there
    }
    const auto in_numbers = [&](std::size_t bytes) {
      return static_cast<std::int64_t>(bytes / size);
    };
    const std::int64_t step = in_numbers(laid_out_.size_bytes);
    Argument field = array_;
    field.name = array_.name + "." + path;
    field.type = type;
    field.strides_elements =
        array_.strides_elements.empty() ? c_order_strides(array_.shape) : array_.strides_elements;
    for (Expr& each : field.strides_elements) {
      each = simplify_index(step * each);
    }
    field.offset_elements =
        simplify_index(step * array_.offset_elements + in_numbers(offset_bytes));
    for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
      field.shape.push_back(lengths[axis]);
      field.strides_elements.emplace_back(in_numbers(strides[axis]));
    }
    field.field_of = Argument::Field{array_.name, static_cast<std::int64_t>(laid_out_.size_bytes),
                                     static_cast<std::int64_t>(lengths.size())};
    arguments_.push_back(std::move(field));
  }

  const Argument& array_;
  const cgen::LaidOutStruct& laid_out_;
  std::vector<Argument> arguments_;
};

/// Texts of structs, those within others first.
class StructWriter {
 public:
  void add(const std::string& name, const std::vector<cgen::RecordField>& fields) {
    std::string text = name + " {";
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string type = type_text(fields[i]);
      text += fmt::format("{}{}: {}", i == 0 ? "" : "; ", fields[i].name, type);
    }
    result_ += text + "}\n";
  }
  [[nodiscard]] const std::string& result() const { return result_; }

 private:
  std::string type_text(const cgen::RecordField& field) {
    std::vector<std::int64_t> lengths;
    cgen::Type type = field.type;
    while (const cgen::Array* rows = get_if<cgen::Array>(type)) {
      lengths.push_back(static_cast<std::int64_t>(cgen::layout_of(type).size_bytes /
                                                  cgen::layout_of(rows->element).size_bytes));
      const cgen::Type element = rows->element;
      type = element;
    }
    std::string name;
    if (const cgen::Record* record = record_of(type);
        record != nullptr && record->tag == cgen::RecordTag::struct_) {
      if (written_.insert(record->name).second) {
        add(record->name, record->fields);
      }
      name = record->name;
    } else if (is<cgen::Pointer>(type)) {
      name = "u64";  // not a number to kernels, but as long
    } else if (cgen::scalar_kind(number_type(type)) && parse_scalar_type(scalar_type_name(type))) {
      name = scalar_type_name(type);
    } else {
      throw InvalidInput("loopy.struct_text.field",
                         fmt::format("field '{}' is of type '{}', which kernels do not have",
                                     field.name, cgen::describe(field.type)));
    }
    return lengths.empty() ? name : fmt::format("{}[{}]", name, fmt::join(lengths, ", "));
  }

  NameSet written_;
  std::string result_;
};

}  // namespace

Structs parse_structs(std::string_view text) {
  return StructReader(text).run();
}

std::string struct_text(const cgen::LaidOutStruct& laid_out) {
  std::vector<cgen::RecordField> fields = record_of(laid_out.type)->fields;
  const cgen::LaidOutStruct natural = cgen::lay_out_struct(laid_out.name, fields);
  if (natural.size_bytes < laid_out.size_bytes) {  // aligned to more than its fields
    const auto missing = static_cast<int>(laid_out.size_bytes - natural.size_bytes);
    fields.push_back({"padding_at_end", cgen::array_of(cgen::u8, missing)});
  }
  StructWriter writer;
  writer.add(laid_out.name, fields);
  return writer.result();
}

std::string variable_of_field(std::string field) {
  std::replace(field.begin(), field.end(), '.', '_');
  return field;
}

std::vector<Argument> field_arguments(const Argument& array, const cgen::LaidOutStruct& laid_out) {
  return FieldArguments(array, laid_out).run();
}

}  // namespace rtcg::loopy
