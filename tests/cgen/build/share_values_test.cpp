#include "rtcg/cgen/build/share_values.h"

#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/lower/lower.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/name_generator.h"

namespace rtcg::cgen {
namespace {

const Type pointer = pointer_to(f32);
const Expr x = variable("x", pointer);
const Expr y = variable("y", pointer);
const Expr out = variable("out", pointer);
const Expr i = variable("i", i32);
const Expr n = variable("n", i32);
const Expr s = variable("s", f32);
const Expr t = variable("t", f32);

std::vector<Statement> shared(const std::vector<Statement>& statements,
                              ShareValuesOptions options = {}) {
  NameGenerator names;
  options.new_name = [&](const std::string& base) { return names.make(base); };
  return share_values(statements, options);
}

std::string text(const std::vector<Statement>& statements, ShareValuesOptions options = {}) {
  BlockBuilder body;
  for (const Statement& each : shared(statements, std::move(options))) {
    body << each;
  }
  const Module lowered = lower({"f", {function(void_type, "f", {}, body)}}, Dialect::cuda);
  const auto* function = get_if<Function>(lowered.items.back());
  return print_statement(Group{get_if<Block>(*function->body)->statements}, Dialect::cuda);
}

Expr root(const Expr& argument) {
  return call(Intrinsic::sqrt, {argument});
}

TEST(ShareValues, NamesWhatIsComputedTwice) {
  EXPECT_EQ(text({assign(s, root(x[i]) * 2.0F), assign(t, root(x[i]) * 3.0F)}),
            "const float value = sqrtf(x[i]);\n"
            "s = value * 2.0f;\n"
            "t = value * 3.0f;\n");
}

TEST(ShareValues, NamesTheWholeAndNotItsPartsThatNothingElseNeeds) {
  const Expr whole = root(x[i]) / (root(y[i]) + 1.0F);
  EXPECT_EQ(text({assign(s, whole * 2.0F), assign(t, whole + root(y[i]))}),
            "const float value = sqrtf(y[i]);\n"
            "const float value_1 = sqrtf(x[i]) / (value + 1.0f);\n"
            "s = value_1 * 2.0f;\n"
            "t = value_1 + value;\n");
}

TEST(ShareValues, NamesQuotientsOfIndicesAndNotTheirSums) {
  EXPECT_EQ(text({assign(out[i / n], x[i / n + i % n]), assign(t, x[i + n] + x[i + n])}),
            "const int value = i / n;\n"
            "out[value] = x[value + i % n];\n"
            "t = x[i + n] + x[i + n];\n");
}

TEST(ShareValues, LeavesCheapValues) {
  const std::vector<Statement> cheap = {assign(s, x[i] * y[i]), assign(t, x[i] * y[i]),
                                        assign(out[i / 4], x[i / 4])};
  EXPECT_EQ(shared(cheap), cheap);
}

TEST(ShareValues, ReadsAgainWhatIsWritten) {
  const std::vector<Statement> variables = {assign(s, root(t)), assign(t, 2.0F * root(t)),
                                            assign(s, root(t))};
  EXPECT_EQ(text(variables),
            "const float value = sqrtf(t);\n"
            "s = value;\n"
            "t = 2.0f * value;\n"
            "s = sqrtf(t);\n");
  const std::vector<Statement> memory = {assign(out[i], root(x[i])), assign(y[i], root(x[i]))};
  EXPECT_EQ(shared(memory), memory);  // `out` may be `x`
  EXPECT_EQ(text(memory, {.restricted = {"x", "y", "out"}}),
            "const float value = sqrtf(x[i]);\n"
            "out[i] = value;\n"
            "y[i] = value;\n");
  const std::vector<Statement> own = {assign(x[i], root(x[i])), assign(y[i], root(x[i]))};
  EXPECT_EQ(shared(own, {.restricted = {"x", "y"}}), own);
}

TEST(ShareValues, ReadsAgainWhatCallsMayChange) {
  const Expr called = call("touch", {x}, void_type);
  const std::vector<Statement> around = {assign(s, root(y[i])), called, assign(t, root(y[i]))};
  EXPECT_EQ(shared(around, {.restricted = {"x", "y"}}), around);
  EXPECT_EQ(text({assign(s, call("half", {i}, f32)), assign(t, call("half", {i}, f32))},
                 {.pure_functions = {"half"}}),
            "const float value = half(i);\n"
            "s = value;\n"
            "t = value;\n");
  const std::vector<Statement> unknown = {assign(s, call("half", {i}, f32)),
                                          assign(t, call("half", {i}, f32))};
  EXPECT_EQ(shared(unknown), unknown);
  const Expr atomic = call(Intrinsic::atomic_add, {address_of(out[i]), 1.0F});
  const std::vector<Statement> atomics = {assign(s, atomic), assign(t, atomic)};
  EXPECT_EQ(shared(atomics), atomics);
}

TEST(ShareValues, ComputesNothingThatOneBranchAloneNeeds) {
  const Expr guarded = select(i < n, root(x[i]), 0.0F);
  const Expr tested = i < n && root(x[i]) < 1.0F;
  const std::vector<Statement> statements = {assign(s, select(tested, 1.0F, 0.0F)),
                                             assign(t, select(i < n, root(x[i]) + 1.0F, 0.0F))};
  EXPECT_EQ(shared(statements), statements);
  // but what is known already is not computed again there
  EXPECT_EQ(text({assign(s, root(x[i]) + root(x[i])), assign(t, select(i < n, root(x[i]), s))}),
            "const float value = sqrtf(x[i]);\n"
            "s = value + value;\n"
            "t = i < n ? value : s;\n");
  EXPECT_EQ(text({assign(s, guarded), assign(t, guarded)}),
            "const float value = i < n ? sqrtf(x[i]) : 0.0f;\n"
            "s = value;\n"
            "t = value;\n");
}

TEST(ShareValues, NamesWhatBranchesLoad) {
  const Expr guarded = select(i < n, x[i], y[i]);
  EXPECT_EQ(text({assign(s, guarded * 2.0F), assign(t, guarded * 3.0F)}),
            "const float value = i < n ? x[i] : y[i];\n"
            "s = value * 2.0f;\n"
            "t = value * 3.0f;\n");
  // loads that only the condition makes are made in any case, and compilers join them
  const std::vector<Statement> tested = {assign(s, select(x[i] < 1.0F, 1.0F, 0.0F)),
                                         assign(t, select(x[i] < 1.0F, 1.0F, 0.0F))};
  EXPECT_EQ(shared(tested), tested);
  // a store through another pointer may change what they give
  const std::vector<Statement> stored = {assign(s, guarded), assign(out[i], s), assign(t, guarded)};
  EXPECT_EQ(shared(stored), stored);
  EXPECT_EQ(text(stored, {.restricted = {"x", "y"}}),
            "const float value = i < n ? x[i] : y[i];\n"
            "s = value;\n"
            "out[i] = s;\n"
            "t = value;\n");
}

TEST(ShareValues, LooksIntoBodiesOneByOne) {
  const Body body({assign(s, root(x[i])), assign(t, root(x[i]))});
  EXPECT_EQ(text({assign(s, root(x[i])), if_(i < n, body), barrier(), assign(t, root(x[i]))}),
            "s = sqrtf(x[i]);\n"
            "if (i < n) {\n"
            "  const float value = sqrtf(x[i]);\n"
            "  s = value;\n"
            "  t = value;\n"
            "}\n"
            "__syncthreads();\n"
            "t = sqrtf(x[i]);\n");
}

// ---- random programs, run before and after ------------------------------------------------------

/// Runs statements on numbers: `a` and `b` are the same memory, `c` is its own.
class Machine {
 public:
  void run(const std::vector<Statement>& statements) {
    for (const Statement& each : statements) {
      if (const auto* declaration = get_if<Declaration>(each)) {
        variables[declaration->name] = value(*declaration->initializer);
      } else {
        const auto* assignment = get_if<AssignExpr>(get_if<ExpressionStatement>(each)->expression);
        const double new_value = value(assignment->value);
        double& target = place(assignment->target);
        target = assignment->op ? target + new_value : new_value;
      }
    }
  }

