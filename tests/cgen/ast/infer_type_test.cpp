#include "rtcg/cgen/ast/infer_type.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/build/struct_builder.h"

namespace rtcg::cgen {
namespace {

/// size_t and ptrdiff_t are other names of u64 and i64 on the host.
Type as_host(const Type& type) {
  const auto kind = scalar_kind(type);
  if (kind == ScalarKind::size) {
    return u64;
  }
  return kind == ScalarKind::ptrdiff ? i64 : type;
}

/// A type of ours and the host's type of the same name.
template <class T>
struct Pair {
  using Host = T;
  Type type;
};

template <class... T>
struct HostTypes {
  template <class Function>
  static void each(Function function) {
    (function(Pair<T>{type_for<T>()}), ...);
  }
};
using Numbers = HostTypes<bool, char, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                          std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, float, double>;

template <class Host>
void expect_type(const Expr& expr) {
  EXPECT_TRUE(as_host(value_type(expr.type())) == type_for<std::remove_cvref_t<Host>>())
      << describe(expr) << " of " << describe(expr.type()) << ", the host says "
      << describe(type_for<std::remove_cvref_t<Host>>());
  EXPECT_FALSE(infer_type(kinds(expr)).problem) << describe(expr);
}

template <class L, class R>
void expect_binary(const Expr& l, const Expr& r) {
  expect_type<decltype(std::declval<L&>() + std::declval<R&>())>(l + r);
  expect_type<decltype(std::declval<L&>() - std::declval<R&>())>(l - r);
  expect_type<decltype(std::declval<L&>() * std::declval<R&>())>(l * r);
  expect_type<decltype(std::declval<L&>() / std::declval<R&>())>(l / r);
  expect_type<decltype(std::declval<L&>() < std::declval<R&>())>(l < r);
  expect_type<decltype(std::declval<L&>() <= std::declval<R&>())>(l <= r);
  expect_type<decltype(std::declval<L&>() > std::declval<R&>())>(l > r);
  expect_type<decltype(std::declval<L&>() >= std::declval<R&>())>(l >= r);
  expect_type<decltype(std::declval<L&>() == std::declval<R&>())>(equal(l, r));
  expect_type<decltype(std::declval<L&>() != std::declval<R&>())>(not_equal(l, r));
  expect_type<decltype(std::declval<L&>() && std::declval<R&>())>(l && r);
  expect_type<decltype(std::declval<L&>() || std::declval<R&>())>(l || r);
  expect_type<decltype(true ? std::declval<L&>() : std::declval<R&>())>(
      select(literal(true), l, r));
  expect_type<decltype((std::declval<L&>(), std::declval<R&>()))>(comma(l, r));
  expect_type<decltype(std::declval<L&>() = std::declval<R&>())>(assign(l, r));
  expect_type<decltype(std::declval<L&>() += std::declval<R&>())>(add_assign(l, r));
  if constexpr (std::is_integral_v<L> && std::is_integral_v<R>) {
    expect_type<decltype(std::declval<L&>() % std::declval<R&>())>(l % r);
    expect_type<decltype(std::declval<L&>() & std::declval<R&>())>(l & r);
    expect_type<decltype(std::declval<L&>() | std::declval<R&>())>(l | r);
    expect_type<decltype(std::declval<L&>() ^ std::declval<R&>())>(l ^ r);
    expect_type<decltype(std::declval<L&>() << std::declval<R&>())>(l << r);
    expect_type<decltype(std::declval<L&>() >> std::declval<R&>())>(l >> r);
    expect_type<decltype(std::declval<L&>() ^= std::declval<R&>())>(
        compound_assign(BinaryOp::bit_xor, l, r));
  } else {
    for (const Expr& wrong : {l % r, l & r, l | r, l ^ r, l << r, l >> r}) {
      EXPECT_TRUE(is<Invalid>(wrong.type())) << describe(wrong);
    }
  }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"  // comparing signs is the point
TEST(InferType, AgreesWithTheHostCompilerOnAllPairsOfNumbers) {
  Numbers::each([](auto left) {
    Numbers::each([&](auto right) {
      expect_binary<typename decltype(left)::Host, typename decltype(right)::Host>(
          variable("l", left.type), variable("r", right.type));
    });
  });
}
#pragma GCC diagnostic pop

TEST(InferType, AgreesWithTheHostCompilerOnUnaryOperators) {
  Numbers::each([](auto number) {
    using T = typename decltype(number)::Host;
    const Expr x = variable("x", number.type);
    expect_type<decltype(+std::declval<T&>())>(+x);
    expect_type<decltype(-std::declval<T&>())>(-x);
    expect_type<decltype(!std::declval<T&>())>(!x);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      expect_type<decltype(~std::declval<T&>())>(~x);
    }
    if constexpr (!std::is_same_v<T, bool>) {
      expect_type<decltype(++std::declval<T&>())>(increment(x));
      expect_type<decltype(std::declval<T&>()--)>(post_decrement(x));
    }
    EXPECT_TRUE(address_of(x).type() == pointer_to(number.type));
    EXPECT_TRUE(deref(address_of(x)).type() == number.type);
  });
}

TEST(InferType, TreatsSizeLikeU64) {
  const Expr size = variable("n", size_type);
  EXPECT_TRUE((size + 1).type() == size_type);
  EXPECT_TRUE((size + variable("l", u64)).type() == u64);
  EXPECT_TRUE((variable("d", ptrdiff_type) + variable("l", i64)).type() == i64);
  EXPECT_TRUE((size * 2.0f).type() == f32);
  EXPECT_TRUE(sizeof_(f32).type() == size_type);
}

TEST(InferType, FollowsPointers) {
  const Expr p = variable("p", pointer_to(const_(f32)));
  EXPECT_TRUE((p + 1).type() == p.type());
  EXPECT_TRUE((1 + p).type() == p.type());
  EXPECT_TRUE((p - p).type() == ptrdiff_type);
  EXPECT_TRUE(p[0].type() == const_(f32));
  EXPECT_TRUE(deref(p).type() == const_(f32));
  EXPECT_TRUE((p[0] + 1).type() == f32);
  EXPECT_TRUE((p < p).type() == boolean);
  EXPECT_TRUE(equal(p, NullPointer{}).type() == boolean);
  EXPECT_TRUE((p && p).type() == boolean);
  const Expr a = variable("a", array_of(array_of(i32, 3), 2));
  EXPECT_TRUE(a[1].type() == array_of(i32, 3));
  EXPECT_TRUE(a[1][2].type() == i32);
  EXPECT_TRUE((a + 1).type() == pointer_to(array_of(i32, 3)));
  EXPECT_TRUE(select(literal(true), p, NullPointer{}).type() == p.type());
}

TEST(InferType, KnowsMembers) {
  const Type point =
      Record{RecordTag::struct_, "point", {{"x", f32}, {"name", pointer_to(char_type)}}};
  EXPECT_TRUE(variable("p", point).member("x").type() == f32);
  EXPECT_TRUE(variable("p", pointer_to(point)).member("x").type() == f32);
  EXPECT_TRUE(variable("p", const_(point)).member("x").type() == const_(f32));
  EXPECT_TRUE(variable("p", reference_to(const_(point))).member("x").type() == const_(f32));
  EXPECT_TRUE(is<Invalid>(variable("p", point).member("y").type()));
  EXPECT_TRUE(is<Unknown>(variable("p", named("T")).member("y").type()));
}

TEST(InferType, KnowsVectors) {
  const Expr v = variable("v", vector_of(f32, 4));
  EXPECT_TRUE(v.member("x").type() == f32);
  EXPECT_TRUE(v.member("xyz").type() == vector_of(f32, 3));
  EXPECT_TRUE(v.member("s3").type() == f32);
  EXPECT_TRUE(v.member("lo").type() == vector_of(f32, 2));
  EXPECT_TRUE(is<Invalid>(v.member("s7").type()));
  EXPECT_TRUE((v + v).type() == v.type());
  EXPECT_TRUE((2.0f * v).type() == v.type());
  EXPECT_TRUE((v < v).type() == vector_of(i32, 4));
  EXPECT_TRUE(is<Invalid>((v + variable("w", vector_of(f32, 2))).type()));
  EXPECT_TRUE(make_vector(vector_of(f32, 2), {1.0f, 2.0f}).type() == vector_of(f32, 2));
}

TEST(InferType, KnowsComplexNumbersAndHalves) {
  const Expr c = variable("c", complex_of(f32));
  EXPECT_TRUE((c * c).type() == c.type());
  EXPECT_TRUE((2.0 * c).type() == complex_of(f64));
  EXPECT_TRUE(call(Intrinsic::real, {c}).type() == f32);
  EXPECT_TRUE(is<Invalid>((c < c).type()));
  const Expr h = variable("h", f16);
  EXPECT_TRUE((h + h).type() == f16);
  EXPECT_TRUE((h + 1).type() == f16);
  EXPECT_TRUE((h + 1.0f).type() == f32);
  EXPECT_TRUE(is<Invalid>((h + variable("b", bf16)).type()));
}

TEST(InferType, KnowsIntrinsics) {
  const Expr x = variable("x", f32);
  EXPECT_TRUE(call(Intrinsic::sqrt, {x}).type() == f32);
  EXPECT_TRUE(call(Intrinsic::fma, {x, x, 1.0}).type() == f64);
  EXPECT_TRUE(call(Intrinsic::isnan, {x}).type() == boolean);
  EXPECT_TRUE(call(Intrinsic::max, {variable("i", i32), variable("u", u32)}).type() == u32);
  EXPECT_TRUE(call(Intrinsic::atomic_add, {variable("p", pointer_to(f32)), x}).type() == f32);
  EXPECT_TRUE(call(Intrinsic::shuffle_down, {x, 1}).type() == f32);
  EXPECT_TRUE(call(Intrinsic::warp_ballot, {x < 1.0f}).type() == u32);
  EXPECT_TRUE(bit_cast(u32, x).type() == u32);
}

TEST(InferType, TakesLiteralsFromCxx) {
  EXPECT_TRUE(Expr(1).type() == i32);
  EXPECT_TRUE(Expr(1U).type() == u32);
  EXPECT_TRUE(Expr(1LL).type() == i64);
  EXPECT_TRUE(Expr(1ULL).type() == u64);
  EXPECT_TRUE(Expr(1.0F).type() == f32);
  EXPECT_TRUE(Expr(1.0).type() == f64);
  EXPECT_EQ(get_if<IntLiteral>(Expr(std::numeric_limits<std::int64_t>::min()))->magnitude,
            std::uint64_t{1} << 63);
  EXPECT_TRUE(get_if<IntLiteral>(Expr(-7))->is_negative);
  EXPECT_TRUE(literal(2, f32) == Expr(2.0F));
  EXPECT_TRUE(literal(2, i64) == Expr(2LL));
  EXPECT_TRUE(literal(-2, f64) == Expr(-2.0));
  EXPECT_TRUE(literal(~std::uint64_t{0}, u64) == Expr(IntLiteral{~std::uint64_t{0}, false, u64}));
  EXPECT_TRUE(literal(std::int64_t{9007199254740993}, i64) == Expr(9007199254740993LL));
  EXPECT_TRUE(literal(std::numeric_limits<std::int64_t>::min(), i64) ==
              Expr(IntLiteral{std::uint64_t{1} << 63, true, i64}));
  EXPECT_TRUE(literal("ab").type() == array_of(const_(char_type), IntLiteral{3, false, size_type}));
}

TEST(InferType, NeverThrowsWhileBuilding) {
  const Expr wrong = variable("p", pointer_to(f32)) * 2;
  EXPECT_TRUE(is<Invalid>(wrong.type()));
  EXPECT_TRUE(is<Invalid>((wrong + 1).type()));
  EXPECT_FALSE(infer_type(kinds(wrong + 1)).problem) << "only the inner node is to blame";
}

TEST(Type, KeepsOneLevelOfQualifiers) {
  EXPECT_TRUE(const_(const_(f32)) == const_(f32));
  EXPECT_TRUE(const_(volatile_(f32)) == volatile_(const_(f32)));
  EXPECT_TRUE(const_(array_of(f32, 3)) == array_of(const_(f32), 3));
  EXPECT_TRUE(is_const(reference_to(const_(f32))));
  EXPECT_FALSE(is_const(pointer_to(const_(f32))));
  EXPECT_TRUE(decayed(array_of(f32, 3)) == pointer_to(f32));
  EXPECT_EQ(qualifiers_of(in_space(AddressSpace::shared, const_(f32))).space, AddressSpace::shared);
}

}  // namespace
}  // namespace rtcg::cgen
