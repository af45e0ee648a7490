#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/arrays/lazy/tape.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/dialect/dialect.h"

// Steps of tapes as C. Internal to lazy/.

namespace rtcg::arrays::detail {

/// What a step computes: of a complex type two parts. Of value_type(dtype).
struct Value {
  DType dtype = DType::f64;
  cgen::Expr re = 0;
  std::optional<cgen::Expr> im{};
};

/// Where code of one element goes.
struct LoweringPlace {
  cgen::Dialect dialect;
  cgen::BlockBuilder& body;
  /// The element of a leaf, as memory holds it; of complex numbers a part (0 or 1).
  std::function<cgen::Expr(std::uint32_t leaf, int part)> load;
  /// The same for the element that lies so many further.
  std::function<cgen::Expr(std::uint32_t leaf, int part, const cgen::Expr& further)> load_further;
  /// The parameter of a number.
  std::function<cgen::Expr(std::uint32_t number, int part)> number;
  /// The place of the element in C order.
  std::optional<cgen::Expr> index{};
  /// What names of variables begin with.
  std::string prefix = "v";
};

/// Declares a variable for each step in `place.body`; the values of all steps, in order.
[[nodiscard]] std::vector<Value> lower_steps(const std::vector<TapeStep>& steps,
                                             const LoweringPlace& place);

/// The value converted to another type.
[[nodiscard]] Value convert(const Value& value, DType dtype, cgen::Dialect dialect);
/// storage_type(), but for f16 in OpenCL, where many devices do not compute with `half`: its bits
/// as u16.
[[nodiscard]] cgen::Type memory_type(DType dtype, cgen::Dialect dialect);
/// What memory holds, part by part, as a value; and back.
[[nodiscard]] cgen::Expr from_memory(const cgen::Expr& loaded, DType dtype, cgen::Dialect dialect);
[[nodiscard]] cgen::Expr to_memory(const cgen::Expr& part, DType dtype, cgen::Dialect dialect);
/// What f16 needs in OpenCL before a kernel that converts it.
[[nodiscard]] std::vector<cgen::Statement> half_functions();

/// One step on values of its operands; may add variables whose names begin with `name`.
[[nodiscard]] Value lower_real(const TapeStep& step, const std::vector<Value>& operands,
                               cgen::BlockBuilder& body, const std::string& name,
                               cgen::Dialect dialect);
[[nodiscard]] Value lower_complex(const TapeStep& step, const std::vector<Value>& operands,
                                  cgen::BlockBuilder& body, const std::string& name);

/// `a op b` for integers, wrapping around on overflow as NumPy's do.
[[nodiscard]] cgen::Expr wrapping(cgen::BinaryOp op, const cgen::Expr& a, const cgen::Expr& b,
                                  DType dtype);
/// The constant of that type.
[[nodiscard]] cgen::Expr constant(double value, DType dtype);

}  // namespace rtcg::arrays::detail
