#include "rtcg/loopy/codegen/look_back.h"

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/codegen/lower_expr.h"
#include "rtcg/loopy/device/helper_function.h"
#include "rtcg/loopy/kernel/look_back_places.h"

namespace rtcg::loopy {
namespace {

using cgen::BlockBuilder;
using cgen::Intrinsic;
using Exprs = std::vector<cgen::Expr>;

cgen::Expr u32(std::uint32_t value) {
  return cgen::literal(value, cgen::u32);
}
cgen::Expr i32(int value) {
  return cgen::literal(value, cgen::i32);
}

/// The unsigned integer with the bits of a number of 1 to 8 bytes.
cgen::Expr bits_of_number(const cgen::Expr& number, const cgen::Type& type) {
  switch (size_bytes(type)) {
    case 1:
      return cgen::cast(cgen::u8, number);
    case 2:
      return cgen::bit_cast(cgen::u16, number);
    case 4:
      return cgen::bit_cast(cgen::u32, number);
    default:
      return cgen::bit_cast(cgen::u64, number);
  }
}

cgen::Expr number_of_bits(const cgen::Expr& bits, const cgen::Type& type) {
  switch (size_bytes(type)) {
    case 1:
      return cgen::cast(type, bits);
    case 2:
      return cgen::bit_cast(type, cgen::cast(cgen::u16, bits));
    default:
      return cgen::bit_cast(type, bits);
  }
}

/// A value as words of 32 bits, the lowest ones first.
Exprs words_of(const cgen::Expr& value, const cgen::Type& type) {
  if (const auto* complex = get_if<cgen::Complex>(type)) {
    Exprs words = words_of(cgen::call(Intrinsic::real, {value}), complex->element);
    const Exprs others = words_of(cgen::call(Intrinsic::imag, {value}), complex->element);
    words.insert(words.end(), others.begin(), others.end());
    return words;
  }
  const cgen::Expr bits = bits_of_number(value, type);
  if (size_bytes(type) <= 4) {
    return {size_bytes(type) == 4 ? bits : cgen::cast(cgen::u32, bits)};
  }
  return {cgen::cast(cgen::u32, bits), cgen::cast(cgen::u32, bits >> i32(32))};
}

std::size_t word_count(const cgen::Type& type) {
  return static_cast<std::size_t>((size_bytes(type) + 3) / 4);
}

cgen::Expr value_of(const Exprs& words, const cgen::Type& type) {
  if (const auto* complex = get_if<cgen::Complex>(type)) {
    const auto half = static_cast<std::ptrdiff_t>(words.size() / 2);
    return cgen::call(Intrinsic::make_complex,
                      {value_of({words.begin(), words.begin() + half}, complex->element),
                       value_of({words.begin() + half, words.end()}, complex->element)});
  }
  const cgen::Expr bits = words.size() == 1 ? words.front()
                                            : (cgen::cast(cgen::u64, words[1]) << i32(32)) |
                                                  cgen::cast(cgen::u64, words[0]);
  return number_of_bits(bits, type);
}

class LookBackCode {
 public:
  LookBackCode(KernelVariables& variables, const LookBack& look_back, const ExprScope& scope)
      : variables_(variables), look_back_(look_back), scope_(scope) {
    for (const LookBack::Value& each : look_back.values) {
      types_.push_back(variables.type_of(each.before));
      words_ += word_count(types_.back());
    }
  }

  cgen::Statement run() {
    if (look_back_.step == LookBack::Step::publishes) {
      return publication();
    }
    const cgen::Expr lane = lowered(look_back_.thread, cgen::i32);
    const cgen::Expr tile = lowered(look_back_.tile, scope_.index_type);
    BlockBuilder body;
    declare_places(body);
    assign_all(body, &Value::before, &Value::neutral);
    const auto place_in = [&](int tiles) { return place_within(tile, tiles); };
    const auto ends = [&](int tiles) { return cgen::equal(place_in(tiles), i32(tiles - 1)); };
    const cgen::Expr groups_here = declared_groups(body, tile);
    const cgen::Expr tiles_here = groups_here + i32(group);
    const cgen::Expr own_group = groups_here + place_in(group_of_groups) / i32(group);

    if (look_back_.step == LookBack::Step::publishes_and_looks) {
      BlockBuilder own;
      assign_all(own, &Value::found, &Value::total);
      publish(own, &Value::found, tiles_here + place_in(group_of_groups));
      body << cgen::if_(cgen::equal(lane, i32(0)) && !ends(group), own);
    }
    BlockBuilder tiles;
    add_earlier(tiles, lane < place_in(group),
                tiles_here + (place_in(group_of_groups) & i32(-group)) + lane);
    body << cgen::if_(place_in(group) > i32(0), tiles);
    BlockBuilder whole;
    assign_all(whole, &Value::found, &Value::before_and_total);
    publish(whole, &Value::found, own_group);
    body << cgen::if_(cgen::equal(lane, i32(0)) && ends(group) && !ends(group_of_groups), whole);
    BlockBuilder groups;
    add_earlier(groups, lane < place_in(group_of_groups) / i32(group), groups_here + lane);
    body << cgen::if_(place_in(group_of_groups) >= i32(group), groups);
    BlockBuilder rest;
    add_published(rest, groups_here - i32(places_of_groups - group + 1));
    body << cgen::if_(tile >= i32(group_of_groups), rest);
    BlockBuilder all;
    assign_all(all, &Value::found, &Value::before_and_total);
    publish(all, &Value::found, own_group);
    body << cgen::if_(cgen::equal(lane, i32(0)) && ends(group_of_groups), all);
    return cgen::if_(lane < i32(warp_size), body);
  }

