// What the gallery has besides contractions and PolyBench, as plain loops in double.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tests/gallery/gallery.h"

namespace rtcg::gallery {
namespace {

// ---- rows --------------------------------------------------------------------------------------

double top_of(Grid& x, Int row) {
  double top = x(row, 0);
  for (Int j = 0; j < x.lengths[1]; ++j) {
    top = std::max(top, x(row, j));
  }
  return top;
}

double log_sum_of(Grid& x, Int row) {
  double total = 0;
  for (Int j = 0; j < x.lengths[1]; ++j) {
    total += std::exp(x(row, j) - top_of(x, row));
  }
  return top_of(x, row) + std::log(total);
}

void log_softmax(Numbers& x) {
  for_each_point({x.size("n"), x.size("m")}, [&](const auto& at) {
    x["y"].at(at) = x["x"].at(at) - log_sum_of(x["x"], at[0]);
  });
}

void softmax(Numbers& x) {
  log_softmax(x);
  for (double& each : x["y"].values) {
    each = std::exp(each);
  }
}

void log_sum_exp(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    x["y"](i) = log_sum_of(x["x"], i);
  }
}

void cross_entropy(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    x["loss"](i) = log_sum_of(x["x"], i) - x["x"](i, x["label"](i));
  }
}

double log_sum_exp_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double each : values) {
    sum += std::exp(each);
  }
  return std::log(sum);
}

struct Moments {
  double mean = 0;
  double variance = 0;
};
Moments moments_of(const std::vector<double>& values) {
  Moments result;
  for (const double each : values) {
    result.mean += each / static_cast<double>(values.size());
  }
  for (const double each : values) {
    result.variance +=
        (each - result.mean) * (each - result.mean) / static_cast<double>(values.size());
  }
  return result;
}

void layer_norm(Numbers& x) {
  const Int m = x.size("m");
  for (Int i = 0; i < x.size("n"); ++i) {
    const auto row = x["x"].values.begin() + i * m;
    const Moments moments = moments_of({row, row + m});
    for (Int l = 0; l < m; ++l) {
      x["y"](i, l) =
          (x["x"](i, l) - moments.mean) / std::sqrt(moments.variance + 1e-5) * x["gamma"](l) +
          x["beta"](l);
    }
  }
}

void rms_norm(Numbers& x) {
  const Int m = x.size("m");
  for (Int i = 0; i < x.size("n"); ++i) {
    double sum = 0;
    for (Int j = 0; j < m; ++j) {
      sum += x["x"](i, j) * x["x"](i, j);
    }
    for (Int l = 0; l < m; ++l) {
      x["y"](i, l) = x["x"](i, l) / std::sqrt(sum / static_cast<double>(m) + 1e-6) * x["gamma"](l);
    }
  }
}

void batch_norm(Numbers& x) {
  for (Int c = 0; c < x.size("nc"); ++c) {
    std::vector<double> values;
    for_each_point({x.size("nb"), x.size("np")},
                   [&](const auto& at) { values.push_back(x["x"](at[0], c, at[1])); });
    const Moments moments = moments_of(values);
    for_each_point({x.size("nb"), x.size("np")}, [&](const auto& at) {
      x["y"](at[0], c, at[1]) = (x["x"](at[0], c, at[1]) - moments.mean) /
                                    std::sqrt(moments.variance + 1e-5) * x["gamma"](c) +
                                x["beta"](c);
    });
  }
}

// ---- attention ---------------------------------------------------------------------------------

double score(Numbers& x, Int h, Int i, Int j) {
  double sum = 0;
  for (Int e = 0; e < x.size("nd"); ++e) {
    sum += x["q"](h, i, e) * x["k"](h, j, e);
  }
  return x.real("scale") * sum;
}

void attention(Numbers& x) {
  const Int n = x.size("n");
  fill(x["out"], 0);
  for_each_point({x.size("nh"), n}, [&](const auto& at) {
    const Int h = at[0];
    const Int i = at[1];
    double top = score(x, h, i, 0);
    for (Int j = 1; j < n; ++j) {
      top = std::max(top, score(x, h, i, j));
    }
    double total = 0;
    for (Int j = 0; j < n; ++j) {
      total += std::exp(score(x, h, i, j) - top);
    }
    for (Int j = 0; j < n; ++j) {
      for (Int d = 0; d < x.size("nd"); ++d) {
        x["out"](h, i, d) += std::exp(score(x, h, i, j) - top) / total * x["v"](h, j, d);
      }
    }
    x["top"](h, i) = top;
    x["total"](h, i) = total;
  });
}

