#include "rtcg/cgen/build/struct_builder.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"

namespace rtcg::cgen {
namespace {

[[noreturn]] void unknown_layout(const Type& type) {
  throw InvalidInput("cgen.layout_of.unknown_layout",
                     fmt::format("the size of type '{}' is not the same on every device, or not "
                                 "known here",
                                 describe(type)));
}

TypeLayout scalar_layout(ScalarKind kind, const Type& type) {
  const auto size = static_cast<std::size_t>(size_bytes(kind));
  if (size == 0) {
    unknown_layout(type);
  }
  return {size, size};
}

TypeLayout array_layout(const Array& array, const Type& type) {
  const auto* extent = array.extent ? get_if<IntLiteral>(*array.extent) : nullptr;
  if (extent == nullptr) {
    unknown_layout(type);
  }
  const TypeLayout element = layout_of(array.element);
  return {element.size_bytes * extent->magnitude, element.alignment_bytes};
}

TypeLayout vector_layout(const Vector& vector, const Type& type) {
  if (vector.lanes == 3) {
    unknown_layout(type);
  }
  const std::size_t size =
      layout_of(vector.element).size_bytes * static_cast<std::size_t>(vector.lanes);
  // CUDA aligns no vector to more than 16 bytes, OpenCL every one to its size
  if (size > 16) {
    unknown_layout(type);
  }
  return {size, size};
}

TypeLayout record_layout(const Record& record) {
  TypeLayout whole;
  for (const RecordField& field : record.fields) {
    const TypeLayout part = layout_of(field.type);
    const bool is_union = record.tag == RecordTag::union_;
    const std::size_t start = is_union ? 0 : round_up(whole.size_bytes, part.alignment_bytes);
    whole.size_bytes = std::max(whole.size_bytes, start + part.size_bytes);
    whole.alignment_bytes = std::max(whole.alignment_bytes, part.alignment_bytes);
  }
  whole.size_bytes = round_up(std::max<std::size_t>(whole.size_bytes, 1), whole.alignment_bytes);
  return whole;
}

/// Places fields one after the other and keeps their offsets.
class Placement {
 public:
  explicit Placement(std::string name) { result_.name = std::move(name); }

  std::size_t next_offset(const Type& type) const {
    return round_up(cursor_, layout_of(type).alignment_bytes);
  }

  void place(const std::string& name, const Type& type) {
    const std::size_t offset = add(name, type);
    result_.fields.push_back({name, type, offset});
  }

  void pad(std::size_t count_bytes) {
    if (count_bytes > 0) {
      add(fmt::format("padding_{}", ++paddings_), array_of(u8, count_bytes));
    }
  }

  [[nodiscard]] std::size_t cursor() const { return cursor_; }
  [[nodiscard]] std::size_t alignment() const { return result_.alignment_bytes; }

  LaidOutStruct finish(std::size_t alignment_bytes) {
    RecordDefinition definition{RecordTag::struct_, result_.name, members_};
    if (alignment_bytes > result_.alignment_bytes) {
      definition.align_bytes = static_cast<int>(alignment_bytes);
      result_.alignment_bytes = alignment_bytes;
    }
    result_.size_bytes = round_up(cursor_, result_.alignment_bytes);
    result_.type = type_of(definition);
    result_.definition = Statement(std::move(definition));
    return std::move(result_);
  }

 private:
  std::size_t add(const std::string& name, const Type& type) {
    const TypeLayout layout = layout_of(type);
    const std::size_t offset = round_up(cursor_, layout.alignment_bytes);
    members_.push_back(Declaration{type, name});
    cursor_ = offset + layout.size_bytes;
    result_.alignment_bytes = std::max(result_.alignment_bytes, layout.alignment_bytes);
    return offset;
  }

