#include "rtcg/arrays/lazy/lower_steps.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

/// Rounded to the nearest bfloat16, ties to even, as the upper 16 bits.
Expr bfloat16_bits(const Expr& part) {
  const Expr bits = cgen::bit_cast(cgen::u32, part);
  const Expr rounded = bits + literal(0x7fff, cgen::u32) +
                       ((bits >> literal(16, cgen::u32)) & literal(1, cgen::u32));
  const Expr kept =
      cgen::select(not_equal(part, part), bits | literal(0x400000, cgen::u32), rounded);
  return cgen::cast(cgen::u16, kept >> literal(16, cgen::u32));
}

/// A part rounded to what memory can hold of it.
Expr rounded(const Expr& part, DType dtype, cgen::Dialect dialect) {
  if (dtype == DType::f16 || dtype == DType::bf16) {
    return from_memory(to_memory(part, dtype, dialect), dtype, dialect);
  }
  return part;
}

Expr is_not_zero(const Value& value) {
  const Expr re = not_equal(value.re, constant(0, real_of(value.dtype)));
  return value.im ? re || not_equal(*value.im, constant(0, real_of(value.dtype))) : re;
}

Value parts_of(DType dtype, const std::function<Expr(int)>& part) {
  return {dtype, part(0), is_complex(dtype) ? std::optional(part(1)) : std::nullopt};
}

}  // namespace

Value named(Value value, const std::string& name, cgen::BlockBuilder& body) {
  const cgen::Type type = cgen::const_(value_type(value.dtype));
  value.re = body.add(cgen::declare(type, name, value.re));
  if (value.im) {
    value.im = body.add(cgen::declare(type, name + "_im", *value.im));
  }
  return value;
}

Expr constant(double value, DType dtype) {
  return dtype == DType::boolean ? cgen::literal(value != 0)
                                 : cgen::literal(value, value_type(dtype));
}

cgen::Type memory_type(DType dtype, cgen::Dialect dialect) {
  return dtype == DType::f16 && dialect == cgen::Dialect::opencl ? cgen::u16 : storage_type(dtype);
}

std::vector<cgen::Statement> half_functions() {
  constexpr const char* text = R"(inline float half_value(ushort bits) {
  return vload_half(0, (const half *)&bits);
}
inline ushort half_bits(float value) {
  ushort bits;
  vstore_half(value, 0, (half *)&bits);
  return bits;
})";
  return {cgen::Statement(cgen::RawStatement{text, {"half_value", "half_bits"}, {}}),
          cgen::Statement(cgen::BlankLine{})};
}

Expr from_memory(const Expr& loaded, DType dtype, cgen::Dialect dialect) {
  switch (dtype) {
    case DType::boolean:
      return not_equal(loaded, 0);
    case DType::f16:
      return dialect == cgen::Dialect::opencl ? cgen::call("half_value", {loaded}, cgen::f32)
                                              : cgen::cast(cgen::f32, loaded);
    case DType::bf16:
      return cgen::bit_cast(cgen::f32, cgen::cast(cgen::u32, loaded) << literal(16, cgen::u32));
    default:
      return loaded;
  }
}

Expr to_memory(const Expr& part, DType dtype, cgen::Dialect dialect) {
  switch (dtype) {
    case DType::boolean:
      return cgen::cast(cgen::u8, part);
    case DType::f16:
      return dialect == cgen::Dialect::opencl ? cgen::call("half_bits", {part}, cgen::u16)
                                              : cgen::cast(cgen::f16, part);
    case DType::bf16:
      return bfloat16_bits(part);
    default:
      return part;
  }
}

Value convert(const Value& value, DType dtype, cgen::Dialect dialect) {
  if (value.dtype == dtype) {
    return value;
  }
  if (dtype == DType::boolean) {
    return {dtype, is_not_zero(value)};
  }
  const cgen::Type type = value_type(dtype);
  const bool is_same = value_type(value.dtype) == type;
  Value result{dtype, rounded(is_same ? value.re : cgen::cast(type, value.re), dtype, dialect)};
  if (is_complex(dtype)) {
    result.im = value.im ? (is_same ? *value.im : cgen::cast(type, *value.im)) : constant(0, dtype);
  }
  return result;
}

