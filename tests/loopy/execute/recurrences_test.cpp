// Slicings of recurrences keep their numbers: against loops in C++, and on every target.
#include "tests/loopy/slice/recurrences.h"

#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/slice/slicing_steps.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

using Numbers = std::map<std::string, std::vector<double>>;

struct Case {
  Recurrence recurrence{};
  std::string result{};
  /// The same in loops, on the arrays as they were given.
  std::function<void(Numbers&, const IntegerValues&)> loops{};
};

void find_best_paths(Numbers& a, const IntegerValues& n) {
  const std::int64_t steps = n.find("nt")->second;
  const std::int64_t states = n.find("m")->second;
  for (std::int64_t b = 0; b < n.find("nb")->second; ++b) {
    for (std::int64_t t = 0; t < steps; ++t) {
      for (std::int64_t s = 0; s < states; ++s) {
        double best = -INFINITY;
        for (std::int64_t r = 0; r < states; ++r) {
          best =
              std::max(best, a["v"][(b * (steps + 1) + t) * states + r] + a["a"][r * states + s]);
        }
        a["v"][(b * (steps + 1) + t + 1) * states + s] =
            best + a["e"][(b * steps + t) * states + s];
      }
    }
  }
}

void factorize(Numbers& a, const IntegerValues& sizes) {
  const std::int64_t n = sizes.find("n")->second;
  for (std::int64_t b = 0; b < sizes.find("nb")->second; ++b) {
    double* const m = a["a"].data() + b * n * n;
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t i = k + 1; i < n; ++i) {
        m[i * n + k] /= m[k * n + k] + 4;
        for (std::int64_t j = k + 1; j < n; ++j) {
          m[i * n + j] -= m[i * n + k] * m[k * n + j];
        }
      }
    }
  }
}

void step_rods(Numbers& a, const IntegerValues& sizes) {
  const std::int64_t n = sizes.find("n")->second;
  const std::int64_t steps = sizes.find("nt")->second;
  for (std::int64_t r = 0; r < sizes.find("nr")->second; ++r) {
    for (std::int64_t t = 0; t < steps; ++t) {
      const double* const u = a["u"].data() + (r * (steps + 1) + t) * n;
      double* const next = a["u"].data() + (r * (steps + 1) + t + 1) * n;
      for (std::int64_t i = 1; i < n - 1; ++i) {
        next[i] = u[i] + 0.2 * (u[i - 1] - 2 * u[i] + u[i + 1]);
      }
    }
  }
}

void solve(Numbers& a, const IntegerValues& sizes) {
  const std::int64_t n = sizes.find("n")->second;
  for (std::int64_t b = 0; b < sizes.find("nb")->second; ++b) {
    std::vector<double> main(n);
    std::vector<double> right(n);
    for (std::int64_t i = 0; i < n; ++i) {  // without the factors that the kernel keeps
      main[i] = a["di"][b * n + i] + 4;
      right[i] = a["r"][b * n + i];
      if (i > 0) {
        const double factor = a["lo"][b * n + i] / main[i - 1];
        main[i] -= factor * a["up"][b * n + i - 1];
        right[i] -= factor * right[i - 1];
      }
    }
    for (std::int64_t i = n - 1; i >= 0; --i) {
      const double after = i + 1 < n ? a["up"][b * n + i] * a["x"][b * n + i + 1] : 0;
      a["x"][b * n + i] = (right[i] - after) / main[i];
    }
  }
}

void align(Numbers& a, const IntegerValues& sizes) {
  const std::int64_t n = sizes.find("n")->second;
  const std::int64_t m = sizes.find("m")->second;
  for (std::int64_t p = 0; p < sizes.find("np")->second; ++p) {
    double* const d = a["d"].data() + p * (n + 1) * (m + 1);
    for (std::int64_t i = 1; i <= n; ++i) {
      for (std::int64_t j = 1; j <= m; ++j) {
        const double least = std::min(
            {d[(i - 1) * (m + 1) + j - 1], d[(i - 1) * (m + 1) + j], d[i * (m + 1) + j - 1]});
        d[i * (m + 1) + j] = std::fabs(a["a"][p * n + i - 1] - a["b"][p * m + j - 1]) + least;
      }
    }
  }
}

void unwrap(Numbers& a, const IntegerValues& sizes) {
  const std::int64_t n = sizes.find("nt")->second;
  for (std::int64_t r = 0; r < sizes.find("nr")->second; ++r) {
    double turns = 0;
    for (std::int64_t t = 0; t < n; ++t) {  // the turns are counted, not the differences added
      turns += t == 0 ? 0 : std::floor((a["p"][r * n + t] - a["p"][r * n + t - 1] + 0.375) / 0.75);
      a["o"][r * n + t] = a["p"][r * n + t] - 0.75 * turns;
    }
  }
}

