// Elements, batches, pairs, histograms and finance as plain loops in double.
#include <cmath>
#include <limits>

#include "tests/gallery/gallery.h"

namespace rtcg::gallery {
namespace {

// ---- finite and spectral elements --------------------------------------------------------------

void mass_2d(Numbers& x) {
  const Int n = x.size("n");
  fill(x["out"], 0);
  for_each_point({x.size("ne"), n, n, n, n}, [&](const auto& at) {
    x["out"](at[0], at[1], at[2]) += x["M"](at[1], at[3]) * x["M"](at[2], at[4]) *
                                     x["jacobian"](at[0], at[3], at[4]) *
                                     x["u"](at[0], at[3], at[4]);
  });
}

void mass_3d(Numbers& x) {
  const Int n = x.size("n");
  fill(x["out"], 0);
  for_each_point({x.size("ne"), n, n, n, n, n, n}, [&](const auto& at) {
    x["out"](at[0], at[1], at[2], at[3]) += x["M"](at[1], at[4]) * x["M"](at[2], at[5]) *
                                            x["M"](at[3], at[6]) *
                                            x["u"](at[0], at[4], at[5], at[6]);
  });
}

/// The derivative along an axis of u[e, ...] at a point; axis 0 is that of elements.
double derivative(Numbers& x, std::vector<Int> at, std::size_t axis) {
  const Int row = at[axis];
  double sum = 0;
  for (Int p = 0; p < x.size("n"); ++p) {
    at[axis] = p;
    sum += x["D"](row, p) * x["u"].at(at);
  }
  return sum;
}

void gradient(Numbers& x) {
  const char* names[] = {"ux", "uy", "uz"};
  for_each_point(x["u"].lengths, [&](const auto& at) {
    for (std::size_t axis = 1; axis < at.size(); ++axis) {
      x[names[axis - 1]].at(at) = derivative(x, at, axis);
    }
  });
}

/// out = sum of D^T (G D u) over the axes; G has the upper triangle of a matrix at each point.
void stiffness(Numbers& x) {
  Grid& out = x["out"];
  const std::size_t axes = out.lengths.size() - 1;
  fill(out, 0);
  for_each_point(out.lengths, [&](const auto& at) {
    for (std::size_t row = 0; row < axes; ++row) {
      double flux = 0;
      for (std::size_t column = 0; column < axes; ++column) {
        const std::size_t less = std::min(row, column);
        const std::size_t more = std::max(row, column);
        std::vector<Int> place = {static_cast<Int>(less * axes - less * (less + 1) / 2 + more)};
        place.insert(place.end(), at.begin(), at.end());
        flux += x["G"].at(place) * derivative(x, at, column + 1);
      }
      std::vector<Int> to = at;
      for (to[row + 1] = 0; to[row + 1] < x.size("n"); ++to[row + 1]) {
        out.at(to) += x["D"](at[row + 1], to[row + 1]) * flux;
      }
    }
  });
}

void element_matrices(Numbers& x) {
  const Int n = x.size("n");
  fill(x["A"], 0);
  for_each_point({x.size("ne"), n, n, x.size("nq")}, [&](const auto& at) {
    x["A"](at[0], at[1], at[2]) += x["phi"](at[3], at[1]) * x["phi"](at[3], at[2]) *
                                   x["weight"](at[3]) * x["jacobian"](at[0], at[3]);
  });
}

// ---- batches -----------------------------------------------------------------------------------

void small_products(Numbers& x) {
  const Int n = x.size("n");
  fill(x["C"], 0);
  for_each_point({x.size("nb"), n, n, n}, [&](const auto& at) {
    x["C"](at[0], at[1], at[2]) += x["A"](at[0], at[1], at[3]) * x["B"](at[0], at[3], at[2]);
  });
}

void prepare_batch(Numbers& x) {
  Grid& a = x["A"];
  for_each_point({a.lengths[0], a.lengths[1]}, [&](const auto& at) {
    a(at[0], at[1], at[1]) += static_cast<double>(2 * a.lengths[1]);
  });
}

void small_lu(Numbers& x) {
  const Int n = x.size("n");
  Grid& a = x["A"];
  for (Int b = 0; b < x.size("nb"); ++b) {
    for (Int i = 0; i < n; ++i) {
      for (Int j = 0; j < n; ++j) {
        for (Int k = 0; k < std::min(i, j); ++k) {
          a(b, i, j) -= a(b, i, k) * a(b, k, j);
        }
        a(b, i, j) /= j < i ? a(b, j, j) : 1;
      }
    }
  }
}

void small_cholesky(Numbers& x) {
  Grid& a = x["A"];
  for (Int b = 0; b < x.size("nb"); ++b) {
    for (Int i = 0; i < x.size("n"); ++i) {
      for (Int j = 0; j <= i; ++j) {
        for (Int k = 0; k < j; ++k) {
          a(b, i, j) -= a(b, i, k) * a(b, j, k);
        }
        a(b, i, j) = i == j ? std::sqrt(a(b, i, i)) : a(b, i, j) / a(b, j, j);
      }
    }
  }
}

void inverse_3x3(Numbers& x) {
  // the adjugate by minors with their signs
  const auto minor = [&](Int b, Int i, Int j) {
    const Int r[] = {i == 0 ? 1 : 0, i == 2 ? 1 : 2};
    const Int c[] = {j == 0 ? 1 : 0, j == 2 ? 1 : 2};
    Grid& a = x["A"];
    return ((i + j) % 2 == 0 ? 1 : -1) *
           (a(b, r[0], c[0]) * a(b, r[1], c[1]) - a(b, r[0], c[1]) * a(b, r[1], c[0]));
  };
  for (Int b = 0; b < x.size("nb"); ++b) {
    double determinant = 0;
    for (Int j = 0; j < 3; ++j) {
      determinant += x["A"](b, 0, j) * minor(b, 0, j);
    }
    for_each_point({3, 3}, [&](const auto& at) {
      x["out"](b, at[0], at[1]) = minor(b, at[1], at[0]) / determinant;
    });
  }
}

void quaternions(Numbers& x) {
  // (a + u)(b + v) = a b - u v + a v + b u + u x v
  for (Int n = 0; n < x.size("nb"); ++n) {
    const double a = x["p"](n, 0);
    const double b = x["q"](n, 0);
    double scalar = a * b;
    for (Int k = 0; k < 3; ++k) {
      const Int next = 1 + (k + 1) % 3;
      const Int last = 1 + (k + 2) % 3;
      scalar -= x["p"](n, k + 1) * x["q"](n, k + 1);
      x["out"](n, k + 1) = a * x["q"](n, k + 1) + b * x["p"](n, k + 1) +
                           x["p"](n, next) * x["q"](n, last) - x["p"](n, last) * x["q"](n, next);
    }
    x["out"](n, 0) = scalar;
  }
}

void clebsch_gordan(Numbers& x) {
  fill(x["out"], 0);
  for_each_point(
      {x.size("nb"), x.size("nc"), x.size("nk"), x.size("ni"), x.size("nj")}, [&](const auto& at) {
        x["out"](at[0], at[1], at[2]) +=
            x["C"](at[3], at[4], at[2]) * x["x"](at[0], at[1], at[3]) * x["y"](at[0], at[1], at[4]);
      });
}

void tridiagonal(Numbers& x) {
  const Int n = x.size("n");
  for (Int b = 0; b < x.size("nb"); ++b) {
    for (Int i = 0; i < n; ++i) {
      const double lower = i > 0 ? x["lower"](i, b) : 0;
      const double scale = x["diagonal"](i, b) - (i > 0 ? lower * x["c"](i - 1, b) : 0);
      x["c"](i, b) = x["upper"](i, b) / scale;
      x["x"](i, b) = (x["rhs"](i, b) - (i > 0 ? lower * x["x"](i - 1, b) : 0)) / scale;
    }
    for (Int i = n - 2; i >= 0; --i) {
      x["x"](i, b) -= x["c"](i, b) * x["x"](i + 1, b);
    }
  }
}

void prepare_tridiagonal(Numbers& x) {
  for (double& each : x["diagonal"].values) {
    each += 4;
  }
}

// ---- pairs -------------------------------------------------------------------------------------

double square_distance(Grid& x, Int i, Grid& y, Int j) {
  double sum = 0;
  for (Int d = 0; d < x.lengths[1]; ++d) {
    sum += (x(i, d) - y(j, d)) * (x(i, d) - y(j, d));
  }
  return sum;
}

void n_body(Numbers& x) {
  const Int n = x.size("n");
  fill(x["a"], 0);
  for_each_point({n, 3, n}, [&](const auto& at) {
    const double square = square_distance(x["x"], at[0], x["x"], at[2]) + 0.01;
    x["a"](at[0], at[1]) +=
        x["mass"](at[2]) * std::pow(square, -1.5) * (x["x"](at[2], at[1]) - x["x"](at[0], at[1]));
  });
}

void lennard_jones(Numbers& x) {
  const Int n = x.size("n");
  fill(x["force"], 0);
  for_each_point({n, 3, n}, [&](const auto& at) {
    const double square = square_distance(x["x"], at[0], x["x"], at[2]);
    if (at[0] != at[2] && square < x.real("cutoff") * x.real("cutoff")) {
      x["force"](at[0], at[1]) += 24 * (2 * std::pow(square, -6) - std::pow(square, -3)) / square *
                                  (x["x"](at[0], at[1]) - x["x"](at[2], at[1]));
    }
  });
}

void prepare_lennard_jones(Numbers& x) {
  x.reals["cutoff"] = 2.5;
  for_each_point(x["x"].lengths, [&](const auto& at) {
    x["x"].at(at) = 0.2 * x["x"].at(at) + static_cast<double>(at[1] == 0 ? at[0] : at[0] % 3);
  });
}

/// The nearest row of `y` to each row of `x`; of itself none.
void find_nearest(Numbers& numbers, Grid& x, Grid& y) {
  for (Int i = 0; i < x.lengths[0]; ++i) {
    double best = std::numeric_limits<double>::infinity();
    for (Int j = 0; j < y.lengths[0]; ++j) {
      const double distance = square_distance(x, i, y, j);
      if (distance < best && !(&x == &y && i == j)) {
        best = distance;
        numbers["nearest"](i) = static_cast<double>(j);
      }
    }
    numbers["distance"](i) = best;
  }
}

void k_means_assign(Numbers& x) {
  find_nearest(x, x["x"], x["centre"]);
}

void nearest_neighbour(Numbers& x) {
  find_nearest(x, x["x"], x["x"]);
}

void k_means_update(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    x["count"](x["nearest"](i)) += 1;
    for (Int d = 0; d < x.size("nd"); ++d) {
      x["total"](x["nearest"](i), d) += x["x"](i, d);
    }
  }
}

/// Whole numbers: their sums do not depend on the order, which is that of the threads.
void make_whole(Grid& grid) {
  for (double& each : grid.values) {
    each = std::floor(8 * each);
  }
}

void prepare_k_means_update(Numbers& x) {
  make_whole(x["x"]);
  make_whole(x["total"]);
  for (double& each : x["nearest"].values) {
    each = std::fmod(each, static_cast<double>(x.size("nc")));
  }
}

void soft_k_means(Numbers& x) {
  Grid& points = x["x"];
  Grid& centre = x["centre"];
  const Int nc = x.size("nc");
  fill(x["weight"], 0);
  fill(x["mean"], 0);
  for (Int i = 0; i < x.size("n"); ++i) {
    double near = std::numeric_limits<double>::infinity();
    for (Int c = 0; c < nc; ++c) {
      near = std::min(near, square_distance(points, i, centre, c));
    }
    const auto closeness = [&](Int c) {
      return std::exp(x.real("beta") * (near - square_distance(points, i, centre, c)));
    };
    double total = 0;
    for (Int c = 0; c < nc; ++c) {
      total += closeness(c);
    }
    x["near"](i) = near;
    x["total"](i) = total;
    for (Int c = 0; c < nc; ++c) {
      x["weight"](c) += closeness(c) / total;
      for (Int d = 0; d < x.size("nd"); ++d) {
        x["mean"](c, d) += closeness(c) / total * points(i, d);
      }
    }
  }
  for_each_point({nc, x.size("nd")},
                 [&](const auto& at) { x["mean"].at(at) /= x["weight"](at[0]); });
}

void distances(Numbers& x) {
  for_each_point(x["out"].lengths, [&](const auto& at) {
    x["out"].at(at) = square_distance(x["x"], at[0], x["y"], at[1]);
  });
}

void rbf_product(Numbers& x) {
  fill(x["out"], 0);
  for_each_point({x.size("n"), x.size("m")}, [&](const auto& at) {
    x["out"](at[0]) +=
        std::exp(-x.real("gamma") * square_distance(x["x"], at[0], x["y"], at[1])) * x["w"](at[1]);
  });
}

// ---- histograms --------------------------------------------------------------------------------

void histogram(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    x["count"](x["x"](i)) += 1;
  }
}

