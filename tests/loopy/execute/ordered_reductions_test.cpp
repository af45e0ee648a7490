// Reductions by rules that give something else where their sides are exchanged: each slicing keeps
// the order of the elements, or is refused. A plain loop in C++ gives what is expected.
#include <cstdlib>
#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"
#include "rtcg/loopy/transform/split_reduction.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"
#include "tests/loopy/support/random_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

using Tuple = std::vector<std::uint64_t>;  // i64 that wrap around

/// A reduction over j, what it means, and elements for it.
struct Ordered {
  friend void PrintTo(const Ordered& ordered, std::ostream* out) { *out << ordered.name; }
  std::string name;
  std::string rule;
  std::string reduction;
  std::size_t arrays;  ///< a0, a1, ...: the first values of an element
  Tuple neutral;
  std::function<Tuple(const Tuple&, const Tuple&)> combine;
  std::function<Tuple(Random&, int)> element;
};

std::uint64_t any_number(Random& random) {
  std::uint64_t number = 0;
  for (int i = 0; i < 5; ++i) {
    number = number << 14 ^ static_cast<std::uint64_t>(random.below(1 << 14));
  }
  return number;
}

std::vector<Ordered> ordered_rules() {
  return {
      {"maps",
       "after(a, b, c, d) := make_tuple(c*a, c*b + d) {neutral=1:0}",
       "reduce(after, j, a0[i, j], a1[i, j])",
       2,
       {1, 0},
       [](const Tuple& f, const Tuple& g) {
         return Tuple{g[0] * f[0], g[0] * f[1] + g[1]};
       },
       [](Random& random, int) {
         return Tuple{any_number(random) | 1, any_number(random)};
       }},
      {"matrices",
       "times(a, b, c, d, e, f, g, h) := make_tuple(a*e + b*g, a*f + b*h, c*e + d*g, c*f + d*h) "
       "{neutral=1:0:0:1}",
       "reduce(times, j, a0[i, j], a1[i, j], a2[i, j], a3[i, j])",
       4,
       {1, 0, 0, 1},
       [](const Tuple& p, const Tuple& q) {
         return Tuple{p[0] * q[0] + p[1] * q[2], p[0] * q[1] + p[1] * q[3],
                      p[2] * q[0] + p[3] * q[2], p[2] * q[1] + p[3] * q[3]};
       },
       [](Random& random, int) {
         return Tuple{any_number(random) | 1, 2 * any_number(random), 2 * any_number(random),
                      any_number(random) | 1};
       }},
      {"last_value",
       "last(a, b) := if(b != -1, b, a) {neutral=-1}",
       "reduce(last, j, a0[i, j])",
       1,
       {~std::uint64_t{0}},
       [](const Tuple& a, const Tuple& b) { return b[0] != ~std::uint64_t{0} ? b : a; },
       [](Random& random, int) {
         return Tuple{random.chance(70) ? ~std::uint64_t{0}
                                        : static_cast<std::uint64_t>(random.below(1000))};
       }},
      // no rule: the first of equal values
      {"first_largest",
       "",
       "argmax(j, a0[i, j], j)",
       1,
       {std::uint64_t{1} << 63, ~std::uint64_t{0} >> 1},
       [](const Tuple& a, const Tuple& b) {
         return static_cast<std::int64_t>(a[0]) < static_cast<std::int64_t>(b[0]) ||
                        (a[0] == b[0] && b[1] < a[1])
                    ? b
                    : a;
       },
       [](Random& random, int j) {
         return Tuple{static_cast<std::uint64_t>(random.below(3)), static_cast<std::uint64_t>(j)};
       }}};
}

std::string list_of(const std::string& base, std::size_t count, const std::string& rest) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + base + std::to_string(i) + rest;
  }
  return text;
}

Kernel rows_of(const Ordered& ordered, std::int64_t rows, std::int64_t length) {
  const std::size_t count = ordered.neutral.size();
  return fix_parameters(
      make_kernel("{[i, j]: 0 <= i < rows and 0 <= j < n}",
                  ordered.rule + "\n" + list_of("z", count, "[i]") + " = " + ordered.reduction,
                  {.arguments = list_of("z", count, "") + ": i64[rows]; " +
                                list_of("a", ordered.arrays, "") + ": i64[rows, n]"}),
      {{"rows", rows}, {"n", length}});
}

std::uint64_t bits_at(const ArrayData& array, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, array.bytes.data() + sizeof(bits) * index, sizeof(bits));
  return bits;
}

/// Drawn elements, and what a loop over them gives.
struct Data {
  ArgumentData arrays;
  std::vector<Tuple> expected;