void filter(Numbers& a, const IntegerValues& sizes) {
  const std::int64_t n = sizes.find("nt")->second;
  for (std::int64_t c = 0; c < sizes.find("nc")->second; ++c) {
    std::vector<double> in(a["x"].begin() + c * n, a["x"].begin() + (c + 1) * n);
    for (std::int64_t s = 0; s < 2; ++s) {  // one filter after the other, in direct form
      const double* const g = a["g"].data() + 3 * s;
      std::vector<double> out(n);
      for (std::int64_t t = 0; t < n; ++t) {
        out[t] = g[0] * in[t];
        out[t] += t >= 1 ? g[1] * in[t - 1] - 0.25 * out[t - 1] : 0;
        out[t] += t >= 2 ? g[2] * in[t - 2] - 0.125 * out[t - 2] : 0;
      }
      in = out;
    }
    std::copy(in.begin(), in.end(), a["y"].begin() + c * n);
  }
}

void respond(Numbers& a, const IntegerValues& sizes) {
  const std::int64_t n = sizes.find("nt")->second;
  for (std::int64_t row = 0; row < 2 * sizes.find("nr")->second; ++row) {
    const double* const x = a["x"].data() + row * n;
    double* const y = a["y"].data() + row * n;
    for (std::int64_t t = 2; t < n; ++t) {
      y[t] = x[t] - 0.5 * x[t - 2] + 0.25 * y[t - 1] - 0.125 * y[t - 2];
    }
  }
}

void average(Numbers& a, const IntegerValues& sizes) {
  const std::int64_t n = sizes.find("nt")->second;
  for (std::int64_t row = 0; row < sizes.find("nr")->second; ++row) {
    double p = 1;
    double most = 0;
    for (std::int64_t i = row * n; i < (row + 1) * n; ++i) {
      p = 0.5 * p + a["a"][i] * a["b"][i];
      most = std::max(most, p);
      a["d"][i] = most - p;
    }
  }
}

std::vector<Case> cases() {
  return {{best_paths(), "v", find_best_paths},
          {factorizations(), "a", factorize},
          {rods(), "u", step_rods},
          {tridiagonal_systems(), "x", solve},
          {alignments(), "d", align},
          {phases(), "o", unwrap},
          {filters(), "y", filter},
          {responses(), "y", respond},
          {averages(), "d", average}};
}

class Recurrences : public ::testing::TestWithParam<Case> {};

TEST_P(Recurrences, GiveWhatLoopsGive) {
  const Case& each = GetParam();
  const Kernel kernel = each.recurrence.of(each.recurrence.small);
  const ArgumentData arrays = runnable_arguments(infer_types(kernel), {});
  Numbers expected;
  for (const auto& [name, array] : arrays) {
    for (std::size_t i = 0; i < array.count(); ++i) {
      expected[name].push_back(static_cast<double>(array.number(i)));
    }
  }
  each.loops(expected, each.recurrence.small);
  const SlicingStream all(kernel, {});
  ASSERT_GT(all.count(), 0U);
  for (const std::size_t place : {std::size_t{0}, all.count() - 1}) {
    const Slicing slicing = all.at(place).slicing;
    SCOPED_TRACE(to_string(slicing));
    const ArgumentData found =
        run_kernel(apply(kernel, slicing), {}, arrays, runtime::Device::host());
    const ArrayData& result = found.at(each.result);
    for (std::size_t i = 0; i < result.count(); ++i) {
      // some dozens of roundings of numbers up to 10, in f32 for the paths
      const double allowed = result.kind == cgen::ScalarKind::f32 ? 1e-5 : 1e-12;
      ASSERT_NEAR(static_cast<double>(result.number(i)), expected[each.result][i], allowed) << i;
    }
  }
}

TEST_P(Recurrences, AreTheSameOnEveryTarget) {
  const Case& each = GetParam();
  const Kernel kernel = each.recurrence.of(each.recurrence.small);
  const auto steps = detail::recurrence_slicings(kernel, {.min_threads = 1, .max_threads = 64});
  const SlicingStream all(kernel, {.min_threads = 1, .max_threads = 64});
  std::mt19937_64 random(3);
  const Slicing slicing = steps != nullptr ? steps->at(random() % steps->count()).slicing
                                           : all.at(random() % all.count()).slicing;
  SCOPED_TRACE(to_string(slicing));
  expect_same_everywhere(apply(kernel, slicing), kernel, {}, {});
}

TEST_P(Recurrences, InTilesAreTheSameOnEveryTarget) {
  const Case& each = GetParam();
  for (const std::int64_t added : {0, 1, 27}) {  // also more rows than a block has
    IntegerValues sizes = each.recurrence.small;
    sizes[each.recurrence.rows] += added;
    const Kernel kernel = each.recurrence.of(sizes);
    const Kernel prepared = apply_recipe(kernel, detail::preparing_steps(kernel));
    const auto tiles = detail::stepped_slicings(prepared, {.min_threads = 1, .max_threads = 64});
    std::mt19937_64 random(static_cast<std::uint64_t>(added));
    for (int draw = 0; tiles != nullptr && draw < 2; ++draw) {
      const Slicing slicing = tiles->at(random() % tiles->count()).slicing;
      SCOPED_TRACE(to_string(slicing));
      expect_same_everywhere(apply(kernel, slicing), kernel, {}, {});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Recurrences, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.recurrence.name; });

}  // namespace
}  // namespace rtcg::loopy