void weighted_histogram(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    x["total"](x["x"](i)) += x["weight"](i);
  }
}

void prepare_weighted_histogram(Numbers& x) {
  make_whole(x["weight"]);
  make_whole(x["total"]);
}

void largest_by_category(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    double& largest = x["largest"](x["category"](i));
    const double each = x["x"](i);
    const bool is_as_large = std::fabs(each) == std::fabs(largest);
    largest =
        std::fabs(each) > std::fabs(largest) || (is_as_large && each > largest) ? each : largest;
  }
}

void running_sums(Numbers& x) {
  double sum = 0;
  double begun = 0;
  for (Int i = 0; i < x.size("n"); ++i) {
    const bool begins = x["begins"](i) >= 7;
    sum = begins ? x["x"](i) : sum + x["x"](i);
    begun = begins ? 1 : begun;
    x["y"](i) = sum;
    x["begun"](i) = begun;
  }
}

void bias_swish_bf16(Numbers& x) {
  for_each_point({x.size("n"), x.size("m")}, [&](const auto& at) {
    const double sum = x["x"].at(at) + x["bias"](at[1]);
    x["y"].at(at) = sum / (1 + std::exp(-sum));
  });
}

void histogram_2d(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    x["count"](x["x"](i), x["y"](i)) += 1;
  }
}