void scores(Numbers& x) {
  for_each_point({x.size("nh"), x.size("n"), x.size("n")}, [&](const auto& at) {
    x["s"].at(at) = at[2] <= at[1] ? score(x, at[0], at[1], at[2]) : -1e30;
  });
}

void head_weights(Numbers& x) {
  const Int n = x.size("n");
  for_each_point({x.size("nh"), n}, [&](const auto& at) {
    std::vector<double> scores;
    for (Int j = 0; j < n; ++j) {
      double sum = 0;
      for (Int e = 0; e < x.size("nd"); ++e) {
        sum += x["q"](at[1], at[0], e) * x["k"](j, at[0], e);
      }
      scores.push_back(x.real("scale") * sum);
    }
    const double all = log_sum_exp_of(scores);
    for (Int j = 0; j < n; ++j) {
      x["w"](at[0], at[1], j) = std::exp(scores[static_cast<std::size_t>(j)] - all);
    }
  });
}

// ---- products ----------------------------------------------------------------------------------

template <class Left, class Right>
void multiply(Grid& c, Int length, const Left& left, const Right& right) {
  for_each_point({c.lengths[0], c.lengths[1]}, [&](const auto& at) {
    c.at(at) = 0;
    for (Int k = 0; k < length; ++k) {
      c.at(at) += left(at[0], k) * right(k, at[1]);
    }
  });
}

void product(Numbers& x) {
  multiply(
      x["C"], x.size("l"), [&](Int i, Int k) { return x["A"](i, k); },
      [&](Int k, Int j) { return x["B"](k, j); });
}

/// Rows of a product.
std::vector<std::vector<double>> product_rows(Grid& a, Grid& b) {
  Grid c{{a.lengths[0], b.lengths[1]}, {}};
  c.values.resize(static_cast<std::size_t>(a.lengths[0] * b.lengths[1]));
  multiply(
      c, a.lengths[1], [&](Int i, Int k) { return a(i, k); },
      [&](Int k, Int j) { return b(k, j); });
  std::vector<std::vector<double>> rows;
  for (auto row = c.values.begin(); row != c.values.end(); row += b.lengths[1]) {
    rows.emplace_back(row, row + b.lengths[1]);
  }
  return rows;
}

void product_variance(Numbers& x) {
  const auto rows = product_rows(x["A"], x["B"]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Moments moments = moments_of(rows[i]);
    x["mean"](i) = moments.mean;
    x["variance"](i) = moments.variance;
  }
}

void contrastive_sums(Numbers& x) {
  const Int n = x.size("n");
  const Int m = x.size("m");
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(n));
  std::vector<std::vector<double>> columns(static_cast<std::size_t>(m));
  for_each_point({n, m, x.size("nd")}, [&](const auto& at) {
    auto& row = rows[static_cast<std::size_t>(at[0])];
    row.resize(static_cast<std::size_t>(m));
    row[static_cast<std::size_t>(at[1])] +=
        x.real("scale") * x["x"](at[0], at[2]) * x["y"](at[1], at[2]);
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    x["rows"](i) = log_sum_exp_of(rows[i]);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      columns[j].push_back(rows[i][j]);
    }
  }
  for (std::size_t j = 0; j < columns.size(); ++j) {
    x["columns"](j) = log_sum_exp_of(columns[j]);
  }
}

void product_atb(Numbers& x) {
  multiply(
      x["C"], x.size("l"), [&](Int i, Int k) { return x["A"](k, i); },
      [&](Int k, Int j) { return x["B"](k, j); });
}

void product_abt(Numbers& x) {
  multiply(
      x["C"], x.size("l"), [&](Int i, Int k) { return x["A"](i, k); },
      [&](Int k, Int j) { return x["B"](j, k); });
}

void tall_gram(Numbers& x) {
  multiply(
      x["G"], x.size("m"), [&](Int i, Int k) { return x["A"](k, i); },
      [&](Int k, Int j) { return x["A"](k, j); });
}

