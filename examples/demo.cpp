// `make demo`: the three uses of rtcg, a screen each. A kernel built as a tree; a kernel described
// in three lines, its slicings, and the fastest that a search finds; a flux and its scalar
// evaluators.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

#include "examples/vector_add.h"
#include "rtcg/dg/flux/emit_flux.h"
#include "rtcg/dg/flux/parse_flux.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/cuda/cuda_native.h"

namespace cgen = rtcg::cgen;
namespace dg = rtcg::dg;
namespace loopy = rtcg::loopy;
namespace rt = rtcg::runtime;

namespace {

constexpr int length = 512;  // of the matrices

void heading(const char* text) {
  std::printf("\n==== %s\n\n", text);
}

/// A line that the next one replaces where people watch.
void progress(const std::string& text) {
  if (isatty(STDOUT_FILENO) != 0) {
    std::printf("\r\033[K  %s", text.c_str());
    std::fflush(stdout);
  }
}
void end_progress() {
  progress("");
  if (isatty(STDOUT_FILENO) != 0) {
    std::printf("\r");
  }
}

// ---- 1

cgen::Module vector_add_tree() {
  using namespace rtcg::cgen;
  const auto target = param(restrict_pointer_to(f32), "target");
  const auto left = param(restrict_pointer_to(const_(f32)), "left");
  const auto right = param(restrict_pointer_to(const_(f32)), "right");
  const int step = vector_add::thread_count * vector_add::block_size;
  const auto index = declare(i32, "index", cast(i32, thread_idx_x + step * block_idx_x));
  BlockBuilder body;
  body << index;
  for (int i = 0; i < vector_add::block_size; ++i) {
    const cgen::Expr here = i == 0 ? Expr(index) : index + i * vector_add::thread_count;
    body << assign(target[here], left[here] + right[here]);
  }
  return {"vector_add", {kernel("add", {target, left, right}, body)}};
}

bool show_tree(rt::Device device) {
  heading("1. A kernel built as a tree (vector_add_tree() in examples/demo.cpp) and its text");
  const cgen::Module module = vector_add_tree();
  cgen::check_types(module);
  const cgen::Dialect dialect = lesson::dialect_of(device);
  cgen::check_names(module, dialect);
  return vector_add::run_and_check(device, cgen::print_module(module, dialect));
}

// ---- 2

/// A library that is opened if the machine has it.
class Library {
 public:
  explicit Library(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      handle_ = handle_ != nullptr ? handle_ : ::dlopen(name, RTLD_NOW);
    }
  }
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;  // never closed: such libraries have threads
};

/// Milliseconds of a matrix product of the vendor's library; 0: it is not there.
struct Peer {
  const char* name = "";
  double milliseconds = 0;
};

/// As the search takes the times of slicings.
double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