/// Segments of several lengths, one of them empty.
void prepare_segments(Numbers& x) {
  Grid& first = x["first"];
  const Int elements = x.arrays.count("column") != 0 ? x.size("nz") : x.size("n");
  for (Int s = 0; s < first.lengths[0]; ++s) {
    first(s) = static_cast<double>(s == 3 ? 2 * elements / first.lengths[0]
                                          : s * elements / first.lengths[0]);
  }
}

void segmented_sums(Numbers& x) {
  for (Int s = 0; s < x.size("ns"); ++s) {
    x["out"](s) = 0;
    for (Int k = static_cast<Int>(x["first"](s)); k < static_cast<Int>(x["first"](s + 1)); ++k) {
      x["out"](s) += x["x"](k);
    }
  }
}

void sparse_product(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    x["y"](i) = 0;
    for (Int k = static_cast<Int>(x["first"](i)); k < static_cast<Int>(x["first"](i + 1)); ++k) {
      x["y"](i) += x["value"](k) * x["x"](x["column"](k));
    }
  }
}

void gather(Numbers& x) {
  for_each_point(x["out"].lengths,
                 [&](const auto& at) { x["out"].at(at) = x["table"](x["row"](at[0]), at[1]); });
}

void scatter_add(Numbers& x) {
  for_each_point(x["x"].lengths,
                 [&](const auto& at) { x["table"](x["row"](at[0]), at[1]) += x["x"].at(at); });
}