 private:
  using Value = LookBack::Value;
  using Part = Expr Value::*;
  static constexpr int group = tiles_of_group;
  static constexpr int group_of_groups = tiles_of_groups;

  /// Where the tile has its place among `tiles` of them.
  [[nodiscard]] static cgen::Expr place_within(const cgen::Expr& tile, int tiles) {
    return tile & i32(tiles - 1);
  }

  void declare_places(BlockBuilder& body) {
    const cgen::Type word = cgen::in_space(cgen::AddressSpace::global, cgen::volatile_(cgen::u64));
    published_ = body.add_constant(cgen::pointer_to(word), variables_.new_name("published"),
                                   cgen::address_of(lowered(look_back_.published, cgen::u64)));
    // tiles_in_order() has declared it
    const cgen::Expr drawn = cgen::variable(target_name(look_back_.drawn), cgen::u64);
    launch_ = body.add_constant(cgen::u32, variables_.new_name("launch"),
                                cgen::cast(cgen::u32, drawn >> i32(32)) + u32(1));
  }

  [[nodiscard]] cgen::Expr declared_groups(BlockBuilder& body, const cgen::Expr& tile) const {
    return body.add_constant(scope_.index_type, variables_.new_name("groups"),
                             tile / i32(group_of_groups) * i32(places_of_groups));
  }

  /// The block's own value, unless it is the last one of a group.
  cgen::Statement publication() {
    const cgen::Expr lane = lowered(look_back_.thread, cgen::i32);
    const cgen::Expr tile = lowered(look_back_.tile, scope_.index_type);
    BlockBuilder body;
    declare_places(body);
    const cgen::Expr place = declared_groups(body, tile) + i32(group);
    publish(body, &Value::total, place + place_within(tile, group_of_groups));
    return cgen::if_(
        cgen::equal(lane, i32(0)) && !cgen::equal(place_within(tile, group), i32(group - 1)), body);
  }

  [[nodiscard]] cgen::Expr lowered(const Expr& expr, const cgen::Type& type) const {
    return lower_expr(scope_, expr, type);
  }
  [[nodiscard]] cgen::Expr part(Part which, std::size_t value) const {
    return lowered(look_back_.values[value].*which, types_[value]);
  }

  void assign_all(BlockBuilder& body, Part targets, Part values) const {
    for (std::size_t i = 0; i < types_.size(); ++i) {
      body << cgen::assign(part(targets, i), as_value_of(types_[i], part(values, i)));
    }
  }

  /// `targets = values`, where the values read the old ones of any target.
  void assign_combined(BlockBuilder& body, Part targets, Part values) const {
    assign_all(body, &Value::combined, values);
    assign_all(body, targets, &Value::combined);
  }

  [[nodiscard]] Exprs words_of_all(Part values) const {
    Exprs words;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      for (cgen::Expr& each : words_of(as_value_of(types_[i], part(values, i)), types_[i])) {
        words.push_back(std::move(each));
      }
    }
    return words;
  }

  void assign_words(BlockBuilder& body, Part targets, const Exprs& words) const {
    auto next = words.begin();
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const auto end = next + static_cast<std::ptrdiff_t>(word_count(types_[i]));
      body << cgen::assign(part(targets, i), value_of({next, end}, types_[i]));
      next = end;
    }
  }

  /// A word of the value at that place.
  [[nodiscard]] cgen::Expr word_at(const cgen::Expr& place, std::size_t word) const {
    if (words_ == 1) {
      return published_[place];
    }
    const cgen::Expr first = place * i32(static_cast<int>(words_));
    return published_[word == 0 ? first : first + i32(static_cast<int>(word))];
  }

