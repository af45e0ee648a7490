#include "rtcg/arrays/random/generator.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/lazy/functions.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

// the known answers that come with Random123 (kat_vectors)
struct KnownAnswer {
  RandomWords counter;
  RandomWords key;
  RandomWords words;
};
constexpr RandomWords ones_everywhere = {~0U, ~0U, ~0U, ~0U};
constexpr RandomWords pi = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
constexpr KnownAnswer philox_answers[] = {
    {{}, {}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {ones_everywhere, ones_everywhere, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {pi, {0xa4093822, 0x299f31d0, 0, 0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
constexpr KnownAnswer threefry_answers[] = {
    {{}, {}, {0x9c6ca96a, 0xe17eae66, 0xfc10ecd4, 0x5256a7d8}},
    {ones_everywhere, ones_everywhere, {0x2a881696, 0x57012287, 0xf6c7446e, 0xa16a6732}},
    {pi,
     {0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89},
     {0x59cd1dbb, 0xb8879579, 0x86b5d00c, 0xac8b6d84}}};

TEST(CounterBased, GivesThePublishedAnswers) {
  for (const KnownAnswer& known : philox_answers) {
    EXPECT_EQ(philox4x32_10(known.counter, {known.key[0], known.key[1]}), known.words);
  }
  for (const KnownAnswer& known : threefry_answers) {
    EXPECT_EQ(threefry4x32_20(known.counter, known.key), known.words);
  }
}

TEST(CounterBased, IsTheSameInKernels) {
  for (const RandomAlgorithm algorithm : {RandomAlgorithm::philox, RandomAlgorithm::threefry}) {
    const ElementwiseKernel kernel(
        "uint *c, uint *key, uint *z",
        "random_block w = random_words(c[4*i], c[4*i + 1], c[4*i + 2], c[4*i + 3], key[2*i], "
        "key[2*i + 1]); for (int k = 0; k < 4; ++k) { z[4*i + k] = w.w[k]; }",
        {.preamble = random_preamble(algorithm)});
    std::vector<std::uint32_t> counters;
    std::vector<std::uint32_t> keys;
    std::vector<std::uint32_t> expected;
    for (const KnownAnswer& known : philox_answers) {
      const RandomWords words =
          algorithm == RandomAlgorithm::philox
              ? known.words
              : threefry4x32_20(known.counter, {known.key[0], known.key[1], 0, 0});
      counters.insert(counters.end(), known.counter.begin(), known.counter.end());
      keys.insert(keys.end(), {known.key[0], known.key[1]});
      expected.insert(expected.end(), words.begin(), words.end());
    }
    on_every_device([&] {
      const auto z = zeros<std::uint32_t>({12});
      kernel.run({Array<std::uint32_t>(counters), Array<std::uint32_t>(keys), z},
                 {.range = Slice{0, 3}});
      EXPECT_EQ(z.to_vector(), expected);
    });
  }
}

TEST(Generator, NumbersDependOnSeedCallAndPlaceAlone) {
  on_every_device([] {
    Generator random(0);
    const std::vector<std::uint32_t> first = random.bits<std::uint32_t>({10}).to_vector();
    EXPECT_EQ(first[0], 0x6627e8d5U);
    EXPECT_EQ(first[3], 0x9b00dbd8U);
    EXPECT_EQ(first[9], philox4x32_10({2, 0, 0, 0}, {0, 0})[1]);
    EXPECT_EQ(random.bits<std::uint32_t>({2, 3}).to_vector()[5],
              philox4x32_10({1, 0, 0, 1}, {0, 0})[1]);
    EXPECT_EQ(random.call(), 2U);
    random.set_call(0);
    const std::vector<std::uint32_t> longer = random.bits<std::uint32_t>({70001}).to_vector();
    EXPECT_TRUE(std::equal(first.begin(), first.end(), longer.begin()));
    EXPECT_EQ(longer[70000], philox4x32_10({17500, 0, 0, 0}, {0, 0})[0]);
    Generator other(0x0123456789abcdef, RandomAlgorithm::threefry);
    const RandomWords words = threefry4x32_20({0, 0, 0, 0}, {0x89abcdef, 0x01234567, 0, 0});
    EXPECT_EQ(other.bits<std::uint64_t>({3}).to_vector()[1],
              (static_cast<std::uint64_t>(words[2]) << 32) | words[3]);
    EXPECT_EQ(other.bits<std::uint32_t>({0}).count(), 0);
    EXPECT_EQ(other.bits<std::uint32_t>({}).to_vector().size(), 1U);
  });
}

TEST(Generator, IsTheSameOnEveryDevice) {
  const auto sample = [] {
    Generator random(7);
    std::vector<double> all;
    const auto add = [&](const AnyArray& array) {
      const std::vector<double> values = Array<double>(cast<double>(array)).to_vector();
      all.insert(all.end(), values.begin(), values.end());
    };
    add(random.uniform(DType::f32, {1001}, -3, 5));
    add(random.uniform(DType::f64, {1001}, 4, 7));
    add(random.integers(DType::i32, {1001}, -70, 1000));
    add(random.poisson(DType::i32, {1001}, 3.5));
    add(random.poisson(DType::i64, {1001}, 1e4));
    return all;
  };
  std::vector<double> expected;
  {
    const StreamScope scope(runtime::Device::host().default_stream());
    expected = sample();
  }
  on_every_device([&] { EXPECT_EQ(sample(), expected); });
  const auto normals = [] { return Generator(9).normal<float>({4000}).to_vector(); };
  const StreamScope scope(runtime::Device::host().default_stream());
  const std::vector<float> on_host = normals();
  on_every_device([&] {
    const std::vector<float> here = normals();
    for (std::size_t i = 0; i < here.size(); ++i) {
      // an OpenCL device may round square roots otherwise
      ASSERT_NEAR(here[i], on_host[i], 1e-6);
    }
  });
}

struct Sample {
  double mean = 0;
  double deviation = 0;
  double least = 0;
  double most = 0;
};

Sample statistics(const AnyArray& array) {
  const std::vector<double> values = Array<double>(cast<double>(array)).to_vector();
  Sample result;
  result.least = *std::min_element(values.begin(), values.end());
  result.most = *std::max_element(values.begin(), values.end());
  for (const double value : values) {
    result.mean += value / static_cast<double>(values.size());
  }
  for (const double value : values) {
    result.deviation += (value - result.mean) * (value - result.mean);
  }
  result.deviation = std::sqrt(result.deviation / static_cast<double>(values.size()));
  return result;
}

TEST(Generator, HasTheMomentsThatItShould) {
  on_every_device([] {
    for (const RandomAlgorithm algorithm : {RandomAlgorithm::philox, RandomAlgorithm::threefry}) {
      Generator random(123, algorithm);
      constexpr std::int64_t n = 200001;
      // six standard errors: 6 / sqrt(n) times the deviation
      constexpr double six = 0.0135;
      for (const DType dtype : {DType::f32, DType::f64}) {
        const Sample uniform = statistics(random.uniform(dtype, {n}, 4, 7));
        EXPECT_NEAR(uniform.mean, 5.5, six * 0.866);
        EXPECT_NEAR(uniform.deviation, 3 / std::sqrt(12.0), 0.01);
        EXPECT_GE(uniform.least, 4);
        EXPECT_LT(uniform.most, 7);
        const Sample normal = statistics(random.normal(dtype, {n}, 10, 3));
        EXPECT_NEAR(normal.mean, 10, six * 3);
        EXPECT_NEAR(normal.deviation, 3, six * 3);
        EXPECT_GT(normal.most, 10 + 3 * 3.5);
        EXPECT_LT(normal.least, 10 - 3 * 3.5);
        const Sample log_normal = statistics(log(random.log_normal(dtype, {n}, 1, 0.5)));
        EXPECT_NEAR(log_normal.mean, 1, six * 0.5);
        EXPECT_NEAR(log_normal.deviation, 0.5, six * 0.5);
      }
      const Sample dice = statistics(random.integers(DType::u8, {n}, 1, 7));
      EXPECT_EQ(dice.least, 1);
      EXPECT_EQ(dice.most, 6);
      EXPECT_NEAR(dice.mean, 3.5, six * 1.708);
      for (const double rate : {0.5, 9.5, 10.0, 200.0}) {
        const Sample events = statistics(random.poisson(DType::i32, {n}, rate));
        EXPECT_NEAR(events.mean, rate, six * std::sqrt(rate));
        EXPECT_NEAR(events.deviation, std::sqrt(rate), 2 * six * std::sqrt(rate));
        EXPECT_GE(events.least, 0);
      }
    }
  });
}

TEST(Generator, CountsEventsAsPoissonDid) {
  on_every_device([] {
    constexpr std::int64_t n = 1000000;
    const auto events = Generator(5).poisson<std::int32_t>({n}, 10);
    const auto nines = Array<std::int64_t>(evaluate(sum(events == 9))).item();
    EXPECT_NEAR(static_cast<double>(nines) / n, 0.12511, 0.002);
    EXPECT_EQ(Generator(5).poisson<std::uint32_t>({3}, 0).to_vector(),
              (std::vector<std::uint32_t>{0, 0, 0}));
  });
}

TEST(Generator, DrawsIntegersOfEveryRange) {
  on_every_device([] {
    Generator random(77);
    for (const std::int64_t n : {300, 301, 302, 303, 10007}) {
      const Sample sample = statistics(random.integers(DType::i64, {n}, 200, 300));
      EXPECT_GE(sample.least, 200);
      EXPECT_LT(sample.most, 300);
      EXPECT_GT(sample.most, 290);
    }
    constexpr std::int64_t top = std::numeric_limits<std::int64_t>::max();
    const auto wide = random.integers<std::int64_t>({1000}, -top - 1, top).to_vector();
    EXPECT_GT(*std::max_element(wide.begin(), wide.end()), top / 2);
    EXPECT_LT(*std::min_element(wide.begin(), wide.end()), -top / 2);
    EXPECT_EQ(random.integers<std::int8_t>({4}, -3, -2).to_vector(),
              (std::vector<std::int8_t>(4, -3)));
  });
}

TEST(Generator, MakesShortVectorsOfComponents) {
  using Float3 = ShortVector<float, 3>;
  using Short2 = ShortVector<std::int16_t, 2>;
  testing::on_every_device([] {
    Generator random(5);
    Generator same(5);
    const auto points = random.uniform<Float3>({7, 10}, 4, 7);
    EXPECT_EQ(points.shape(), (Extents{7, 10}));
    EXPECT_EQ(points.components().to_vector(), same.uniform<float>({7, 10, 3}, 4, 7).to_vector());
    EXPECT_EQ(random.normal<Float3>({3}).components().to_vector(),
              same.normal<float>({3, 3}).to_vector());
    const auto dice = random.integers<Short2>({1000}, 1, 7);
    EXPECT_EQ(Array<std::int16_t>(min(dice.components())).item(), 1);
    EXPECT_EQ(Array<std::int16_t>(max(dice.components())).item(), 6);
    using Half2 = ShortVector<Half, 2>;
    EXPECT_ERROR("arrays.random.dtype", random.uniform<Half2>({3}));
  });
}

TEST(Generator, RefusesWhatItCannotMake) {
  Generator random(1);
  EXPECT_ERROR("arrays.random.dtype", random.uniform(DType::i32, {4}));
  EXPECT_ERROR("arrays.random.dtype", random.normal(DType::c64, {4}));
  EXPECT_ERROR("arrays.random.dtype", random.bits(DType::u8, {4}));
  EXPECT_ERROR("arrays.random.dtype", random.integers(DType::f32, {4}, 0, 2));
  EXPECT_ERROR("arrays.random.dtype", random.poisson(DType::u8, {4}, 1));
  EXPECT_ERROR("arrays.random.bad_range", random.integers(DType::i32, {4}, 2, 2));
  EXPECT_ERROR("arrays.random.bad_range", random.integers(DType::u8, {4}, 0, 257));
  EXPECT_ERROR("arrays.random.bad_range", random.poisson(DType::i32, {4}, -1));
  EXPECT_ERROR("arrays.random.bad_range", random.poisson(DType::i32, {4}, 1e12));
}

}  // namespace
}  // namespace rtcg::arrays
