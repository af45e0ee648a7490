#include "rtcg/loopy/device/vector_pack.h"

#include <algorithm>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/expr_operators.h"

namespace rtcg::loopy {
namespace {

using cgen::Expr;

cgen::Type word_of(int bytes) {
  return bytes == 1 ? cgen::u8 : (bytes == 2 ? cgen::u16 : cgen::u32);
}

}  // namespace

VectorPack::VectorPack(cgen::Type element, int parts, int lanes)
    : element_(std::move(element)),
      parts_(parts),
      count_(lanes * parts),
      lane_type_(element_),
      type_(element_) {
  const int part_bytes = cgen::size_bytes(*cgen::scalar_kind(element_));
  if (part_bytes < 4 && count_ > 1) {
    const int word_bytes = std::min(4, part_bytes * count_);
    parts_each_ = word_bytes / part_bytes;
    lane_type_ = word_of(word_bytes);
  }
  const int vector_lanes = count_ / parts_each_;
  type_ = vector_lanes == 1 ? lane_type_ : cgen::vector_of(lane_type_, vector_lanes);
}

Expr VectorPack::lane_of(const Expr& pack, int lane) const {
  return count_ == parts_each_ ? pack : Expr(cgen::Member{pack, std::string(1, "xyzw"[lane])});
}

Expr VectorPack::element(const Expr& pack, int lane, int part) const {
  const int at = lane * parts_ + part;
  const Expr whole = lane_of(pack, at / parts_each_);
  if (parts_each_ == 1) {
    return whole;
  }
  const int part_bits = 8 * cgen::size_bytes(*cgen::scalar_kind(lane_type_)) / parts_each_;
  const Expr all = lane_type_ == cgen::u32 ? whole : cgen::cast(cgen::u32, whole);
  const int first = at % parts_each_;
  const Expr moved = first == 0 ? all : all >> literal(part_bits * first, cgen::u32);
  const cgen::Type word = word_of(part_bits / 8);
  const Expr bits = cgen::cast(word, moved);
  return element_ == word ? bits : cgen::bit_cast(element_, bits);
}

Expr VectorPack::join(const std::vector<Expr>& elements) const {
  std::vector<Expr> lanes;
  for (int first = 0; first < count_; first += parts_each_) {
    const auto element = [&](int i) -> const Expr& {
      return elements[static_cast<std::size_t>(first + i)];
    };
    if (parts_each_ == 1) {
      lanes.push_back(element(0));
      continue;
    }
    const int part_bits = 8 * cgen::size_bytes(*cgen::scalar_kind(lane_type_)) / parts_each_;
    const cgen::Type word = word_of(part_bits / 8);
    Expr joined = 0;
    for (int i = 0; i < parts_each_; ++i) {
      const Expr& one = element(i);
      const Expr bits = !(element_ == word)  ? cgen::bit_cast(word, one)
                        : one.type() == word ? one
                                             : cgen::cast(word, one);
      const Expr all = cgen::cast(cgen::u32, bits);
      joined = i == 0 ? all : joined | all << literal(part_bits * i, cgen::u32);
    }
    lanes.push_back(lane_type_ == cgen::u32 ? joined : cgen::cast(lane_type_, joined));
  }
  return lanes.size() == 1 ? lanes[0] : cgen::make_vector(type_, lanes);
}

}  // namespace rtcg::loopy
