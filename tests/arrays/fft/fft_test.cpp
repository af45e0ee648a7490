// Fourier transforms against their definition, computed in long double, and their laws.
#include "rtcg/arrays/fft/fft.h"

#include <limits>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/fft/fft_plan.h"
#include "rtcg/runtime/device/graph.h"
#include "tests/arrays/fft/naive_dft.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::naive_dft;
using testing::on_every_device;
using testing::random_signal;
using testing::recursive_dft;
using testing::relative_error;
using testing::Wide;

template <class T>
using Complex = std::complex<T>;
template <class T>
using Signal = std::vector<Complex<T>>;

/// The bound of the root mean square error that docs/arrays.md states: units in the last place of 1
/// for each doubling of the length. Chirps transform up to four times the length, three times.
template <class T>
double bound(std::size_t n) {
  const auto length = static_cast<double>(n);
  const double ulps = detail::has_butterflies(static_cast<std::int64_t>(n)) ? 0.5 : 2;
  return ulps * std::numeric_limits<T>::epsilon() * (std::log2(length) + 1);
}

template <class T>
Signal<T> values_of(const AnyArray& a) {
  return Array<Complex<T>>(a).to_vector();
}

template <class T>
void expect_transform(std::size_t n) {
  const Signal<T> x = random_signal<T>(n, static_cast<unsigned>(n));
  EXPECT_LT(relative_error(values_of<T>(fft(Array<Complex<T>>(x))), naive_dft(x)), bound<T>(n))
      << n;
}

void expect_transforms_on_host(std::size_t first, std::size_t last) {
  const StreamScope scope(runtime::Device::host().default_stream());
  for (std::size_t n = first; n <= last; ++n) {
    expect_transform<double>(n);
  }
}

TEST(Fft, EqualsItsDefinitionForLengthsUpTo50) {
  expect_transforms_on_host(1, 50);
}
TEST(Fft, EqualsItsDefinitionForLengthsUpTo100) {
  expect_transforms_on_host(51, 100);
}
TEST(Fft, EqualsItsDefinitionForLengthsUpTo150) {
  expect_transforms_on_host(101, 150);
}
TEST(Fft, EqualsItsDefinitionForLengthsUpTo200) {
  expect_transforms_on_host(151, 200);
}

TEST(Fft, EqualsItsDefinitionOnEveryDevice) {
  on_every_device([] {
    for (const std::size_t n : {1, 2, 3, 13, 17, 60, 144, 343}) {
      expect_transform<float>(n);
    }
    for (const std::size_t n : {4, 5, 101, 1000}) {
      expect_transform<double>(n);
    }
  });
}

/// At frequencies all over the spectrum, of what is too long for the whole definition.
template <class T>
void expect_long_transform(std::size_t n) {
  const Signal<T> x = random_signal<T>(n, 11);
  const Signal<T> found = values_of<T>(fft(Array<Complex<T>>(x)));
  Signal<T> some;
  std::vector<Wide> expected;
  for (std::size_t k = n / 7; k < n; k += n / 2) {
    const long double step = -2 * std::numbers::pi_v<long double> / static_cast<long double>(n);
    Wide sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const long double angle = step * static_cast<long double>(j * k % n);
      sum += Wide(x[j].real(), x[j].imag()) * Wide(std::cos(angle), std::sin(angle));
    }
    expected.push_back(sum);
    some.push_back(found[k]);
  }
  EXPECT_LT(relative_error(some, expected), 2 * bound<T>(n)) << n;
}

TEST(Fft, TransformsLongPrimesAndMixedLengths) {
  on_every_device([] {
    expect_long_transform<float>(10007);
    expect_long_transform<double>(65537);
    expect_long_transform<float>(4410 * 13);
    expect_long_transform<double>(99000);
  });
}

TEST(Fft, TransformsPowersOfTwo) {
  on_every_device([] {
    for (std::size_t n = 256; n <= (1 << 20); n *= 16) {
      expect_long_transform<float>(n);
    }
    expect_long_transform<double>(1 << 17);
  });
}

TEST(Fft, HasErrorsThatGrowWithTheLogarithmOfTheLength) {
  const StreamScope scope(runtime::Device::host().default_stream());
  for (std::size_t n = 2; n <= (1 << 15); n *= 8) {
    const Signal<double> x = random_signal<double>(n, 2);
    const std::vector<Wide> expected = recursive_dft({x.begin(), x.end()});
    EXPECT_LT(relative_error(values_of<double>(fft(Array<Complex<double>>(x))), expected),
              bound<double>(n));
    const Signal<float> single(x.begin(), x.end());
    EXPECT_LT(relative_error(values_of<float>(fft(Array<Complex<float>>(single))),
                             recursive_dft({single.begin(), single.end()})),
              bound<float>(n));
  }
}

