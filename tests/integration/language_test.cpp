// What the languages have in common only after some rewriting, and what only some have.
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/integration/run_everywhere.h"

namespace rtcg::testing {
namespace {

using namespace cgen;

Expr all_lanes(const Type& type, const Expr& value) {
  return make_vector(type, {value, value, value, value});
}

std::map<Dialect, std::string> needs_cpp() {
  return {{Dialect::c, "cgen.lower.cpp_only"}, {Dialect::opencl, "cgen.lower.cpp_only"}};
}

TEST(LanguageEverywhere, TakesParametersOfAnyNameAndType) {
  const auto y = param(pointer_to(i64), "arguments");
  const auto launch_length = param(size_type, "launch");
  const auto offset = param(ptrdiff_type, "block_x");
  const auto flag = param(boolean, "grid");
  const auto byte = param(u8, "block");
  const auto factor = param(const_(f64), "k_thread");
  const auto i = declare(i32, "thread_x", index_of_thread);
  run_everywhere(
      {.module = {"parameters",
                  {kernel("k", {y, launch_length, offset, flag, byte, factor},
                          BlockBuilder{
                              i, if_(cast(size_type, i) < launch_length && flag,
                                     assign(y[i], offset * byte + cast(i64, factor * 2.0) + i))})}},
       .shape = {2, 4},
       .arguments = {
           in_out<std::int64_t>({7, 7, 7, 7, 7, 7, 7, 7}, {-47, -46, -45, -44, -43, 7, 7, 7}),
           by_value(std::size_t{5}), by_value(std::ptrdiff_t{-10}), by_value(true),
           by_value(std::uint8_t{5}), by_value(1.5)}});
}

TEST(LanguageEverywhere, RunsKernelsWithoutParameters) {
  run_everywhere(
      {.module = {"nothing", {kernel("k", {}, return_())}}, .shape = {1, 1}, .arguments = {}});
}

TEST(LanguageEverywhere, HasSeveralKernelsWithDynamicSharedMemory) {
  const auto y = param(pointer_to(f64), "y");
  const auto z = param(pointer_to(i32), "z");
  const auto doubles = dynamic_shared_array(f64, "buffer");
  const auto ints = dynamic_shared_array(i32, "buffer");
  BlockBuilder first;
  first << doubles << assign(doubles[thread_idx_x], cast(f64, thread_idx_x)) << barrier()
        << assign(y[thread_idx_x], doubles[3u - thread_idx_x]);
  BlockBuilder second;
  second << ints << assign(ints[thread_idx_x], thread_idx_x) << barrier()
         << assign(z[thread_idx_x], ints[3u - thread_idx_x]);
  const Module module = {"two", {kernel("k", {y}, first), kernel("j", {z}, second)}};
  run_everywhere({.module = module,
                  .shape = {1, 4, 4 * sizeof(double)},
                  .arguments = {out<double>({3, 2, 1, 0})},
                  .refusals = host_has_no_barriers()});
  run_everywhere({.module = module,
                  .kernel = "j",
                  .shape = {1, 4, 4 * sizeof(int)},
                  .arguments = {out<int>({3, 2, 1, 0})},
                  .refusals = host_has_no_barriers()});
}

TEST(LanguageEverywhere, ConvertsVectors) {
  const auto x = param(pointer_to(const_(float4)), "x");
  const auto y = param(pointer_to(int4), "y");
  const auto z = param(pointer_to(float4), "z");
  const auto w = param(pointer_to(vector_of(i64, 2)), "w");
  const auto f = param(f32, "f");
  BlockBuilder body;
  body << assign(y[0], cast(int4, x[0])) << assign(z[0], cast(float4, f))
       << assign(z[1], cast(float4, y[0]) + cast(float4, 1))
       << assign(w[0], cast(vector_of(i64, 2), make_vector(float2, {x[0].member("w"), f})));
  run_everywhere({.module = {"conversions", {kernel("k", {x, y, z, w, f}, body)}},
                  .shape = {1, 1},
                  .arguments = {in<float>({1.5F, -1.5F, 2.9F, 1e6F}), out<int>({1, -1, 2, 1000000}),
                                out<float>({3.5F, 3.5F, 3.5F, 3.5F, 2, 0, 3, 1000001}),
                                out<std::int64_t>({1000000, 3}), by_value(3.5F)}});
}

TEST(LanguageEverywhere, KeepsVectorsInStructsAndSharedMemory) {
  const LaidOutStruct cell = lay_out_struct("cell", {{"a", float4}, {"n", i32}, {"b", float2}});
  const auto x = param(pointer_to(cell.type), "x");
  const auto tile = shared_array(float4, "tile", {4});
  const auto t = declare(i32, "t", thread_idx_x);
  BlockBuilder body;
  body << tile << t << assign(tile[t], x[t].member("a")) << barrier()
       << add_assign(x[t].member("a"), tile[3 - t] * x[t].member("n"))
       << assign(x[t].member("b").member("y"), tile[t].member("x")) << barrier()
       << add_assign(tile[t].member("z"), 1.0f);
  struct Cell {
    float a[4];
    int n;
    int between;
    float b[2];
  };
  static_assert(sizeof(Cell) == 32);
  std::vector<Cell> before;
  for (int k = 0; k < 4; ++k) {
    const auto real = static_cast<float>(k);
    before.push_back({{real, real + 10, real + 20, real + 30}, k, 0, {1, 2}});
  }
  Argument cells = in(before);
  cells.differences = [before](const std::byte* found) -> std::string {
    for (int k = 0; k < 4; ++k) {
      Cell after;
      std::memcpy(&after, found + static_cast<std::size_t>(k) * sizeof(Cell), sizeof(Cell));
      for (int lane = 0; lane < 4; ++lane) {
        const float expected =
            before[static_cast<std::size_t>(k)].a[lane] +
            before[static_cast<std::size_t>(3 - k)].a[lane] * static_cast<float>(k);
        if (after.a[lane] != expected || after.b[0] != 1 || after.b[1] != static_cast<float>(k)) {
          return "  another cell " + std::to_string(k) + "\n";
        }
      }
    }
    return "";
  };
  run_everywhere({.module = {"cells", {cell.definition, kernel("k", {x}, body)}},
                  .shape = {1, 4},
                  .arguments = {cells},
                  .refusals = host_has_no_barriers()});
}

TEST(LanguageEverywhere, HasVectorsOfThreeLanesInRegisters) {
  const Type float3 = vector_of(f32, 3);
  const auto y = param(pointer_to(f32), "y");
  const auto v = declare(float3, "v", make_vector(float3, {1.0f, 2.0f, 3.0f}));
  BlockBuilder body;
  body << v << multiply_assign(v, v + 1.0f) << assign(y[0], v.member("x"))
       << assign(y[1], v.member("y")) << assign(y[2], (-v).member("z"));
  run_everywhere(
      {.module = {"three", {kernel("k", {y}, body)}},
       .shape = {1, 1},
       .arguments = {out<float>({2, 6, -12})},
       .refusals = {{Dialect::c, "cgen.lower.no_vector"}, {Dialect::cpp, "cgen.lower.no_vector"}}});
}

TEST(LanguageEverywhere, AppliesLogicToVectors) {
  const auto x = param(pointer_to(int4), "x");
  BlockBuilder body;
  body << assign(x[2], !x[0]) << assign(x[3], x[0] && x[1]) << assign(x[4], x[0] || x[1])
       << assign(x[5], not_equal(x[0], x[1]) & (x[0] >= all_lanes(int4, 1)));
  run_everywhere(
      {.module = {"logic", {kernel("k", {x}, body)}},
       .shape = {1, 1},
       .arguments = {in_out<int>(
           {0, 1, 2, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
           {0, 1, 2, 0, 1, 1, 0, 0, -1, 0, 0, -1, 0, -1, 0, 0, -1, -1, -1, 0, 0, 0, -1, 0})},
       .refusals = {{Dialect::c, "cgen.lower.no_vector"}}});
}

TEST(LanguageEverywhere, LeavesTheRestOfVectorsToOpenCl) {
  const auto x = param(pointer_to(float4), "x");
  const auto v = declare(float4, "v", call(Intrinsic::sqrt, {x[0]}));
  run_everywhere({.module = {"sqrt", {kernel("k", {x}, BlockBuilder{v, assign(x[0], v)})}},
                  .shape = {1, 1},
                  .arguments = {in_out<float>({1, 4, 9, 16}, {1, 2, 3, 4}, 3)},
                  .refusals = {{Dialect::c, "cgen.lower.no_vector"},
                               {Dialect::cpp, "cgen.lower.no_vector"},
                               {Dialect::cuda, "cgen.lower.no_vector"}}});
  run_everywhere({.module = {"swizzle",
                             {kernel("k", {x},
                                     BlockBuilder{assign(x[0].member("xy"), x[0].member("wz")),
                                                  assign(x[1], select(x[0] < x[1], x[0], x[1])),
                                                  assign(x[0].member("s3"), x[1].member("s0"))})}},
                  .shape = {1, 1},
                  .arguments = {in_out<float>({1, 2, 3, 4, 3, 3, 3, 3}, {4, 3, 3, 3, 3, 3, 3, 3})},
                  .refusals = {{Dialect::c, "cgen.lower.no_vector"},
                               {Dialect::cpp, "cgen.lower.no_vector"},
                               {Dialect::cuda, "cgen.lower.no_vector"}}});
}

TEST(LanguageEverywhere, HasWhatCppHas) {
  const Type box_name = named("Box");
  const Statement box = RecordDefinition{
      RecordTag::struct_,
      "Box",
      {declare(i32, "side", 3),
       function(Function{
           .result = i32,
           .name = "volume",
           .parameters = {param(i32, "scale")},
           .body = Statement(Block{{return_(variable("side", i32) * variable("side", i32) *
                                            variable("side", i32) * variable("scale", i32))}}),
           .specifiers = {.is_const_member = true}})}};
  const auto r = param(reference_to(i32), "r");
  const Declared bump = function(void_type, "bump", {r}, add_assign(r, 5));
  const auto y = param(pointer_to(i32), "y");
  const Expr lambda =
      Lambda{.parameters = {param(i32, "n")},
             .body = Statement(Block{{return_(variable("n", i32) + variable("i", i32))}}),
             .capture_default = CaptureDefault::by_value};
  const auto i = declare(i32, "i", index_of_thread);
  BlockBuilder body;
  body << i
       << declare(Declaration{.type = box_name,
                              .name = "b",
                              .initializer = InitializerList{},
                              .initializer_style = InitializerStyle::braces})
       << declare(auto_type, "add", lambda)
       << assign(y[i], call(variable("b", box_name).member("volume"), {2}) +
                           call(variable("add", Type()), {1}))
       << call(variable("tools::bump", Type()), {y[i]})
       << declare(Declaration{.type = i32,
                              .name = "most",
                              .initializer = Expr(4),
                              .specifiers = {.is_constexpr = true}})
       << add_assign(y[i], variable("most", i32));
  run_everywhere({.module = {"cpp", {box, Namespace{"tools", {bump}}, kernel("k", {y}, body)}},
                  .shape = {1, 2},
                  .arguments = {out<int>({64, 65})},
                  .refusals = needs_cpp()});
}

TEST(LanguageEverywhere, PassesPointersToFunctions) {
  const auto from = param(pointer_to(in_space(AddressSpace::global, const_(f32))), "from");
  const auto n = param(i32, "n");
  const auto total = declare(f32, "total", 0.0f);
  const Declared sum = function(
      f32, "sum_of", {from, n},
      BlockBuilder{
          total,
          for_(i32, "i", 0, n, [&](Expr i, BlockBuilder& b) { b << add_assign(total, from[i]); }),
          return_(total)});
  const auto x = param(pointer_to(const_(f32)), "x");
  const auto y = param(pointer_to(f32), "y");
  const auto i = declare(i32, "i", index_of_thread);
  run_everywhere(
      {.module = {"pointers",
                  {sum, kernel("k", {x, y}, BlockBuilder{i, assign(y[i], call(sum, {x + i, 3}))})}},
       .shape = {1, 2},
       .arguments = {in<float>({1, 2, 3, 4}), out<float>({6, 9})}});
}

}  // namespace
}  // namespace rtcg::testing
