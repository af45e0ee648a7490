#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/gpu/compete.h"
#include "bench/gpu/cub_peers.h"
#include "bench/gpu/cublas.h"
#include "bench/gpu/sections.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::bench {
namespace {

using loopy::arg;
using loopy::Executor;
using loopy::Kernel;
using runtime::Buffer;
using runtime::Device;
using runtime::Stream;

std::vector<float> random_values(std::size_t count) {
  std::vector<float> values(count);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
  }
  return values;
}

void expect_equal(const std::vector<float>& found, const std::vector<float>& expected,
                  double tolerance, const std::string& what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::abs(found[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])))) {
      throw std::runtime_error(what + " gives " + std::to_string(found[i]) + " at " +
                               std::to_string(i) + ", not " + std::to_string(expected[i]));
    }
  }
}

// ---- matmul
// --------------------------------------------------------------------------------------

struct Tile {
  int rows;         // of c, a block
  int columns;      // of c, a block
  int depth;        // of k
  int row_threads;  // each with groups of four neighbouring rows
  int column_threads;
};

std::string name_of(const Tile& tile) {
  return "rtcg " + std::to_string(tile.rows) + "x" + std::to_string(tile.columns) + "x" +
         std::to_string(tile.depth) + "/" + std::to_string(tile.row_threads) + "x" +
         std::to_string(tile.column_threads);
}

Kernel described_matmul(int n) {
  return loopy::make_kernel(
      "{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
      {.name = "matmul", .default_type = cgen::f32, .fixed_parameters = {{"n", n}}});
}

Kernel matmul(int n, const Tile& tile) {
  const auto text = [](int value) { return std::to_string(value); };
  return loopy::apply_recipe(
      described_matmul(n),
      "split_iname(i, " + text(tile.rows) +
          ", outer_tag=g.1, outer_name=ig, inner_name=it)\n"
          "split_iname(it, " +
          text(4 * tile.row_threads) +
          ", outer_tag=ilp, outer_name=iq, inner_name=ir)\n"
          "split_iname(ir, 4, outer_tag=l.1, inner_tag=ilp, outer_name=il, inner_name=ip)\n"
          "split_iname(j, " +
          text(tile.columns) +
          ", outer_tag=g.0, outer_name=jg, inner_name=jt)\n"
          "split_iname(jt, " +
          text(4 * tile.column_threads) +
          ", outer_tag=ilp, outer_name=jq, inner_name=jr)\n"
          "split_iname(jr, 4, outer_tag=l.0, inner_tag=ilp, outer_name=jl, inner_name=jp)\n"
          "split_iname(k, " +
          text(tile.depth) +
          ", outer_name=ko, inner_name=ki)\n"
          "add_prefetch(a, ki:iq:il:ip)\n"
          "add_prefetch(b, ki:jq:jl:jp)\n"
          "tag_array_axes([a_fetch], F)\n"
          "add_padding(a_fetch, 1, 4)\n");
}

// Each stands for splits, fetches to shared memory, and a pipeline of the copies (see recipe_of):
// what a search found fastest on an H200. The name says rows, columns and depth of a tile.
struct PipelinedScript {
  int n;
  std::string name;
  std::string slicing;
};