Value lower_step(const TapeStep& step, const std::vector<Value>& operands, cgen::BlockBuilder& body,
                 const std::string& name, cgen::Dialect dialect) {
  if (step.op == Op::cast) {
    return convert(operands[0], step.dtype, dialect);
  }
  const bool has_complex = is_complex(step.dtype) ||
                           std::any_of(operands.begin(), operands.end(),
                                       [](const Value& each) { return is_complex(each.dtype); });
  return has_complex ? lower_complex(step, operands, body, name)
                     : lower_real(step, operands, body, name, dialect);
}

namespace {

/// A row of a product with a sparse matrix: a loop over its entries.
class ProductRow {
 public:
  ProductRow(const TapeProduct& product, DType dtype, const LoweringPlace& place, std::string name)
      : product_(product), dtype_(dtype), place_(place), name_(std::move(name)) {}

  Value emit(const Value& first, const Expr& end) {
    const cgen::Type index = value_type(first.dtype);
    const Expr& begin = first.re;
    const Value total = parts_of(dtype_, [&](int part) {
      return place_.body.add(cgen::declare(value_type(dtype_), sum_name(part), zero()));
    });
    const bool has_diagonals = product_.columns == SparseEntries::Columns::diagonals;
    const Expr diagonal =
        has_diagonals ? place_.body.add(cgen::declare(index, name_ + "_d", index_literal(0, index)))
                      : Expr(0);
    cgen::ForOptions options;
    if (product_.entry_step) {
      options.step = cgen::cast(index, place_.number(*product_.entry_step, 0));
    }
    place_.body << cgen::for_(
        index, name_ + "_e", begin, end,
        [&](const Expr& entry, cgen::BlockBuilder& loop) {
          add_entry(index, entry, begin, diagonal, total, loop);
          if (has_diagonals) {
            loop << assign(diagonal, diagonal + index_literal(1, index));
          }
        },
        options);
    return total;
  }

 private:
  using Columns = SparseEntries::Columns;

  [[nodiscard]] Expr zero() const { return constant(0, real_of(dtype_)); }
  [[nodiscard]] std::string sum_name(int part) const {
    return name_ + (part == 0 ? "_sum" : "_sum_im");
  }
  static Expr index_literal(std::int64_t value, const cgen::Type& index) {
    return cgen::literal(static_cast<double>(value), index);
  }

  void add_entry(const cgen::Type& index, const Expr& entry, const Expr& row, const Expr& diagonal,
                 const Value& total, cgen::BlockBuilder& loop) {
    Expr place_of_column = entry;
    if (product_.columns == Columns::diagonals) {
      place_of_column = diagonal;
    } else if (product_.columns == Columns::blocks) {
      place_of_column = entry / index_literal(product_.block * product_.block, index);
    }
    Expr column = cgen::cast(index, place_.load_further(product_.column, 0, place_of_column));
    if (product_.columns == Columns::diagonals) {
      column = row + column;
    } else if (product_.columns == Columns::blocks) {
      column = column * index_literal(product_.block, index);
    } else if (product_.columns == Columns::packets) {
      column = in_packet(index, entry, column, loop);
    }
    column = loop.add(cgen::declare(cgen::const_(index), name_ + "_column", column));
    if (product_.columns == Columns::listed || product_.columns == Columns::packets) {
      add_term(entry, column, total, loop);
    } else if (product_.columns == Columns::blocks) {
      for (int c = 0; c < product_.block; ++c) {
        add_term(c == 0 ? entry : entry + index_literal(c, index),
                 c == 0 ? column : column + index_literal(c, index), total, loop);
      }
    } else {
      Expr has_column = column >= index_literal(0, index);
      if (product_.x_count) {
        has_column = has_column && column < cgen::cast(index, place_.number(*product_.x_count, 0));
      }
      loop << if_(has_column,
                  [&](cgen::BlockBuilder& inner) { add_term(entry, column, total, inner); });
    }
  }

