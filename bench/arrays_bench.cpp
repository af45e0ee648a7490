// Arrays on the host back end against plain loops with OpenMP, as one writes them by hand.
//
// Both run in this process, one after the other: the same threads, the same memory. A bench ends in
// an error where the results differ. text_by_loop_engine: from an expression to the CUDA text of
// its loop kernel, split for the grid. text_of_map: the CUDA text of the kernel that runs it.
#include <cmath>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/fft/convolve.h"
#include "rtcg/arrays/fft/fft.h"
#include "rtcg/arrays/kernels/loop_expression.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/transform/split_iname.h"

namespace rtcg::arrays {
namespace {

constexpr std::int64_t count = std::int64_t{1} << 24;

const runtime::StreamRef& stream() {
  static const runtime::StreamRef host = runtime::Device::host().default_stream();
  return host;
}

template <class T>
Array<T> wave(double frequency) {
  const StreamScope scope(stream());
  return cast<T>(sin(cast<double>(indices({count})) * frequency));
}

void set_bytes(benchmark::State& state, double per_element) {
  state.SetBytesProcessed(static_cast<std::int64_t>(static_cast<double>(state.iterations()) *
                                                    static_cast<double>(count) * per_element));
}

void expect_close(benchmark::State& state, double found, double expected, double limit) {
  if (!(std::abs(found - expected) <= limit)) {
    const std::string message =
        "the results differ: " + std::to_string(found) + " for " + std::to_string(expected);
    state.SkipWithError(message.c_str());
  }
}

template <class T>
void axpby_by_arrays(benchmark::State& state) {
  const StreamScope scope(stream());
  const Array<T> x = wave<T>(0.7);
  const Array<T> y = wave<T>(1.3);
  const Array<T> z = zeros<T>({count});
  z.assign(2 * x + 3 * y);  // kernels are compiled before time counts
  stream().synchronize();
  for (auto _ : state) {
    z.assign(2 * x + 3 * y);
    stream().synchronize();
  }
  set_bytes(state, 3 * sizeof(T));
}

template <class T>
void axpby_by_loop(benchmark::State& state) {
  const std::vector<T> x = wave<T>(0.7).to_vector();
  const std::vector<T> y = wave<T>(1.3).to_vector();
  std::vector<T> z(x.size());
  for (auto _ : state) {
    const T* a = x.data();
    const T* b = y.data();
    T* c = z.data();
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < count; ++i) {
      c[i] = 2 * a[i] + 3 * b[i];
    }
    benchmark::ClobberMemory();
  }
  set_bytes(state, 3 * sizeof(T));
  const StreamScope scope(stream());
  const Array<T> by_arrays = 2 * wave<T>(0.7) + 3 * wave<T>(1.3);
  expect_close(state, Array<T>(max(abs(by_arrays - Array<T>(z)))).item(), 0, 1e-6);
}

void wave_by_arrays(benchmark::State& state) {
  const StreamScope scope(stream());
  const Array<float> x = wave<float>(0.7);
  const Array<float> y = wave<float>(1.3);
  const Array<float> z = zeros<float>({count});
  z.assign(sin(x) * y + sqrt(abs(x)));
  stream().synchronize();
  for (auto _ : state) {
    z.assign(sin(x) * y + sqrt(abs(x)));
    stream().synchronize();
  }
  set_bytes(state, 3 * sizeof(float));
}

void wave_by_loop(benchmark::State& state) {
  const std::vector<float> x = wave<float>(0.7).to_vector();
  const std::vector<float> y = wave<float>(1.3).to_vector();
  std::vector<float> z(x.size());
  for (auto _ : state) {
    const float* a = x.data();
    const float* b = y.data();
    float* c = z.data();
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < count; ++i) {
      c[i] = std::sin(a[i]) * b[i] + std::sqrt(std::abs(a[i]));
    }
    benchmark::ClobberMemory();
  }
  set_bytes(state, 3 * sizeof(float));
}

