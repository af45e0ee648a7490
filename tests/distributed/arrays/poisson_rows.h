#pragma once

#include <vector>

#include "rtcg/distributed/arrays/distributed_matrix.h"

namespace rtcg::distributed::testing {

/// -u_xx - u_yy on a square of side x side points, u = 0 around it: 4 on the diagonal, -1 beside.
template <class T>
[[nodiscard]] DistributedMatrix poisson(const Group& group, std::int64_t side) {
  const Blocks blocks(side * side, group.size());
  std::vector<std::int64_t> row;
  std::vector<std::int64_t> column;
  std::vector<T> value;
  for (std::int64_t i = blocks.begin(group.rank()); i < blocks.end(group.rank()); ++i) {
    const auto add = [&](std::int64_t to, T number) {
      row.push_back(i);
      column.push_back(to);
      value.push_back(number);
    };
    const std::int64_t x = i % side;
    const std::int64_t y = i / side;
    add(i, 4);
    if (x > 0) {
      add(i - 1, -1);
    }
    if (x + 1 < side) {
      add(i + 1, -1);
    }
    if (y > 0) {
      add(i - side, -1);
    }
    if (y + 1 < side) {
      add(i + side, -1);
    }
  }
  return DistributedMatrix::from_triplets(group, side * side, row, column, value);
}

}  // namespace rtcg::distributed::testing
