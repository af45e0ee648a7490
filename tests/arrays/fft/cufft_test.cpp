#include "rtcg/arrays/fft/cufft.h"

#include <map>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/fft/fft.h"
#include "tests/arrays/fft/naive_dft.h"
#include "tests/arrays/support/gpu.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

/// What the library would be asked for.
struct AskedForFft {
  struct Plan {
    std::vector<std::size_t> lengths;
    std::size_t stride = 1;
    std::size_t in_distance = 1;
    std::size_t out_distance = 1;
    std::size_t batch = 1;
    int type = 0;
  };
  std::map<int, Plan> plans;
  int made = 0;
  int ended = 0;
  int calls = 0;
  int status = 0;
  void* stream = nullptr;
  void* work_area = nullptr;
  static AskedForFft& instance() {
    static AskedForFft asked;
    return asked;
  }
};

/// All axes of one transform, one after the other; `values` has the strides of the lengths.
template <class T>
void transform_axes(std::vector<std::complex<T>>& values, const std::vector<std::size_t>& lengths,
                    int sign) {
  std::size_t inner = 1;
  for (std::size_t axis = lengths.size(); axis-- > 0;) {
    const std::size_t n = lengths[axis];
    for (std::size_t first = 0; first < values.size(); ++first) {
      if (first / inner % n != 0) {
        continue;
      }
      std::vector<std::complex<T>> row(n);
      for (std::size_t j = 0; j < n; ++j) {
        row[j] = values[first + j * inner];
      }
      const std::vector<testing::Wide> result = testing::naive_dft(row, sign);
      for (std::size_t j = 0; j < n; ++j) {
        values[first + j * inner] = std::complex<T>(result[j]);
      }
    }
    inner *= n;
  }
}

template <class T>
int fake_complex(int plan, void* in, void* out, int direction) {
  AskedForFft& asked = AskedForFft::instance();
  ++asked.calls;
  const AskedForFft::Plan& what = asked.plans.at(plan);
  EXPECT_EQ(what.type, sizeof(T) == 4 ? 0x29 : 0x69);
  std::size_t count = 1;
  for (const std::size_t length : what.lengths) {
    count *= length;
  }
  for (std::size_t b = 0; b < what.batch; ++b) {
    std::vector<std::complex<T>> values(count);
    const auto* from = static_cast<const std::complex<T>*>(in) + b * what.in_distance;
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = from[i * what.stride];
    }
    transform_axes(values, what.lengths, direction);
    auto* to = static_cast<std::complex<T>*>(out) + b * what.out_distance;
    for (std::size_t i = 0; i < count; ++i) {
      to[i * what.stride] = values[i];
    }
  }
  return asked.status;
}

template <class T>
int fake_from_real(int plan, void* in, void* out) {
  const AskedForFft::Plan& what = AskedForFft::instance().plans.at(plan);
  EXPECT_EQ(what.type, sizeof(T) == 4 ? 0x2a : 0x6a);
  const std::size_t n = what.lengths[0];
  for (std::size_t b = 0; b < what.batch; ++b) {
    const T* from = static_cast<const T*>(in) + b * what.in_distance;
    const auto result = testing::naive_dft(std::vector<std::complex<T>>(from, from + n));
    for (std::size_t k = 0; k <= n / 2; ++k) {
      static_cast<std::complex<T>*>(out)[b * what.out_distance + k] = std::complex<T>(result[k]);
    }
  }
  return 0;
}

template <class T>
int fake_to_real(int plan, void* in, void* out) {
  const AskedForFft::Plan& what = AskedForFft::instance().plans.at(plan);
  EXPECT_EQ(what.type, sizeof(T) == 4 ? 0x2c : 0x6c);
  const std::size_t n = what.lengths[0];
  for (std::size_t b = 0; b < what.batch; ++b) {
    auto* from = static_cast<std::complex<T>*>(in) + b * what.in_distance;
    std::vector<std::complex<T>> all(n);
    for (std::size_t k = 0; k <= n / 2; ++k) {
      all[k] = from[k];
      all[(n - k) % n] = std::conj(from[k]);
      from[k] = -1;  // as the library may do
    }
    const auto result = testing::naive_dft(all, 1);
    for (std::size_t j = 0; j < n; ++j) {
      static_cast<T*>(out)[b * what.out_distance + j] = static_cast<T>(result[j].real());
    }
  }
  return 0;
}