template <class T>
void sum_by_arrays(benchmark::State& state) {
  const StreamScope scope(stream());
  const Array<T> x = wave<T>(0.7);
  benchmark::DoNotOptimize(Array<T>(sum(x)).item());
  for (auto _ : state) {
    benchmark::DoNotOptimize(Array<T>(sum(x)).item());
  }
  set_bytes(state, sizeof(T));
}

template <class T>
void sum_by_loop(benchmark::State& state) {
  const std::vector<T> x = wave<T>(0.7).to_vector();
  T total = 0;
  for (auto _ : state) {
    const T* a = x.data();
    total = 0;
#pragma omp parallel for simd reduction(+ : total)
    for (std::int64_t i = 0; i < count; ++i) {
      total += a[i];
    }
    benchmark::DoNotOptimize(total);
  }
  set_bytes(state, sizeof(T));
  const StreamScope scope(stream());
  expect_close(state, Array<T>(sum(wave<T>(0.7))).item(), total, 1e-7 * count);
}

template <class T>
void max_by_arrays(benchmark::State& state) {
  const StreamScope scope(stream());
  const Array<T> x = wave<T>(0.7);
  benchmark::DoNotOptimize(Array<T>(max(x)).item());
  for (auto _ : state) {
    benchmark::DoNotOptimize(Array<T>(max(x)).item());
  }
  set_bytes(state, sizeof(T));
}

template <class T>
void max_by_loop(benchmark::State& state) {
  const std::vector<T> x = wave<T>(0.7).to_vector();
  T most = 0;
  for (auto _ : state) {
    const T* a = x.data();
    most = a[0];
#pragma omp parallel for simd reduction(max : most)
    for (std::int64_t i = 0; i < count; ++i) {
      most = a[i] > most ? a[i] : most;
    }
    benchmark::DoNotOptimize(most);
  }
  set_bytes(state, sizeof(T));
  const StreamScope scope(stream());
  expect_close(state, Array<T>(max(wave<T>(0.7))).item(), most, 0);
}

constexpr std::int64_t side = 4096;

void axis_sum_by_arrays(benchmark::State& state) {
  const StreamScope scope(stream());
  const Array<float> x = wave<float>(0.7).reshape({side, side});
  const Array<float> result = zeros<float>({side});
  result.assign(sum(x, over(static_cast<int>(state.range(0)))));
  stream().synchronize();
  for (auto _ : state) {
    result.assign(sum(x, over(static_cast<int>(state.range(0)))));
    stream().synchronize();
  }
  set_bytes(state, sizeof(float));
}

void axis_sum_by_loop(benchmark::State& state) {
  const std::vector<float> x = wave<float>(0.7).to_vector();
  std::vector<float> result(side);
  for (auto _ : state) {
    const float* a = x.data();
    float* b = result.data();
    if (state.range(0) == 1) {
#pragma omp parallel for
      for (std::int64_t i = 0; i < side; ++i) {
        float total = 0;
#pragma omp simd reduction(+ : total)
        for (std::int64_t j = 0; j < side; ++j) {
          total += a[i * side + j];
        }
        b[i] = total;
      }
    } else {
      constexpr std::int64_t width = 512;
#pragma omp parallel for
      for (std::int64_t begin = 0; begin < side; begin += width) {
        std::fill(b + begin, b + begin + width, 0.0F);
        for (std::int64_t i = 0; i < side; ++i) {
#pragma omp simd
          for (std::int64_t j = begin; j < begin + width; ++j) {
            b[j] += a[i * side + j];
          }
        }
      }
    }
    benchmark::ClobberMemory();
  }
  set_bytes(state, sizeof(float));
  const StreamScope scope(stream());
  const Expression ours =
      sum(wave<float>(0.7).reshape({side, side}), over(static_cast<int>(state.range(0))));
  expect_close(state, Array<float>(max(abs(ours - Array<float>(result)))).item(), 0, 1e-2);
}

