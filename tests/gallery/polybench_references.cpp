// The kernels of PolyBench 4.2 as loops of C, in the order in which the benchmark has them.
#include <algorithm>
#include <cmath>

#include "tests/gallery/gallery.h"

namespace rtcg::gallery {
namespace {

/// beta*C + alpha*A*B.
void add_product(Grid& c, double beta, double alpha, Grid& a, Grid& b) {
  for (Int i = 0; i < a.lengths[0]; ++i) {
    for (Int j = 0; j < b.lengths[1]; ++j) {
      c(i, j) *= beta;
      for (Int k = 0; k < a.lengths[1]; ++k) {
        c(i, j) += alpha * a(i, k) * b(k, j);
      }
    }
  }
}

void two_products(Numbers& x) {
  add_product(x["T"], 0, x.real("alpha"), x["A"], x["B"]);
  add_product(x["D"], x.real("beta"), 1, x["T"], x["C"]);
}

void three_products(Numbers& x) {
  add_product(x["E"], 0, 1, x["A"], x["B"]);
  add_product(x["F"], 0, 1, x["C"], x["D"]);
  add_product(x["G"], 0, 1, x["E"], x["F"]);
}

void adi(Numbers& x) {
  const Int n = x.size("n");
  Grid& u = x["u"];
  Grid& v = x["v"];
  Grid& p = x["p"];
  Grid& q = x["q"];
  const double a = x.real("a");
  const double b = x.real("b");
  const double c = x.real("c");
  const double d = x.real("d");
  const double e = x.real("e");
  const double f = x.real("f");
  for (Int t = 0; t < x.size("steps"); ++t) {
    for (Int i = 1; i < n - 1; ++i) {
      v(0, i) = 1;
      p(i, 0) = 0;
      q(i, 0) = v(0, i);
      for (Int j = 1; j < n - 1; ++j) {
        p(i, j) = -c / (a * p(i, j - 1) + b);
        q(i, j) = (-d * u(j, i - 1) + (1 + 2 * d) * u(j, i) - f * u(j, i + 1) - a * q(i, j - 1)) /
                  (a * p(i, j - 1) + b);
      }
      v(n - 1, i) = 1;
      for (Int j = n - 2; j >= 1; --j) {
        v(j, i) = p(i, j) * v(j + 1, i) + q(i, j);
      }
    }
    for (Int i = 1; i < n - 1; ++i) {
      u(i, 0) = 1;
      p(i, 0) = 0;
      q(i, 0) = u(i, 0);
      for (Int j = 1; j < n - 1; ++j) {
        p(i, j) = -f / (d * p(i, j - 1) + e);
        q(i, j) = (-a * v(i - 1, j) + (1 + 2 * a) * v(i, j) - c * v(i + 1, j) - d * q(i, j - 1)) /
                  (d * p(i, j - 1) + e);
      }
      u(i, n - 1) = 1;
      for (Int j = n - 2; j >= 1; --j) {
        u(i, j) = p(i, j) * u(i, j + 1) + q(i, j);
      }
    }
  }
}

void prepare_adi(Numbers& x) {
  x.reals = {{"a", -0.4}, {"b", 1.8}, {"c", -0.4}, {"d", -0.2}, {"e", 1.4}, {"f", -0.2}};
}

void atax(Numbers& x) {
  std::fill(x["y"].values.begin(), x["y"].values.end(), 0);
  for (Int i = 0; i < x.size("m"); ++i) {
    x["t"](i) = 0;
    for (Int j = 0; j < x.size("n"); ++j) {
      x["t"](i) += x["A"](i, j) * x["x"](j);
    }
    for (Int j = 0; j < x.size("n"); ++j) {
      x["y"](j) += x["A"](i, j) * x["t"](i);
    }
  }
}

void bicg(Numbers& x) {
  std::fill(x["s"].values.begin(), x["s"].values.end(), 0);
  for (Int i = 0; i < x.size("n"); ++i) {
    x["q"](i) = 0;
    for (Int j = 0; j < x.size("m"); ++j) {
      x["s"](j) += x["r"](i) * x["A"](i, j);
      x["q"](i) += x["A"](i, j) * x["p"](j);
    }
  }
}

void cholesky(Numbers& x) {
  Grid& a = x["A"];
  for (Int i = 0; i < x.size("n"); ++i) {
    for (Int j = 0; j < i; ++j) {
      for (Int k = 0; k < j; ++k) {
        a(i, j) -= a(i, k) * a(j, k);
      }
      a(i, j) /= a(j, j);
    }
    for (Int k = 0; k < i; ++k) {
      a(i, i) -= a(i, k) * a(i, k);
    }
    a(i, i) = std::sqrt(a(i, i));
  }
}

void prepare_factors(Numbers& x) {
  add_to_diagonal(x["A"], static_cast<double>(2 * x.size("n")));
}

/// Centres the columns of data[n, m].
void centre(Numbers& x) {
  for (Int j = 0; j < x.size("m"); ++j) {
    x["mean"](j) = 0;
    for (Int i = 0; i < x.size("n"); ++i) {
      x["mean"](j) += x["data"](i, j);
    }
    x["mean"](j) /= static_cast<double>(x.size("n"));
    for (Int i = 0; i < x.size("n"); ++i) {
      x["data"](i, j) -= x["mean"](j);
    }
  }
}

double column_product(Numbers& x, Int p, Int q) {
  double sum = 0;
  for (Int k = 0; k < x.size("n"); ++k) {
    sum += x["data"](k, p) * x["data"](k, q);
  }
  return sum;
}

void correlation(Numbers& x) {
  const auto n = static_cast<double>(x.size("n"));
  centre(x);
  for (Int j = 0; j < x.size("m"); ++j) {
    double deviation = std::sqrt(column_product(x, j, j) / n);
    deviation = deviation <= 0.1 ? 1 : deviation;
    x["deviation"](j) = std::sqrt(n) * deviation;
    for (Int i = 0; i < x.size("n"); ++i) {
      x["data"](i, j) /= std::sqrt(n) * deviation;
    }
  }
  for (Int p = 0; p < x.size("m"); ++p) {
    for (Int q = 0; q < x.size("m"); ++q) {
      x["corr"](p, q) = p == q ? 1 : column_product(x, p, q);
    }
  }
}

void prepare_correlation(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    x["data"](i, 3) = 0.5;  // a column that does not vary
  }
}

void covariance(Numbers& x) {
  centre(x);
  for (Int p = 0; p < x.size("m"); ++p) {
    for (Int q = 0; q < x.size("m"); ++q) {
      x["cov"](p, q) = column_product(x, p, q) / static_cast<double>(x.size("n") - 1);
    }
  }
}

/// One of the four recurrences of deriche along a line: from x[-1] = x[-2] = y[-1] = y[-2] = 0.
struct Recurrence {
  double a = 0;  ///< of the element itself
  double b = 0;  ///< of the one before
  double c = 0;  ///< of the one before that
  double b1 = 0;
  double b2 = 0;
  double x1 = 0;
  double x2 = 0;
  double y1 = 0;
  double y2 = 0;