  void publish(BlockBuilder& body, Part values, const cgen::Expr& place) const {
    const Exprs words = words_of_all(values);
    for (std::size_t i = 0; i < words.size(); ++i) {
      body << cgen::assign(word_at(place, i), (cgen::cast(cgen::u64, launch_) << i32(32)) |
                                                  cgen::cast(cgen::u64, words[i]));
    }
  }

  /// Variables for the words of a value, one after the other.
  Exprs declared(BlockBuilder& body, const std::string& name, const cgen::Type& type) const {
    Exprs result;
    for (std::size_t i = 0; i < words_; ++i) {
      result.push_back(body.add(cgen::declare(
          type, variables_.new_name(words_ == 1 ? name : fmt::format("{}_{}", name, i)))));
    }
    return result;
  }

  /// `found` of what another tile publishes there.
  void wait_for(BlockBuilder& body, const cgen::Expr& other) const {
    const Exprs packed = declared(body, "packed", cgen::u64);
    BlockBuilder loads;
    Exprs words;
    cgen::Expr is_open = 0;
    for (std::size_t i = 0; i < words_; ++i) {
      if (words_ % 2 != 0) {
        loads << cgen::assign(packed[i], word_at(other, i));
      } else if (i % 2 == 0) {
        loads << variables_.call(HelperFunction(Helper::load_words, 2),
                                 {cgen::address_of(word_at(other, i)), cgen::address_of(packed[i]),
                                  cgen::address_of(packed[i + 1])});
      }
      const cgen::Expr is_old =
          cgen::not_equal(cgen::cast(cgen::u32, packed[i] >> i32(32)), launch_);
      is_open = i == 0 ? is_old : is_open || is_old;
      words.push_back(cgen::cast(cgen::u32, packed[i]));
    }
    body << cgen::do_while_(loads, is_open);
    assign_words(body, &Value::found, words);
  }

  /// Whether the lanes add up integers, which may be in any order.
  [[nodiscard]] bool adds_integers() const {
    const Value& value = look_back_.values.front();
    return types_.size() == 1 && (types_.front() == cgen::i32 || types_.front() == cgen::u32) &&
           value.found_and_next == value.found + value.next;
  }

  /// The lanes combine what their tiles have published, the earliest one first; all get the result.
  void combine_lanes(BlockBuilder& body) const {
    if (adds_integers()) {
      const HelperFunction sum(Helper::warp_sum, types_.front());
      scope_.helpers->insert(sum);
      const cgen::Expr found = part(&Value::found, 0);
      body << cgen::assign(found, cgen::call(sum.name(), {found}, types_.front()));
      return;
    }
    const auto exchange = [&](BlockBuilder& step, Intrinsic function, const cgen::Expr& lane,
                              Part targets) {
      for (std::size_t i = 0; i < types_.size(); ++i) {
        step << cgen::assign(part(targets, i),
                             cgen::call(function, {part(&Value::found, i), lane}));
      }
    };
    for (int distance = 1; distance < warp_size; distance *= 2) {
      BlockBuilder step;
      exchange(step, Intrinsic::shuffle_down, i32(distance), &Value::next);
      assign_combined(step, &Value::found, &Value::found_and_next);
      body << step.block();
    }
    BlockBuilder step;
    exchange(step, Intrinsic::shuffle, i32(0), &Value::found);
    body << step.block();
  }

  /// Puts what the lanes' tiles publish before `before`, in the order of the lanes.
  void add_earlier(BlockBuilder& body, const cgen::Expr& has_tile, const cgen::Expr& other) const {
    assign_all(body, &Value::found, &Value::neutral);
    BlockBuilder wait;
    wait_for(wait, wait.add_constant(scope_.index_type, variables_.new_name("other"), other));
    body << cgen::if_(has_tile, wait);
    combine_lanes(body);
    assign_combined(body, &Value::before, &Value::found_and_before);
  }

  /// Puts what one tile publishes before `before`.
  void add_published(BlockBuilder& body, const cgen::Expr& other) const {
    wait_for(body, body.add_constant(scope_.index_type, variables_.new_name("other"), other));
    assign_combined(body, &Value::before, &Value::found_and_before);
  }

  KernelVariables& variables_;
  const LookBack& look_back_;
  const ExprScope& scope_;
  std::vector<cgen::Type> types_{};
  std::size_t words_ = 0;
  cgen::Expr published_ = 0;
  cgen::Expr launch_ = 0;
};

}  // namespace

cgen::Statement look_back_statement(KernelVariables& variables, const LookBack& look_back,
                                    const ExprScope& scope) {
  return LookBackCode(variables, look_back, scope).run();
}

}  // namespace rtcg::loopy