void triangular_product(Numbers& x) {
  multiply(
      x["C"], x.size("n"), [&](Int i, Int k) { return k <= i ? x["L"](i, k) : 0; },
      [&](Int k, Int j) { return x["B"](k, j); });
}

void banded_product(Numbers& x) {
  const Int w = x.size("w");
  multiply(
      x["C"], x.size("n"),
      [&](Int i, Int k) { return std::abs(k - i) <= w ? x["A"](i, k - i + w) : 0; },
      [&](Int k, Int j) { return x["B"](k, j); });
}

void rank_update(Numbers& x) {
  for_each_point({x.size("m"), x.size("n"), x.size("r")}, [&](const auto& at) {
    x["A"](at[0], at[1]) += x["U"](at[0], at[2]) * x["V"](at[1], at[2]);
  });
}

void matrix_vector(Numbers& x) {
  fill(x["y"], 0);
  for_each_point({x.size("m"), x.size("n")},
                 [&](const auto& at) { x["y"](at[0]) += x["A"].at(at) * x["x"](at[1]); });
}

void vector_matrix(Numbers& x) {
  fill(x["y"], 0);
  for_each_point({x.size("m"), x.size("n")},
                 [&](const auto& at) { x["y"](at[1]) += x["A"].at(at) * x["x"](at[0]); });
}

void bilinear(Numbers& x) {
  fill(x["y"], 0);
  for_each_point({x.size("nb"), x.size("no"), x.size("ni"), x.size("nj")}, [&](const auto& at) {
    x["y"](at[0], at[1]) +=
        x["x"](at[0], at[2]) * x["W"](at[1], at[2], at[3]) * x["z"](at[0], at[3]);
  });
}

// ---- convolutions ------------------------------------------------------------------------------

/// Of images with square weights of `width` at every `stride`-th place.
template <Int width, Int stride>
void convolution(Numbers& x) {
  fill(x["out"], 0);
  for_each_point(
      {x.size("nb"), x.size("nf"), x.size("ny"), x.size("nx"), x.size("nc"), width, width},
      [&](const auto& at) {
        const auto& [b, f, y, col, c, p, q] =
            std::array{at[0], at[1], at[2], at[3], at[4], at[5], at[6]};
        x["out"](b, f, y, col) +=
            x["image"](b, c, stride * y + p, stride * col + q) * x["weight"](f, c, p, q);
      });
}

void conv_1x1(Numbers& x) {
  fill(x["out"], 0);
  for_each_point({x.size("nb"), x.size("nf"), x.size("ny"), x.size("nx"), x.size("nc")},
                 [&](const auto& at) {
                   x["out"](at[0], at[1], at[2], at[3]) +=
                       x["image"](at[0], at[4], at[2], at[3]) * x["weight"](at[1], at[4]);
                 });
}

void conv_3x3_nhwc(Numbers& x) {
  fill(x["out"], 0);
  for_each_point({x.size("nb"), x.size("ny"), x.size("nx"), x.size("nf"), x.size("nc"), 3, 3},
                 [&](const auto& at) {
                   x["out"](at[0], at[1], at[2], at[3]) +=
                       x["image"](at[0], at[1] + at[5], at[2] + at[6], at[4]) *
                       x["weight"](at[5], at[6], at[4], at[3]);
                 });
}

void conv_depthwise(Numbers& x) {
  fill(x["out"], 0);
  for_each_point({x.size("nb"), x.size("nc"), x.size("ny"), x.size("nx"), 3, 3},
                 [&](const auto& at) {
                   x["out"](at[0], at[1], at[2], at[3]) +=
                       x["image"](at[0], at[1], at[2] + at[4], at[3] + at[5]) *
                       x["weight"](at[1], at[4], at[5]);
                 });
}

void conv_1d(Numbers& x) {
  fill(x["out"], 0);
  for_each_point({x.size("nb"), x.size("nf"), x.size("nx"), x.size("nc"), x.size("np")},
                 [&](const auto& at) {
                   x["out"](at[0], at[1], at[2]) +=
                       x["signal"](at[0], at[3], at[2] + at[4]) * x["weight"](at[1], at[3], at[4]);
                 });
}

