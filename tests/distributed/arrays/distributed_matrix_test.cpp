#include "rtcg/distributed/arrays/distributed_matrix.h"

#include <cmath>

#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/distributed/arrays/reductions.h"
#include "rtcg/distributed/group/run_ranks.h"
#include "tests/distributed/arrays/poisson_rows.h"
#include "tests/distributed/rank_devices.h"
#include "tests/support/expect_error.h"

namespace rtcg::distributed {
namespace {

using arrays::AnyArray;
using arrays::DType;
using arrays::Extents;
using testing::device_sets;
using testing::DeviceSet;
using testing::host_devices_apart;
using testing::on_host;
using testing::poisson;

// Rows with entries far away, none, and several in one place.
DistributedMatrix scattered_entries(const Group& group, std::int64_t size) {
  const Blocks blocks(size, group.size());
  std::vector<std::int64_t> row;
  std::vector<std::int64_t> column;
  std::vector<float> value;
  for (std::int64_t i = blocks.begin(group.rank()); i < blocks.end(group.rank()); ++i) {
    for (std::int64_t k = 0; k < i % 5; ++k) {
      row.push_back(i);
      column.push_back((i * 7919 + k * k * 104'729) % size);
      value.push_back(static_cast<float>(std::cos(static_cast<double>(i + 3 * k))));
    }
  }
  return DistributedMatrix::from_triplets(group, size, row, column, value);
}

std::vector<float> product_on(const std::vector<runtime::Device>& devices, std::int64_t size) {
  std::vector<float> result;
  testing::run_both_ways(devices, [&](const Group& group) {
    const runtime::Stream stream(group.device());
    const arrays::StreamScope scope(stream);
    const DistributedMatrix a = scattered_entries(group, size);
    const DistributedArray x(group, DType::f32, {size});
    // no function: its last bits depend on where a vector of the processor begins
    x.assign(1 / (1 + 0.1 * arrays::Expression(x.places())));
    const DistributedArray y(group, DType::f32, {size});
    a.multiply_into(stream, x.local(), y.local());
    a.multiply_into(stream, y.local(), x.local());  // the memory for products is used again
    const std::vector<float> found = x.gathered().to_vector<float>();
    if (group.is_first()) {
      result = found;
    }
  });
  return result;
}

TEST(DistributedMatrix, ProductsHaveTheSameBitsForAnyNumberOfRanks) {
  for (const DeviceSet& set : device_sets()) {
    if (set.name == "all kinds") {
      continue;  // each kind of device rounds its own way
    }
    const std::vector<float> one = product_on(set.of_ranks(1), 701);
    for (int ranks = 2; ranks <= 5; ++ranks) {
      EXPECT_EQ(product_on(set.of_ranks(ranks), 701), one) << ranks << " ranks, " << set.name;
    }
    if (set.name == "host") {
      EXPECT_EQ(product_on(host_devices_apart(4), 701), one);
    }
  }
}

TEST(DistributedMatrix, ProductsAreThoseOfPlainLoops) {
  const int size = 701;
  std::vector<double> x(size);
  for (int i = 0; i < size; ++i) {
    x[static_cast<std::size_t>(i)] = 1 / (1 + 0.1 * i);
  }
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<double> y(size, 0);
    for (int i = 0; i < size; ++i) {
      for (int k = 0; k < i % 5; ++k) {
        y[static_cast<std::size_t>(i)] +=
            std::cos(i + 3.0 * k) *
            x[static_cast<std::size_t>((i * 7919LL + k * k * 104'729LL) % size)];
      }
    }
    x = y;
  }
  const std::vector<float> found = product_on(device_sets()[0].of_ranks(3), size);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], x[i], 1e-5);
  }
}

TEST(DistributedMatrix, FetchesWhatItsRowsNeed) {
  on_host(3, [](const Group& group) {
    const DistributedMatrix a = poisson<double>(group, 30);
    EXPECT_EQ(a.fetched(), group.rank() == 1 ? 60 : 30);
    EXPECT_EQ(a.diagonal().to_vector<double>(), std::vector<double>(300, 4));
    const DistributedArray x(group, DType::f64, {900});
    x.assign(1);
    const std::uint64_t before = group.traffic().bytes;
    a.multiply_into(x.local().stream(), x.local(), AnyArray(DType::f64, {300}, x.local().stream()));
    EXPECT_EQ(group.traffic().bytes - before, (group.rank() == 1 ? 60 : 30) * sizeof(double));
  });
}

// Most rows need own elements alone, and those of the first and the last side others'.
TEST(DistributedMatrix, MultipliesInnerRowsWhileElementsTravel) {
  const auto product = [](const std::vector<runtime::Device>& devices) {
    std::vector<double> result;
    testing::run_both_ways(devices, [&](const Group& group) {
      const runtime::Stream stream(group.device());
      const arrays::StreamScope scope(stream);
      const DistributedMatrix a = poisson<double>(group, 30);
      const DistributedArray x(group, DType::f64, {900});
      x.assign(1 / (1 + 0.1 * arrays::Expression(x.places())));
      const DistributedArray y(group, DType::f64, {900});
      const std::uint64_t before = group.traffic().bytes;
      for (int i = 0; i < 3; ++i) {
        a.multiply_into(stream, x.local(), y.local());
        a.multiply_into(stream, y.local(), x.local());
      }
      EXPECT_EQ(group.traffic().bytes - before,
                group.size() == 1 ? 0 : 6 * (group.rank() == 1 ? 60 : 30) * sizeof(double));
      const std::vector<double> found = x.gathered().to_vector<double>();
      if (group.is_first()) {
        result = found;
      }
    });
    return result;
  };
  const std::vector<double> one = product(host_devices_apart(1));
  EXPECT_EQ(product(host_devices_apart(3)), one);
}

struct Solved {
  std::vector<double> x;
  std::vector<double> history;
};

Solved solve_on(const std::vector<runtime::Device>& devices, int side, bool has_diagonal) {
  Solved result;
  testing::run_both_ways(devices, [&](const Group& group) {
    const runtime::Stream stream(group.device());
    const arrays::StreamScope scope(stream);
    const DistributedMatrix a = poisson<double>(group, side);
    const DistributedArray b(group, DType::f64, {a.blocks().length()});
    b.assign(1 / (1 + 0.01 * arrays::Expression(b.places())));
    arrays::SolveOptions options{.tolerance = 1e-9};
    if (has_diagonal) {
      options.preconditioner = arrays::Preconditioner::of_diagonal(1 / (2 + a.diagonal()));
    }
    const arrays::Solution found = conjugate_gradients(a, b, options);
    const DistributedArray x(group, DType::f64, b.shape());
    x.assign(found.x);
    const std::vector<double> whole = x.gathered().to_vector<double>();
    if (group.is_first()) {
      result = {whole, found.history};
    }
  });
  return result;
}

TEST(DistributedSolver, ConjugateGradientsHaveTheSameBitsForAnyNumberOfRanks) {
  for (const DeviceSet& set : device_sets()) {
    if (set.name == "all kinds") {
      continue;
    }
    for (const bool has_diagonal : {false, true}) {
      const Solved one = solve_on(set.of_ranks(1), 12, has_diagonal);
      EXPECT_GT(one.history.size(), 15U);
      for (int ranks = 2; ranks <= 5; ++ranks) {
        const Solved more = solve_on(set.of_ranks(ranks), 12, has_diagonal);
        EXPECT_EQ(more.x, one.x) << ranks << " ranks, " << set.name;
        EXPECT_EQ(more.history, one.history) << ranks << " ranks, " << set.name;
      }
    }
  }
}

// Against the solver of one device, on a matrix that was put together as a whole.
TEST(DistributedSolver, FindsTheSolutionOfOneDevice) {
  const int side = 20;
  const Solved found = solve_on(device_sets()[0].of_ranks(3), side, false);
  std::vector<double> rest(found.x.size());
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const auto at = [&](int i, int j) {
        return i < 0 || j < 0 || i >= side || j >= side
                   ? 0
                   : found.x[static_cast<std::size_t>(j * side + i)];
      };
      const double image = 4 * at(x, y) - at(x - 1, y) - at(x + 1, y) - at(x, y - 1) - at(x, y + 1);
      EXPECT_NEAR(image, 1 / (1 + 0.01 * (y * side + x)), 1e-7);
    }
  }
}

TEST(DistributedMatrix, RefusesEntriesThatAreNotOfTheRank) {
  using Numbers = std::vector<std::int64_t>;
  const std::vector<double> one = {1};
  on_host(1, [&](const Group& group) {
    EXPECT_ERROR("distributed.matrix.foreign_row",
                 DistributedMatrix::from_triplets(group, 4, Numbers{4}, Numbers{0}, one));
    EXPECT_ERROR("distributed.matrix.bad_column",
                 DistributedMatrix::from_triplets(group, 4, Numbers{0}, Numbers{4}, one));
    const DistributedMatrix a = poisson<double>(group, 4);
    EXPECT_ERROR("distributed.matrix.shape",
                 conjugate_gradients(a, DistributedArray(group, DType::f64, {15})));
    EXPECT_ERROR("distributed.matrix.shape",
                 conjugate_gradients(a, DistributedArray(group, DType::f32, {16})));
  });
  on_host(3, [&](const Group& group) {
    EXPECT_ERROR(
        "distributed.matrix.too_small",
        DistributedMatrix::from_triplets(group, 2, Numbers{}, Numbers{}, std::vector<double>()));
  });
}

}  // namespace
}  // namespace rtcg::distributed
