// gallery_bench [KERNEL...] [--budget SECONDS] [--json FILE]: kernels of examples/gallery on the
// host, each searched, beside loops as one writes them by hand in a few minutes: OpenMP, -O3
// -march=native.
//
// Prints the median time of each, in turns, and the geometric mean of their ratios. Takes about
// twice the budget a kernel.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/stream.h"

namespace {

namespace loopy = rtcg::loopy;
namespace runtime = rtcg::runtime;

/// What a loop computes with: arrays by name, and lengths.
class Data {
 public:
  Data(loopy::ArgumentData arrays, loopy::IntegerValues sizes)
      : arrays_(std::move(arrays)), sizes_(std::move(sizes)) {}
  [[nodiscard]] float* f(const char* name) {
    return reinterpret_cast<float*>(arrays_.at(name).bytes.data());
  }
  [[nodiscard]] int* i(const char* name) {
    return reinterpret_cast<int*>(arrays_.at(name).bytes.data());
  }
  [[nodiscard]] int n(const char* name) const { return static_cast<int>(sizes_.at(name)); }
  [[nodiscard]] const loopy::ArgumentData& arrays() const { return arrays_; }

 private:
  loopy::ArgumentData arrays_;
  loopy::IntegerValues sizes_;
};

struct Case {
  const char* file;  ///< below examples/gallery
  loopy::IntegerValues sizes;
  void (*loops)(Data&);
};

void product(Data& d) {
  const int m = d.n("m"), n = d.n("n"), l = d.n("l");
  const float *a = d.f("A"), *b = d.f("B");
  float* c = d.f("C");
#pragma omp parallel for
  for (int i = 0; i < m; ++i) {
    std::fill_n(c + i * n, n, 0.0F);
    for (int k = 0; k < l; ++k) {
      for (int j = 0; j < n; ++j) {
        c[i * n + j] += a[i * l + k] * b[k * n + j];
      }
    }
  }
}

void product_abt(Data& d) {
  const int m = d.n("m"), n = d.n("n"), l = d.n("l");
  const float *a = d.f("A"), *b = d.f("B");
  float* c = d.f("C");
#pragma omp parallel for
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int k = 0; k < l; ++k) {
        sum += a[i * l + k] * b[j * l + k];
      }
      c[i * n + j] = sum;
    }
  }
}

void matrix_vector(Data& d) {
  const int m = d.n("m"), n = d.n("n");
  const float *a = d.f("A"), *x = d.f("x");
  float* y = d.f("y");
#pragma omp parallel for
  for (int i = 0; i < m; ++i) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int k = 0; k < n; ++k) {
      sum += a[i * n + k] * x[k];
    }
    y[i] = sum;
  }
}

void tall_gram(Data& d) {
  const int m = d.n("m"), n = d.n("n");
  const float* a = d.f("A");
  float* g = d.f("G");
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    std::fill_n(g + i * n, n, 0.0F);
    for (int k = 0; k < m; ++k) {
      for (int j = 0; j < n; ++j) {
        g[i * n + j] += a[k * n + i] * a[k * n + j];
      }
    }
  }
}

void softmax(Data& d) {
  const int n = d.n("n"), m = d.n("m");
  const float* x = d.f("x");
  float* y = d.f("y");
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    const float* row = x + i * m;
    float top = row[0];
    for (int j = 1; j < m; ++j) {
      top = std::max(top, row[j]);
    }
    float total = 0;
    for (int j = 0; j < m; ++j) {
      y[i * m + j] = std::exp(row[j] - top);
      total += y[i * m + j];
    }
    for (int j = 0; j < m; ++j) {
      y[i * m + j] /= total;
    }
  }
}