void conv_3d(Numbers& x) {
  fill(x["out"], 0);
  for_each_point(
      {x.size("nb"), x.size("nf"), x.size("nz"), x.size("ny"), x.size("nx"), x.size("nc"), 3, 3, 3},
      [&](const auto& at) {
        x["out"](at[0], at[1], at[2], at[3], at[4]) +=
            x["volume"](at[0], at[5], at[2] + at[6], at[3] + at[7], at[4] + at[8]) *
            x["weight"](at[1], at[5], at[6], at[7], at[8]);
      });
}

void max_pooling(Numbers& x) {
  for_each_point(x["out"].lengths, [&](const auto& at) {
    double best = -std::numeric_limits<double>::infinity();
    for (Int p = 0; p < 9; ++p) {
      best = std::max(best, x["image"](at[0], at[1], 2 * at[2] + p / 3, 2 * at[3] + p % 3));
    }
    x["out"].at(at) = best;
  });
}

void mean_pooling(Numbers& x) {
  fill(x["out"], 0);
  const auto count = static_cast<double>(x.size("ny") * x.size("nx"));
  for_each_point(x["image"].lengths,
                 [&](const auto& at) { x["out"](at[0], at[1]) += x["image"].at(at) / count; });
}

void upsampling(Numbers& x) {
  for_each_point(x["out"].lengths, [&](const auto& at) {
    x["out"].at(at) = x["image"](at[0], at[1] / 2, at[2] / 2);
  });
}

void bilinear_upsampling(Numbers& x) {
  for_each_point(x["out"].lengths, [&](const auto& at) {
    const Int y = at[1] / 2;
    const Int col = at[2] / 2;
    const double down = at[1] % 2 == 0 ? 0.25 : 0.75;
    const double right = at[2] % 2 == 0 ? 0.25 : 0.75;
    x["out"].at(at) = (1 - down) * (1 - right) * x["image"](at[0], y, col) +
                      (1 - down) * right * x["image"](at[0], y, col + 1) +
                      down * (1 - right) * x["image"](at[0], y + 1, col) +
                      down * right * x["image"](at[0], y + 1, col + 1);
  });
}

void bias_relu_residual(Numbers& x) {
  for_each_point(x["out"].lengths, [&](const auto& at) {
    x["out"].at(at) = std::max(x["x"].at(at) + x["bias"](at[1]) + x["residual"].at(at), 0.0);
  });
}

// ---- stencils ----------------------------------------------------------------------------------

/// Calls `visit` with the points of a cube or square that are `border` or more from its faces.
template <class Visit>
void for_each_inner(const Grid& grid, std::size_t axes, Int border, const Visit& visit) {
  std::vector<Int> lengths;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    lengths.push_back(grid.lengths[axis] - 2 * border);
  }
  for_each_point(lengths, [&](std::vector<Int> at) {
    for (Int& each : at) {
      each += border;
    }
    visit(at);
  });
}

void points_27(Numbers& x) {
  for_each_inner(x["u"], 3, 1, [&](const auto& at) {
    double sum = 0;
    for_each_point({3, 3, 3}, [&](const auto& by) {
      const Int far = std::abs(by[0] - 1) + std::abs(by[1] - 1) + std::abs(by[2] - 1);
      sum += x["weight"](far) * x["u"](at[0] + by[0] - 1, at[1] + by[1] - 1, at[2] + by[2] - 1);
    });
    x["out"].at(at) = sum;
  });
}

void reversed_axes(Numbers& x) {
  for_each_point({x.size("n"), x.size("m"), x.size("l")},
                 [&](const auto& at) { x["out"](at[2], at[1], at[0]) = x["a"].at(at); });
}

void permuted_axes(Numbers& x) {
  for_each_point({x.size("n"), x.size("m"), x.size("p"), x.size("q")}, [&](const auto& at) {
    x["out"].at({at[3], at[1], at[2], at[0]}) = x["a"].at(at);
  });
}

double star_of(Grid& u, Grid& weight, const std::vector<Int>& at) {
  double sum = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (Int p = -4; p <= 4; ++p) {
      std::vector<Int> place = at;
      place[axis] += p;
      sum += weight(std::abs(p)) * u.at(place);
    }
  }
  return sum;
}

void star_25(Numbers& x) {
  for_each_inner(x["u"], 3, 4,
                 [&](const auto& at) { x["out"].at(at) = star_of(x["u"], x["weight"], at); });
}

