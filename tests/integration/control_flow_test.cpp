// Loops, jumps, functions, templates, local arrays.
#include <gtest/gtest.h>

#include "tests/integration/run_everywhere.h"

namespace rtcg::testing {
namespace {

using namespace cgen;

/// The kernel `k(y)` whose thread i computes y[i] by `fill(body, i, y[i])`.
template <class Fill>
Module one_value_a_thread(const char* name, Fill&& fill) {
  const auto y = param(pointer_to(i32), "y");
  const auto i = declare(i32, "i", index_of_thread);
  BlockBuilder body;
  body << i;
  fill(body, Expr(i), y[i]);
  return {name, {kernel("k", {y}, body)}};
}

/// `f(0) ... f(count - 1)`.
template <class Function>
std::vector<int> values_of(int count, Function&& f) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(f(i));
  }
  return values;
}

TEST(ControlFlowEverywhere, BreaksAndContinuesLoops) {
  const Module module = one_value_a_thread("loops", [](BlockBuilder& body, Expr i, Expr result) {
    const auto sum = declare(i32, "sum", 0);
    const auto left = declare(i32, "left", i);
    body << sum
         << for_(i32, "j", 0, 100,
                 [&](Expr j, BlockBuilder& b) {
                   b << if_(equal(j % 3, 0), continue_()) << if_(j > i, break_())
                     << add_assign(sum, j);
                 })
         << left << while_(left > 0, {subtract_assign(left, 2), add_assign(sum, 1000)})
         << do_while_({add_assign(sum, 100000), increment(left)}, left < 2)
         << for_(i32, "j", 1, i,
                 [&](Expr j, BlockBuilder& b) { b << compound_assign(BinaryOp::bit_xor, sum, j); },
                 {.step = 2, .unroll = 4})
         << assign(result, sum);
  });
  run_everywhere({.module = module, .shape = {3, 4}, .arguments = {out(values_of(12, [](int i) {
                                                       int sum = 0;
                                                       for (int j = 0; j < 100; ++j) {
                                                         if (j % 3 == 0) {
                                                           continue;
                                                         }
                                                         if (j > i) {
                                                           break;
                                                         }
                                                         sum += j;
                                                       }
                                                       int left = i;
                                                       while (left > 0) {
                                                         left -= 2;
                                                         sum += 1000;
                                                       }
                                                       do {
                                                         sum += 100000;
                                                         ++left;
                                                       } while (left < 2);
                                                       for (int j = 1; j < i; j += 2) {
                                                         sum ^= j;
                                                       }
                                                       return sum;
                                                     }))}});
}

TEST(ControlFlowEverywhere, SwitchesWithAndWithoutFallThrough) {
  const Module module = one_value_a_thread("switches", [](BlockBuilder& body, Expr i, Expr result) {
    const auto sum = declare(i32, "sum", 0);
    body << sum
         << Statement(
                Switch{i,
                       {SwitchCase{.labels = {0, 3}, .body = {assign(sum, 10)}},
                        SwitchCase{.labels = {1}, .body = {assign(sum, 20)}, .falls_through = true},
                        SwitchCase{.labels = {2}, .body = {add_assign(sum, 30)}},
                        SwitchCase{.body = {assign(sum, -1)}, .is_default = true}}})
         << switch_(sum).case_({10}, add_assign(sum, 1)).default_(add_assign(sum, 2))
         << assign(result, sum);
  });
  run_everywhere({.module = module, .shape = {1, 5}, .arguments = {out<int>({11, 52, 32, 11, 1})}});
}

TEST(ControlFlowEverywhere, JumpsToLabels) {
  const Module module = one_value_a_thread("jumps", [](BlockBuilder& body, Expr i, Expr result) {
    const auto steps = declare(i32, "steps", 0);
    const auto n = declare(i32, "n", i + 1);
    body << steps << n << Label{"again"} << if_(equal(n, 1), Statement(Goto{"done"}))
         << assign(n, select(equal(n % 2, 0), n / 2, 3 * n + 1)) << increment(steps)
         << Goto{"again"} << Label{"done"} << assign(result, steps);
  });
  run_everywhere({.module = module, .shape = {2, 8}, .arguments = {out(values_of(16, [](int i) {
                                                       int steps = 0;
                                                       for (int n = i + 1; n != 1;
                                                            n = n % 2 == 0 ? n / 2 : 3 * n + 1) {
                                                         ++steps;
                                                       }
                                                       return steps;
                                                     }))}});
}

TEST(ControlFlowEverywhere, ReturnsEarly) {
  const Module module = one_value_a_thread("returns", [](BlockBuilder& body, Expr i, Expr result) {
    body << assign(result, 1)
         << if_(i < 2, return_())
                .else_if_(i < 4 || equal(i, 7), {assign(result, 2), return_()})
                .else_(assign(result, 3))
         << assign(result, result * 10);
  });
  run_everywhere(
      {.module = module, .shape = {2, 4}, .arguments = {out<int>({1, 1, 2, 2, 30, 30, 30, 2})}});
}

