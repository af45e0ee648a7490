// Shared and constant memory, barriers, structs, atomics, warps.
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/integration/run_everywhere.h"

namespace rtcg::testing {
namespace {

using namespace cgen;

std::vector<int> counted(int count) {
  std::vector<int> values;
  for (int k = 0; k < count; ++k) {
    values.push_back(k);
  }
  return values;
}

TEST(MemoryEverywhere, ReducesThroughASharedTree) {
  const auto x = param(restrict_pointer_to(const_(i32)), "x");
  const auto sums = param(pointer_to(i32), "sums");
  const auto tree = shared_array(i32, "tree", {64});
  const auto t = declare(i32, "t", thread_idx_x);
  BlockBuilder body;
  body << tree << t << assign(tree[t], x[index_of_thread]) << barrier();
  const auto by = declare(i32, "by", 32);
  body << by
       << while_(by > 0,
                 {if_(t < by, add_assign(tree[t], tree[t + by])), barrier(), divide_assign(by, 2)})
       << if_(equal(t, 0), assign(sums[block_idx_x], tree[0]));
  run_everywhere(
      {.module = {"tree", {kernel("k", {x, sums}, body, {64, 1})}},
       .shape = {3, 64},
       .arguments = {in(counted(192)), out<int>({63 * 32, 63 * 32 + 64 * 64, 63 * 32 + 128 * 64})},
       .refusals = host_has_no_barriers()});
}

// Rounds in which each block adds what its neighbour had before, by turns in two halves of an
// array.
TEST(MemoryEverywhere, LetsAllBlocksOfALaunchWait) {
  const auto x = param(pointer_to(i32), "x");
  const Expr blocks = cast(i32, grid_dim_x);
  const Expr block = cast(i32, block_idx_x);
  const Expr round = variable("round", i32);
  const Expr from = round % 2 * blocks;
  const Expr next = (block + 1) % blocks;
  BlockBuilder body;
  body << Statement(
      For{declare(i32, "round", 0).declaration(),
          round < 20,
          increment(round),
          Statement(Block{{if_(equal(thread_idx_x, 0),
                               assign(x[blocks - from + block], x[from + block] + x[from + next])),
                           barrier(BarrierScope::grid)}}),
          {}});
  std::vector<int> values = {3, 1, 4, 1, 5, 0, 0, 0, 0, 0};
  std::vector<int> expected = values;
  for (int r = 0; r < 20; ++r) {
    const int old = r % 2 * 5;
    for (int b = 0; b < 5; ++b) {
      expected[5 - old + b] = expected[old + b] + expected[old + (b + 1) % 5];
    }
  }
  runtime::LaunchShape shape = {5, 64};
  shape.cooperative = true;
  std::map<Dialect, std::string> refusals = host_has_no_barriers();
  refusals[Dialect::opencl] = "cgen.lower.no_barrier";
  run_everywhere({.module = {"rounds", {kernel("k", {x}, body)}},
                  .shape = shape,
                  .arguments = {in_out(values, expected)},
                  .refusals = refusals});
}

TEST(MemoryEverywhere, ReducesThroughADynamicTree) {
  const auto x = param(pointer_to(const_(f32)), "x");
  const auto sums = param(pointer_to(f32), "sums");
  const auto tree = dynamic_shared_array(f32, "tree");
  const auto t = declare(i32, "t", thread_idx_x);
  BlockBuilder body;
  body << tree << t << assign(tree[t], x[index_of_thread]) << barrier()
       << Statement(For{declare(i32, "by", block_dim_x / 2).declaration(),
                        variable("by", i32) > 0,
                        compound_assign(BinaryOp::shift_right, variable("by", i32), 1),
                        Statement(Block{{if_(t < variable("by", i32),
                                             add_assign(tree[t], tree[t + variable("by", i32)])),
                                         barrier()}}),
                        {}})
       << if_(equal(t, 0), assign(sums[block_idx_x], tree[0]));
  std::vector<float> values;
  for (int k = 0; k < 64; ++k) {
    values.push_back(0.5F * static_cast<float>(k));
  }
  run_everywhere({.module = {"dynamic", {kernel("k", {x, sums}, body)}},
                  .shape = {2, 32, 32 * sizeof(float)},
                  .arguments = {in(values), out<float>({248, 760})},
                  .refusals = host_has_no_barriers()});
}

TEST(MemoryEverywhere, TransposesTiles) {
  const auto x = param(pointer_to(const_(i32)), "x");
  const auto y = param(pointer_to(i32), "y");
  const auto width = param(i32, "width");
  const auto height = param(i32, "height");
  const auto tile = shared_array(i32, "tile", {8, 9});
  BlockBuilder body;
  body << tile
       << if_(block_idx_x * 8 + thread_idx_x < width && block_idx_y * 8 + thread_idx_y < height,
              assign(tile[thread_idx_y][thread_idx_x],
                     x[(block_idx_y * 8 + thread_idx_y) * width + block_idx_x * 8 + thread_idx_x]))
       << barrier()
       << if_(block_idx_y * 8 + thread_idx_x < height && block_idx_x * 8 + thread_idx_y < width,
              assign(y[(block_idx_x * 8 + thread_idx_y) * height + block_idx_y * 8 + thread_idx_x],
                     tile[thread_idx_x][thread_idx_y]));
  std::vector<int> turned(20 * 12);
  for (int row = 0; row < 12; ++row) {
    for (int column = 0; column < 20; ++column) {
      turned[static_cast<std::size_t>(column * 12 + row)] = row * 20 + column;
    }
  }
  run_everywhere({.module = {"transpose", {kernel("k", {x, y, width, height}, body)}},
                  .shape = {{3, 2}, {8, 8}},
                  .arguments = {in(counted(240)), out(turned), by_value(20), by_value(12)},
                  .refusals = host_has_no_barriers()});
}

TEST(MemoryEverywhere, KnowsItsPlaceInTheLaunch) {
  const auto y = param(pointer_to(u32), "y");
  const Expr block = block_idx_x + grid_dim_x * (block_idx_y + grid_dim_y * block_idx_z);
  const Expr thread = thread_idx_x + block_dim_x * (thread_idx_y + block_dim_y * thread_idx_z);
  const auto i = declare(u32, "i", block * (block_dim_x * block_dim_y * block_dim_z) + thread);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t k = 0; k < 2 * 3 * 2 * 4 * 2 * 3; ++k) {
    expected.push_back(k + 1000 * (k / 24) + 1000000 * 2);
  }
  run_everywhere(
      {.module = {"place",
                  {kernel("k", {y},
                          BlockBuilder{i, assign(y[i], i + 1000 * block + 1000000 * grid_dim_z)})}},
       .shape = {{2, 3, 2}, {4, 2, 3}},
       .arguments = {out(expected)}});
}

TEST(MemoryEverywhere, ReadsConstantMemory) {
  const Type table_type = array_of(const_(f32), 4);
  const auto table = declare(
      Declaration{.type = table_type,
                  .name = "table",
                  .initializer = InitializerList{{Expr(0.5f), Expr(1.5f), Expr(2.5f), Expr(-3.5f)}},
                  .memory = MemorySpace::constant});
  const auto y = param(pointer_to(f32), "y");
  const auto i = declare(i32, "i", index_of_thread);
  run_everywhere(
      {.module = {"constants",
                  {table, kernel("k", {y}, BlockBuilder{i, assign(y[i], table[3 - i] * 2)})}},
       .shape = {1, 4},
       .arguments = {out<float>({-7, 5, 3, 1})}});
}

struct Particle {
  float position[3];
  std::int8_t kind;
  double mass;
  std::int32_t cell;
};

TEST(MemoryEverywhere, SharesStructsWithTheHost) {
  StructBuilder<Particle> builder("particle");
  builder.field("position", &Particle::position)
      .field("kind", &Particle::kind)
      .field("mass", &Particle::mass)
      .field("cell", &Particle::cell);
  const LaidOutStruct particle = builder.build();
  run_everywhere({.module = {"layout", {particle.definition, layout_kernel(particle)}},
                  .kernel = "particle_layout",
                  .shape = {1, 1},
                  .arguments = {out(expected_layout(particle))}});

  const auto all = param(pointer_to(particle.type), "all");
  const auto one = param(particle.type, "one");
  const auto i = declare(i32, "i", index_of_thread);
  const auto p = declare(particle.type, "p", all[i]);
  BlockBuilder body;
  body << i << p << add_assign(p.member("position")[1], one.member("position")[2])
       << assign(p.member("mass"), p.member("mass") * one.member("mass"))
       << assign((all + i).member("cell"), p.member("cell") + one.member("kind"))
       << assign(all[i].member("mass"), p.member("mass"))
       << assign(address_of(all[i]).member("position")[0], p.member("position")[1]);
  std::vector<Particle> before(2);
  before[0] = {{1, 2, 3}, 4, 0.5, 7};
  before[1] = {{-1, -2, -3}, -4, 1e300, -7};
  const Particle argument = {{10, 20, 30}, -1, 4, 0};
  Argument particles = in(before);
  particles.differences = [](const std::byte* found) {
    std::vector<Particle> after(2);
    std::memcpy(after.data(), found, 2 * sizeof(Particle));
    const bool is_right = after[0].position[0] == 32 && after[0].position[1] == 2 &&
                          after[0].mass == 2 && after[0].cell == 6 && after[0].kind == 4 &&
                          after[1].position[0] == 28 && after[1].mass == 4e300 &&
                          after[1].cell == -8 && after[1].position[2] == -3;
    return is_right ? "" : "  other particles\n";
  };
  run_everywhere({.module = {"structs", {particle.definition, kernel("k", {all, one}, body)}},
                  .shape = {1, 2},
                  .arguments = {particles, by_value(argument)}});
}

TEST(MemoryEverywhere, OverlaysUnionsAndNamesEnumerators) {
  const Statement overlay = RecordDefinition{
      RecordTag::union_, "overlay", {declare(f32, "number"), declare(u32, "bits")}};
  const EnumDefinition colors{"color", {{"red"}, {"green", 5}, {"blue"}}};
  const Type overlay_type = type_of(*get_if<RecordDefinition>(overlay));
  const Type color = type_of(colors);
  const auto y = param(pointer_to(u32), "y");
  const auto u = declare(overlay_type, "u");
  const auto c = declare(color, "c", variable("blue", color));
  BlockBuilder body;
  body << u << c << assign(u.member("number"), 1.5f) << assign(y[0], u.member("bits"))
       << assign(y[1], cast(u32, c))
       << assign(y[2], select(equal(c, variable("red", color)), 1u, 2u));
  run_everywhere({.module = {"overlays", {overlay, colors, kernel("k", {y}, body)}},
                  .shape = {1, 1},
                  .arguments = {out<std::uint32_t>({0x3fc00000, 6, 2})}});
}

/// Updates of one element by many threads, whose order does not matter.
template <class Number>
Module atomics(const Type& type) {
  const auto y = param(pointer_to(type), "y");
  const auto i = declare(i32, "i", index_of_thread);
  const auto value = declare(type, "value", cast(type, i));
  const auto cell = [&](int k) { return address_of(y[k]); };
  BlockBuilder body;
  body << i << value << call(Intrinsic::atomic_add, {cell(0), value})
       << call(Intrinsic::atomic_sub, {cell(1), value})
       << call(Intrinsic::atomic_min, {cell(2), value})
       << call(Intrinsic::atomic_max, {cell(3), value})
       << call(Intrinsic::atomic_and, {cell(4), ~cast(type, i & 3)})
       << call(Intrinsic::atomic_or, {cell(5), value})
       << call(Intrinsic::atomic_xor, {cell(6), value})
       << if_(equal(i, 17),
              {call(Intrinsic::atomic_exchange, {cell(7), 99}),
               assign(y[8], call(Intrinsic::atomic_compare_exchange, {cell(9), 5, 6})),
               assign(y[10], call(Intrinsic::atomic_compare_exchange, {cell(11), 5, 6}))});
  return {"atomics", {kernel("k", {y}, body)}};
}

template <class Number>
void run_atomics(const Type& type) {
  const auto minus_496 = static_cast<Number>(Number(1000) - 496);
  run_everywhere(
      {.module = atomics<Number>(type),
       .shape = {4, 8},
       .arguments = {in_out<Number>({0, 1000, 7, 7, 15, 64, 1, 2, 3, 5, 3, 4},
                                    {496, minus_496, 0, 31, 12, 95, 1, 99, 5, 6, 4, 4})}});
}

TEST(AtomicsEverywhere, UpdateIntsOf32Bits) {
  run_atomics<std::int32_t>(i32);
}
TEST(AtomicsEverywhere, UpdateUnsignedIntsOf32Bits) {
  run_atomics<std::uint32_t>(u32);
}
TEST(AtomicsEverywhere, UpdateIntsOf64Bits) {
  run_atomics<std::int64_t>(i64);
}
TEST(AtomicsEverywhere, UpdateUnsignedIntsOf64Bits) {
  run_atomics<std::uint64_t>(u64);
}

TEST(AtomicsEverywhere, AddFloats) {
  const auto y = param(pointer_to(f32), "y");
  const auto i = declare(i32, "i", index_of_thread);
  BlockBuilder body;
  body << i << call(Intrinsic::atomic_add, {address_of(y[0]), 0.5f})
       << call(Intrinsic::atomic_sub, {address_of(y[1]), i})
       << if_(equal(i, 5),
              assign(y[2], call(Intrinsic::atomic_exchange, {address_of(y[3]), 8.0f})));
  run_everywhere({.module = {"floats", {kernel("k", {y}, body)}},
                  .shape = {2, 16},
                  .arguments = {in_out<float>({1, 0, 2, 3}, {17, -496, 3, 8})}});
}

TEST(AtomicsEverywhere, AddDoublesWhereThereAreSuch) {
  const auto y = param(pointer_to(f64), "y");
  run_everywhere(
      {.module = {"doubles",
                  {kernel("k", {y}, call(Intrinsic::atomic_add, {address_of(y[0]), 0.25}))}},
       .shape = {2, 16},
       .arguments = {in_out<double>({1}, {9})},
       .refusals = {{Dialect::opencl, "cgen.lower.no_atomic"}}});
}

TEST(AtomicsEverywhere, CountInSharedMemory) {
  const auto y = param(pointer_to(i32), "y");
  const auto z = param(pointer_to(f32), "z");
  const auto bins = shared_array(i32, "bins", {4});
  const auto sum = shared_array(f32, "sum", {1});
  const auto t = declare(i32, "t", thread_idx_x);
  BlockBuilder body;
  body << bins << sum << t << if_(t < 4, assign(bins[t], 0))
       << if_(equal(t, 0), assign(sum[0], 0.0f)) << barrier()
       << call(Intrinsic::atomic_add, {address_of(bins[t % 3]), 1})
       << call(Intrinsic::atomic_max, {address_of(bins[3]), t})
       << call(Intrinsic::atomic_add, {address_of(sum[0]), 1.5f}) << barrier()
       << if_(t < 4, call(Intrinsic::atomic_add, {y + t, bins[t]}))
       << if_(equal(t, 0), assign(z[block_idx_x], sum[0]));
  run_everywhere({.module = {"bins", {kernel("k", {y, z}, body)}},
                  .shape = {2, 32},
                  .arguments = {in_out<int>({0, 0, 0, 0}, {22, 22, 20, 62}), out<float>({48, 48})},
                  .refusals = host_has_no_barriers()});
}

TEST(WarpsEverywhere, ExchangeValues) {
  const auto y = param(pointer_to(i32), "y");
  const auto z = param(pointer_to(f64), "z");
  const auto t = declare(i32, "t", thread_idx_x);
  BlockBuilder body;
  body << t << assign(y[t], call(Intrinsic::shuffle, {t, (t + 5) % 32}))
       << assign(y[32 + t], call(Intrinsic::shuffle_up, {t * 2, 3}))
       << assign(y[64 + t], call(Intrinsic::shuffle_down, {t * 2, 4}))
       << assign(y[96 + t], call(Intrinsic::shuffle_xor, {t, 6}))
       << assign(y[128 + t], cast(i32, call(Intrinsic::warp_ballot, {equal(t % 4, 0)})))
       << assign(y[160 + t], cast(i32, call(Intrinsic::warp_any, {equal(t, 9)})) * 2 +
                                 cast(i32, call(Intrinsic::warp_all, {t > 0})))
       << barrier(BarrierScope::warp)
       << assign(z[t], call(Intrinsic::shuffle_xor, {cast(f64, t) + 0.5, 1}));
  std::vector<int> expected(192);
  std::vector<double> pairs(32);
  for (int k = 0; k < 32; ++k) {
    const auto at = static_cast<std::size_t>(k);
    expected[at] = (k + 5) % 32;
    expected[32 + at] = 2 * (k < 3 ? k : k - 3);
    expected[64 + at] = 2 * (k < 28 ? k + 4 : k);
    expected[96 + at] = k ^ 6;
    expected[128 + at] = 0x11111111;
    expected[160 + at] = 2;
    pairs[at] = (k ^ 1) + 0.5;
  }
  run_everywhere({.module = {"warps", {kernel("k", {y, z}, body)}},
                  .shape = {1, 32},
                  .arguments = {out(expected), out(pairs)},
                  .refusals = {{Dialect::c, "cgen.lower.host_barrier"},
                               {Dialect::cpp, "cgen.lower.host_barrier"},
                               {Dialect::opencl, "cgen.lower.no_barrier"}}});
}

TEST(MemoryEverywhere, FencesOrderWrites) {
  const auto y = param(pointer_to(i32), "y");
  const auto i = declare(i32, "i", index_of_thread);
  run_everywhere(
      {.module = {"fences",
                  {kernel("k", {y},
                          BlockBuilder{i, assign(y[i], i), MemoryFence{FenceScope::block},
                                       MemoryFence{FenceScope::device},
                                       MemoryFence{FenceScope::system}, add_assign(y[i], 1)})}},
       .shape = {1, 4},
       .arguments = {out<int>({1, 2, 3, 4})}});
}

}  // namespace
}  // namespace rtcg::testing