  LaidOutStruct result_{{}, {}, EmptyStatement{}, {}};
  std::vector<Statement> members_;
  std::size_t cursor_ = 0;
  int paddings_ = 0;
};

bool is_prime_to(std::size_t count, const std::vector<int>& others) {
  return std::all_of(others.begin(), others.end(), [&](int other) {
    return std::gcd(count, static_cast<std::size_t>(other)) == 1;
  });
}

[[noreturn]] void bad_layout(const std::string& name, const std::string& field,
                             std::size_t wanted_bytes, std::size_t possible_bytes) {
  throw InvalidInput("cgen.struct_builder.layout",
                     fmt::format("'{}' is at byte {} of the C++ struct for '{}', but cannot be "
                                 "before byte {} in the generated one",
                                 field, wanted_bytes, name, possible_bytes));
}

}  // namespace

TypeLayout layout_of(const Type& type) {
  if (const auto kind = scalar_kind(type); kind && !is<Reference>(without_qualifiers(type))) {
    return scalar_layout(*kind, type);
  }
  return match(
      without_qualifiers(type),
      [&](const Complex& c) {
        const TypeLayout part = layout_of(c.element);
        return TypeLayout{2 * part.size_bytes, part.alignment_bytes};
      },
      [&](const Vector& v) { return vector_layout(v, type); },
      [](const Pointer&) {
        return TypeLayout{8, 8};
      },
      [&](const Array& a) { return array_layout(a, type); },
      [](const Record& r) { return record_layout(r); },
      [&](const Enumeration& e) { return layout_of(e.underlying.value_or(i32)); },
      [&](const auto&) -> TypeLayout { unknown_layout(type); });
}

std::size_t LaidOutStruct::offset_bytes(const std::string& field) const {
  for (const LaidOutField& candidate : fields) {
    if (candidate.name == field) {
      return candidate.offset_bytes;
    }
  }
  throw InvalidInput("cgen.struct_builder.unknown_field",
                     fmt::format("struct '{}' has no field '{}'", name, field));
}

std::vector<Statement> layout_assertions(const LaidOutStruct& laid_out) {
  std::vector<Statement> assertions;
  const Type named_type = laid_out.type;
  for (const LaidOutField& field : laid_out.fields) {
    const Expr offset = RawExpr{
        fmt::format("offsetof(struct {}, {})", laid_out.name, field.name), size_type, {}, true};
    const Expr wanted = static_cast<int>(field.offset_bytes);
    assertions.push_back(StaticAssert{equal(offset, wanted),
                                      fmt::format("'{}' must be at byte {} of '{}'", field.name,
                                                  field.offset_bytes, laid_out.name)});
  }
  assertions.push_back(
      StaticAssert{equal(sizeof_(named_type), static_cast<int>(laid_out.size_bytes)),
                   fmt::format("'{}' must be {} bytes long", laid_out.name, laid_out.size_bytes)});
  return assertions;
}

Declared layout_kernel(const LaidOutStruct& laid_out) {
  const auto found = param(pointer_to(in_space(AddressSpace::global, i32)), "found");
  const Declared object = declare(laid_out.type, "object");
  const auto address = [](const Expr& e) {
    return cast(pointer_to(const_(char_type)), address_of(e));
  };
  BlockBuilder body;
  body << object;
  int index = 0;
  for (const LaidOutField& field : laid_out.fields) {
    body << assign(found[index++], cast(i32, address(object.member(field.name)) - address(object)));
  }
  body << assign(found[index], cast(i32, sizeof_(laid_out.type)));
  return kernel(laid_out.name + "_layout", {found}, body);
}

std::vector<std::int32_t> expected_layout(const LaidOutStruct& laid_out) {
  std::vector<std::int32_t> expected;
  for (const LaidOutField& field : laid_out.fields) {
    expected.push_back(static_cast<std::int32_t>(field.offset_bytes));
  }
  expected.push_back(static_cast<std::int32_t>(laid_out.size_bytes));
  return expected;
}

LaidOutStruct lay_out_struct(std::string name, const std::vector<RecordField>& fields,
                             const PaddingOptions& options) {
  Placement placement(std::move(name));
  for (const RecordField& field : fields) {
    placement.place(field.name, field.type);
  }
  const auto align = static_cast<std::size_t>(std::max(options.align_bytes, 0));
  const std::size_t unit = std::max(align, placement.alignment());
  const bool has_even = std::any_of(options.aligned_prime_to.begin(),
                                    options.aligned_prime_to.end(), [](int n) { return n < 1; });
  if (has_even || unit % placement.alignment() != 0) {
    throw InvalidInput("cgen.struct_builder.bad_padding",
                       fmt::format("a struct of alignment {} cannot be padded to multiples of {} "
                                   "bytes, or a divisor is less than 1",
                                   placement.alignment(), align));
  }
  std::size_t count = std::max<std::size_t>(round_up(placement.cursor(), unit) / unit, 1);
  while (!is_prime_to(count, options.aligned_prime_to)) {
    ++count;
  }
  placement.pad(count * unit - placement.cursor());
  return placement.finish(1);
}

namespace detail {

LaidOutStruct match_host(const std::string& name, std::vector<HostField> fields,
                         std::size_t size_bytes, std::size_t alignment_bytes) {
  std::stable_sort(fields.begin(), fields.end(), [](const HostField& a, const HostField& b) {
    return a.offset_bytes < b.offset_bytes;
  });
  Placement placement(name);
  for (const HostField& field : fields) {
    const TypeLayout layout = layout_of(field.type);
    if (layout.size_bytes != field.size_bytes) {
      throw InvalidInput(
          "cgen.struct_builder.field_size",
          fmt::format("'{}' of '{}' takes {} bytes in C++ but {} as '{}'", field.name, name,
                      field.size_bytes, layout.size_bytes, describe(field.type)));
    }
    if (placement.next_offset(field.type) < field.offset_bytes) {
      placement.pad(field.offset_bytes - placement.cursor());
    }
    if (placement.next_offset(field.type) != field.offset_bytes) {
      bad_layout(name, field.name, field.offset_bytes, placement.next_offset(field.type));
    }
    placement.place(field.name, field.type);
  }
  if (alignment_bytes < placement.alignment()) {
    bad_layout(name, "the end", size_bytes, round_up(placement.cursor(), placement.alignment()));
  }
  if (round_up(placement.cursor(), alignment_bytes) < size_bytes) {
    placement.pad(size_bytes - placement.cursor());
  }
  return placement.finish(alignment_bytes);
}

}  // namespace detail
}  // namespace rtcg::cgen