  double next(double x) {
    const double y = a * x + b * x1 + c * x2 + b1 * y1 + b2 * y2;
    x2 = x1;
    x1 = x;
    y2 = y1;
    y1 = y;
    return y;
  }
};

void deriche(Numbers& x) {
  const Int w = x.size("w");
  const Int h = x.size("h");
  const auto r = [&](const char* name) { return x.real(name); };
  for (Int i = 0; i < w; ++i) {
    Recurrence up{r("a1"), r("a2"), 0, r("b1"), r("b2")};
    for (Int j = 0; j < h; ++j) {
      x["y1"](i, j) = up.next(x["image"](i, j));
    }
    Recurrence down{0, r("a3"), r("a4"), r("b1"), r("b2")};
    for (Int j = h - 1; j >= 0; --j) {
      x["y2"](i, j) = down.next(x["image"](i, j));
    }
    for (Int j = 0; j < h; ++j) {
      x["rows"](i, j) = r("c1") * (x["y1"](i, j) + x["y2"](i, j));
    }
  }
  for (Int j = 0; j < h; ++j) {
    Recurrence up{r("a5"), r("a6"), 0, r("b1"), r("b2")};
    for (Int i = 0; i < w; ++i) {
      x["z1"](i, j) = up.next(x["rows"](i, j));
    }
    Recurrence down{0, r("a7"), r("a8"), r("b1"), r("b2")};
    for (Int i = w - 1; i >= 0; --i) {
      x["z2"](i, j) = down.next(x["rows"](i, j));
    }
    for (Int i = 0; i < w; ++i) {
      x["out"](i, j) = r("c2") * (x["z1"](i, j) + x["z2"](i, j));
    }
  }
}

void prepare_deriche(Numbers& x) {
  const double alpha = 0.25;
  const double k = (1 - std::exp(-alpha)) * (1 - std::exp(-alpha)) /
                   (1 + 2 * alpha * std::exp(-alpha) - std::exp(2 * alpha));
  x.reals["a1"] = x.reals["a5"] = k;
  x.reals["a2"] = x.reals["a6"] = k * std::exp(-alpha) * (alpha - 1);
  x.reals["a3"] = x.reals["a7"] = k * std::exp(-alpha) * (alpha + 1);
  x.reals["a4"] = x.reals["a8"] = -k * std::exp(-2 * alpha);
  x.reals["b1"] = std::pow(2, -alpha);
  x.reals["b2"] = -std::exp(-2 * alpha);
  x.reals["c1"] = x.reals["c2"] = 1;
}

void doitgen(Numbers& x) {
  const Int np = x.size("np");
  for (Int r = 0; r < x.size("nr"); ++r) {
    for (Int q = 0; q < x.size("nq"); ++q) {
      for (Int p = 0; p < np; ++p) {
        x["t"](r, q, p) = 0;
        for (Int s = 0; s < np; ++s) {
          x["t"](r, q, p) += x["A"](r, q, s) * x["C"](s, p);
        }
      }
      for (Int p = 0; p < np; ++p) {
        x["A"](r, q, p) = x["t"](r, q, p);
      }
    }
  }
}

void durbin(Numbers& x) {
  Grid& r = x["r"];
  Grid& y = x["y"];
  y(0) = -r(0);
  double beta = 1;
  double alpha = -r(0);
  for (Int k = 1; k < x.size("n"); ++k) {
    beta = (1 - alpha * alpha) * beta;
    double sum = 0;
    for (Int i = 0; i < k; ++i) {
      sum += r(k - i - 1) * y(i);
    }
    alpha = -(r(k) + sum) / beta;
    for (Int i = 0; i < k; ++i) {
      x["z"](i) = y(i) + alpha * y(k - i - 1);
    }
    for (Int i = 0; i < k; ++i) {
      y(i) = x["z"](i);
    }
    y(k) = alpha;
  }
  x["alpha"](0) = alpha;
  x["beta"](0) = beta;
}

void prepare_durbin(Numbers& x) {
  for (double& each : x["r"].values) {
    each *= 0.1;  // the system is well conditioned
  }
}

void fdtd_2d(Numbers& x) {
  const Int nx = x.size("nx");
  const Int ny = x.size("ny");
  for (Int t = 0; t < x.size("steps"); ++t) {
    for (Int j = 0; j < ny; ++j) {
      x["ey"](0, j) = x["pulse"](t);
    }
    for (Int i = 1; i < nx; ++i) {
      for (Int j = 0; j < ny; ++j) {
        x["ey"](i, j) -= 0.5 * (x["hz"](i, j) - x["hz"](i - 1, j));
      }
    }
    for (Int i = 0; i < nx; ++i) {
      for (Int j = 1; j < ny; ++j) {
        x["ex"](i, j) -= 0.5 * (x["hz"](i, j) - x["hz"](i, j - 1));
      }
    }
    for (Int i = 0; i < nx - 1; ++i) {
      for (Int j = 0; j < ny - 1; ++j) {
        x["hz"](i, j) -=
            0.7 * (x["ex"](i, j + 1) - x["ex"](i, j) + x["ey"](i + 1, j) - x["ey"](i, j));
      }
    }
  }
}

void floyd_warshall(Numbers& x) {
  const Int n = x.size("n");
  Grid& path = x["path"];
  for (Int k = 0; k < n; ++k) {
    for (Int i = 0; i < n; ++i) {
      x["row"](i) = path(k, i);
      x["column"](i) = path(i, k);
    }
    for (Int i = 0; i < n; ++i) {
      for (Int j = 0; j < n; ++j) {
        path(i, j) = std::min(path(i, j), path(i, k) + path(k, j));
      }
    }
  }
}

void prepare_floyd_warshall(Numbers& x) {
  for (double& each : x["path"].values) {
    each = std::fabs(each);
  }
}

void gemm(Numbers& x) {
  add_product(x["C"], x.real("beta"), x.real("alpha"), x["A"], x["B"]);
}

void gemver(Numbers& x) {
  const Int n = x.size("n");
  for (Int i = 0; i < n; ++i) {
    for (Int j = 0; j < n; ++j) {
      x["A"](i, j) += x["u1"](i) * x["v1"](j) + x["u2"](i) * x["v2"](j);
    }
  }
  for (Int i = 0; i < n; ++i) {
    for (Int j = 0; j < n; ++j) {
      x["x"](i) += x.real("beta") * x["A"](j, i) * x["y"](j);
    }
    x["x"](i) += x["z"](i);
  }
  for (Int i = 0; i < n; ++i) {
    for (Int j = 0; j < n; ++j) {
      x["w"](i) += x.real("alpha") * x["A"](i, j) * x["x"](j);
    }
  }
}

void gesummv(Numbers& x) {
  const Int n = x.size("n");
  for (Int i = 0; i < n; ++i) {
    x["t"](i) = 0;
    x["y"](i) = 0;
    for (Int j = 0; j < n; ++j) {
      x["t"](i) += x["A"](i, j) * x["x"](j);
      x["y"](i) += x["B"](i, j) * x["x"](j);
    }
    x["y"](i) = x.real("alpha") * x["t"](i) + x.real("beta") * x["y"](i);
  }
}

void gramschmidt(Numbers& x) {
  const Int m = x.size("m");
  const Int n = x.size("n");
  Grid& a = x["A"];
  Grid& q = x["Q"];
  Grid& r = x["R"];
  for (Int k = 0; k < n; ++k) {
    double norm = 0;
    for (Int i = 0; i < m; ++i) {
      norm += a(i, k) * a(i, k);
    }
    r(k, k) = std::sqrt(norm);
    for (Int i = 0; i < m; ++i) {
      q(i, k) = a(i, k) / r(k, k);
    }
    for (Int j = k + 1; j < n; ++j) {
      r(k, j) = 0;
      for (Int i = 0; i < m; ++i) {
        r(k, j) += q(i, k) * a(i, j);
      }
      for (Int i = 0; i < m; ++i) {
        a(i, j) -= q(i, k) * r(k, j);
      }
    }
  }
}

/// One step of the heat equation from a to b.
void heat_step(Grid& a, Grid& b) {
  for (Int i = 1; i < a.lengths[0] - 1; ++i) {
    for (Int j = 1; j < a.lengths[1] - 1; ++j) {
      for (Int k = 1; k < a.lengths[2] - 1; ++k) {
        b(i, j, k) = 0.125 * (a(i + 1, j, k) - 2 * a(i, j, k) + a(i - 1, j, k)) +
                     0.125 * (a(i, j + 1, k) - 2 * a(i, j, k) + a(i, j - 1, k)) +
                     0.125 * (a(i, j, k + 1) - 2 * a(i, j, k) + a(i, j, k - 1)) + a(i, j, k);
      }
    }
  }
}

void heat_3d(Numbers& x) {
  for (Int t = 0; t < x.size("steps"); ++t) {
    heat_step(x["A"], x["B"]);
    heat_step(x["B"], x["A"]);
  }
}

void jacobi_1d(Numbers& x) {
  const auto step = [&](Grid& a, Grid& b) {
    for (Int i = 1; i < x.size("n") - 1; ++i) {
      b(i) = (a(i - 1) + a(i) + a(i + 1)) / 3;
    }
  };
  for (Int t = 0; t < x.size("steps"); ++t) {
    step(x["A"], x["B"]);
    step(x["B"], x["A"]);
  }
}

void jacobi_2d(Numbers& x) {
  const auto step = [&](Grid& a, Grid& b) {
    for (Int i = 1; i < x.size("n") - 1; ++i) {
      for (Int j = 1; j < x.size("n") - 1; ++j) {
        b(i, j) = 0.2 * (a(i, j) + a(i, j - 1) + a(i, j + 1) + a(i + 1, j) + a(i - 1, j));
      }
    }
  };
  for (Int t = 0; t < x.size("steps"); ++t) {
    step(x["A"], x["B"]);
    step(x["B"], x["A"]);
  }
}

void lu(Numbers& x) {
  Grid& a = x["A"];
  const Int n = x.size("n");
  for (Int i = 0; i < n; ++i) {
    for (Int j = 0; j < i; ++j) {
      for (Int k = 0; k < j; ++k) {
        a(i, j) -= a(i, k) * a(k, j);
      }
      a(i, j) /= a(j, j);
    }
    for (Int j = i; j < n; ++j) {
      for (Int k = 0; k < i; ++k) {
        a(i, j) -= a(i, k) * a(k, j);
      }
    }
  }
}

void ludcmp(Numbers& x) {
  lu(x);
  const Int n = x.size("n");
  for (Int i = 0; i < n; ++i) {
    double w = x["b"](i);
    for (Int j = 0; j < i; ++j) {
      w -= x["A"](i, j) * x["y"](j);
    }
    x["y"](i) = w;
  }
  for (Int i = n - 1; i >= 0; --i) {
    double w = x["y"](i);
    for (Int j = i + 1; j < n; ++j) {
      w -= x["A"](i, j) * x["x"](j);
    }
    x["x"](i) = w / x["A"](i, i);
  }
}

void mvt(Numbers& x) {
  const Int n = x.size("n");
  for (Int i = 0; i < n; ++i) {
    for (Int j = 0; j < n; ++j) {
      x["x1"](i) += x["A"](i, j) * x["y1"](j);
      x["x2"](i) += x["A"](j, i) * x["y2"](j);
    }
  }
}

void nussinov(Numbers& x) {
  const Int n = x.size("n");
  Grid& table = x["table"];
  for (Int i = n - 1; i >= 0; --i) {
    for (Int j = i + 1; j < n; ++j) {
      double& best = table(i, j);
      best = std::max(best, table(i, j - 1));
      best = std::max(best, table(i + 1, j));
      const double pair = i < j - 1 && x["base"](i) + x["base"](j) == 3 ? 1 : 0;
      best = std::max(best, table(i + 1, j - 1) + pair);
      for (Int k = i + 1; k < j; ++k) {
        best = std::max(best, table(i, k) + table(k + 1, j));
      }
    }
  }
}

void prepare_nussinov(Numbers& x) {
  std::fill(x["table"].values.begin(), x["table"].values.end(), 0);
  for (double& each : x["base"].values) {
    each = std::fmod(each, 4);
  }
}

void seidel_2d(Numbers& x) {
  const Int n = x.size("n");
  Grid& a = x["A"];
  for (Int t = 0; t < x.size("steps"); ++t) {
    for (Int i = 1; i <= n - 2; ++i) {
      for (Int j = 1; j <= n - 2; ++j) {
        double sum = 0;
        for (Int p = -1; p <= 1; ++p) {
          for (Int q = -1; q <= 1; ++q) {
            sum += a(i + p, j + q);
          }
        }
        a(i, j) = sum / 9;
      }
    }
  }
}

void symm(Numbers& x) {
  const double alpha = x.real("alpha");
  for (Int i = 0; i < x.size("m"); ++i) {
    for (Int j = 0; j < x.size("n"); ++j) {
      double sum = 0;
      for (Int k = 0; k < i; ++k) {
        x["C"](k, j) += alpha * x["B"](i, j) * x["A"](i, k);
        sum += x["B"](k, j) * x["A"](i, k);
      }
      x["C"](i, j) =
          x.real("beta") * x["C"](i, j) + alpha * x["B"](i, j) * x["A"](i, i) + alpha * sum;
    }
  }
}

void syr2k(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    for (Int j = 0; j <= i; ++j) {
      x["C"](i, j) *= x.real("beta");
      for (Int k = 0; k < x.size("m"); ++k) {
        x["C"](i, j) += x["A"](j, k) * x.real("alpha") * x["B"](i, k) +
                        x["B"](j, k) * x.real("alpha") * x["A"](i, k);
      }
    }
  }
}