  Data(ArgumentData elements, std::vector<Tuple> results)
      : arrays(std::move(elements)), expected(std::move(results)) {}
  Data(const Kernel& kernel, const Ordered& ordered, std::int64_t rows, std::int64_t length,
       std::uint64_t seed)
      : arrays(random_arguments(infer_types(kernel), {}, seed)) {
    Random random(seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      Tuple total = ordered.neutral;
      for (std::int64_t j = 0; j < length; ++j) {
        const Tuple element = ordered.element(random, static_cast<int>(j));
        for (std::size_t part = 0; part < ordered.arrays; ++part) {
          std::memcpy(arrays.at("a" + std::to_string(part)).bytes.data() +
                          sizeof(std::uint64_t) * static_cast<std::size_t>(i * length + j),
                      &element[part], sizeof(std::uint64_t));
        }
        total = ordered.combine(total, element);
      }
      expected.push_back(total);
    }
  }

  void compare(const ArgumentData& found, const std::string& where) const {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::size_t part = 0; part < expected[i].size(); ++part) {
        ASSERT_EQ(bits_at(found.at("z" + std::to_string(part)), i), expected[i][part])
            << where << ": value " << part << " of row " << i;
      }
    }
  }

  void expect_everywhere(const Kernel& sliced) const {
    for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
      compare(run_kernel(sliced, {}, arrays, device), to_string(device.info().id));
    }
    if (rtcg::runtime::is_judged("cuda_on_cpu")) {
      compare(CudaTextOnCpu(sliced).run({}, arrays), "CUDA on the CPU");
    }
  }
};

/// `j: for l.0*8 for*4`, with axes in any order; rows are a loop, blocks, threads or lanes.
std::string drawn_words(Random& random) {
  std::vector<std::string> axes = {"for", "for", "unr", "l.0", "l.0", "l.1",
                                   "l.2", "ilp", "vec", "g.0", "g.1", "ilp.seq"};
  const auto take = [&] {
    const std::string axis = random.of(axes);
    if (axis != "for" && axis != "unr" && axis.substr(0, 3) != "ilp") {
      std::erase(axes, axis);
    }
    return axis;
  };
  const std::string row = random.of(std::vector<std::string>{
      "i: g.2", "i: for", "i: g.2 ilp*2", "i: g.2 l.1*2", "i: g.2 vec*2", "i: for l.0*4"});
  for (const std::string used : {"l.0", "l.1", "vec"}) {
    if (row.find(used) != std::string::npos) {
      std::erase(axes, used);
    }
  }
  std::string words = row + "; j: " + (random.chance(35) ? "g.0" : take());
  if (words.find("g.0") != std::string::npos) {
    std::erase(axes, "g.0");
  }
  const int count = 1 + random.below(3);
  for (int i = 0; i < count; ++i) {
    const std::string axis = take();
    const std::vector<int> lengths =
        axis.front() == 'l' ? std::vector<int>{2, 3, 4, 8, 32, 64} : std::vector<int>{2, 3, 4, 5};
    words += " " + axis + "*" + std::to_string(axis == "vec" ? 4 : random.of(lengths));
  }
  if (words.find("j: g.0") != std::string::npos && random.chance(30)) {
    words += "; last j";
  }
  return words;
}

int draws_or(int few) {
  const char* wanted = std::getenv("RTCG_SLICINGS_DRAWN");
  return wanted != nullptr ? std::atoi(wanted) : few;
}

class OrderedReductions : public ::testing::TestWithParam<Ordered> {};

TEST_P(OrderedReductions, KeepTheirOrderInDrawnSlicings) {
  const Ordered& ordered = GetParam();
  const char* seed = std::getenv("RTCG_SEED");
  Random random(seed != nullptr ? static_cast<std::uint64_t>(std::atoll(seed)) : 1);
  int runs = 0;
  int refusals = 0;
  const int wanted = draws_or(6);
  while (runs < wanted && refusals < 20 * (wanted + 5)) {
    const std::int64_t rows = 1 + random.below(5);
    const std::int64_t length = random.of(std::vector<int>{1, 7, 37, 64, 131, 300});
    const Kernel kernel = rows_of(ordered, rows, length);
    const std::string words = drawn_words(random);
    SCOPED_TRACE(words + " of " + std::to_string(length) + " elements");
    Kernel sliced = kernel;
    try {
      sliced = apply(kernel, parse_slicing(words));
      static_cast<void>(generate(sliced, Target::cuda));
      static_cast<void>(generate(sliced, Target::host));
    } catch (const InternalError& error) {
      FAIL() << error.what();
    } catch (const Error& error) {
      ASSERT_NE(error.code(), "");
      ++refusals;
      continue;
    }
    try {
      Data(kernel, ordered, rows, length, static_cast<std::uint64_t>(runs))
          .expect_everywhere(sliced);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), "runtime.launch.block_limit") << error.what();
      ++refusals;
      continue;
    }
    if (HasFatalFailure()) {
      return;
    }
    ++runs;
  }
  EXPECT_EQ(runs, wanted);
}