void layer_norm(Data& d) {
  const int n = d.n("n"), m = d.n("m");
  const float *x = d.f("x"), *gamma = d.f("gamma"), *beta = d.f("beta");
  float* y = d.f("y");
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    const float* row = x + i * m;
    float mean = 0;
#pragma omp simd reduction(+ : mean)
    for (int j = 0; j < m; ++j) {
      mean += row[j];
    }
    mean /= static_cast<float>(m);
    float variance = 0;
#pragma omp simd reduction(+ : variance)
    for (int j = 0; j < m; ++j) {
      variance += (row[j] - mean) * (row[j] - mean);
    }
    const float scale = 1 / std::sqrt(variance / static_cast<float>(m) + 1e-5F);
    for (int j = 0; j < m; ++j) {
      y[i * m + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
    }
  }
}

void conv_3x3(Data& d) {
  const int nb = d.n("nb"), nf = d.n("nf"), nc = d.n("nc"), ny = d.n("ny"), nx = d.n("nx");
  const float *image = d.f("image"), *weight = d.f("weight");
  float* out = d.f("out");
#pragma omp parallel for collapse(2)
  for (int b = 0; b < nb; ++b) {
    for (int f = 0; f < nf; ++f) {
      float* const plane = out + (b * nf + f) * ny * nx;
      std::fill_n(plane, ny * nx, 0.0F);
      for (int c = 0; c < nc; ++c) {
        const float* const from = image + (b * nc + c) * (ny + 2) * (nx + 2);
        for (int p = 0; p < 3; ++p) {
          for (int q = 0; q < 3; ++q) {
            const float w = weight[((f * nc + c) * 3 + p) * 3 + q];
            for (int y = 0; y < ny; ++y) {
              for (int x = 0; x < nx; ++x) {
                plane[y * nx + x] += w * from[(y + p) * (nx + 2) + x + q];
              }
            }
          }
        }
      }
    }
  }
}

void distances(Data& d) {
  const int n = d.n("n"), m = d.n("m"), nd = d.n("nd");
  const float *x = d.f("x"), *y = d.f("y");
  float* out = d.f("out");
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int k = 0; k < nd; ++k) {
        const float difference = x[i * nd + k] - y[j * nd + k];
        sum += difference * difference;
      }
      out[i * m + j] = sum;
    }
  }
}

void small_products(Data& d) {
  const int nb = d.n("nb"), n = d.n("n");
  const float *a = d.f("A"), *b = d.f("B");
  float* c = d.f("C");
#pragma omp parallel for
  for (int e = 0; e < nb; ++e) {
    for (int i = 0; i < n; ++i) {
      float* const row = c + (e * n + i) * n;
      std::fill_n(row, n, 0.0F);
      for (int k = 0; k < n; ++k) {
        for (int j = 0; j < n; ++j) {
          row[j] += a[(e * n + i) * n + k] * b[(e * n + k) * n + j];
        }
      }
    }
  }
}

void histogram(Data& d) {
  const int n = d.n("n"), nb = d.n("nb");
  const int* x = d.i("x");
  int* count = d.i("count");
#pragma omp parallel for reduction(+ : count[:nb])
  for (int i = 0; i < n; ++i) {
    ++count[x[i]];
  }
}

void points_27(Data& d) {
  const int n = d.n("n");
  const float *u = d.f("u"), *weight = d.f("weight");
  float* out = d.f("out");
#pragma omp parallel for collapse(2)
  for (int i = 1; i < n - 1; ++i) {
    for (int j = 1; j < n - 1; ++j) {
      for (int k = 1; k < n - 1; ++k) {
        float sum = 0;
        for (int p = -1; p <= 1; ++p) {
          for (int q = -1; q <= 1; ++q) {
            for (int r = -1; r <= 1; ++r) {
              sum += weight[std::abs(p) + std::abs(q) + std::abs(r)] *
                     u[((i + p) * n + j + q) * n + k + r];
            }
          }
        }
        out[(i * n + j) * n + k] = sum;
      }
    }
  }
}