TEST(Fft, InverseUndoesIt) {
  on_every_device([] {
    for (const std::size_t n : {1, 2, 17, 36, 210, 5000}) {
      const Signal<double> x = random_signal<double>(n, 3);
      const Array<Complex<double>> values(x);
      EXPECT_LT(relative_error(values_of<double>(ifft(fft(values))), {x.begin(), x.end()}),
                2 * bound<double>(n))
          << n;
      EXPECT_EQ(values.to_vector(), x) << "the operand stays";
    }
  });
}

TEST(Fft, OfRealNumbersIsUndoneByItsInverse) {
  on_every_device([] {
    for (const std::int64_t n : {1, 2, 9, 34}) {
      for (const std::int64_t axis : {0, 1, 2}) {
        Extents shape{2, 3, 2};
        shape[static_cast<int>(axis)] = n;
        const AnyArray x = evaluate(cast(sin(indices(shape)), DType::f64));
        const AnyArray back = irfft(rfft(x, {.axis = axis}), {.n = n, .axis = axis});
        EXPECT_LT(max(abs(back - x)).item<double>(), 1e-14) << n << ' ' << axis;
      }
    }
  });
}

TEST(Fft, IsLinear) {
  on_every_device([] {
    const Array<Complex<double>> x(random_signal<double>(390, 4), {3, 130});
    const Array<Complex<double>> y(random_signal<double>(390, 5), {3, 130});
    const Complex<double> a(2, -1);
    const AnyArray of_sum = fft(a * x + y);
    EXPECT_LT(max(abs(of_sum - (a * fft(x) + fft(y)))).item<double>(), 1e-12);
  });
}

TEST(Fft, KeepsEnergyAsParsevalSays) {
  on_every_device([] {
    for (const std::int64_t n : {8, 97, 360}) {
      const Array<Complex<double>> x(random_signal<double>(static_cast<std::size_t>(5 * n), 6),
                                     {5, n});
      const AnyArray spectrum = fft(x, {.norm = FftNorm::ortho});
      const double energy = sum(square(abs(x))).item<double>();
      EXPECT_NEAR(sum(square(abs(spectrum))).item<double>(), energy, 1e-13 * energy);
    }
  });
}

TEST(Fft, TurnsShiftsIntoPhases) {
  on_every_device([] {
    const std::int64_t n = 54;
    const Array<Complex<double>> x(random_signal<double>(54, 7));
    const Expression k = arange<double>(n);
    const Expression angle = (-2 * std::numbers::pi * 5 / static_cast<double>(n)) * k;
    const AnyArray difference =
        evaluate(fft(roll(x, 5)) - fft(x) * make_complex(cos(angle), sin(angle)));
    EXPECT_LT(max(abs(difference)).item<double>(), 1e-13);
  });
}

TEST(Fft, TakesViewsOfEveryLayout) {
  on_every_device([] {
    const AnyArray x = evaluate(make_complex(sin(indices({6, 10, 8})), cos(indices({6, 10, 8}))));
    const std::vector<AnyArray> views = {x(Slice{0, {}, 2}),      x.flip({0, 1}),
                                         x.transposed({2, 0, 1}), x(whole, Slice{1, 9, 3}),
                                         x(2).transposed(),       x(0).broadcast_to({4, 10, 8})};
    for (const AnyArray& view : views) {
      for (std::int64_t axis = 0; axis < view.axes(); ++axis) {
        EXPECT_TRUE(
            Array<bool>(all(fft(view, {.axis = axis}) == fft(view.copy(), {.axis = axis}))).item());
      }
    }
    // pairs that begin between two others
    const Array<float> parts = arange<float>(21);
    EXPECT_TRUE(
        Array<bool>(all(rfft(parts(Slice{1, {}})) == rfft(parts(Slice{1, {}}).copy()))).item());
  });
}

TEST(Fft, OfSeveralAxesIsOneAfterTheOther) {
  on_every_device([] {
    const Array<Complex<double>> x(random_signal<double>(6 * 17 * 8, 9), {6, 17, 8});
    const AnyArray expected = fft(fft(fft(x, {.axis = 0}), {.axis = 2}), {.axis = 1});
    EXPECT_LT(max(abs(fftn(x) - expected)).item<double>(), 1e-12);
    EXPECT_LT(max(abs(ifftn(fftn(x)) - x)).item<double>(), 1e-14);
    const AnyArray real_part = evaluate(real(x));
    const AnyArray back = irfftn(rfftn(real_part, {.axes = Extents{2, 1}}),
                                 {.lengths = Extents{8, 17}, .axes = Extents{2, 1}});
    EXPECT_LT(max(abs(back - real_part)).item<double>(), 1e-14);
  });
}

