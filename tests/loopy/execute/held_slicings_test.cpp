// Slicings that keep arrays which nests hand on in shared memory keep the numbers.
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/held_kernels.h"

namespace rtcg::loopy {
namespace {

/// Some of those that are listed, for a number of elements that blocks do not divide.
void expect_held_slicings_keep(const Kernel& kernel, int count) {
  const IntegerValues sizes = {{"n", 19}};
  const SlicingStream stream(kernel, {.parameters = sizes, .min_threads = 4, .max_threads = 64});
  std::vector<Slicing> held;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    if (Slicing each = stream.at(i).slicing; !each.together.empty()) {
      held.push_back(std::move(each));
    }
  }
  ASSERT_FALSE(held.empty());
  std::mt19937_64 random(11);
  for (int drawn = 0; drawn < count; ++drawn) {
    const Slicing& slicing = held[random() % held.size()];
    SCOPED_TRACE(to_string(slicing));
    // with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
    expect_same_everywhere(apply(kernel, slicing), kernel, sizes, {}, "pthread");
  }
}

TEST(HeldSlicingsOnEveryTarget, KeepFluxesOfElements) {
  expect_held_slicings_keep(lifted_fluxes(), 6);
  expect_held_slicings_keep(lifted_fluxes_as_results(), 3);
}

TEST(HeldSlicingsOnEveryTarget, KeepSpectralElements) {
  expect_held_slicings_keep(spectral_elements(), 5);
}

TEST(HeldSlicingsOnEveryTarget, KeepHistogramsOfRows) {
  expect_held_slicings_keep(histograms_of_rows(), 4);
}

TEST(HeldSlicingsOnEveryTarget, KeepNormalEquations) {
  expect_held_slicings_keep(normal_equations(), 4);
}

TEST(HeldSlicingsOnEveryTarget, KeepPerceptrons) {
  expect_held_slicings_keep(perceptrons(), 4);
}

TEST(HeldSlicingsOnEveryTarget, KeepWordsOfOnesOwn) {
  for (const char* words :
       {"together c,e; c: g.0 for*2 l.1*4; f: l.0; i: l.0; place flux shared",
        "together c,e; c: g.0 l.1*4 ilp*2; f: for l.0*5; i: for l.0*5; fetch lift pad 1 over "
        "i_0,i_1,m; place flux shared",
        "together c,e; c: g.0 l.0*8; place flux shared",
        "together c,e; c: g.0 l.1*4; f: l.0; i: l.0; m: unr; walk 2; place flux shared"}) {
    SCOPED_TRACE(words);
    expect_same_everywhere(apply(lifted_fluxes(), parse_slicing(words)), lifted_fluxes(),
                           {{"n", 19}});
  }
}

}  // namespace
}  // namespace rtcg::loopy