const std::vector<PipelinedScript>& pipelined_scripts() {
  static const std::vector<PipelinedScript> all = {
      {500, "32x32x32, 3 stages",
       "j: g.0 l.0*8 vec*4; i: g.1 ilp*2 l.1*16 ilp*2; k: for unr_hint*32; fetch a pad 4; fetch b; "
       "stages 3"},
      {500, "32x32x32, 5 stages",
       "j: g.0 ilp*2 l.0*8 ilp*2; i: g.1 ilp*4 l.1*8; k: for unr_hint*32; fetch a pad 4; fetch b; "
       "stages 5"},
      {512, "32x32x32, 3 stages",
       "j: g.0 l.0*8 vec*4; i: g.1 ilp*2 l.1*16 ilp*2; k: for unr_hint*32; fetch a pad 4; fetch b; "
       "stages 3"},
      {512, "32x32x32, 4 stages",
       "j: g.0 l.0*8 ilp*4; i: g.1 ilp*2 l.1*8 ilp*2; k: for for*32; fetch a pad 4; fetch b; "
       "stages 4"},
      {1000, "32x64x40, 3 stages",
       "j: g.0 l.0*16 ilp*4; i: g.1 l.1*4 ilp*8; k: for unr_hint*40; fetch a pad 4; fetch b; "
       "stages 3"},
      {1000, "64x128x20, 2 stages",
       "j: g.0 ilp*2 l.0*16 ilp*4; i: g.1 ilp*2 l.1*4 ilp*4; k: for unr_hint*20; fetch a pad 4; "
       "fetch b; stages 2"},
      {1024, "64x64x32, 2 stages",
       "j: g.0 ilp*2 l.0*16 ilp*2; i: g.1 ilp*2 l.1*8 ilp*4; k: for unr_hint*32; fetch a pad 4; "
       "fetch b; stages 2; swizzle 8"},
      {1024, "32x64x32, 3 stages",
       "j: g.0 l.0*16 ilp*4; i: g.1 ilp*4 l.1*4 ilp*2; k: for unr_hint*32; fetch a pad 4; fetch b; "
       "stages 3; swizzle 8"},
      {2048, "64x128x16, 3 stages",
       "j: g.0 ilp*2 l.0*16 ilp*4; i: g.1 ilp*2 l.1*8 ilp*4; k: for unr_hint*16; "
       "fetch a transposed pad 4; fetch b; stages 3; swizzle 8"},
      {2048, "64x128x16, rows of 8",
       "j: g.0 ilp*2 l.0*16 ilp*4; i: g.1 l.1*8 ilp*8; k: for unr_hint*16; "
       "fetch a transposed pad 4; fetch b; stages 3"},
      {4096, "64x128x16, 3 stages",
       "j: g.0 ilp*2 l.0*16 ilp*4; i: g.1 ilp*2 l.1*8 ilp*4; k: for unr_hint*16; "
       "fetch a transposed pad 4; fetch b; stages 3"},
      {4096, "64x128x16, 2 stages",
       "j: g.0 ilp*2 l.0*16 ilp*4; i: g.1 ilp*2 l.1*8 ilp*4; k: for unr_hint*16; "
       "fetch a transposed pad 4; fetch b; stages 2"}};
  return all;
}

std::vector<std::pair<std::string, Kernel>> scripted_products(int n) {
  const std::vector<Tile> tiles = {
      {128, 128, 16, 16, 16}, {128, 128, 8, 16, 16}, {128, 64, 16, 16, 8}, {64, 64, 16, 8, 16},
      {64, 64, 16, 8, 8},     {64, 32, 16, 16, 8},   {32, 32, 16, 8, 8}};
  std::vector<std::pair<std::string, Kernel>> products;
  for (const Tile& tile : tiles) {
    products.emplace_back(name_of(tile), matmul(n, tile));
  }
  for (const PipelinedScript& script : pipelined_scripts()) {
    if (script.n == n) {
      products.emplace_back(
          "rtcg " + script.name,
          loopy::apply(described_matmul(n), loopy::parse_slicing(script.slicing)));
    }
  }
  return products;
}

}  // namespace

void measure_matmul(Device device, Report& report) {
  const Stream stream(device);
  const Cublas cublas(stream);
  for (const int n : {500, 512, 1000, 1024, 2048, 4096}) {
    const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const Buffer<float> a(device, random_values(count));
    const Buffer<float> b(device, random_values(count));
    const Buffer<float> c(device, count);
    const Buffer<float> expected(device, count);
    std::vector<Rival> rivals;
    rivals.push_back({"cuBLAS sgemm", true, [&] {
                        cublas.multiply(a.address(), b.address(), expected.address(), n, n, n);
                      }});
    rivals.front().run();
    const std::vector<float> right = expected.to_vector(stream);
    for (const auto& [name, kernel] : scripted_products(n)) {
      const Executor multiply(kernel, device);
      const auto call = multiply.bind({arg("a", a), arg("b", b), arg("c", c)});
      const auto run = [call, &stream] { call(stream); };
      run();
      expect_equal(c.to_vector(stream), right, 1e-4 * std::sqrt(n), "matmul of " + name);
      rivals.push_back({name, false, run});
    }
    compete_in_turns(stream, rivals, {.op = "matmul", .dtype = "f32", .n = n}, 0, 2.0 * n * n * n,
                     report);
  }
}