void prepare_scatter_add(Numbers& x) {
  make_whole(x["x"]);
  make_whole(x["table"]);
}

void row_scan(Numbers& x) {
  for_each_point(x["x"].lengths, [&](const auto& at) {
    x["y"].at(at) = x["x"].at(at) + (at[1] > 0 ? x["y"](at[0], at[1] - 1) : 0);
  });
}

// ---- finance and statistics --------------------------------------------------------------------

void prepare_options(Numbers& x) {
  for (auto& [name, grid] : x.arrays) {
    for (double& each : grid.values) {
      each = 2 + each;
    }
  }
  x.reals = {{"rate", 0.05}, {"volatility", 0.3}};
}

void black_scholes(Numbers& x) {
  const double rate = x.real("rate");
  const double volatility = x.real("volatility");
  const auto normal = [](double d) { return 0.5 * (1 + std::erf(d / std::sqrt(2.0))); };
  for (Int i = 0; i < x.size("n"); ++i) {
    const double spot = x["spot"](i);
    const double strike = x["strike"](i);
    const double time = x["time"](i);
    const double wide = volatility * std::sqrt(time);
    const double d1 = (std::log(spot / strike) + rate * time) / wide + wide / 2;
    x["call"](i) = spot * normal(d1) - strike * std::exp(-rate * time) * normal(d1 - wide);
    // the parity of puts and calls
    x["put"](i) = x["call"](i) - spot + strike * std::exp(-rate * time);
  }
}

void prepare_binomial_tree(Numbers& x) {
  for (double& each : x["spot"].values) {
    each = 2 + each;
  }
  for (double& each : x["strike"].values) {
    each = 2 + each;
  }
  x.reals = {{"discount", 0.999}, {"step", 0.04}, {"up", 0.51}};
}