const detail::CufftApi& fake_cufft() {
  using Asked = AskedForFft;
  static const detail::CufftApi api{
      [](int* plan) {
        *plan = ++Asked::instance().made;
        return 0;
      },
      [](int) {
        ++Asked::instance().ended;
        return 0;
      },
      [](int, int is_on) {
        EXPECT_EQ(is_on, 0) << "work areas come from the pool";
        return 0;
      },
      [](int plan, int rank, long long* lengths, long long* in_lengths, long long in_stride,
         long long in_distance, long long* out_lengths, long long out_stride,
         long long out_distance, int type, long long batch, std::size_t* work_bytes) {
        EXPECT_NE(in_lengths, nullptr);
        EXPECT_NE(out_lengths, nullptr);
        EXPECT_EQ(in_stride, out_stride);
        AskedForFft::Plan& made = Asked::instance().plans[plan];
        made.lengths.assign(lengths, lengths + rank);
        made.stride = static_cast<std::size_t>(in_stride);
        made.in_distance = static_cast<std::size_t>(in_distance);
        made.out_distance = static_cast<std::size_t>(out_distance);
        made.batch = static_cast<std::size_t>(batch);
        made.type = type;
        *work_bytes = 4096;
        return 0;
      },
      [](int, void* stream) {
        Asked::instance().stream = stream;
        return 0;
      },
      [](int, void* memory) {
        Asked::instance().work_area = memory;
        return 0;
      },
      fake_complex<float>,
      fake_complex<double>,
      fake_from_real<float>,
      fake_from_real<double>,
      fake_to_real<float>,
      fake_to_real<double>,
      "fake"};
  return api;
}

class CufftOnHost : public ::testing::Test {
 protected:
  void SetUp() override { AskedForFft::instance().calls = 0; }
  runtime::Stream stream_{runtime::Device::host()};
  StreamScope scope_{stream_};
};

double difference(const Expression& a, const Expression& b) {
  return Array<double>(max(abs(cast(a, DType::c128) - cast(b, DType::c128)))).item();
}

AnyArray signal(DType dtype, const Extents& shape) {
  const AnyArray result =
      evaluate(cast(make_complex(sin(indices(shape)), cos(3 * indices(shape))), dtype));
  current_stream().synchronize();  // the fake computes at once
  return result;
}

TEST_F(CufftOnHost, TransformsRowsAndColumns) {
  const AnyArray x = signal(DType::c128, {3, 10, 4});
  for (int axis = 0; axis < 3; ++axis) {
    const AnyArray out(DType::c128, x.shape(), stream_);
    const detail::FftExtents extents = axis == 0   ? detail::FftExtents{1, 3, 40}
                                       : axis == 1 ? detail::FftExtents{3, 10, 4}
                                                   : detail::FftExtents{30, 4, 1};
    AskedForFft::instance().calls = 0;
    detail::transform_with(fake_cufft(), stream_, x, out, extents, false);
    EXPECT_EQ(AskedForFft::instance().calls, axis == 1 ? 3 : 1);
    EXPECT_LT(difference(out, fft(x, {.axis = axis, .way = FftWay::generated})), 1e-13);
  }
  EXPECT_EQ(AskedForFft::instance().stream, stream_.native_handle());
  EXPECT_NE(AskedForFft::instance().work_area, nullptr);
}

TEST_F(CufftOnHost, TransformsTheLastAxesAtOnce) {
  const AnyArray x = signal(DType::c64, {2, 3, 4, 5});
  const AnyArray out(DType::c64, x.shape(), stream_);
  for (const int rank : {2, 3}) {
    detail::transform_last_axes_with(fake_cufft(), stream_, x, out, rank, true);
    const Extents axes = rank == 2 ? Extents{2, 3} : Extents{1, 2, 3};
    EXPECT_LT(difference(out, ifftn(x, {.axes = axes, .norm = FftNorm::forward})), 1e-4);
  }
  EXPECT_EQ(AskedForFft::instance().calls, 2);
}