// ---- what memory bounds ------------------------------------------------------------------------

void measure_transpose(Device device, Report& report) {
  const Stream stream(device);
  for (const int n : {4096, 8192, 16384}) {
    const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const Buffer<float> a(device, random_values(count));
    const Buffer<float> out(device, count);
    const Kernel described = loopy::make_kernel(
        "{[i, j]: 0 <= i, j < n}", "out[j, i] = a[i, j]",
        {.name = "transpose", .default_type = cgen::f32, .fixed_parameters = {{"n", n}}});
    std::vector<Rival> rivals;
    rivals.push_back(
        {"copy of the device", true, [&] { runtime::copy_on_device(stream, a, out); }});
    const std::vector<float> values = a.to_vector(stream);
    for (const int tile : {32, 64}) {
      const std::string size = std::to_string(tile);
      const std::string lanes = std::to_string(tile / 8);
      const Kernel kernel = loopy::apply_recipe(
          described,
          "split_iname(i, " + size +
              ", outer_tag=g.1, outer_name=ig, inner_name=ii)\n"
              "split_iname(j, " +
              size +
              ", outer_tag=g.0, outer_name=jg, inner_name=ji)\n"
              "split_iname(ii, 32, inner_tag=l.0, outer_tag=ilp, inner_name=il, outer_name=iq)\n"
              "split_iname(ji, 8, inner_tag=l.1, outer_tag=ilp, inner_name=jl, outer_name=jq)\n"
              "add_prefetch(a, iq:il:jq:jl)\n"
              "add_padding(a_fetch, 0, 1)\n");
      const Executor transpose(kernel, device);
      const auto run = [=, &stream, &a, &out] {
        transpose(stream, {arg("a", a), arg("out", out)});
      };
      run();
      const std::vector<float> found = out.to_vector(stream);
      for (std::size_t i = 0; i < count; i += 997) {
        if (found[i] != values[(i % n) * n + i / n]) {
          throw std::runtime_error("the transpose is wrong at " + std::to_string(i));
        }
      }
      rivals.push_back({"rtcg tile " + size, false, run});
    }
    compete_in_turns(stream, rivals, {.op = "transpose", .dtype = "f32", .n = n}, 8.0 * count, 0,
                     report);
  }
}

