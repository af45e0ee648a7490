#pragma once
// Internal header: it is not installed.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/arrays/lazy/tape.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/loopy/device/helper_function.h"

// Steps of tapes as C.

namespace rtcg::arrays::detail {

/// The value of a step: two parts for a complex type. Of value_type(dtype).
struct Value {
  DType dtype = DType::f64;
  cgen::Expr re = 0;
  std::optional<cgen::Expr> im{};
};

/// The place for the code of one element.
struct LoweringPlace {
  cgen::Dialect dialect;
  cgen::BlockBuilder& body;
  /// The element of a leaf, as memory holds it; of complex numbers a part (0 or 1).
  std::function<cgen::Expr(std::uint32_t leaf, int part)> load;
  /// The same for the element at this distance.
  std::function<cgen::Expr(std::uint32_t leaf, int part, const cgen::Expr& further)> load_further;
  /// The parameter of a number.
  std::function<cgen::Expr(std::uint32_t number, int part)> number;
  /// The place of the element in C order.
  std::optional<cgen::Expr> index{};
  /// The prefix of names of variables.
  std::string prefix = "v";
  /// What steps of sparse products read.
  const std::vector<TapeProduct>* products = nullptr;
};

/// Declares a variable for each step in `place.body`; the values of all steps, in order.
[[nodiscard]] std::vector<Value> lower_steps(const std::vector<TapeStep>& steps,
                                             const LoweringPlace& place);

/// Names the parts of a value, so that each is computed once.
[[nodiscard]] Value named(Value value, const std::string& name, cgen::BlockBuilder& body);
/// The value converted to another type.
[[nodiscard]] Value convert(const Value& value, DType dtype, cgen::Dialect dialect);
/// storage_type(), except f16 in OpenCL, where many devices do not compute with `half`: its bits as
/// u16.
[[nodiscard]] cgen::Type memory_type(DType dtype, cgen::Dialect dialect);
/// Conversion from the form in memory to a value, part by part, and back.
[[nodiscard]] cgen::Expr from_memory(const cgen::Expr& loaded, DType dtype, cgen::Dialect dialect);
[[nodiscard]] cgen::Expr to_memory(const cgen::Expr& part, DType dtype, cgen::Dialect dialect);
/// The declarations for conversions of f16 in OpenCL, before the kernel.
[[nodiscard]] std::vector<cgen::Statement> half_functions();

/// The constant of that type.
[[nodiscard]] cgen::Expr constant(double value, DType dtype);

/// Declares parts of the computation of one step, under names that begin with the step's.
class Scratch {
 public:
  Scratch(DType dtype, std::string name, cgen::BlockBuilder& body)
      : dtype_(dtype), name_(std::move(name)), body_(body) {}

  /// A value of the step's type, or of its parts' when that is complex.
  cgen::Expr keep(const char* part, const cgen::Expr& value) {
    return keep(part, value, cgen::const_(value_type(dtype_)));
  }
  cgen::Expr keep_test(const char* part, const cgen::Expr& value) {
    return keep(part, value, cgen::const_(value_type(DType::boolean)));
  }
  /// One that can be assigned to.
  cgen::Expr variable(const char* part, const cgen::Expr& value) {
    return keep(part, value, value_type(dtype_));
  }
  [[nodiscard]] cgen::Expr number(double value) const { return constant(value, real_of(dtype_)); }
  [[nodiscard]] bool is_double() const { return value_type(dtype_) == cgen::f64; }
  [[nodiscard]] Value value(const cgen::Expr& re, const cgen::Expr& im) const {
    return {dtype_, re, im};
  }
  [[nodiscard]] cgen::BlockBuilder& body() const { return body_; }

 private:
  cgen::Expr keep(const char* part, const cgen::Expr& value, const cgen::Type& type) {
    return body_.add(cgen::declare(type, name_ + "_" + part, value));
  }

  DType dtype_;
  std::string name_;
  cgen::BlockBuilder& body_;
};

/// An operation on values of its operands; may add variables whose names begin with `name`.
[[nodiscard]] Value lower_step(const TapeStep& step, const std::vector<Value>& operands,
                               cgen::BlockBuilder& body, const std::string& name,
                               cgen::Dialect dialect);
/// The same without complex numbers.
[[nodiscard]] Value lower_real(const TapeStep& step, const std::vector<Value>& operands,
                               cgen::BlockBuilder& body, const std::string& name,
                               cgen::Dialect dialect);
/// The function of C's mathematics that computes it, if there is one.
[[nodiscard]] std::optional<cgen::Intrinsic> intrinsic_of(Op op);
/// The integer in which functions of helper_of() compute.
[[nodiscard]] cgen::Type helper_type(DType dtype);
/// The function of integers that the step calls; the text needs its definition.
[[nodiscard]] std::optional<loopy::HelperFunction> helper_of(const TapeStep& step);
/// The real functions that at least one of the languages lacks.
[[nodiscard]] cgen::Expr lower_special(Op op, const std::vector<cgen::Expr>& operands, DType dtype,
                                       cgen::BlockBuilder& body, const std::string& name,
                                       cgen::Dialect dialect);
[[nodiscard]] Value lower_complex(const TapeStep& step, const std::vector<Value>& operands,
                                  cgen::BlockBuilder& body, const std::string& name);

/// `a op b` for integers, wrapping around on overflow as NumPy's do.
[[nodiscard]] cgen::Expr wrapping(cgen::BinaryOp op, const cgen::Expr& a, const cgen::Expr& b,
                                  DType dtype);
}  // namespace rtcg::arrays::detail