Peer time_openblas() {
  const Library library({"libopenblas.so.0", "libopenblas.so"});
  constexpr int row_major = 101;
  constexpr int as_is = 111;
  const auto sgemm = library.find<void(int, int, int, int, int, int, float, const float*, int,
                                       const float*, int, float, float*, int)>("cblas_sgemm");
  if (sgemm == nullptr) {
    return {};
  }
  const std::vector<float> a(length * length, 1.0F);
  std::vector<float> c(a.size());
  std::vector<double> times(50);
  for (double& milliseconds : times) {
    const auto begin = std::chrono::steady_clock::now();
    sgemm(row_major, as_is, as_is, length, length, length, 1.0F, a.data(), length, a.data(), length,
          0.0F, c.data(), length);
    milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  return {"OpenBLAS", median(times)};
}

Peer time_cublas(rt::Device device) {
  const Library library({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"});
  const auto create = library.find<int(void**)>("cublasCreate_v2");
  const auto set_stream = library.find<int(void*, void*)>("cublasSetStream_v2");
  const auto sgemm =
      library.find<int(void*, int, int, int, int, int, const float*, const float*, int,
                       const float*, int, const float*, float*, int)>("cublasSgemm_v2");
  void* handle = nullptr;
  rt::CudaNative(device).make_current();
  if (create == nullptr || set_stream == nullptr || sgemm == nullptr || create(&handle) != 0) {
    return {};
  }
  const rt::Stream stream(device);
  set_stream(handle, stream.native_handle());
  const rt::Buffer<float> a(device, std::vector<float>(length * length, 1.0F));
  const rt::Buffer<float> c(device, length * length);
  const float one = 1;
  const float zero = 0;
  std::vector<double> times(20);
  for (double& milliseconds : times) {
    milliseconds = rt::time_ms(
        stream,
        [&] {
          sgemm(handle, 0, 0, length, length, length, &one, a.data(), length, a.data(), length,
                &zero, c.data(), length);
        },
        20);
  }
  if (const auto destroy = library.find<int(void*)>("cublasDestroy_v2")) {
    destroy(handle);
  }
  return {"cuBLAS", median(times)};
}

bool tune_matrix_product(rt::Device device) {
  heading("2. A kernel described in three lines, its slicings, and the fastest found in 20 s");
  const char* const domain = "{[i, j, k]: 0 <= i, j, k < n}";
  const char* const statement = "c[i, j] = sum(k, a[i, k]*b[k, j])";
  std::printf("  domains    %s\n  statements %s\n  type       f32\n\n", domain, statement);
  const loopy::Kernel product =
      loopy::make_kernel(domain, statement, {.name = "product", .default_type = cgen::f32});

  loopy::TuneOptions options;
  options.constraints.parameters = {{"n", length}};
  options.constraints.machine = loopy::machine_model(device);
  options.budget_seconds = 20;
  progress("ranking slicings by the cost model");
  {
    const loopy::SlicingStream stream(product, options.constraints);
    end_progress();
    std::printf("Five of %zu ways to put its loops on blocks, threads, tiles and vectors:\n",
                stream.count());
    for (std::size_t i = 0; i < 5; ++i) {
      std::printf("  %s\n", to_string(stream.at(i * stream.count() / 5).slicing).c_str());
    }
  }
  std::printf("\nRunning the most promising ones for %.0f s on %s, n = %d ...\n",
              options.budget_seconds, device.info().name.c_str(), length);
  std::fflush(stdout);
  options.report = [](const loopy::TuneProgress& now) {
    char text[200];
    std::snprintf(text, sizeof text, "%2.0f s: %zu tried, best %.3f ms (%s)", now.seconds,
                  now.tried, now.best_us * 1e-3, now.doing.c_str());
    progress(text);
  };
  const loopy::TuneResult result = loopy::tune(product, device, options);
  end_progress();
  const loopy::TunedSlicing& best = result.best();
  std::printf("%zu tried, each checked against the description. The fastest:\n  %s\n",
              result.tried.size(), to_string(best.slicing).c_str());
  const auto row = [&](const char* name, double milliseconds) {
    std::printf("  %-10s %9.4f ms  %8.1f GFLOP/s\n", name, milliseconds,
                result.flops / milliseconds * 1e-6);
  };
  row("rtcg", best.microseconds * 1e-3);
  const Peer peer =
      device.info().id.kind == rt::BackendKind::cuda ? time_cublas(device) : time_openblas();
  if (peer.milliseconds > 0) {
    row(peer.name, peer.milliseconds);
  } else {
    std::printf("  (neither cuBLAS nor OpenBLAS is here to compare with)\n");
  }
  return true;
}

// ---- 3

bool show_flux(rt::Device device) {
  heading("3. Maxwell's flux in one line and its scalar evaluators");
  const char* const text =
      "0.5*cross(n, jump(h) - cross(n, jump(e))); -0.5*cross(n, jump(e) + cross(n, jump(h)))";
  std::printf("  %s\n\n", text);
  dg::FluxNames names;
  names.fields = dg::parse_field_groups("e:3,h:3");
  const dg::Evaluators evaluators = dg::make_evaluators(dg::parse_flux(text, names));
  const cgen::Module module = dg::emit_flux(evaluators, {.real = cgen::f32}).module;
  std::printf("%s\n%zu evaluators, %d operations\n",
              cgen::print_module(module, lesson::dialect_of(device)).text.c_str(),
              evaluators.outputs.size(), dg::count_flops(evaluators));
  return evaluators.outputs.size() == 6;
}

/// The GPU, else the host: what a processor does through OpenCL it does faster as C.
rt::Device best_device() {
  return rt::why_no_devices(rt::BackendKind::cuda).empty() ? rt::Device::find("cuda:0")
                                                           : rt::Device::host();
}

}  // namespace

int main(int count, char** arguments) {
  const bool has_device = count == 3 && std::strcmp(arguments[1], "--device") == 0;
  try {
    const rt::Device device = has_device ? rt::Device::find(arguments[2]) : best_device();
    const bool is_right = show_tree(device) && tune_matrix_product(device) && show_flux(device);
    return is_right ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