TEST(ControlFlowEverywhere, HasLocalArrays) {
  const Module module = one_value_a_thread("arrays", [](BlockBuilder& body, Expr i, Expr result) {
    const auto squares = declare(array_of(array_of(i32, 4), 3), "squares");
    const auto odd =
        declare(Declaration{.type = array_of(const_(i32), 4),
                            .name = "odd",
                            .initializer = InitializerList{{Expr(1), Expr(3), Expr(5), Expr(7)}}});
    const auto p = declare(pointer_to(i32), "p", address_of(squares[1][0]));
    body << squares << odd
         << for_(i32, "r", 0, 3,
                 [&](Expr r, BlockBuilder& rows) {
                   rows << for_(i32, "c", 0, 4, [&](Expr c, BlockBuilder& columns) {
                     columns << assign(squares[r][c], r * 10 + c * odd[c]);
                   });
                 })
         << p << add_assign(deref(p + 2), 100)
         << assign(result, squares[i % 3][i % 4] + p[2] - p[-1]);
  });
  run_everywhere({.module = module, .shape = {1, 12}, .arguments = {out(values_of(12, [](int i) {
                                                        int squares[3][4];
                                                        for (int r = 0; r < 3; ++r) {
                                                          for (int c = 0; c < 4; ++c) {
                                                            squares[r][c] =
                                                                r * 10 + c * (2 * c + 1);
                                                          }
                                                        }
                                                        squares[1][2] += 100;
                                                        return squares[i % 3][i % 4] +
                                                               squares[1][2] - squares[0][3];
                                                      }))}});
}

TEST(ControlFlowEverywhere, CallsFunctionsThatRecurNot) {
  const auto n = param(i32, "n");
  const auto out_value = param(pointer_to(i32), "to");
  const Declared half =
      function(i32, "half_of", {n}, return_(n / 2), {.is_static = true, .is_inline = true});
  const Declared store =
      function(void_type, "store", {out_value, n}, assign(deref(out_value), call(half, {n}) + 1));
  Module module = one_value_a_thread("functions", [&](BlockBuilder& body, Expr i, Expr result) {
    const auto kept = declare(i32, "kept");
    body << kept << call(store, {address_of(kept), i * 3}) << assign(result, kept);
  });
  module.items.insert(module.items.begin(), {half, store});
  run_everywhere({.module = module,
                  .shape = {1, 6},
                  .arguments = {out(values_of(6, [](int i) { return i * 3 / 2 + 1; }))}});
}

TEST(ControlFlowEverywhere, InstantiatesTemplates) {
  const Type element = named("T");
  const auto x = param(element, "x");
  const Statement twice =
      Template{{{"T", {}, {}, false}, {"times", i32, {}, false}},
               function(element, "scaled", {x}, return_(x * variable("times", i32)))};
  const Statement instance = ExplicitInstantiation{f32, "scaled", {f32, Expr(3)}, {f32}, {}, false};
  const auto y = param(pointer_to(i32), "y");
  const Expr scaled = variable("scaled", Type());
  const auto i = declare(i32, "i", index_of_thread);
  const Module module = {
      "templates",
      {twice, instance,
       kernel("k", {y},
              BlockBuilder{
                  i, assign(y[i], cast(i32, call(scaled, {cast(f32, i) + 0.5f}, {f32, Expr(3)})) +
                                      call(scaled, {i}, {i32, Expr(100)}))})}};
  run_everywhere({.module = module,
                  .shape = {1, 4},
                  .arguments = {out<int>({1, 104, 207, 310})},
                  .refusals = {{Dialect::c, "cgen.lower.cpp_only"},
                               {Dialect::opencl, "cgen.lower.cpp_only"}}});
}

TEST(ControlFlowEverywhere, EvaluatesOperandsAsC) {
  const Module module =
      one_value_a_thread("operators", [](BlockBuilder& body, Expr i, Expr result) {
        const auto n = declare(i32, "n", i - 3);
        const auto calls = declare(i32, "calls", 0);
        body << n
             << calls
             // the right operands count only where they are reached
             << if_(n > 0 && post_increment(calls) < 5, add_assign(n, 10))
             << if_(n < 0 || increment(calls) > 100, subtract_assign(n, 10))
             << assign(result, comma(post_decrement(n), (n << 4) + n / 2 * 3 - (n % 5 - -n) +
                                                            (~n & 7) + (Expr(!n) | (8 ^ n)) +
                                                            calls * 1000 + (n >> 1)));
      });
  run_everywhere({.module = module, .shape = {1, 8}, .arguments = {out(values_of(8, [](int i) {
                                                       int n = i - 3;
                                                       int calls = 0;
                                                       if (n > 0 && calls++ < 5) {
                                                         n += 10;
                                                       }
                                                       if (n < 0 || ++calls > 100) {
                                                         n -= 10;
                                                       }
                                                       --n;
                                                       return n * 16 + n / 2 * 3 - (n % 5 + n) +
                                                              (~n & 7) +
                                                              ((n == 0 ? 1 : 0) | (8 ^ n)) +
                                                              calls * 1000 + (n >> 1);
                                                     }))}});
}

}  // namespace
}  // namespace rtcg::testing