  std::map<std::string, double> variables;
  std::map<std::string, std::vector<double>> memory = {{"ab", std::vector<double>(4, 1)},
                                                       {"c", std::vector<double>(4, 2)}};
  int computed = 0;

 private:
  double& place(const Expr& expr) {
    if (const auto* variable = get_if<Variable>(expr)) {
      return variables[variable->name];
    }
    const auto* subscript = get_if<Subscript>(expr);
    const std::string name = get_if<Variable>(subscript->array)->name;
    return memory.at(name == "c" ? "c" : "ab")
        .at(static_cast<std::size_t>(value(subscript->index)));
  }

  double value(const Expr& expr) {
    if (const auto* literal = get_if<IntLiteral>(expr)) {
      return static_cast<double>(literal->magnitude);
    }
    if (const auto* literal = get_if<FloatLiteral>(expr)) {
      return literal->value;
    }
    if (const auto* call = get_if<IntrinsicCall>(expr)) {
      ++computed;
      return std::sqrt(std::abs(value(call->arguments.front())));
    }
    if (const auto* choice = get_if<Conditional>(expr)) {
      return value(choice->condition) != 0 ? value(choice->then_value) : value(choice->else_value);
    }
    if (const auto* called = get_if<Call>(expr)) {  // changes all memory
      const double argument = value(called->arguments.front());
      for (auto& [name, numbers] : memory) {
        for (double& number : numbers) {
          number = std::fmod(number * 3 + 1, 7);
        }
      }
      return argument + 1;
    }
    if (const auto* binary = get_if<Binary>(expr)) {
      const double left = value(binary->left);
      const double right = value(binary->right);
      return binary->op == BinaryOp::add        ? left + right
             : binary->op == BinaryOp::subtract ? left - right
             : binary->op == BinaryOp::multiply ? std::fmod(left * right, 97)
                                                : (left < right ? 1 : 0);
    }
    return place(expr);
  }
};

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  std::vector<Statement> statements() {
    std::vector<Statement> result;
    for (int k = 0; k < 12; ++k) {
      const Expr target = number(3) == 0 ? element() : scalar();
      const Expr assigned = number(9) == 0 ? call("touch", {expr(2)}, f32) : expr(4);
      result.emplace_back(number(3) == 0 ? add_assign(target, assigned) : assign(target, assigned));
    }
    return result;
  }