/// 0: a + 2 b, 1: the same of slices of three axes, 2: a sum.
Expression small_expression(std::int64_t number) {
  const StreamScope scope(stream());
  const auto a = arange<float>(60 * 70 * 80);
  const auto solid = a.reshape({60, 70, 80});
  switch (number) {
    case 0:
      return a + 2 * a(Slice{{}, {}, -1});
    case 1:
      return solid(whole, whole, Slice{0, 80, 2}) + 2 * solid(whole, whole, Slice{1, 80, 2});
    default:
      return sum(a);
  }
}

void text_by_loop_engine(benchmark::State& state) {
  const Expression expression = small_expression(state.range(0));
  for (auto _ : state) {
    loopy::Kernel kernel = as_loop_kernel(expression).kernel;
    if (!expression.shape().empty()) {
      kernel =
          loopy::split_iname(std::move(kernel), "i" + std::to_string(expression.shape().size() - 1),
                             128, {.outer_tag = "g.0", .inner_tag = "l.0"});
    }
    benchmark::DoNotOptimize(loopy::generate_text(kernel, loopy::Target::cuda));
  }
}

/// 2 x + 3 y of f32: 0 in packs, 1 of rows in packs with a row, 2 of slices of three axes, 3 with y
/// transposed; 4 of vectors in packs together with sin(x).
void text_of_map(benchmark::State& state) {
  const StreamScope scope(stream());
  const auto x = zeros<float>({1});
  const auto y = zeros<float>({1});
  const Expression sum = 2 * x + 3 * y;
  const bool has_two = state.range(0) == 4;
  const detail::Tape tape = detail::make_tape(
      has_two ? std::vector{sum.node(), sin(x).node()} : std::vector{sum.node()}, {1}, {});
  const std::vector<std::vector<Extents>> strides = {{{1}, {1}, {1}},
                                                     {{8, 1}, {8, 1}, {0, 1}},
                                                     {{90, 9, 1}, {180, 9, 2}, {180, 9, 2}},
                                                     {{8, 1}, {8, 1}, {1, 8}},
                                                     {{1}, {1}, {1}}};
  const std::vector<Extents>& own = strides.at(static_cast<std::size_t>(state.range(0)));
  detail::KernelForm form;
  form.dialect = cgen::Dialect::cuda;
  form.axes = static_cast<std::uint8_t>(own[0].size());
  form.targets.assign(has_two ? 2 : 1, detail::form_of(DType::f32, own[0]));
  form.leaves = {detail::form_of(DType::f32, own[1]), detail::form_of(DType::f32, own[2])};
  form.numbers.assign(tape.numbers.size(), DType::f32);
  form.steps = tape.steps;
  form.roots = tape.roots;
  form.lanes = state.range(0) == 2 || state.range(0) == 3 ? 1 : 4;
  if (state.range(0) == 3) {
    form.tiled_axis = 0;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        cgen::print_module(detail::make_map_module(form), cgen::Dialect::cuda));
  }
}

// Transforms of complex numbers.

Array<std::complex<float>> complex_wave(std::int64_t length) {
  const StreamScope scope(stream());
  const Expression angle = 0.7 * cast<double>(indices({length}));
  return Array<std::complex<float>>(cast(make_complex(sin(angle), cos(3 * angle)), DType::c64));
}