void syrk(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    for (Int j = 0; j <= i; ++j) {
      x["C"](i, j) *= x.real("beta");
      for (Int k = 0; k < x.size("m"); ++k) {
        x["C"](i, j) += x.real("alpha") * x["A"](i, k) * x["A"](j, k);
      }
    }
  }
}

void trisolv(Numbers& x) {
  for (Int i = 0; i < x.size("n"); ++i) {
    x["x"](i) = x["b"](i);
    for (Int j = 0; j < i; ++j) {
      x["x"](i) -= x["L"](i, j) * x["x"](j);
    }
    x["x"](i) /= x["L"](i, i);
  }
}

void prepare_trisolv(Numbers& x) {
  add_to_diagonal(x["L"], static_cast<double>(x.size("n")));
}

void trmm(Numbers& x) {
  for (Int i = 0; i < x.size("m"); ++i) {
    for (Int j = 0; j < x.size("n"); ++j) {
      for (Int k = i + 1; k < x.size("m"); ++k) {
        x["B"](i, j) += x["A"](k, i) * x["B"](k, j);
      }
      x["B"](i, j) *= x.real("alpha");
    }
  }
}

}  // namespace

Entries polybench_entries() {
  return {{"2mm", {two_products}},
          {"3mm", {three_products}},
          {"adi", {adi, prepare_adi}},
          {"atax", {atax}},
          {"bicg", {bicg}},
          {"cholesky", {cholesky, prepare_factors}},
          {"correlation", {correlation, prepare_correlation}},
          {"covariance", {covariance}},
          {"deriche", {deriche, prepare_deriche}},
          {"doitgen", {doitgen}},
          {"durbin", {durbin, prepare_durbin}},
          {"fdtd-2d", {fdtd_2d}},
          {"floyd-warshall", {floyd_warshall, prepare_floyd_warshall}},
          {"gemm", {gemm}},
          {"gemver", {gemver}},
          {"gesummv", {gesummv}},
          {"gramschmidt", {gramschmidt}},
          {"heat-3d", {heat_3d}},
          {"jacobi-1d", {jacobi_1d}},
          {"jacobi-2d", {jacobi_2d}},
          {"lu", {lu, prepare_factors}},
          {"ludcmp", {ludcmp, prepare_factors}},
          {"mvt", {mvt}},
          {"nussinov", {nussinov, prepare_nussinov}},
          {"seidel-2d", {seidel_2d}},
          {"symm", {symm}},
          {"syr2k", {syr2k}},
          {"syrk", {syrk}},
          {"trisolv", {trisolv, prepare_trisolv}},
          {"trmm", {trmm}}};
}

}  // namespace rtcg::gallery
