// Lesson 24: a stencil, a product of matrices and a sparse matrix over several ranks. Here the
// ranks are threads that share one device; with `devices_of("cuda:0,cuda:1")` each has a GPU, and
// `run_mpi` in place of `run_ranks` makes them processes. The results have the same bits in all
// cases.
#include <cmath>

#include "examples/lesson.h"
#include "rtcg/arrays.h"
#include "rtcg/distributed.h"
#include "rtcg/distributed/arrays/distributed_matrix.h"
#include "rtcg/distributed/arrays/matmul.h"
#include "rtcg/distributed/arrays/reductions.h"
#include "rtcg/distributed/arrays/transposed.h"

namespace rt = rtcg::runtime;
namespace ar = rtcg::arrays;
namespace di = rtcg::distributed;

constexpr std::int64_t side = 40;

// Rows of -u_xx - u_yy on side x side points, u = 0 around them. A rank gives those of its block.
di::DistributedMatrix poisson(const di::Group& group) {
  const di::Blocks blocks(side * side, group.size());
  std::vector<std::int64_t> row;
  std::vector<std::int64_t> column;
  std::vector<double> value;
  for (std::int64_t i = blocks.begin(group.rank()); i < blocks.end(group.rank()); ++i) {
    const auto add = [&](bool is_inside, std::int64_t to, double number) {
      if (is_inside) {
        row.push_back(i);
        column.push_back(to);
        value.push_back(number);
      }
    };
    add(true, i, 4);
    add(i % side > 0, i - 1, -1);
    add(i % side + 1 < side, i + 1, -1);
    add(i >= side, i - side, -1);
    add(i + side < side * side, i + side, -1);
  }
  return di::DistributedMatrix::from_triplets(group, side * side, row, column, value);
}

// Steps of u_t = u_xx + u_yy by a stencil: its rows are distributed, and a row of each neighbour
// is in the halo.
di::DistributedArray heat(const di::Group& group) {
  const di::DistributedArray u(group, ar::DType::f64, {side, side}, {.halo = 1});
  const ar::AnyArray along = ar::arange<std::int64_t>(side);
  u.assign(ar::sin(0.2 * u.places().reshape(-1, 1)) * ar::cos(0.1 * along));
  const ar::Slice inner{1, -1};
  for (int step = 0; step < 20; ++step) {
    u.update_halo();
    const ar::AnyArray flow = u.shifted(-1) + u.shifted(1) - 4 * u.local();
    flow(ar::whole, inner)
        .assign(flow(ar::whole, inner) + u.local()(ar::whole, ar::Slice{0, -2}) +
                u.local()(ar::whole, ar::Slice{2, {}}));
    u.local()(ar::whole, inner).assign(u.local()(ar::whole, inner) + 0.2 * flow(ar::whole, inner));
  }
  return u;
}

struct Results {
  double heat = 0;
  std::vector<double> products{};
  std::int64_t iterations = 0;
  double residual = 0;
  std::vector<double> x{};
  friend bool operator==(const Results&, const Results&) = default;
};

Results solve(rt::Device device, int ranks) {
  Results results;
  di::run_ranks(std::vector<rt::Device>(static_cast<std::size_t>(ranks), device),
                [&](const di::Group& group) {
                  const rt::Stream stream(group.device());
                  const ar::StreamScope scope(stream);
                  const di::DistributedArray u = heat(group);
                  const double energy = di::dot(u, u).item<double>();
                  // of each row with each: the rows of the right factor come from all ranks
                  const di::DistributedArray products = di::matmul(u, di::transposed(u));
                  const ar::AnyArray all_products = products.gathered();

                  const di::DistributedMatrix a = poisson(group);
                  const di::DistributedArray b(group, a.dtype(), {a.blocks().length()});
                  b.assign(1);
                  const ar::Solution found = conjugate_gradients(a, b, {.tolerance = 1e-8});
                  const di::DistributedArray x(group, a.dtype(), b.shape());
                  x.assign(found.x);
                  const ar::AnyArray whole = x.gathered();
                  if (group.is_first()) {
                    results = {energy, all_products.to_vector<double>(), found.iterations,
                               found.residual, whole.to_vector<double>()};
                  }
                });
  return results;
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const Results one = solve(device, 1);
    std::printf("heat: the sum of squares is %.6f\n", one.heat);
    std::printf("products of rows: %.6f of the first two\n", one.products[1]);
    std::printf("poisson: u is %.4f in the middle\n", one.x[side / 2 * side + side / 2]);
    bool is_fine = one.residual < 2e-8;
    for (const int ranks : {2, 3, 5}) {
      const bool is_same = solve(device, ranks) == one;
      std::printf("%d ranks: %s\n", ranks, is_same ? "the same bits" : "other bits");
      is_fine = is_fine && is_same;
    }
    return is_fine;
  });
}