void set_length(benchmark::State& state, std::int64_t length) {
  const auto n = static_cast<double>(length);
  state.counters["GFLOP/s"] =
      benchmark::Counter(5e-9 * n * std::log2(n) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void fft_by_arrays(benchmark::State& state) {
  const StreamScope scope(stream());
  const Array<std::complex<float>> x = complex_wave(state.range(0));
  AnyArray result = fft(x);
  stream().synchronize();
  for (auto _ : state) {
    result = fft(x);
    stream().synchronize();
  }
  set_length(state, state.range(0));
}

/// Butterflies of two in a loop, with a table of roots: what textbooks have.
void fft_by_loop(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const std::vector<std::complex<float>> x = complex_wave(n).to_vector();
  std::vector<std::complex<float>> from = x;
  std::vector<std::complex<float>> to(x.size());
  std::vector<std::complex<float>> roots;
  for (std::int64_t k = 0; k < n; ++k) {
    roots.emplace_back(
        std::polar(1.0, -2 * M_PI * static_cast<double>(k) / static_cast<double>(n)));
  }
  for (auto _ : state) {
    from = x;
    for (std::int64_t stride = 1; stride < n; stride *= 2) {
      const std::complex<float>* const in = from.data();
      std::complex<float>* const out = to.data();
#pragma omp parallel for
      for (std::int64_t j = 0; j < n / 2; ++j) {
        const std::int64_t lane = j % stride;
        const std::complex<float> root = roots[static_cast<std::size_t>(lane * (n / 2 / stride))];
        const std::complex<float> b = in[j + n / 2];
        const std::complex<float> odd(b.real() * root.real() - b.imag() * root.imag(),
                                      b.real() * root.imag() + b.imag() * root.real());
        out[2 * (j - lane) + lane] = in[j] + odd;
        out[2 * (j - lane) + lane + stride] = in[j] - odd;
      }
      std::swap(from, to);
    }
    benchmark::DoNotOptimize(from.data());
  }
  const std::vector<std::complex<float>> expected =
      Array<std::complex<float>>(fft(complex_wave(n))).to_vector();
  expect_close(state, std::abs(from[5] - expected[5]), 0, 1e-3 * std::sqrt(n));
  set_length(state, n);
}

void convolve_by(benchmark::State& state, ConvolveWay way) {
  const StreamScope scope(stream());
  const Array<float> x = sin(0.7F * cast<float>(indices({1 << 20})));
  const Array<float> kernel = cos(0.1F * cast<float>(indices({state.range(0)})));
  AnyArray result = convolve(x, kernel, {.way = way});
  stream().synchronize();
  for (auto _ : state) {
    result = convolve(x, kernel, {.way = way});
    stream().synchronize();
  }
}
void convolve_by_sums(benchmark::State& state) {
  convolve_by(state, ConvolveWay::direct);
}
void convolve_by_fft(benchmark::State& state) {
  convolve_by(state, ConvolveWay::fft);
}

BENCHMARK(fft_by_arrays)->RangeMultiplier(16)->Range(1 << 8, 1 << 20)->UseRealTime();
BENCHMARK(fft_by_loop)->RangeMultiplier(16)->Range(1 << 8, 1 << 20)->UseRealTime();
BENCHMARK(convolve_by_sums)->RangeMultiplier(4)->Range(4, 1024)->UseRealTime();
BENCHMARK(convolve_by_fft)->RangeMultiplier(4)->Range(4, 1024)->UseRealTime();
BENCHMARK(text_by_loop_engine)->Arg(0)->Arg(1)->Arg(2);
BENCHMARK(text_of_map)->DenseRange(0, 4);
BENCHMARK(axpby_by_arrays<float>)->UseRealTime();
BENCHMARK(axpby_by_loop<float>)->UseRealTime();
BENCHMARK(axpby_by_arrays<double>)->UseRealTime();
BENCHMARK(axpby_by_loop<double>)->UseRealTime();
BENCHMARK(wave_by_arrays)->UseRealTime();
BENCHMARK(wave_by_loop)->UseRealTime();
BENCHMARK(sum_by_arrays<float>)->UseRealTime();
BENCHMARK(sum_by_loop<float>)->UseRealTime();
BENCHMARK(sum_by_arrays<double>)->UseRealTime();
BENCHMARK(sum_by_loop<double>)->UseRealTime();
BENCHMARK(max_by_arrays<float>)->UseRealTime();
BENCHMARK(max_by_loop<float>)->UseRealTime();
BENCHMARK(axis_sum_by_arrays)->Arg(0)->Arg(1)->UseRealTime();
BENCHMARK(axis_sum_by_loop)->Arg(0)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace rtcg::arrays

BENCHMARK_MAIN();
