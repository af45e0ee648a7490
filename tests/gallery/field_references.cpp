// Kernels of fields that the other files do not have, as plain loops in double.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/gallery/gallery.h"

namespace rtcg::gallery {
namespace {

void cost_volume(Numbers& x) {
  fill(x["cost"], 0);
  const auto channels = static_cast<double>(x.size("nc"));
  for_each_point({x.size("nb"), 9, 9, x.size("ny"), x.size("nx")}, [&](const auto& at) {
    for (Int c = 0; c < x.size("nc"); ++c) {
      x["cost"].at(at) += x["f"](at[0], c, at[3], at[4]) *
                          x["g"](at[0], c, at[3] + at[1], at[4] + at[2]) / channels;
    }
  });
}

/// Each element of the image is added to 4 x 4 elements of the result: as layers are trained.
void conv_transposed(Numbers& x) {
  Grid& out = x["out"];
  fill(out, 0);
  const Int rows = out.lengths[2];
  const Int columns = out.lengths[3];
  for_each_point(x["weight"].lengths, [&](const auto& at) {
    const Int c = at[0];
    const Int f = at[1];
    const Int p = at[2];
    const Int q = at[3];
    for_each_point(x["image"].lengths, [&](const auto& from) {
      // the image has a border of one element
      const Int y = 2 * (from[2] - 1) + p - 1;
      const Int across = 2 * (from[3] - 1) + q - 1;
      if (from[1] == c && y >= 0 && y < rows && across >= 0 && across < columns) {
        out(from[0], f, y, across) += x["image"].at(from) * x["weight"](c, f, p, q);
      }
    });
  });
}

void bilateral(Numbers& x) {
  Grid& image = x["image"];
  for_each_point(x["out"].lengths, [&](const auto& at) {
    const double centre = image(at[0] + 3, at[1] + 3);
    double sum = 0;
    double weights = 0;
    for_each_point({7, 7}, [&](const auto& shift) {
      const double value = image(at[0] + shift[0], at[1] + shift[1]);
      const double far = std::pow(static_cast<double>(shift[0] - 3), 2) +
                         std::pow(static_cast<double>(shift[1] - 3), 2);
      const double weight = std::exp(-x.real("near") * far) *
                            std::exp(-x.real("alike") * std::pow(value - centre, 2));
      sum += weight * value;
      weights += weight;
    });
    x["out"].at(at) = sum / weights;
  });
}

void group_norm(Numbers& x) {
  const Int channels = x.size("nc");
  const Int points = x.size("np");
  const auto count = static_cast<double>(channels * points);
  for_each_point({x.size("nb"), x.size("ng")}, [&](const auto& at) {
    const auto group = std::vector{channels, points};
    double mean = 0;
    double variance = 0;
    for_each_point(group,
                   [&](const auto& in) { mean += x["x"](at[0], at[1], in[0], in[1]) / count; });
    for_each_point(group, [&](const auto& in) {
      variance += std::pow(x["x"](at[0], at[1], in[0], in[1]) - mean, 2) / count;
    });
    for_each_point(group, [&](const auto& in) {
      x["out"](at[0], at[1], in[0], in[1]) = (x["x"](at[0], at[1], in[0], in[1]) - mean) /
                                                 std::sqrt(variance + 1e-5) *
                                                 x["gamma"](at[1], in[0]) +
                                             x["beta"](at[1], in[0]);
    });
  });
}

void causal_weights(Numbers& x) {
  const Int n = x.size("n");
  fill(x["s"], -1e30);
  fill(x["w"], 0);
  for_each_point({x.size("nh"), n}, [&](const auto& at) {
    const Int h = at[0];
    const Int i = at[1];
    double total = 0;
    for (Int j = 0; j <= i; ++j) {
      double sum = 0;
      for (Int e = 0; e < x.size("nd"); ++e) {
        sum += x["q"](h, i, e) * x["k"](h, j, e);
      }
      x["s"](h, i, j) = x.real("scale") * sum;
      total += std::exp(x["s"](h, i, j));
    }
    for (Int j = 0; j <= i; ++j) {
      x["w"](h, i, j) = std::exp(x["s"](h, i, j)) / total;
    }
  });
}

/// All of the table.
void smith_waterman(Numbers& x) {
  const Int n = x.size("n");
  const Int m = x.size("m");
  for (Int b = 0; b < x.size("nb"); ++b) {
    Grid table{{n + 1, m + 1}, std::vector<double>(static_cast<std::size_t>((n + 1) * (m + 1)))};
    double best = 0;
    for_each_point({n, m}, [&](const auto& at) {
      const Int i = at[0];
      const Int j = at[1];
      const double match = x["a"](i, b) == x["c"](j, b) ? 2 : -1;
      table(i + 1, j + 1) =
          std::max({0.0, table(i, j) + match, table(i, j + 1) - 1, table(i + 1, j) - 1});
      best = std::max(best, table(i + 1, j + 1));
    });
    x["best"](b) = best;
    for (Int j = 0; j <= m; ++j) {
      x["H"](j, b) = table(n, j);
    }
  }
}
void prepare_smith_waterman(Numbers& x) {
  for (const char* each : {"a", "c"}) {
    for (double& letter : x[each].values) {
      letter = std::fmod(letter, 4);
    }
  }
}

void projections(Numbers& x) {
  const Int rows = x.size("nr");
  for (Int b = 0; b < x.size("nb"); ++b) {
    for (Int r = 0; r < rows; ++r) {
      x["w"](b, r) = x["v"](b, r);
    }
    double square = 0;
    for (Int c = 0; c < x.size("nc"); ++c) {
      x["h"](b, c) = 0;
      for (Int r = 0; r < rows; ++r) {
        x["h"](b, c) += x["Q"](b, r, c) * x["v"](b, r);
      }
      for (Int r = 0; r < rows; ++r) {
        x["w"](b, r) -= x["Q"](b, r, c) * x["h"](b, c);
      }
    }
    for (Int r = 0; r < rows; ++r) {
      square += x["w"](b, r) * x["w"](b, r);
    }
    x["norm"](b) = std::sqrt(square);
  }
}

void neighbour_forces(Numbers& x) {
  const char* const places[] = {"x", "y", "z"};
  const char* const forces[] = {"fx", "fy", "fz"};
  for (const char* each : forces) {
    fill(x[each], 0);
  }
  for (Int i = 0; i < x.size("n"); ++i) {
    for (Int k = 0; k < x["number"](i); ++k) {
      const auto j = static_cast<Int>(x["near"](i, k));
      double square = 0;
      for (const char* each : places) {
        square += std::pow(x[each](i) - x[each](j), 2);
      }
      if (std::sqrt(square) < x.real("cutoff")) {
        const double force = (48 / std::pow(square, 6) - 24 / std::pow(square, 3)) / square;
        for (std::size_t d = 0; d < 3; ++d) {
          x[forces[d]](i) += force * (x[places[d]](i) - x[places[d]](j));
        }
      }
    }
  }
}
/// Some of the particles near each other, and each with the next ones in its list.
void prepare_neighbour_forces(Numbers& x) {
  const Int n = x.size("n");
  for (Int i = 0; i < n; ++i) {
    x["x"](i) = 0.8 * static_cast<double>(i) + 0.02 * x["x"](i);
    for (Int k = 0; k < x.size("most"); ++k) {
      x["near"](i, k) = static_cast<double>((i + k + 1) % n);
    }
  }
  for (const char* each : {"y", "z"}) {
    for (double& place : x[each].values) {
      place *= 0.1;
    }
  }
}

void trilinear(Numbers& x) {
  const Int n = x.size("n");
  for (Int p = 0; p < x.size("np"); ++p) {
    double sum = 0;
    // a hat around each point of the volume
    const auto hat = [&](const char* axis, Int at) {
      return std::max(0.0, 1 - std::fabs(x[axis](p) - static_cast<double>(at)));
    };
    for_each_point({n, n, n}, [&](const auto& at) {
      sum += hat("x", at[0]) * hat("y", at[1]) * hat("z", at[2]) * x["volume"].at(at);
    });
    x["out"](p) = sum;
  }
}
/// Points within the volume.
void prepare_trilinear(Numbers& x) {
  for (const char* each : {"x", "y", "z"}) {
    for (double& place : x[each].values) {
      place = 0.5 * (place + 1) * static_cast<double>(x.size("n") - 1);
    }
  }
}

void integral_image(Numbers& x) {
  for_each_point(x["x"].lengths, [&](const auto& at) {
    x["rows"].at(at) = 0;
    x["out"].at(at) = 0;
    for_each_point({at[0] + 1, at[1] + 1}, [&](const auto& from) {
      x["out"].at(at) += x["x"].at(from);
      x["rows"].at(at) += from[0] == at[0] ? x["x"].at(from) : 0;
    });
  });
}

double gradient(Grid& image, Int i, Int j, bool is_across) {
  double sum = 0;
  for (Int p = 0; p < 3; ++p) {
    const double weight = p == 1 ? 2 : 1;
    sum += weight * (is_across ? image(i + p, j) - image(i + p, j + 2)
                               : image(i, j + p) - image(i + 2, j + p));
  }
  return sum / 12;
}

void harris_corners(Numbers& x) {
  for_each_point(x["out"].lengths, [&](const auto& at) {
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for_each_point({3, 3}, [&](const auto& near) {
      const double gx = gradient(x["image"], at[0] + near[0], at[1] + near[1], true);
      const double gy = gradient(x["image"], at[0] + near[0], at[1] + near[1], false);
      xx += gx * gx;
      xy += gx * gy;
      yy += gy * gy;
    });
    x["out"].at(at) = xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy);
  });
}

/// Whole arrays step by step; what depends on the rim is not compared.
void diffusion_steps(Numbers& x) {
  const Int n = x.size("n");
  Grid now = x["u"];
  for (Int step = 1; step <= 3; ++step) {
    Grid next = now;
    for (Int i = step; i < n - step; ++i) {
      for (Int j = step; j < n - step; ++j) {
        next(i, j) += x.real("rate") * (now(i - 1, j) + now(i + 1, j) + now(i, j - 1) +
                                        now(i, j + 1) - 4 * now(i, j));
      }
    }
    now = next;
  }
  for (Int i = 3; i < n - 3; ++i) {
    for (Int j = 3; j < n - 3; ++j) {
      x["out"](i, j) = now(i, j);
    }
  }
}

/// The turns are counted, not the differences added.
void unwrapped_phases(Numbers& x) {
  for (Int r = 0; r < x.size("nr"); ++r) {
    double turns = 0;
    for (Int t = 0; t < x.size("nt"); ++t) {
      turns += t == 0 ? 0 : std::floor((x["p"](r, t) - x["p"](r, t - 1) + 0.375) / 0.75);
      x["o"](r, t) = x["p"](r, t) - 0.75 * turns;
    }
  }
}

/// As a sum over the responses to single inputs, and to what the row begins with.
void resonators(Numbers& x) {
  const Int steps = x.size("nt");
  std::vector<double> response(static_cast<std::size_t>(steps), 0.0);
  for (Int t = 0; t < steps; ++t) {
    const auto at = [&](Int k) { return k < 0 ? 0 : response[static_cast<std::size_t>(k)]; };
    response[static_cast<std::size_t>(t)] = t == 0 ? 1 : 1.2 * at(t - 1) - 0.72 * at(t - 2);
  }
  for (Int c = 0; c < x.size("nc"); ++c) {
    const double first = x["y"](c, 0);
    const double second = x["y"](c, 1);
    for (Int t = 2; t < steps; ++t) {
      const auto at = [&](Int k) { return response[static_cast<std::size_t>(k)]; };
      double sum = second * at(t - 1) - 0.72 * first * at(t - 2);
      for (Int s = 2; s <= t; ++s) {
        sum += (x["left"](c, s) + x["right"](c, s - 1)) * at(t - s);
      }
      x["y"](c, t) = sum;
    }
  }
}

}  // namespace

Entries field_entries() {
  return {
      {"cost_volume", {cost_volume}},
      {"conv_transposed", {conv_transposed}},
      {"bilateral", {bilateral}},
      {"group_norm", {group_norm}},
      {"causal_weights", {causal_weights}},
      {"smith_waterman", {smith_waterman, prepare_smith_waterman}},
      {"projections", {projections}},
      {"neighbour_forces", {neighbour_forces, prepare_neighbour_forces, 1e-3}},
      {"trilinear", {trilinear, prepare_trilinear}},
      {"integral_image", {integral_image}},
      {"harris_corners", {harris_corners}},
      {"diffusion_steps", {diffusion_steps}},
      {"unwrapped_phases", {unwrapped_phases}},
      {"resonators", {resonators}},
  };
}

}  // namespace rtcg::gallery