 private:
  int number(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  Expr scalar() { return variable(std::string(1, "pqr"[number(3)]), f32); }
  Expr element() { return variable(std::string(1, "abc"[number(3)]), pointer)[number(4)]; }

  Expr expr(int depth) {
    switch (depth == 0 ? number(2) : number(7)) {
      case 0:
        return scalar();
      case 1:
        return element();
      case 2:
        return expr(depth - 1) + expr(depth - 1);
      case 3:
        return expr(depth - 1) * expr(depth - 1);
      case 4:
        return select(expr(depth - 1) < expr(depth - 1), expr(depth - 1), expr(depth - 1));
      default:  // often the same one
        return root(number(2) == 0 ? scalar() : element());
    }
  }

  std::mt19937 random_;
};

TEST(ShareValues, ChangesNoResult) {
  int saved = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const std::vector<Statement> statements = RandomProgram(seed).statements();
    const std::vector<Statement> with_constants = shared(statements, {.restricted = {"c"}});
    Machine before;
    Machine after;
    for (const char* name : {"p", "q", "r"}) {
      before.variables[name] = after.variables[name] = 3 + name[0] % 5;
    }
    before.run(statements);
    after.run(with_constants);
    EXPECT_EQ(before.memory, after.memory) << seed;
    for (const char* name : {"p", "q", "r"}) {
      EXPECT_EQ(before.variables[name], after.variables[name]) << seed;
    }
    EXPECT_LE(after.computed, before.computed) << seed;
    saved += before.computed - after.computed;
  }
  EXPECT_GT(saved, 3000);
}

}  // namespace
}  // namespace rtcg::cgen