void binomial_tree(Numbers& x) {
  for (Int o = 0; o < x.size("no"); ++o) {
    const auto exercised = [&](Int steps, Int ups) {
      return x["strike"](o) -
             x["spot"](o) * std::exp(x.real("step") * static_cast<double>(2 * ups - steps));
    };
    for (Int i = 0; i < 64; ++i) {
      x["value"](o, i) = std::max(exercised(63, i), 0.0);
    }
    for (Int steps = 62; steps >= 0; --steps) {
      for (Int j = 0; j <= steps; ++j) {
        x["next"](o, j) = x.real("discount") * (x.real("up") * x["value"](o, j + 1) +
                                                (1 - x.real("up")) * x["value"](o, j));
      }
      for (Int j = 0; j <= steps; ++j) {
        x["value"](o, j) = std::max(x["next"](o, j), exercised(steps, j));
      }
    }
  }
}

void monte_carlo_pi(Numbers& x) {
  const auto at = [](Int counter) {
    const Int mixed = (counter * 2654435769 + 40503) % 4294967296;
    const Int again = ((mixed / 65536 + mixed % 65536 * 7919) * 2654435769 + 40503) % 4294967296;
    return again % 65536;
  };
  for (Int b = 0; b < x.size("nb"); ++b) {
    x["inside"](b) = 0;
    for (Int i = 0; i < x.size("n"); ++i) {
      const Int counter = 2 * (b * x.size("n") + i);
      const Int square = at(counter) * at(counter) + at(counter + 1) * at(counter + 1);
      x["inside"](b) += square < 4294967296 ? 1 : 0;
    }
  }
}

void column_covariance(Numbers& x) {
  const Int m = x.size("m");
  for_each_point({m, m}, [&](const auto& at) {
    double sum = 0;
    for (Int k = 0; k < x.size("n"); ++k) {
      sum += (x["x"](k, at[0]) - x["mean"](at[0])) * (x["x"](k, at[1]) - x["mean"](at[1]));
    }
    x["cov"].at(at) = sum / static_cast<double>(x.size("n") - 1);
  });
}

void moving_average(Numbers& x) {
  fill(x["mean"], 0);
  const Int w = x.size("w");
  for_each_point({x.size("ns"), x.size("nt"), w}, [&](const auto& at) {
    x["mean"](at[0], at[1]) += x["price"](at[0], at[1] + at[2]) / static_cast<double>(w);
  });
}

}  // namespace

Entries application_entries() {
  return {
      {"mass_2d", {mass_2d}},
      {"mass_3d", {mass_3d}},
      {"gradient_2d", {gradient}},
      {"gradient_3d", {gradient}},
      {"stiffness_2d", {stiffness}},
      {"stiffness_3d", {stiffness}},
      {"element_matrices", {element_matrices}},
      {"small_products", {small_products}},
      {"small_lu", {small_lu, prepare_batch}},
      {"small_cholesky", {small_cholesky, prepare_batch}},
      {"inverse_3x3", {inverse_3x3, prepare_batch}},
      {"quaternions", {quaternions}},
      {"clebsch_gordan", {clebsch_gordan}},
      {"tridiagonal", {tridiagonal, prepare_tridiagonal}},
      {"n_body", {n_body, nullptr, 1e-3}},
      {"lennard_jones", {lennard_jones, prepare_lennard_jones, 1e-3}},
      {"k_means_assign", {k_means_assign}},
      {"k_means_update", {k_means_update, prepare_k_means_update}},
      {"soft_k_means", {soft_k_means}},
      {"nearest_neighbour", {nearest_neighbour}},
      {"distances", {distances}},
      {"rbf_product", {rbf_product}},
      {"histogram", {histogram}},
      {"weighted_histogram", {weighted_histogram, prepare_weighted_histogram}},
      {"histogram_2d", {histogram_2d}},
      {"largest_by_category", {largest_by_category}},
      {"running_sums", {running_sums}},
      {"bias_swish_bf16", {bias_swish_bf16}},
      {"segmented_sums", {segmented_sums, prepare_segments}},
      {"sparse_product", {sparse_product, prepare_segments}},
      {"gather", {gather}},
      {"scatter_add", {scatter_add, prepare_scatter_add}},
      {"row_scan", {row_scan}},
      {"black_scholes", {black_scholes, prepare_options}},
      {"binomial_tree", {binomial_tree, prepare_binomial_tree}},
      {"monte_carlo_pi", {monte_carlo_pi}},
      {"column_covariance", {column_covariance}},
      {"moving_average", {moving_average}},
  };
}

}  // namespace rtcg::gallery
