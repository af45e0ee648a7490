// Operators that write the elements of the array on their left.
#include "rtcg/arrays/lazy/functions.h"

namespace rtcg::arrays {

const AnyArray& operator+=(const AnyArray& x, const Expression& y) {
  x.assign(Expression(x) + y);
  return x;
}
const AnyArray& operator-=(const AnyArray& x, const Expression& y) {
  x.assign(Expression(x) - y);
  return x;
}
const AnyArray& operator*=(const AnyArray& x, const Expression& y) {
  x.assign(Expression(x) * y);
  return x;
}
const AnyArray& operator/=(const AnyArray& x, const Expression& y) {
  x.assign(Expression(x) / y);
  return x;
}
const AnyArray& operator%=(const AnyArray& x, const Expression& y) {
  x.assign(Expression(x) % y);
  return x;
}
const AnyArray& operator&=(const AnyArray& x, const Expression& y) {
  x.assign(Expression(x) & y);
  return x;
}
const AnyArray& operator|=(const AnyArray& x, const Expression& y) {
  x.assign(Expression(x) | y);
  return x;
}
const AnyArray& operator^=(const AnyArray& x, const Expression& y) {
  x.assign(Expression(x) ^ y);
  return x;
}
const AnyArray& operator<<=(const AnyArray& x, const Expression& y) {
  x.assign(Expression(x) << y);
  return x;
}
const AnyArray& operator>>=(const AnyArray& x, const Expression& y) {
  x.assign(Expression(x) >> y);
  return x;
}

}  // namespace rtcg::arrays