TEST_P(OrderedReductions, KeepTheirOrderInListedSlicings) {
  const Ordered& ordered = GetParam();
  for (const auto& [rows, length] : std::vector<std::pair<int, int>>{{1, 300}, {5, 131}}) {
    const Kernel kernel = rows_of(ordered, rows, length);
    SlicingConstraints constraints;
    constraints.min_threads = 1;
    constraints.max_threads = 128;
    const SlicingStream stream(kernel, constraints);
    ASSERT_GT(stream.count(), 10U);
    Random random(1);
    const Data data(kernel, ordered, rows, length, 1);
    for (int i = 0; i < draws_or(3); ++i) {
      const Slicing slicing =
          stream.at(static_cast<std::size_t>(random.below(static_cast<int>(stream.count()))))
              .slicing;
      SCOPED_TRACE(to_string(slicing));
      data.expect_everywhere(apply(kernel, slicing));
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST_P(OrderedReductions, AreListedOnlyWhereTheyHaveAText) {
  for (const auto& [rows, length] :
       std::vector<std::pair<int, int>>{{1, 1000000}, {1000, 300}, {100000, 9}}) {
    const Kernel kernel = rows_of(GetParam(), rows, length);
    for (const Target target : {Target::cuda, Target::host}) {
      SlicingConstraints constraints;
      constraints.machine.is_cpu = target == Target::host;
      const SlicingStream stream(kernel, constraints);
      Random random(1);
      for (int i = 0; i < draws_or(8); ++i) {
        const Slicing slicing =
            stream.at(static_cast<std::size_t>(random.below(static_cast<int>(stream.count()))))
                .slicing;
        SCOPED_TRACE(to_string(slicing));
        EXPECT_NO_THROW(static_cast<void>(generate_text(apply(kernel, slicing), target)));
      }
    }
  }
}

/// Running values of one row: a scan is a reduction over all elements up to each.
class OrderedScans : public ::testing::TestWithParam<Ordered> {};

TEST_P(OrderedScans, GiveWhatALoopGives) {
  const Ordered& ordered = GetParam();
  const std::size_t count = ordered.neutral.size();
  constexpr int length = 333;
  std::string scan = ordered.reduction;
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"reduce(", "scan("}, {"[i, j]", "[j]"}}) {
    for (std::size_t at = scan.find(from); at != std::string::npos; at = scan.find(from)) {
      scan.replace(at, from.size(), to);
    }
  }
  scan = ordered.rule.empty() ? "scan(argmax, j, a0[j], j)" : scan;
  std::string segmented = scan;
  segmented.replace(0, 5, "segmented_scan(begins[j] == 1, ");
  for (const bool is_segmented : {false, true}) {
    const Kernel kernel = make_kernel(
        "{[i]: 0 <= i < 333} {[j]: 0 <= j <= i}",
        ordered.rule + "\n" + list_of("z", count, "[i]") + " = " +
            (is_segmented ? segmented : scan),
        {.arguments = list_of("z", count, "") + ", " + list_of("a", ordered.arrays, "") +
                      (is_segmented ? ", begins" : "") + ": i64[333]"});
    Random random(3);
    ArgumentData arrays = random_arguments(infer_types(kernel), {}, 1);
    std::vector<Tuple> expected;
    for (int j = 0; j < length; ++j) {
      const bool begins = random.chance(5);
      const Tuple element = ordered.element(random, j);
      for (std::size_t part = 0; part < ordered.arrays; ++part) {
        std::memcpy(arrays.at("a" + std::to_string(part)).bytes.data() +
                        sizeof(std::uint64_t) * static_cast<std::size_t>(j),
                    &element[part], sizeof(std::uint64_t));
      }
      if (is_segmented) {
        arrays.at("begins").set_element(static_cast<std::size_t>(j), begins ? 1 : 0);
      }
      const bool is_first = j == 0 || (is_segmented && begins);
      expected.push_back(is_first ? ordered.combine(ordered.neutral, element)
                                  : ordered.combine(expected.back(), element));
    }
    Data data{arrays, expected};
    for (const char* words : {"i: for", "i: for l.0*32", "i: g.0 l.0*64", "i: g.0 l.0*32 unr*4",
                              "i: g.0 for*2 l.0*16", "i: g.0 l.0*32 unr*2; look_back i"}) {
      SCOPED_TRACE((is_segmented ? "segmented, " : "") + std::string(words));
      data.expect_everywhere(apply(kernel, parse_slicing(words)));
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, OrderedScans, ::testing::ValuesIn(ordered_rules()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Rules, OrderedReductions, ::testing::ValuesIn(ordered_rules()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rtcg::loopy