  /// @param code  what `column` has of the entry
  Expr in_packet(const cgen::Type& index, const Expr& entry, const Expr& code,
                 cgen::BlockBuilder& loop) {
    const ColumnPackets& packets = product_.packets;
    const auto log = [&](int number) {
      return index_literal(std::countr_zero(static_cast<unsigned>(number)), index);
    };
    const auto base = [&](const Expr& which) {
      return cgen::cast(index, place_.load_further(*product_.base, 0, which));
    };
    const Expr packet = entry >> log(packets.entries);
    if (packets.windows == 1) {
      return base(packet) + code;
    }
    const Expr named = loop.add(cgen::declare(cgen::const_(index), name_ + "_code", code));
    return base(packet * index_literal(packets.windows, index) + (named >> log(packets.width()))) +
           (named & index_literal(packets.width() - 1, index));
  }

  void add_term(const Expr& entry, const Expr& column, const Value& total,
                cgen::BlockBuilder& body) {
    Expr of_x = column;
    if (product_.x_step) {
      of_x = cgen::cast(cgen::i64, column) * place_.number(*product_.x_step, 0);
    }
    const Value value = parts_of(
        dtype_, [&](int part) { return place_.load_further(product_.value, part, entry); });
    const Value x =
        parts_of(dtype_, [&](int part) { return place_.load_further(product_.x, part, of_x); });
    if (is_integer(dtype_)) {
      body << assign(total.re,
                     wrapping(cgen::BinaryOp::add, total.re,
                              wrapping(cgen::BinaryOp::multiply, value.re, x.re, dtype_), dtype_));
      return;
    }
    if (!total.im) {
      body << assign(total.re, total.re + value.re * x.re);
      return;
    }
    body << assign(total.re, total.re + value.re * x.re - *value.im * *x.im)
         << assign(*total.im, *total.im + value.re * *x.im + *value.im * x.re);
  }

  const TapeProduct& product_;
  DType dtype_;
  const LoweringPlace& place_;
  std::string name_;
};

}  // namespace

std::vector<Value> lower_steps(const std::vector<TapeStep>& steps, const LoweringPlace& place) {
  std::vector<Value> values;
  for (const TapeStep& step : steps) {
    const std::string name = fmt::format("{}{}", place.prefix, values.size());
    if (step.op == Op::number) {
      values.push_back(
          parts_of(step.dtype, [&](int part) { return place.number(step.operands[0], part); }));
      continue;
    }
    Value value;
    if (step.op == Op::leaf) {
      value = parts_of(step.dtype, [&](int part) {
        return from_memory(place.load(step.operands[0], part), step.dtype, place.dialect);
      });
    } else if (step.op == Op::gather) {
      value = parts_of(step.dtype, [&](int part) {
        const Expr& further = values[step.operands[1]].re;
        return from_memory(place.load_further(step.operands[0], part, further), step.dtype,
                           place.dialect);
      });
    } else if (step.op == Op::sparse_product) {
      ProductRow row((*place.products)[step.operands[0]], step.dtype, place, name);
      value = row.emit(values[step.operands[1]], values[step.operands[2]].re);
    } else if (step.op == Op::indices) {
      require_internal(place.index.has_value(), "a kernel that knows the places of elements");
      value = {step.dtype, cgen::cast(cgen::i64, *place.index)};
    } else {
      std::vector<Value> operands;
      for (const std::uint32_t operand : step.operands) {
        if (operand != TapeStep::no_operand) {
          operands.push_back(values[operand]);
        }
      }
      value = lower_step(step, operands, place.body, name, place.dialect);
    }
    values.push_back(named(std::move(value), name, place.body));
  }
  return values;
}

}  // namespace rtcg::arrays::detail