void n_body(Data& d) {
  const int n = d.n("n");
  const float *x = d.f("x"), *mass = d.f("mass");
  float* a = d.f("a");
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    float sum[3] = {};
    for (int j = 0; j < n; ++j) {
      float apart[3];
      float square = 0.01F;
      for (int k = 0; k < 3; ++k) {
        apart[k] = x[3 * j + k] - x[3 * i + k];
        square += apart[k] * apart[k];
      }
      const float pull = mass[j] / (std::sqrt(square) * square);
      for (int k = 0; k < 3; ++k) {
        sum[k] += pull * apart[k];
      }
    }
    std::copy_n(sum, 3, a + 3 * i);
  }
}

void gradient_2d(Data& d) {
  const int ne = d.n("ne"), n = d.n("n");
  const float *u = d.f("u"), *m = d.f("D");
  float *ux = d.f("ux"), *uy = d.f("uy");
#pragma omp parallel for
  for (int e = 0; e < ne; ++e) {
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        float along_x = 0;
        float along_y = 0;
        for (int p = 0; p < n; ++p) {
          along_x += m[i * n + p] * u[(e * n + p) * n + j];
          along_y += m[j * n + p] * u[(e * n + i) * n + p];
        }
        ux[(e * n + i) * n + j] = along_x;
        uy[(e * n + i) * n + j] = along_y;
      }
    }
  }
}

void contraction(Data& d) {
  const int na = d.n("na"), ne = d.n("ne"), rest = d.n("nb") * d.n("nc") * d.n("nd");
  const float *a = d.f("A"), *b = d.f("B");
  float* c = d.f("C");
#pragma omp parallel for
  for (int i = 0; i < na; ++i) {
    std::fill_n(c + i * rest, rest, 0.0F);
    for (int e = 0; e < ne; ++e) {
      for (int j = 0; j < rest; ++j) {
        c[i * rest + j] += a[e * na + i] * b[e * rest + j];
      }
    }
  }
}

void gesummv(Data& d) {
  const int n = d.n("n");
  const float *a = d.f("A"), *b = d.f("B"), *x = d.f("x");
  float *t = d.f("t"), *y = d.f("y");
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    float by_a = 0;
    float by_b = 0;
#pragma omp simd reduction(+ : by_a, by_b)
    for (int j = 0; j < n; ++j) {
      by_a += a[i * n + j] * x[j];
      by_b += b[i * n + j] * x[j];
    }
    t[i] = by_a;
    y[i] = 0.5F * by_a + 0.25F * by_b;
  }
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"products/product", {{"m", 1024}, {"n", 1024}, {"l", 1024}}, product},
      {"products/product_abt", {{"m", 1024}, {"n", 1024}, {"l", 1024}}, product_abt},
      {"products/matrix_vector", {{"m", 4096}, {"n", 4096}}, matrix_vector},
      {"products/tall_gram", {{"m", 200000}, {"n", 64}}, tall_gram},
      {"polybench/gesummv", {{"n", 2800}}, gesummv},
      {"contractions/abcd-ea-ebcd",
       {{"na", 48}, {"nb", 48}, {"nc", 48}, {"nd", 48}, {"ne", 48}},
       contraction},
      {"convolutions/conv_3x3",
       {{"nb", 4}, {"nf", 64}, {"nc", 64}, {"ny", 56}, {"nx", 56}},
       conv_3x3},
      {"batched/small_products", {{"nb", 100000}, {"n", 8}}, small_products},
      {"elements/gradient_2d", {{"ne", 10000}, {"n", 8}}, gradient_2d},
      {"norms/softmax", {{"n", 2048}, {"m", 4096}}, softmax},
      {"norms/layer_norm", {{"n", 2048}, {"m", 4096}}, layer_norm},
      {"pairs/distances", {{"n", 2048}, {"m", 2048}, {"nd", 64}}, distances},
      {"pairs/n_body", {{"n", 8192}}, n_body},
      {"stencils/points_27", {{"n", 256}}, points_27},
      {"histograms/histogram", {{"n", 1 << 24}, {"nb", 256}}, histogram},
  };
  return all;
}