void acoustic_wave(Numbers& x) {
  for_each_inner(x["now"], 3, 4, [&](const auto& at) {
    x["before"].at(at) = 2 * x["now"].at(at) - x["before"].at(at) +
                         x["speed"].at(at) * star_of(x["now"], x["weight"], at);
  });
}

void elastic_wave(Numbers& x) {
  const double dt = x.real("dt");
  for_each_inner(x["vx"], 2, 1, [&](const auto& at) {
    const Int i = at[0];
    const Int j = at[1];
    x["vx"](i, j) +=
        dt * (x["sxx"](i + 1, j) - x["sxx"](i, j) + x["sxy"](i, j) - x["sxy"](i, j - 1));
    x["vy"](i, j) +=
        dt * (x["sxy"](i, j) - x["sxy"](i - 1, j) + x["syy"](i, j + 1) - x["syy"](i, j));
  });
  for_each_inner(x["vx"], 2, 1, [&](const auto& at) {
    const Int i = at[0];
    const Int j = at[1];
    const double exx = x["vx"](i, j) - x["vx"](i - 1, j);
    const double eyy = x["vy"](i, j) - x["vy"](i, j - 1);
    const double lambda = x["lambda"](i, j);
    const double mu = x["mu"](i, j);
    x["sxx"](i, j) += dt * ((lambda + 2 * mu) * exx + lambda * eyy);
    x["syy"](i, j) += dt * ((lambda + 2 * mu) * eyy + lambda * exx);
    x["sxy"](i, j) +=
        dt * mu * (x["vx"](i, j + 1) - x["vx"](i, j) + x["vy"](i + 1, j) - x["vy"](i, j));
  });
}

double minmod(double a, double b) {
  return a * b <= 0 ? 0 : std::fabs(a) < std::fabs(b) ? a : b;
}

void advection(Numbers& x) {
  // the flux through the far side of a cell, from the three cells along one axis
  const auto flux = [](double before, double here, double after, double c) {
    return c * (here + 0.5 * (1 - c) * minmod(after - here, here - before));
  };
  Grid& u = x["u"];
  const double cx = x.real("cx");
  const double cy = x.real("cy");
  for_each_inner(u, 2, 2, [&](const auto& at) {
    const Int i = at[0];
    const Int j = at[1];
    x["out"](i, j) = u(i, j) - flux(u(i - 1, j), u(i, j), u(i + 1, j), cx) +
                     flux(u(i - 2, j), u(i - 1, j), u(i, j), cx) -
                     flux(u(i, j - 1), u(i, j), u(i, j + 1), cy) +
                     flux(u(i, j - 2), u(i, j - 1), u(i, j), cy);
  });
}

void red_black(Numbers& x) {
  Grid& u = x["u"];
  for (Int half = 0; half < 2 * x.size("steps"); ++half) {
    for_each_inner(u, 2, 1, [&](const auto& at) {
      const Int i = at[0];
      const Int j = at[1];
      if ((i + j) % 2 == half % 2) {
        u(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - x["f"](i, j));
      }
    });
  }
}

constexpr Int directions[19][3] = {{0, 0, 0},  {1, 0, 0},   {-1, 0, 0},  {0, 1, 0},   {0, -1, 0},
                                   {0, 0, 1},  {0, 0, -1},  {1, 1, 0},   {-1, -1, 0}, {1, -1, 0},
                                   {-1, 1, 0}, {1, 0, 1},   {-1, 0, -1}, {1, 0, -1},  {-1, 0, 1},
                                   {0, 1, 1},  {0, -1, -1}, {0, 1, -1},  {0, -1, 1}};

void lattice_boltzmann(Numbers& x) {
  const Int inner = x.size("n") - 2;
  for_each_point({inner, inner, inner}, [&](const auto& point) {
    std::array<double, 19> pulled{};
    double density = 0;
    std::array<double, 3> velocity{};
    for (Int v = 0; v < 19; ++v) {
      const auto& c = directions[v];
      pulled.at(v) = x["f"](v, point[0] + 1 - c[0], point[1] + 1 - c[1], point[2] + 1 - c[2]);
      density += pulled.at(v);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        velocity.at(axis) += static_cast<double>(c[axis]) * pulled.at(v);
      }
    }
    double square = 0;
    for (double& each : velocity) {
      each /= density;
      square += each * each;
    }
    for (Int v = 0; v < 19; ++v) {
      double along = 0;
      Int steps = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        along += static_cast<double>(directions[v][axis]) * velocity.at(axis);
        steps += std::abs(directions[v][axis]);
      }
      const double weight = steps == 0 ? 1.0 / 3 : steps == 1 ? 1.0 / 18 : 1.0 / 36;
      const double equilibrium =
          weight * density * (1 + 3 * along + 4.5 * along * along - 1.5 * square);
      x["out"](v, point[0] + 1, point[1] + 1, point[2] + 1) =
          pulled.at(v) + x.real("omega") * (equilibrium - pulled.at(v));
    }
  });
}