TEST_F(CufftOnHost, TransformsRealNumbers) {
  for (const std::int64_t n : {6, 7}) {
    const AnyArray x = evaluate(sin(indices({3, n})));
    stream_.synchronize();
    const AnyArray spectrum(DType::c128, {3, n / 2 + 1}, stream_);
    detail::transform_real_with(fake_cufft(), stream_, x, spectrum, n, false);
    EXPECT_LT(difference(spectrum, rfft(x)), 1e-13);
    const AnyArray back(DType::f64, {3, n}, stream_);
    stream_.synchronize();
    detail::transform_real_with(fake_cufft(), stream_, spectrum, back, n, true);
    EXPECT_LT(difference(back, static_cast<double>(n) * x), 1e-13);
  }
}

TEST_F(CufftOnHost, KeepsPlansOfRecentForms) {
  const AnyArray x = signal(DType::c128, {100});
  const AnyArray out(DType::c128, {100}, stream_);
  const auto transform = [&](std::int64_t n) {
    const AnyArray part = x(Slice{0, n});
    detail::transform_with(fake_cufft(), stream_, part, out(Slice{0, n}), {1, n, 1}, false);
  };
  transform(2);
  const int made = AskedForFft::instance().made;
  transform(2);
  EXPECT_EQ(AskedForFft::instance().made, made);
  const int ended = AskedForFft::instance().ended;
  for (std::int64_t n = 3; n < 80; ++n) {
    transform(n);
    transform(2);  // so that it stays
  }
  EXPECT_EQ(AskedForFft::instance().made, made + 77);
  EXPECT_GE(AskedForFft::instance().ended, ended + 77 - 63);
}

TEST_F(CufftOnHost, ReportsWhatTheLibraryRefuses) {
  const AnyArray x = signal(DType::c128, {4});
  AskedForFft::instance().status = 5;
  EXPECT_ERROR("arrays.fft.call_failed",
               detail::transform_with(fake_cufft(), stream_, x, x, {1, 4, 1}, false));
  AskedForFft::instance().status = 0;
}

TEST(Cufft, SaysWhyItIsNotThere) {
  if (detail::CufftApi::find() == nullptr) {
    EXPECT_FALSE(detail::CufftApi::why_none().empty());
  } else {
    EXPECT_FALSE(detail::CufftApi::find()->library.empty());
  }
}

class FftOnGpu : public testing::OnGpu {};

TEST_F(FftOnGpu, IsTheSameByTheLibraryAndByGeneratedKernels) {
  const runtime::Stream stream(gpu());
  const StreamScope scope(stream);
  if (detail::CufftApi::find() == nullptr) {
    GTEST_SKIP() << detail::CufftApi::why_none();
  }
  for (const DType dtype : {DType::c64, DType::c128}) {
    const double tolerance = dtype == DType::c64 ? 2e-6 : 4e-15;
    for (const Extents& shape : {Extents{1 << 20}, Extents{100, 1000}, Extents{64, 48, 60},
                                 Extents{30, 97}, Extents{1 << 22}}) {
      const AnyArray x = signal(dtype, shape);
      for (std::int64_t axis = 0; axis < shape.size(); ++axis) {
        const AnyArray expected =
            fft(x, {.axis = axis, .norm = FftNorm::ortho, .way = FftWay::library});
        const AnyArray found =
            fft(x, {.axis = axis, .norm = FftNorm::ortho, .way = FftWay::generated});
        const double norm = Array<double>(max(abs(cast(expected, DType::c128)))).item();
        EXPECT_LT(difference(found, expected), 10 * tolerance * norm)
            << to_string(shape) << ' ' << axis;
        const AnyArray back = ifft(expected, {.axis = axis, .norm = FftNorm::ortho});
        EXPECT_LT(difference(back, x), 10 * tolerance);
      }
      EXPECT_LT(difference(ifftn(fftn(x)), x), 10 * tolerance);
      const AnyArray parts = evaluate(real(x));
      EXPECT_LT(difference(irfftn(rfftn(parts), {.lengths = shape}), parts), 10 * tolerance);
    }
  }
}

}  // namespace
}  // namespace rtcg::arrays
