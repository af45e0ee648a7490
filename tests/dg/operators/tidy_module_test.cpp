#include "rtcg/dg/operators/tidy_module.h"

#include <regex>

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/dg/operators/stage_fixture.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;
using cgen::i32;
using cgen::i64;

std::string text_of(const cgen::Module& module) {
  return cgen::print_module(module, cgen::Dialect::cuda).text;
}

cgen::Module module_of(const BlockBuilder& body) {
  const cgen::Parameter out{cgen::pointer_to(i32), "out", {}, {}};
  const cgen::Parameter n{i32, "n", {}, {}};
  return {"m", {cgen::function(cgen::void_type, "f", {out, n}, body)}};
}

TEST(TidyModule, ComputesWhatLiteralsGive) {
  const Expr out = cgen::variable("out", cgen::pointer_to(i32));
  const Expr n = cgen::variable("n", i32);
  const Expr wide = cgen::cast(i64, n);
  BlockBuilder body;
  body << cgen::assign(out[0], Expr(0) * 160 + n) << cgen::assign(out[1], (n + 1) + 2)
       << cgen::assign(out[2], (Expr(0) + 1) * 48 + n) << cgen::assign(out[3], n * 1 + 0 * n)
       << cgen::assign(out[4], n / 1 + n % 1) << cgen::assign(out[5], (wide * 6 + 0) * 20 + n)
       << cgen::assign(out[6], n - 0 + (Expr(3) - 5))
       // neither overflow nor calls and floating-point numbers are touched
       << cgen::assign(out[7], Expr(2147483647) + 1)
       << cgen::assign(out[8], cgen::call("g", {}, i32) * 0)
       << cgen::assign(out[9], cgen::variable("x", cgen::f64) + cgen::literal(0, cgen::f64));
  EXPECT_EQ(text_of(tidy_module(module_of(body))), R"(__device__ void f(int *out, int n) {
  out[0] = n;
  out[1] = n + 3;
  out[2] = 48 + n;
  out[3] = n;
  out[4] = n;
  out[5] = (long long)n * 120 + n;
  out[6] = n + -2;
  out[7] = 2147483647 + 1;
  out[8] = g() * 0;
  out[9] = x + 0.0;
}
)");
}

TEST(TidyModule, PutsTheOnlyRoundInPlaceOfItsLoop) {
  const Expr out = cgen::variable("out", cgen::pointer_to(i32));
  BlockBuilder body;
  body << cgen::for_(i32, "round", 0, 1,
                     [&](const Expr& round, BlockBuilder& inner) {
                       inner << cgen::assign(out[round * 160], round + 1);
                     })
       << cgen::for_(i32, "k", 4, 7,
                     [&](const Expr& k, BlockBuilder& inner) {
                       const Expr twice =
                           inner.add(cgen::declare(cgen::const_(i32), "twice", 2 * k));
                       inner << cgen::assign(out[k], twice);
                     },
                     {4, 1})
       << cgen::for_(i32, "i", 0, 2,
                     [&](const Expr& i, BlockBuilder& inner) { inner << cgen::assign(out[i], i); })
       << cgen::for_(i32, "j", 0, 1,
                     [&](const Expr& j, BlockBuilder& inner) {
                       inner << cgen::if_(out[j] > 0, cgen::Statement(cgen::Break{}));
                     })
       << cgen::for_(i32, "l", 0, 1, [&](const Expr& l, BlockBuilder& inner) {
            inner << cgen::add_assign(l, out[0]);
          });
  EXPECT_EQ(text_of(tidy_module(module_of(body))), R"(__device__ void f(int *out, int n) {
  out[0] = 1;
  {
    const int twice = 8;
    out[4] = twice;
  }
  for (int i = 0; i < 2; ++i) {
    out[i] = i;
  }
  for (int j = 0; j < 1; ++j) {
    if (out[j] > 0) {
      break;
    }
  }
  for (int l = 0; l < 1; ++l) {
    l += out[0];
  }
}
)");
}

// Kernels of small elements, whose loops often have one round.
TEST(Defect24, StagesHaveNoLoopsOfOneRoundAndNoSumsOfLiterals) {
  const std::regex untidy(
      R"(= 0; \w+ < 1; |[*+] 0[;)\]]| \+ 0 |(\(|\[|= )(0 [*+] |\d+ [*+] \d+[;)\] ])|[*/%] 1[;)\] ])");
  for (const int order : {1, 2}) {
    const dg::testing::StageFixture fixture(dg::testing::full_maxwell(), order, cgen::f64);
    for (const std::optional<FusedShape>& shape : std::vector<std::optional<FusedShape>>{
             std::nullopt, FusedShape{.elements = 5, .product = Product::literals},
             FusedShape{.elements = 5,
             .product = Product::literals,
             .face_groups = 4,
             .prefetch = Prefetch::async_copy},
             FusedShape{
                 .elements = 8, .product = Product::reflections, .prefetch = Prefetch::l2_cache},
             FusedShape{.elements = 4, .row_groups = 3},
             FusedShape{.elements = 8, .row_groups = 7, .columns_per_thread = 8},
             FusedShape{4, Product::tensor_cores, 1, 24},
             FusedShape{4, Product::tensor_cores, 1, 8, 0, 2, Prefetch::async_copy},
             FusedShape{.elements = 1, .product = Product::on_host},
             FusedShape{.elements = 8, .product = Product::on_host}}) {
      const std::string text = text_of(fixture.kernels(shape).module);
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_FALSE(std::regex_search(line, untidy)) << line;
      }
    }
  }
}

}  // namespace
}  // namespace rtcg::dg::detail
