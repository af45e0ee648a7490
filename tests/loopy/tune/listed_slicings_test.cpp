// Slicings as they are listed, at sizes that no tile divides, against plain loops on whole numbers:
// every sum is exact, so that one wrong element shows.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/stream.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

Kernel product_of_matrices() {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                     {.name = "matmul", .default_type = cgen::f32, .assumptions = "n >= 1"});
}

struct Matrices {
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> product;
};

Matrices matrices(std::size_t n) {
  Matrices made{std::vector<float>(n * n), std::vector<float>(n * n), std::vector<float>(n * n)};
  for (std::size_t i = 0; i < n * n; ++i) {
    made.a[i] = static_cast<float>(i * 7 % 13) - 6;
    made.b[i] = static_cast<float>(i * 5 % 11) - 5;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      int sum = 0;
      for (std::size_t k = 0; k < n; ++k) {
        sum += static_cast<int>(made.a[i * n + k]) * static_cast<int>(made.b[k * n + j]);
      }
      made.product[i * n + j] = static_cast<float>(sum);
    }
  }
  return made;
}

void expect_right(const runtime::Device& device, std::size_t n, const Slicing& slicing,
                  const Matrices& known) {
  const Kernel tuned =
      tuned_kernel(product_of_matrices(), {{"n", static_cast<std::int64_t>(n)}}, slicing);
  const runtime::Stream stream(device);
  const runtime::Buffer<float> a(device, known.a);
  const runtime::Buffer<float> b(device, known.b);
  const runtime::Buffer<float> c(device, std::vector<float>(n * n, -1.0F));
  Executor(tuned, device)(stream, {arg("a", a), arg("b", b), arg("c", c)});
  const std::vector<float> found = c.to_vector(stream);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    wrong += found[i] != known.product[i] ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0U) << "of " << n * n << " elements on " << to_string(device.info().id)
                       << ", n = " << n << ": " << to_string(slicing);
}

// Evenly spread over the list, the same ones each time.
std::vector<Slicing> sample(const runtime::Device& device, std::int64_t n, std::size_t wanted) {
  SlicingConstraints constraints;
  constraints.parameters = {{"n", n}};
  constraints.machine = machine_model(device);
  SlicingStream stream(product_of_matrices(), constraints);
  const std::size_t stride = std::max<std::size_t>(1, stream.count() / wanted);
  std::vector<Slicing> result;
  for (std::size_t i = 0; i < stream.count() && result.size() < wanted; ++i) {
    const auto next = stream.next();
    if (!next) {
      break;
    }
    if (i % stride == 0) {
      result.push_back(next->slicing);
    }
  }
  return result;
}

class ListedSlicings : public ::testing::TestWithParam<runtime::Device> {};
INSTANTIATE_TEST_SUITE_P(Devices, ListedSlicings,
                         ::testing::ValuesIn(rtcg::runtime::judged_devices()),
                         [](const auto& info) {
                           std::string name = to_string(info.param.info().id);
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST_P(ListedSlicings, AreRightAtOddSizes) {
  constexpr std::size_t of_each_size = 6;
  for (const std::int64_t n : {37, 100, 129}) {
    const Matrices known = matrices(static_cast<std::size_t>(n));
    const std::vector<Slicing> listed = sample(GetParam(), n, of_each_size);
    EXPECT_EQ(listed.size(), of_each_size);
    for (const Slicing& slicing : listed) {
      expect_right(GetParam(), static_cast<std::size_t>(n), slicing, known);
    }
  }
}

// The four that gcc 12 got wrong for processors with AVX2.
class Attack01 : public ListedSlicings {};
INSTANTIATE_TEST_SUITE_P(Host, Attack01, ::testing::Values(runtime::Device::host()),
                         [](const auto&) { return std::string("host"); });

TEST_P(Attack01, PartialTileRowsAreRight) {
  const std::pair<std::size_t, const char*> found[] = {
      {37, "j: g.0 l.0*37; i: g.1 l.1*4; k: unr_hint; fetch a; fetch b"},
      {37, "j: g.0 ilp*2 l.0*16; i: g.1 l.1*2 ilp*8; k: for unr_hint*32; fetch a pad 4; stages 2"},
      {100, "j: g.0 ilp*2 l.0*32 vec*2; i: g.1 l.1*2 ilp*4; k: for for*25; fetch a; stages 2"},
      {129, "j: g.0 l.0*16; i: g.1 l.1*32; k: for unr_hint*8; fetch a pad 4; fetch b; stages 4"}};
  for (const auto& [n, slicing] : found) {
    expect_right(GetParam(), n, parse_slicing(slicing), matrices(n));
  }
}

}  // namespace
}  // namespace rtcg::loopy
