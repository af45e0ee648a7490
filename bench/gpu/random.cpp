// Arrays of random numbers against cuRAND's host interface, which is opened at run time.
#include <cmath>
#include <dlfcn.h>
#include <stdexcept>

#include "bench/gpu/compete.h"
#include "bench/gpu/sections.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/random/generator.h"

namespace rtcg::bench {
namespace {

using arrays::Array;
using runtime::Device;
using runtime::Stream;

/// A generator of cuRAND: Philox4x32-10, as ours.
class Curand {
 public:
  explicit Curand(const Stream& stream) {
    library_ = ::dlopen("libcurand.so.10", RTLD_NOW);
    if (library_ == nullptr) {
      throw std::runtime_error("there is no libcurand.so.10 to compare with");
    }
    constexpr int philox = 161;
    must(find<int(void**, int)>("curandCreateGenerator")(&generator_, philox));
    must(find<int(void*, void*)>("curandSetStream")(generator_, stream.native_handle()));
    must(
        find<int(void*, unsigned long long)>("curandSetPseudoRandomGeneratorSeed")(generator_, 42));
    uniform_ = find<Uniform>("curandGenerateUniform");
    normal_ = find<Normal>("curandGenerateNormal");
    uniform_f64_ = find<UniformF64>("curandGenerateUniformDouble");
    normal_f64_ = find<NormalF64>("curandGenerateNormalDouble");
  }
  ~Curand() { find<int(void*)>("curandDestroyGenerator")(generator_); }
  Curand(const Curand&) = delete;
  Curand& operator=(const Curand&) = delete;

  void uniform(const Array<float>& out) const { must(uniform_(generator_, out.data(), size(out))); }
  void uniform(const Array<double>& out) const {
    must(uniform_f64_(generator_, out.data(), size(out)));
  }
  void normal(const Array<float>& out) const {
    must(normal_(generator_, out.data(), size(out), 0, 1));
  }
  void normal(const Array<double>& out) const {
    must(normal_f64_(generator_, out.data(), size(out), 0, 1));
  }

 private:
  using Uniform = int(void*, float*, std::size_t);
  using UniformF64 = int(void*, double*, std::size_t);
  using Normal = int(void*, float*, std::size_t, float, float);
  using NormalF64 = int(void*, double*, std::size_t, double, double);

  static void must(int status) {
    if (status != 0) {
      throw std::runtime_error("cuRAND fails: " + std::to_string(status));
    }
  }
  template <class T>
  static std::size_t size(const Array<T>& out) {
    return static_cast<std::size_t>(out.count());
  }
  template <class Signature>
  Signature* find(const char* name) const {
    void* address = ::dlsym(library_, name);
    if (address == nullptr) {
      throw std::runtime_error(std::string("libcurand has no ") + name);
    }
    return reinterpret_cast<Signature*>(address);
  }

  void* library_ = nullptr;
  void* generator_ = nullptr;
  Uniform* uniform_ = nullptr;
  Normal* normal_ = nullptr;
  UniformF64* uniform_f64_ = nullptr;
  NormalF64* normal_f64_ = nullptr;
};

/// Mean and deviation within what chance allows: six standard errors.
template <class T>
void expect_moments(const Array<T>& values, double mean, double deviation, const char* what) {
  const double error = 6 * deviation / std::sqrt(static_cast<double>(values.count()));
  const auto wide = cast(values, arrays::DType::f64);
  const double found_mean = Array<double>(arrays::mean(wide)).item();
  const double found_deviation = Array<double>(arrays::std_dev(wide)).item();
  if (!(std::abs(found_mean - mean) <= error) ||
      !(std::abs(found_deviation - deviation) <= error)) {
    throw std::runtime_error(std::string(what) + " numbers have the mean " +
                             std::to_string(found_mean) + " and deviation " +
                             std::to_string(found_deviation));
  }
}

template <class T>
void measure(const Stream& stream, const Curand& peer, std::int64_t count, Report& report) {
  // a generator makes a new array; the pool gives it the memory of the one before
  arrays::Generator random(42);
  const Array<T> theirs = arrays::empty<T>({count});
  const double bytes = static_cast<double>(theirs.size_bytes());
  const std::string dtype = std::is_same_v<T, float> ? "f32" : "f64";
  compete_in_turns(
      stream,
      {{"rtcg arrays", false, [&] { const Array<T> made = random.template uniform<T>({count}); }},
       {"cuRAND Philox", true, [&] { peer.uniform(theirs); }}},
      {.op = "uniform", .dtype = dtype, .n = count}, bytes, 0, report);
  compete_in_turns(
      stream,
      {{"rtcg arrays", false, [&] { const Array<T> made = random.template normal<T>({count}); }},
       {"cuRAND Philox", true, [&] { peer.normal(theirs); }}},
      {.op = "normal", .dtype = dtype, .n = count}, bytes, 0, report);
  expect_moments(random.template uniform<T>({count}), 0.5, std::sqrt(1.0 / 12), "uniform");
  expect_moments(random.template normal<T>({count}), 0, 1, "normal");
}

}  // namespace

void measure_random(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  const Curand peer(stream);
  for (const std::int64_t count : {std::int64_t{1} << 24, std::int64_t{1} << 28}) {
    measure<float>(stream, peer, count, report);
    measure<double>(stream, peer, count, report);
  }
}

}  // namespace rtcg::bench