void measure_stencil(Device device, Report& report) {
  const Stream stream(device);
  const int n = 8192;
  const std::size_t count = std::size_t{n} * n;
  const std::size_t padded = std::size_t{n + 2} * (n + 2);
  const Buffer<float> a(device, random_values(padded));
  const Buffer<float> out(device, count);
  const Kernel described = loopy::make_kernel(
      "{[i, j]: 0 <= i, j < n}",
      "out[i, j] = a[i + 1, j] + a[i + 1, j + 2] + a[i, j + 1] + a[i + 2, j + 1] - 4*a[i + 1, j + "
      "1]",
      {.name = "stencil", .default_type = cgen::f32, .fixed_parameters = {{"n", n}}});
  const std::vector<float> values = a.to_vector(stream);
  std::vector<Rival> rivals;
  rivals.push_back({"copy of the device", true,
                    [&] { runtime::copy_on_device(stream, a.ref().subrange(0, count), out); }});
  const std::vector<std::pair<std::string, std::string>> recipes = {
      {"rtcg rows in registers",
       "split_iname(i, 8, outer_tag=g.1, inner_tag=ilp)\nsplit_iname(j, 256, outer_tag=g.0, "
       "inner_tag=l.0)"},
      {"rtcg plain",
       "split_iname(i, 8, outer_tag=g.1, inner_tag=l.1)\nsplit_iname(j, 32, outer_tag=g.0, "
       "inner_tag=l.0)"},
      {"rtcg shared tile",
       "split_iname(i, 16, outer_tag=g.1, inner_name=ii)\nsplit_iname(ii, 4, outer_tag=ilp, "
       "inner_tag=l.1)\n"
       "split_iname(j, 64, outer_tag=g.0, inner_tag=l.0)\n"
       "add_prefetch(a, ii_outer:ii_inner:j_inner)"},
      {"rtcg 4 rows, 256 times 4 columns",
       "split_iname(i, 4, outer_tag=g.1, inner_tag=ilp)\n"
       "split_iname(j, 1024, outer_tag=g.0, inner_name=jj)\n"
       "split_iname(jj, 4, outer_tag=l.0, inner_tag=vec)"},
      {"rtcg 8 rows, 128 times 2 columns",
       "split_iname(i, 8, outer_tag=g.1, inner_tag=ilp)\n"
       "split_iname(j, 256, outer_tag=g.0, inner_name=jj)\n"
       "split_iname(jj, 2, outer_tag=l.0, inner_tag=vec)"}};
  for (const auto& [name, recipe] : recipes) {
    const Executor stencil(loopy::apply_recipe(described, recipe), device);
    const auto run = [=, &stream, &a, &out] { stencil(stream, {arg("a", a), arg("out", out)}); };
    run();
    const std::vector<float> found = out.to_vector(stream);
    for (std::size_t i = 0; i < count; i += 1009) {
      const std::size_t at = (i / n) * (n + 2) + i % n;
      const float right = values[at + n + 2] + values[at + n + 4] + values[at + 1] +
                          values[at + 2 * (n + 2) + 1] - 4 * values[at + n + 3];
      expect_equal({found[i]}, {right}, 1e-5, name);
    }
    rivals.push_back({name, false, run});
  }
  compete_in_turns(stream, rivals, {.op = "stencil", .dtype = "f32", .n = n}, 8.0 * count, 0,
                   report);
}

void measure_reduce(Device device, Report& report) {
  const Stream stream(device);
  const int n = 8192;
  const std::size_t count = std::size_t{n} * n;
  const Buffer<float> a(device, random_values(count));
  const Buffer<float> out(device, n);
  const Kernel described = loopy::make_kernel(
      "{[i, j]: 0 <= i, j < n}", "out[i] = sum(j, a[i, j])",
      {.name = "row_sums", .default_type = cgen::f32, .fixed_parameters = {{"n", n}}});
  std::vector<Rival> rivals;
  const CubSegmentedSum cub(a.address(), out.address(), n, n, stream.native_handle());
  if (cub.is_there()) {
    rivals.push_back({"cub::DeviceSegmentedReduce", true, [&] { cub.run(); }});
  }
  const std::vector<float> values = a.to_vector(stream);
  for (const int threads : {128, 256, 512}) {
    const Kernel kernel = loopy::apply_recipe(
        described, "tag_inames(i:g.0)\nsplit_iname(j, " + std::to_string(threads) +
                       ", outer_name=jo, inner_name=ji)\n"
                       "split_reduction_outward(ji)\ntag_inames(ji:l.0)");
    const Executor sums(kernel, device);
    const auto run = [=, &stream, &a, &out] { sums(stream, {arg("a", a), arg("out", out)}); };
    run();
    const std::vector<float> found = out.to_vector(stream);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); i += 101) {
      double right = 0;
      for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
        right += values[i * n + j];
      }
      expect_equal({found[i]}, {static_cast<float>(right)}, 1e-3, "row_sums");
    }
    rivals.push_back({"rtcg block of " + std::to_string(threads), false, run});
  }
  compete_in_turns(stream, rivals, {.op = "row_sum", .dtype = "f32", .n = n}, 4.0 * count, 0,
                   report);
}

}  // namespace rtcg::bench
