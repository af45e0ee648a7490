// Shared memory of other blocks of a cluster.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/integration/run_everywhere.h"

namespace rtcg::testing {
namespace {

using namespace cgen;

std::map<Dialect, std::string> cuda_only() {
  return {{Dialect::c, "cgen.lower.cuda_only"},
          {Dialect::cpp, "cgen.lower.cuda_only"},
          {Dialect::opencl, "cgen.lower.cuda_only"}};
}

Module with_clusters(const Attribute& cluster, const Declared& made) {
  Function function = *get_if<Function>(Statement(made));
  function.attributes = {cluster};
  return {"clusters", {cluster_functions(), Statement(function)}};
}

// Each block gives what the next one of its cluster has, and how it counts.
TEST(ClustersEverywhere, ReadSharedMemoryOfTheNextBlock) {
  const auto x = param(pointer_to(i32), "x");
  const auto y = param(pointer_to(u32), "y");
  const auto tile = shared_array(i32, "tile", {40});
  const auto next = declare(u32, "next", (cluster_rank() + 1) % cluster_size());
  const auto i = declare(i32, "i", index_of_thread);
  BlockBuilder body;
  body << tile << i << assign(tile[thread_idx_x], x[i]) << cluster_barrier() << next
       << assign(x[i], in_block_of_cluster(tile, next)[39 - thread_idx_x])
       << if_(equal(thread_idx_x, 0), assign(y[block_idx_x], cluster_rank() * 10 + cluster_size()))
       << cluster_barrier();
  std::vector<int> values;
  std::vector<int> expected;
  std::vector<std::uint32_t> places;
  for (int k = 0; k < 480; ++k) {
    const int block = k / 40;
    values.push_back(k);
    expected.push_back((block / 4 * 4 + (block + 1) % 4) * 40 + 39 - k % 40);
  }
  for (std::uint32_t block = 0; block < 12; ++block) {
    places.push_back(block % 4 * 10 + 4);
  }
  run_everywhere({.module = with_clusters(cluster_of(4), kernel("k", {x, y}, body)),
                  .shape = {12, 40},
                  .arguments = {in_out(values, expected), out(places)},
                  .refusals = cuda_only()});
}

// Bins are dealt to the blocks of a cluster, which add to each other's, in dynamic shared memory.
TEST(ClustersEverywhere, AddToSharedMemoryOfOthers) {
  const auto x = param(pointer_to(const_(i32)), "x");
  const auto counts = param(pointer_to(i32), "counts");
  const auto bins = dynamic_shared_array(i32, "bins");
  const auto v = declare(i32, "v", x[index_of_thread]);
  BlockBuilder body;
  body << bins << if_(thread_idx_x < 8, assign(bins[thread_idx_x], 0)) << cluster_barrier() << v
       << call(Intrinsic::atomic_add, {in_block_of_cluster(bins, v / 8) + v % 8, 1})
       << cluster_barrier()
       << if_(thread_idx_x < 8,
              call(Intrinsic::atomic_add,
                   {counts + cast(i32, cluster_rank() * 8 + thread_idx_x), bins[thread_idx_x]}));
  std::vector<int> values;
  std::vector<int> expected(16);
  for (int k = 0; k < 8 * 64; ++k) {
    values.push_back(k * k % 16);
    ++expected[static_cast<std::size_t>(k * k % 16)];
  }
  run_everywhere({.module = with_clusters(cluster_of(2), kernel("k", {x, counts}, body)),
                  .shape = {8, 64, 8 * sizeof(int)},
                  .arguments = {in(values), in_out(std::vector<int>(16), expected)},
                  .refusals = cuda_only()});
}

// A sum of what all blocks of a square cluster have; waiting has two halves.
TEST(ClustersEverywhere, AreSquares) {
  const auto y = param(pointer_to(i32), "y");
  const auto own = shared_array(i32, "own", {1});
  const auto sum = declare(i32, "sum", 0);
  const Expr block = cast(i32, block_idx_y * grid_dim_x + block_idx_x);
  const Expr first = equal(thread_idx_x, 0);
  BlockBuilder body;
  body << own << if_(first, assign(own[0], block)) << cluster_arrive() << sum << cluster_wait()
       << for_(u32, "rank", literal(0, u32), cluster_size(),
               [&](const Expr& rank, BlockBuilder& work) {
                 work << add_assign(sum, in_block_of_cluster(address_of(own[0]), rank)[0]);
               })
       << if_(first, assign(y[block], sum)) << cluster_barrier();
  std::vector<int> expected;
  for (int b = 0; b < 16; ++b) {
    const int corner = b / 8 * 8 + b % 4 / 2 * 2;
    expected.push_back(4 * corner + 1 + 4 + 5);
  }
  run_everywhere({.module = with_clusters(cluster_of(2, 2), kernel("k", {y}, body)),
                  .shape = {{4, 4}, 33},
                  .arguments = {out(expected)},
                  .refusals = cuda_only()});
}

// Rounds in which each thread adds what its neighbour in the next block had, in two tiles by turns;
// clusters go along y and z, and the pointer that is mapped is to constants.
TEST(ClustersEverywhere, TakeTurnsInRounds) {
  const auto x = param(pointer_to(f64), "x");
  const auto tiles = shared_array(f64, "tiles", {2, 32});
  const auto next = declare(u32, "next", (cluster_rank() + 1) % cluster_size());
  const auto i = declare(i32, "i", cast(i32, (block_idx_z * 4 + block_idx_y) * 32 + thread_idx_x));
  const Expr round = variable("round", i32);
  const Expr own = tiles[round % 2];
  const Expr other = in_block_of_cluster(cast(pointer_to(const_(f64)), own), next);
  BlockBuilder body;
  body << tiles << next << i << assign(tiles[0][thread_idx_x], x[i]) << cluster_barrier()
       << for_(i32, "round", 0, 5,
               [&](const Expr&, BlockBuilder& work) {
                 work << assign(tiles[1 - round % 2][thread_idx_x],
                                own[thread_idx_x] + 0.5 * other[31 - thread_idx_x])
                      << cluster_barrier();
               })
       << assign(x[i], tiles[1][thread_idx_x]);
  std::vector<double> values;
  for (int k = 0; k < 8 * 32; ++k) {
    values.push_back(k * k % 37);
  }
  std::vector<double> expected = values;
  for (int r = 0; r < 5; ++r) {
    const std::vector<double> before = expected;
    for (int k = 0; k < 8 * 32; ++k) {
      const int z = k / 128;
      const int y = k / 32 % 4;
      // rank = y % 2 + 2*z in clusters of 1 x 2 x 2
      const int rank = (y % 2 + 2 * z + 1) % 4;
      const int block = rank / 2 * 4 + y / 2 * 2 + rank % 2;
      expected[static_cast<std::size_t>(k)] =
          before[static_cast<std::size_t>(k)] +
          0.5 * before[static_cast<std::size_t>(block * 32 + 31 - k % 32)];
    }
  }
  run_everywhere({.module = with_clusters(cluster_of(1, 2, 2), kernel("k", {x}, body)),
                  .shape = {{1, 4, 2}, 32},
                  .arguments = {in_out(values, expected)},
                  .refusals = cuda_only()});
}

}  // namespace
}  // namespace rtcg::testing
