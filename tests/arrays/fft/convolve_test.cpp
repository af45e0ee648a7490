#include "rtcg/arrays/fft/convolve.h"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

AnyArray signal_of(const std::string& type, std::int64_t length, int factor, int term,
                   int modulus) {
  const Expression i = indices({length});
  const Expression values = (factor * i + term) % modulus - modulus / 2;
  if (type == "boolean") {
    return evaluate(values > 0);
  }
  if (type[0] == 'c') {
    return evaluate(cast(make_complex(cast<double>(values), cast<double>(i - 2)),
                         type == "c64" ? DType::c64 : DType::c128));
  }
  return evaluate(cast(values, type == "i32"   ? DType::i32
                               : type == "i64" ? DType::i64
                               : type == "f32" ? DType::f32
                                               : DType::f64));
}

/// @returns how many results were compared
int compare_convolutions(ConvolveWay way, int every) {
  std::ifstream file(RTCG_SOURCE_DIR "/tests/arrays/fft/convolve_cases.txt");
  int compared = 0;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string function;
    words >> function;
    if (function == "#" || number++ % every != 0) {
      continue;
    }
    std::string types[3];
    std::int64_t lengths[3];
    std::string mode;
    words >> types[0] >> lengths[0] >> types[1] >> lengths[1] >> mode >> types[2] >> lengths[2];
    SCOPED_TRACE(line);
    const ConvolveOptions options{mode == "full"   ? ConvolveMode::full
                                  : mode == "same" ? ConvolveMode::same
                                                   : ConvolveMode::valid,
                                  way};
    const AnyArray a = signal_of(types[0], lengths[0], 37, 11, 19);
    const AnyArray v = signal_of(types[1], lengths[1], 23, 5, 17);
    const AnyArray result =
        function == "convolve" ? convolve(a, v, options) : correlate(a, v, options);
    // NumPy promotes i32 and f32 to f64
    EXPECT_EQ(result.dtype(), promote(a.dtype(), v.dtype()));
    EXPECT_EQ(name(result.dtype()), types[2]);
    EXPECT_EQ(result.shape(), Extents{lengths[2]});
    for (const std::complex<double>& value :
         Array<std::complex<double>>(result.as_type(DType::c128)).to_vector()) {
      double re = 0;
      double im = 0;
      words >> re;
      if (is_complex(result.dtype())) {
        words >> im;
      }
      const double tolerance = way == ConvolveWay::direct ? 0 : 1e-3;
      EXPECT_NEAR(value.real(), re, tolerance);
      EXPECT_NEAR(value.imag(), im, tolerance);
      ++compared;
    }
    EXPECT_FALSE(words.fail());
  }
  return compared;
}

TEST(Convolve, GivesNumPysResultsBySums) {
  testing::on_every_device([] { EXPECT_GT(compare_convolutions(ConvolveWay::direct, 31), 30); });
  const StreamScope scope(runtime::Device::host().default_stream());
  EXPECT_GT(compare_convolutions(ConvolveWay::direct, 1), 1500);
}

TEST(Convolve, GivesNumPysResultsByTransforms) {
  testing::on_every_device([] { EXPECT_GT(compare_convolutions(ConvolveWay::fft, 31), 30); });
  const StreamScope scope(runtime::Device::host().default_stream());
  EXPECT_GT(compare_convolutions(ConvolveWay::fft, 1), 1500);
}

TEST(Convolve, IsTheSameByBothWaysForLongArrays) {
  testing::on_every_device([] {
    const AnyArray x = evaluate(sin(0.7 * indices({5000})));
    const AnyArray v = evaluate(cos(0.3 * indices({300})));
    for (const ConvolveMode mode : {ConvolveMode::full, ConvolveMode::same, ConvolveMode::valid}) {
      const AnyArray direct = convolve(x, v, {mode, ConvolveWay::direct});
      const AnyArray by_default = convolve(x, v, {mode});
      EXPECT_LT(max(abs(direct - by_default)).item<double>(), 1e-11);
      EXPECT_LT(max(abs(correlate(x, v.flip({0}), {mode}) - direct)).item<double>(), 1e-11);
    }
  });
}

TEST(Convolve, OfIntegersIsExact) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const AnyArray x = full(DType::i64, {200}, std::int64_t{1} << 40);
  const AnyArray product = convolve(x, ones(DType::i64, {100}));
  EXPECT_EQ(product(150).item<std::int64_t>(), 100 * (std::int64_t{1} << 40));
}

TEST(Convolve, RefusesOtherShapes) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const Array<float> x = ones<float>({4});
  EXPECT_ERROR("arrays.convolve.shape", convolve(x, ones<float>({2, 2})));
  EXPECT_ERROR("arrays.convolve.empty", correlate(x, ones<float>({0})));
  EXPECT_ERROR("arrays.convolve.dtype", convolve(zeros(vector_of(DType::f32, 2), {4}), x));
}

}  // namespace
}  // namespace rtcg::arrays
