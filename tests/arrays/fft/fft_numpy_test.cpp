// What NumPy's transforms give, over shapes, axes, lengths and norms: fft_cases.txt.
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/fft/fft.h"
#include "tests/arrays/support/on_every_device.h"

namespace rtcg::arrays {
namespace {

DType dtype_named(const std::string& text) {
  for (int i = 0; i < dtype_count; ++i) {
    if (name(static_cast<DType>(i)) == text) {
      return static_cast<DType>(i);
    }
  }
  ADD_FAILURE() << "no type is called " << text;
  return DType::f64;
}

std::optional<Extents> parse_list(const std::string& text) {
  if (text == "-") {
    return std::nullopt;
  }
  Extents result;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    result.push_back(std::stoll(word));
  }
  return result;
}

AnyArray operand(DType dtype, const Extents& shape) {
  const Expression i = indices(shape);
  const Expression values = ((37 * i + 11) % 19 - 9) / 4.0;
  if (is_complex(dtype)) {
    return evaluate(cast(make_complex(values, ((23 * i + 5) % 17 - 8) / 4.0), dtype));
  }
  return evaluate(cast(is_floating(dtype) ? values : abs(trunc(values)), dtype));
}

struct NumPyCase {
  std::string function;
  std::string type;
  Extents shape;
  std::optional<Extents> lengths;
  std::optional<Extents> axes;
  FftNorm norm = FftNorm::backward;
};

AnyArray result_of(const NumPyCase& each, FftWay way) {
  using One = AnyArray (*)(const Expression&, const FftOptions&);
  using Several = AnyArray (*)(const Expression&, const FftnOptions&);
  static const std::map<std::string, One> ones = {{"fft", fft},   {"ifft", ifft},
                                                  {"rfft", rfft}, {"irfft", irfft},
                                                  {"hfft", hfft}, {"ihfft", ihfft}};
  static const std::map<std::string, Several> several = {
      {"fftn", fftn}, {"ifftn", ifftn}, {"rfftn", rfftn}, {"irfftn", irfftn},
      {"fft2", fft2}, {"ifft2", ifft2}, {"rfft2", rfft2}, {"irfft2", irfft2}};
  const AnyArray a = operand(dtype_named(each.type), each.shape);
  if (const auto found = ones.find(each.function); found != ones.end()) {
    FftOptions options;
    if (each.lengths) {
      options.n = (*each.lengths)[0];
    }
    if (each.axes) {
      options.axis = (*each.axes)[0];
    }
    options.norm = each.norm;
    options.way = way;
    return found->second(a, options);
  }
  return several.at(each.function)(a, {each.lengths, each.axes, each.norm, way});
}

/// Compares each case, or those with a number that `every` divides.
///
/// @returns how many results were compared
int compare(FftWay way, int every) {
  std::ifstream file(RTCG_SOURCE_DIR "/tests/arrays/fft/fft_cases.txt");
  int compared = 0;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    NumPyCase each;
    words >> each.function;
    if (each.function == "#" || number++ % every != 0) {
      continue;
    }
    std::string shape;
    std::string lengths;
    std::string axes;
    std::string norm;
    std::string type;
    std::string result_shape;
    words >> each.type >> shape >> lengths >> axes >> norm >> type >> result_shape;
    each.shape = *parse_list(shape);
    each.lengths = parse_list(lengths);
    each.axes = parse_list(axes);
    each.norm = norm == "ortho"     ? FftNorm::ortho
                : norm == "forward" ? FftNorm::forward
                                    : FftNorm::backward;
    SCOPED_TRACE(line.substr(0, 60));
    const AnyArray result = result_of(each, way);
    EXPECT_EQ(name(result.dtype()), type);
    EXPECT_EQ(result.shape(), *parse_list(result_shape));
    EXPECT_TRUE(result.layout().is_contiguous());
    const bool is_single = real_of(result.dtype()) == DType::f32;
    // sums of at most 36 numbers below 4
    const double tolerance = 64 * (is_single ? std::numeric_limits<float>::epsilon()
                                             : std::numeric_limits<double>::epsilon());
    std::vector<std::complex<double>> found;
    if (is_complex(result.dtype())) {
      found = Array<std::complex<double>>(result.as_type(DType::c128)).to_vector();
    } else {
      for (const double value : Array<double>(result.as_type(DType::f64)).to_vector()) {
        found.emplace_back(value);
      }
    }
    for (const std::complex<double>& value : found) {
      double re = 0;
      double im = 0;
      words >> re;
      if (is_complex(result.dtype())) {
        words >> im;
      }
      EXPECT_NEAR(value.real(), re, tolerance);
      EXPECT_NEAR(value.imag(), im, tolerance);
      ++compared;
    }
    EXPECT_FALSE(words.fail());
  }
  return compared;
}

TEST(FftNumPyCases, AreTheSameByGeneratedKernels) {
  const StreamScope scope(runtime::Device::host().default_stream());
  EXPECT_GT(compare(FftWay::generated, 1), 1500);
}

TEST(FftNumPyCases, AreTheSameByTheWayOfEachDevice) {
  testing::on_every_device([] { EXPECT_GT(compare(FftWay::automatic, 7), 200); });
}

}  // namespace
}  // namespace rtcg::arrays