/// The arrays of a call, on the host.
class Call {
 public:
  Call(const loopy::Kernel& kernel, const Data& data) : executor_(kernel, host()) {
    for (const auto& [name, array] : data.arrays()) {
      if (array.kind == rtcg::cgen::ScalarKind::f32) {
        add(name, array, floats_);
      } else {
        add(name, array, integers_);
      }
    }
    for (const loopy::Argument& argument : executor_.kernel().arguments) {
      if (argument.name == "alpha" || argument.name == "beta") {
        if (!argument.is_array) {
          arguments_.push_back(loopy::arg(argument.name, argument.name == "alpha" ? 0.5F : 0.25F));
        }
      }
    }
    call_.emplace(executor_.bind(arguments_));
  }
  void run() {
    (*call_)(stream_);
    stream_.synchronize();
  }
  [[nodiscard]] std::vector<double> values(const std::string& name) const {
    if (const auto found = floats_.find(name); found != floats_.end()) {
      const std::vector<float> all = found->second.to_vector();
      return {all.begin(), all.end()};
    }
    const std::vector<int> all = integers_.at(name).to_vector();
    return {all.begin(), all.end()};
  }
  static runtime::Device host() { return runtime::Device::host(); }

 private:
  template <class T>
  void add(const std::string& name, const loopy::ArrayData& array,
           std::map<std::string, runtime::Buffer<T>>& buffers) {
    std::vector<T> numbers(array.bytes.size() / sizeof(T));
    std::memcpy(numbers.data(), array.bytes.data(), array.bytes.size());
    const auto& buffer = buffers.emplace(name, runtime::Buffer<T>(host(), numbers)).first->second;
    arguments_.push_back(loopy::arg(name, buffer));
  }

  loopy::Executor executor_;
  std::map<std::string, runtime::Buffer<float>> floats_;
  std::map<std::string, runtime::Buffer<int>> integers_;
  std::vector<loopy::NamedArgument> arguments_;
  std::optional<loopy::BoundCall> call_;
  runtime::Stream stream_{host()};
};

double milliseconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// @throws std::runtime_error  the loops and the kernel differ
void require_equal(Data& data, const Call& call, const std::vector<std::string>& written) {
  for (const std::string& name : written) {
    const std::vector<double> found = call.values(name);
    const loopy::ArrayData& expected = data.arrays().at(name);
    double largest = 1;
    for (std::size_t i = 0; i < found.size(); ++i) {
      largest = std::max(largest, std::abs(expected.element(i)));
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!(std::abs(found[i] - expected.element(i)) <= 2e-3 * largest)) {
        throw std::runtime_error(name + "[" + std::to_string(i) + "] is " +
                                 std::to_string(found[i]) + ", and by loops " +
                                 std::to_string(expected.element(i)));
      }
    }
  }
}

struct Times {
  double loops_ms = 0;
  double rtcg_ms = 0;
  std::string slicing;
};

