// What arrays do with expressions, and by way of them with the elements of others.
#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"

namespace rtcg::arrays {

AnyArray::AnyArray(const Expression& expression) : AnyArray(evaluate(expression)) {}

void AnyArray::operator=(const Expression& expression) && {
  assign(expression);
}

AnyArray AnyArray::as_type(DType dtype) const {
  AnyArray result(dtype, shape(), current_stream(stream()));
  result.assign(cast(*this, dtype));
  return result;
}

void AnyArray::assign(const Expression& value) const {
  evaluate_into(value, *this);
}

namespace detail {

void copy_elements(const AnyArray& from, const AnyArray& to) {
  to.assign(from);
}

AnyArray evaluate_as(const Expression& expression, DType dtype) {
  return evaluate(fitted(expression, dtype));
}

AnyArray fitted_array(const AnyArray& array, DType dtype) {
  return array.dtype() == dtype ? array : evaluate_as(array, dtype);
}

}  // namespace detail

}  // namespace rtcg::arrays