void prepare_lattice_boltzmann(Numbers& x) {
  for (double& each : x["f"].values) {
    each = 2 + each;
  }
}

void game_of_life(Numbers& x) {
  const Int n = x.size("n");
  for_each_point({n, n}, [&](const auto& at) {
    double near = -x["cells"].at(at);
    for_each_point({3, 3}, [&](const auto& by) {
      near += x["cells"]((at[0] + by[0] + n - 1) % n, (at[1] + by[1] + n - 1) % n);
    });
    x["out"].at(at) = near == 3 || (near == 2 && x["cells"].at(at) == 1) ? 1 : 0;
  });
}

void prepare_game_of_life(Numbers& x) {
  for (double& each : x["cells"].values) {
    each = std::fmod(each, 2);
  }
}

void median_3x3(Numbers& x) {
  for_each_inner(x["image"], 2, 1, [&](const auto& at) {
    std::vector<double> around;
    for_each_point({3, 3}, [&](const auto& by) {
      around.push_back(x["image"](at[0] + by[0] - 1, at[1] + by[1] - 1));
    });
    std::sort(around.begin(), around.end());
    x["out"].at(at) = around[4];
  });
}

}  // namespace

Entries other_entries() {
  return {
      {"softmax", {softmax}},
      {"log_softmax", {log_softmax}},
      {"log_sum_exp", {log_sum_exp}},
      {"cross_entropy", {cross_entropy}},
      {"layer_norm", {layer_norm}},
      {"rms_norm", {rms_norm}},
      {"batch_norm", {batch_norm}},
      {"attention", {attention}},
      {"attention_f16", {attention}},
      {"attention_online", {attention}},
      {"scores", {scores}},
      {"head_weights", {head_weights}},
      {"product", {product}},
      {"product_f16", {product}},
      {"product_i8", {product}},
      {"product_variance", {product_variance}},
      {"contrastive_sums", {contrastive_sums}},
      {"product_atb", {product_atb}},
      {"product_abt", {product_abt}},
      {"tall_gram", {tall_gram}},
      {"triangular_product", {triangular_product}},
      {"banded_product", {banded_product}},
      {"rank_update", {rank_update}},
      {"matrix_vector", {matrix_vector}},
      {"vector_matrix", {vector_matrix}},
      {"bilinear", {bilinear}},
      {"conv_1x1", {conv_1x1}},
      {"conv_3x3", {convolution<3, 1>}},
      {"conv_5x5", {convolution<5, 1>}},
      {"conv_7x7_stride2", {convolution<7, 2>}},
      {"conv_3x3_nhwc", {conv_3x3_nhwc}},
      {"conv_depthwise", {conv_depthwise}},
      {"conv_1d", {conv_1d}},
      {"conv_3d", {conv_3d}},
      {"max_pooling", {max_pooling}},
      {"mean_pooling", {mean_pooling}},
      {"upsampling", {upsampling}},
      {"bilinear_upsampling", {bilinear_upsampling}},
      {"bias_relu_residual", {bias_relu_residual}},
      {"reversed_axes", {reversed_axes}},
      {"permuted_axes", {permuted_axes}},
      {"points_27", {points_27}},
      {"star_25", {star_25}},
      {"acoustic_wave", {acoustic_wave}},
      {"elastic_wave", {elastic_wave}},
      {"advection", {advection}},
      {"red_black", {red_black}},
      {"lattice_boltzmann", {lattice_boltzmann, prepare_lattice_boltzmann}},
      {"game_of_life", {game_of_life, prepare_game_of_life}},
      {"median_3x3", {median_3x3}},
  };
}

}  // namespace rtcg::gallery
