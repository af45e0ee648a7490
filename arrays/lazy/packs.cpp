#include "rtcg/arrays/lazy/packs.h"

#include <algorithm>

#include "rtcg/arrays/lazy/lower_steps.h"
#include "rtcg/cgen/ast/compare.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

cgen::Type word_of(int bytes) {
  return bytes == 1 ? cgen::u8 : (bytes == 2 ? cgen::u16 : cgen::u32);
}

}  // namespace

Pack::Pack(DType dtype, int lanes, cgen::Dialect dialect)
    : element_(memory_type(dtype, dialect)),
      parts_(is_complex(dtype) ? 2 : 1),
      count_(lanes * parts_),
      lane_type_(element_),
      type_(element_) {
  const int part_bytes = static_cast<int>(size_bytes(dtype)) / parts_;
  if (part_bytes < 4 && count_ > 1) {
    const int word_bytes = std::min(4, part_bytes * count_);
    parts_each_ = word_bytes / part_bytes;
    lane_type_ = word_of(word_bytes);
  }
  const int vector_lanes = count_ / parts_each_;
  type_ = vector_lanes == 1 ? lane_type_ : cgen::vector_of(lane_type_, vector_lanes);
}

Expr Pack::lane_of(const Expr& pack, int lane) const {
  return count_ == parts_each_ ? pack : Expr(cgen::Member{pack, std::string(1, "xyzw"[lane])});
}

Expr Pack::element(const Expr& pack, int lane, int part) const {
  const int at = lane * parts_ + part;
  const Expr whole = lane_of(pack, at / parts_each_);
  if (parts_each_ == 1) {
    return whole;
  }
  const int part_bits = 8 * cgen::size_bytes(*cgen::scalar_kind(lane_type_)) / parts_each_;
  const Expr moved =
      cgen::cast(cgen::u32, whole) >> literal(part_bits * (at % parts_each_), cgen::u32);
  const cgen::Type word = word_of(part_bits / 8);
  const Expr bits = cgen::cast(word, moved);
  return element_ == word ? bits : cgen::bit_cast(element_, bits);
}

Expr Pack::join(const std::vector<Expr>& elements) const {
  std::vector<Expr> lanes;
  for (int first = 0; first < count_; first += parts_each_) {
    const auto element = [&](int i) { return elements[static_cast<std::size_t>(first + i)]; };
    if (parts_each_ == 1) {
      lanes.push_back(element(0));
      continue;
    }
    const int part_bits = 8 * cgen::size_bytes(*cgen::scalar_kind(lane_type_)) / parts_each_;
    const cgen::Type word = word_of(part_bits / 8);
    Expr joined = 0;
    for (int i = 0; i < parts_each_; ++i) {
      const Expr bits =
          element_ == word ? cgen::cast(word, element(i)) : cgen::bit_cast(word, element(i));
      const Expr moved = cgen::cast(cgen::u32, bits) << literal(part_bits * i, cgen::u32);
      joined = i == 0 ? moved : joined | moved;
    }
    lanes.push_back(lane_type_ == cgen::u32 ? joined : cgen::cast(lane_type_, joined));
  }
  return lanes.size() == 1 ? lanes[0] : cgen::make_vector(type_, lanes);
}

}  // namespace rtcg::arrays::detail