Times measure(const Case& each, double budget_seconds) {
  const loopy::KernelFile file = loopy::read_kernel_file(
      std::string(RTCG_SOURCE_DIR) + "/examples/gallery/" + each.file + ".loopy");
  const loopy::Kernel kernel =
      loopy::infer_types(loopy::expand_subst(loopy::described_kernel(file)));
  loopy::TuneOptions options;
  options.constraints.parameters = each.sizes;
  options.constraints.machine = loopy::machine_model(Call::host());
  options.budget_seconds = budget_seconds;
  const loopy::Slicing slicing = loopy::tune(kernel, Call::host(), options).best().slicing;
  loopy::ArgumentData arrays = loopy::random_arguments(kernel, each.sizes, 7);
  for (auto& [name, array] : arrays) {
    if (array.kind != rtcg::cgen::ScalarKind::f32) {  // bins from 0 to 7, over more of them
      for (std::size_t i = 0; i < array.count(); ++i) {
        array.set_element(i,
                          name == "count" ? 0 : static_cast<double>((i * 2654435761U >> 8U) % 256));
      }
    }
  }
  Data data(arrays, each.sizes);
  Call call(loopy::tuned_kernel(kernel, each.sizes, slicing), data);
  each.loops(data);
  call.run();
  std::vector<std::string> written;
  for (const loopy::Instruction& instruction : kernel.instructions) {
    for (const loopy::Expr& target : targets_of(instruction)) {
      const auto* const access = rtcg::get_if<loopy::Access>(target);
      if (access != nullptr && arrays.count(access->array) != 0) {
        written.push_back(access->array);
      }
    }
  }
  require_equal(data, call, written);
  std::vector<double> loops;
  std::vector<double> ours;
  double spent_ms = 0;
  while (loops.size() < 5 || (spent_ms < 1e3 * budget_seconds / 2 && loops.size() < 41)) {
    loops.push_back(milliseconds_of([&] { each.loops(data); }));
    ours.push_back(milliseconds_of([&] { call.run(); }));
    spent_ms += loops.back() + ours.back();
  }
  return {median(loops), median(ours), to_string(slicing)};
}

int run(const std::vector<std::string>& wanted, double budget_seconds,
        const std::string& json_path) {
  double sum_of_logs = 0;
  int count = 0;
  int failures = 0;
  std::string json;
  std::printf("%-28s %10s %10s %7s\n", "kernel", "loops, ms", "rtcg, ms", "ratio");
  for (const Case& each : cases()) {
    if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
          return std::string(each.file).find(name) != std::string::npos;
        })) {
      continue;
    }
    try {
      const Times times = measure(each, budget_seconds);
      const double ratio = times.loops_ms / times.rtcg_ms;
      sum_of_logs += std::log(ratio);
      ++count;
      std::printf("%-28s %10.3f %10.3f %7.2f   %s\n", each.file, times.loops_ms, times.rtcg_ms,
                  ratio, times.slicing.c_str());
      json += nlohmann::json{{"kernel", each.file},
                             {"loops_ms", times.loops_ms},
                             {"rtcg_ms", times.rtcg_ms},
                             {"slicing", times.slicing}}
                  .dump() +
              "\n";
    } catch (const std::exception& error) {
      ++failures;
      std::printf("%-28s %s\n", each.file, error.what());
    }
    std::fflush(stdout);
  }
  if (count > 0) {
    std::printf("geometric mean of %d: %.2f\n", count, std::exp(sum_of_logs / count));
  }
  if (!json_path.empty()) {
    std::FILE* file = std::fopen(json_path.c_str(), "w");
    if (file == nullptr || std::fputs(json.c_str(), file) < 0 || std::fclose(file) != 0) {
      std::fprintf(stderr, "gallery_bench: cannot write '%s'\n", json_path.c_str());
      return 2;
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> wanted;
  double budget_seconds = 8;
  std::string json_path;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    const bool has_value = i + 1 < count;
    if (word == "--budget" && has_value && std::atof(arguments[i + 1]) > 0) {
      budget_seconds = std::atof(arguments[++i]);
    } else if (word == "--json" && has_value) {
      json_path = arguments[++i];
    } else if (word.empty() || word[0] == '-') {
      std::fprintf(stderr,
                   "usage: gallery_bench [KERNEL...] [--budget SECONDS] [--json FILE]\n"
                   "KERNEL is part of the name of a kernel; all by default:\n");
      for (const Case& each : cases()) {
        std::fprintf(stderr, "  %s\n", each.file);
      }
      return word == "--help" ? 0 : 2;
    } else {
      wanted.push_back(word);
    }
  }
  return run(wanted, budget_seconds, json_path);
}