TEST(Fft, OfExpressionsAndOfNothing) {
  on_every_device([] {
    const Array<float> x = arange<float>(12);
    EXPECT_TRUE(Array<bool>(all(fft(2 * x) == fft(evaluate(2 * x)))).item());
    EXPECT_EQ(fft(zeros<float>({0, 4})).shape(), (Extents{0, 4}));
    EXPECT_EQ(rfft(zeros<float>({0, 4})).shape(), (Extents{0, 3}));
    EXPECT_EQ(irfft(zeros<float>({0, 4})).shape(), (Extents{0, 6}));
    EXPECT_EQ(fftn(zeros<double>({3, 0}), {.axes = Extents{0}}).shape(), (Extents{3, 0}));
  });
}

TEST(Fft, GivesTheSameBitsEveryTime) {
  on_every_device([] {
    const Array<Complex<float>> x(random_signal<float>(6000, 10));
    EXPECT_EQ(values_of<float>(fft(x)), values_of<float>(fft(x)));
  });
}

TEST(Fft, IsPartOfGraphs) {
  for (const runtime::Device device : runtime::judged_devices()) {
    if (device.info().id.kind == runtime::BackendKind::opencl) {
      continue;  // no graphs
    }
    const runtime::Stream stream(device);
    const StreamScope scope(stream);
    const Array<Complex<double>> x(random_signal<double>(30 * 34, 12), {30, 34});
    const Array<Complex<double>> out = zeros<Complex<double>>({30, 34});
    const auto work = [&] { out.assign(out + fftn(x)); };
    work();
    const Signal<double> once = out.to_vector();
    out.assign(0);
    const runtime::Graph graph = runtime::capture(stream, work);
    graph.launch(stream);
    EXPECT_EQ(out.to_vector(), once);
    graph.launch(stream);
    EXPECT_EQ(out(3, 4).item(), 2.0 * once[3 * 34 + 4]);
  }
}

TEST(Fft, MakesFrequenciesAndMovesThem) {
  on_every_device([] {
    EXPECT_EQ(fftfreq(5, 0.5).to_vector(), (std::vector<double>{0, 0.4, 0.8, -0.8, -0.4}));
    EXPECT_EQ(fftfreq(4).to_vector(), (std::vector<double>{0, 0.25, -0.5, -0.25}));
    EXPECT_EQ(rfftfreq(5).to_vector(), (std::vector<double>{0, 0.2, 0.4}));
    EXPECT_EQ(rfftfreq(4, 2).to_vector(), (std::vector<double>{0, 0.125, 0.25}));
    const Array<int> x = arange<int>(5);
    EXPECT_EQ(fftshift(x).to_vector<int>(), (std::vector<int>{3, 4, 0, 1, 2}));
    EXPECT_EQ(ifftshift(fftshift(x)).to_vector<int>(), (std::vector<int>{0, 1, 2, 3, 4}));
    const Array<int> grid = arange<int>(6).reshape({2, 3});
    EXPECT_EQ(fftshift(grid).to_vector<int>(), (std::vector<int>{5, 3, 4, 2, 0, 1}));
    EXPECT_EQ(fftshift(grid, Extents{1}).to_vector<int>(), (std::vector<int>{2, 0, 1, 5, 3, 4}));
  });
}

TEST(Fft, RefusesWhatHasNoTransform) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const Array<float> x = ones<float>({4, 6});
  EXPECT_ERROR("arrays.layout.bad_axis", fft(x, {.axis = 2}));
  EXPECT_ERROR("arrays.layout.bad_axis", fftn(x, {.axes = Extents{0, -3}}));
  EXPECT_ERROR("arrays.fft.length", fft(x, {.n = 0}));
  EXPECT_ERROR("arrays.fft.length", fft(zeros<float>({4, 0})));
  EXPECT_ERROR("arrays.fft.length", irfft(zeros<float>({4, 1})));
  EXPECT_ERROR("arrays.fft.length", fftn(x, {.lengths = Extents{-2}}));
  EXPECT_ERROR("arrays.fft.length", fftfreq(0));
  EXPECT_ERROR("arrays.fft.axes", fft(ones<float>(Extents{})));
  EXPECT_ERROR("arrays.fft.axes", fftn(x, {.lengths = Extents{4, 6}, .axes = Extents{0}}));
  EXPECT_ERROR("arrays.fft.axes", rfftn(x, {.axes = Extents{}}));
  EXPECT_ERROR("arrays.fft.dtype", rfft(fft(x)));
  EXPECT_ERROR("arrays.fft.dtype", ihfft(fft(x)));
  EXPECT_ERROR("arrays.fft.dtype", fft(zeros(vector_of(DType::f32, 2), {4})));
}

TEST(Fft, RefusesALibraryThatIsNotThere) {
  const StreamScope scope(runtime::Device::host().default_stream());
  EXPECT_ERROR("arrays.fft.no_library", fft(ones<float>({4}), {.way = FftWay::library}));
  EXPECT_EQ(describe_fft_library(runtime::Device::host()), "none: cuFFT needs a CUDA device");
}

}  // namespace
}  // namespace rtcg::arrays
