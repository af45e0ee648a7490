// Kernels of snippets on arrays of short vectors and of structs.
#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/interop/foreign_memory.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;
using Float2 = ShortVector<float, 2>;
using Float3 = ShortVector<float, 3>;
using Float4 = ShortVector<float, 4>;
using Int2 = ShortVector<std::int32_t, 2>;

TEST(KernelsOfShortVectors, ComputeWithWholesAndComponents) {
  const ElementwiseKernel kernel("float a, const float4 *x, float4 *z, float *length", R"(
    float4 v = a * x[i] - make_float4(1, 2, 3, 4), w = -v;
    v.w = 0;
    z[i] = v + w;
    z[i].x += x[i].y;
    length[i] = w.x*w.x + (x[i] + x[i]).z)");
  on_every_device([&] {
    const Array<Float4> x(std::vector<Float4>{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}});
    const auto z = zeros<Float4>({3});
    const auto length = zeros<float>({3});
    kernel(2, x, z, length);
    EXPECT_EQ(z.to_vector(), (std::vector<Float4>{{2, 0, 0, -4}, {6, 0, 0, -12}, {10, 0, 0, -20}}));
    EXPECT_EQ(length.to_vector(), (std::vector<float>{1 + 6, 81 + 14, 289 + 22}));
    kernel(2, x.flip({0}), z.flip({0}), length.flip({0}));
    EXPECT_EQ(length.to_vector(), (std::vector<float>{1 + 6, 81 + 14, 289 + 22}));
  });
}

TEST(KernelsOfShortVectors, TakeThreeLanesAsTheyLie) {
  const ElementwiseKernel kernel("float3 shift, float3 *x, float3 *z", R"(
    z[i] = turned(x[i]) + shift;
    z[i].y *= 2;
    x[i] -= shift;
    if (i + 1 < n) { z[i].z = x[i + 1].x; })",
                                 {.preamble = "__device__ float3 turned(float3 v) "
                                              "{ return make_float3(v.z, v.x, v.y); }"});
  on_every_device([&] {
    const Array<Float3> x(std::vector<Float3>{{1, 2, 3}, {4, 5, 6}});
    const auto z = zeros<Float3>({2});
    kernel.run({Float3{10, 20, 30}, x, z});
    EXPECT_EQ(z(1).item(), (Float3{16, 48, 35}));
    EXPECT_EQ(z(0).item().x, 13);
    EXPECT_EQ(z(0).item().y, 42);
    EXPECT_EQ(x.to_vector(), (std::vector<Float3>{{-9, -18, -27}, {-6, -15, -24}}));
  });
}

TEST(KernelsOfShortVectors, TakeEveryKindOfComponent) {
  on_every_device([&] {
    for (const DType element : {DType::u8, DType::i64, DType::f64}) {
      for (int lanes = 2; lanes <= 4; ++lanes) {
        const DType dtype = vector_of(element, lanes);
        SCOPED_TRACE(std::string(name(dtype)));
        const ElementwiseKernel kernel({array_argument(dtype, "x"), array_argument(dtype, "z")},
                                       "z[i] = x[i] + x[i]; z[i].y = x[i].x");
        const AnyArray x = full(dtype, {5}, 3);
        const AnyArray z = zeros(dtype, {5});
        kernel(x, z);
        const AnyArray parts = z.components();
        EXPECT_TRUE(
            Array<bool>(all(parts(ellipsis, Slice{0, {}, lanes - 1}) ==
                            (lanes == 2 ? Array<std::int32_t>(std::vector<std::int32_t>{6, 3})
                                        : full<std::int32_t>({2}, 6))))
                .item());
        EXPECT_TRUE(Array<bool>(all(parts(ellipsis, 1) == 3)).item());
      }
    }
  });
  std::vector<KernelArgument> all;
  std::string statements;
  for (int k = 0; k < dtype_count; ++k) {
    for (int lanes = 2; lanes <= 4 && has_vectors(static_cast<DType>(k)); ++lanes) {
      const std::string array = "x" + std::to_string(all.size());
      all.push_back(array_argument(vector_of(static_cast<DType>(k), lanes), array));
      statements += array + "[i] = -" + array + "[i] * " + array + "[i]; ";
    }
  }
  taken_by_nvrtc(ElementwiseKernel(all, statements).text(cgen::Dialect::cuda));
}

TEST(KernelsOfShortVectors, ReduceThem) {
  const ReductionKernel sum("float3", "0", "a + b", "x[i] * y[i]", "float3 *x, float *y");
  const ReductionKernel box(
      {{"float2", "make_float2(INFINITY, -INFINITY)", "make_float2(fmin(a.x, b.x), fmax(a.y, b.y))",
        "make_float2(x[i].x, x[i].x)"}},
      "const float3 *x");
  on_every_device([&] {
    std::vector<Float3> values;
    for (int i = 0; i < 3000; ++i) {
      values.push_back({static_cast<float>(i % 7), 1, static_cast<float>(-(i % 3))});
    }
    const Array<Float3> x(values, {30, 100});
    const auto y = ones<float>({100});
    EXPECT_EQ(Array<Float3>(sum(x, y)).item(), (Float3{8994, 3000, -3000}));
    const Array<Float3> rows(sum.run({x, y}, {.axes = Extents{1}})[0]);
    EXPECT_EQ(rows.shape(), (Extents{30}));
    EXPECT_EQ(rows(3).item().y, 100);
    EXPECT_EQ(Array<Float2>(box(x)).item(), (Float2{0, 6}));
  });
  taken_by_nvrtc(sum.text(cgen::Dialect::cuda));
  taken_by_nvrtc(box.text(cgen::Dialect::cuda));
}

TEST(KernelsOfShortVectors, RunAsCuda) {
  const ElementwiseKernel kernel("float2 a, const float3 *x, float3 *z",
                                 "z[i] = 2 * x[i] / a.y; z[i].z -= a.x");
  std::vector<Float3> x(300);
  std::vector<Float3> z(300);
  for (std::size_t i = 0; i < 300; ++i) {
    x[i] = {static_cast<float>(i), 8, 1};
  }
  std::int32_t length = 300;
  Float3* x_pointer = x.data();
  Float3* z_pointer = z.data();
  Float2 a{3, 4};
  rtcg::testing::CudaOnCpu(taken_by_nvrtc(kernel.text(cgen::Dialect::cuda)))
      .run_checked("compute", {{2, 1, 1}, {256, 1, 1}, 0},
                   {&length, &x_pointer, &z_pointer, &a.x, &a.y, &length},
                   {{x.data(), 300 * sizeof(Float3)}, {z.data(), 300 * sizeof(Float3)}});
  EXPECT_EQ(z[30], (Float3{15, 4, -2.5F}));
}

TEST(KernelsOfShortVectors, KeepTheOperatorsOfTheirUsers) {
  const ElementwiseKernel kernel(
      "float2 *x", "x[i] = x[i] + x[i]",
      {.preamble = "float2 operator+(float2 a, float2 b) { return make_float2(a.x*b.x, 7); }"});
  const std::string text = kernel.text(cgen::Dialect::cuda);
  EXPECT_EQ(text.find("operator-"), std::string::npos);
  taken_by_nvrtc(text);
}

TEST(KernelsOfShortVectors, AreRefusedWhatTheyCannotTake) {
  const StreamScope scope(runtime::Device::find("host").default_stream());
  const ElementwiseKernel kernel("float2 a, float2 *x", "x[i] = a");
  const auto x = zeros<Float2>({3});
  EXPECT_ERROR("arrays.snippet_kernel.not_a_number", kernel(1, x));
  EXPECT_ERROR("arrays.snippet_kernel.not_a_number", kernel(Int2{1, 2}, x));
  EXPECT_ERROR("arrays.snippet_kernel.wrong_dtype", kernel(Float2{1, 2}, zeros<float>({3, 2})));
  EXPECT_ERROR("arrays.parse_arguments.unknown_type", parse_arguments("float5 *x"));
  EXPECT_ERROR("arrays.parse_arguments.unknown_type", parse_arguments("bool2 *x"));
}

/// All components as floats.
template <class Vector>
std::vector<float> numbers(const Array<Vector>& x) {
  return Array<float>(cast<float>(x.components())).to_vector();
}

/// Halves are loaded as floats and stored again.
template <class Number>
void check_halves(const std::string& type) {
  using Four = ShortVector<Number, 4>;
  using Three = ShortVector<Number, 3>;
  using Two = ShortVector<Number, 2>;
  SCOPED_TRACE(type);
  const ElementwiseKernel kernel(
      type + "2 shift, const " + type + "4 *x, " + type + "3 *y, " + type + "2 *z",
      R"(
    float4 v = 2 * x[i];
    y[i] = make_float3(v.x, x[i].w, shift.y);
    y[i].z *= v.y - 1;
    z[i] = shift;
    z[i] += make_float2(v.z, v.w);
    z[i].x = z[i].x + y[i].y)");
  const ReductionKernel total(std::string(type + "4").c_str(), "0", "a + b", "x[i]",
                              "const " + type + "4 *x");
  on_every_device([&] {
    const Array<Four> x(std::vector<Four>{{1, 2, 3, 4}, {5, 6, 7, 8}});
    const auto y = zeros<Three>({2});
    const auto z = zeros<Two>({2});
    kernel.run({Two{10, 20}, x, y, z});
    EXPECT_EQ(numbers(y), (std::vector<float>{2, 4, 60, 10, 8, 220}));
    EXPECT_EQ(numbers(z), (std::vector<float>{20, 28, 32, 36}));
    EXPECT_EQ(numbers(Array<Four>(total(x))), (std::vector<float>{6, 8, 10, 12}));
  });
  EXPECT_ERROR("arrays.snippet.bad_write", ElementwiseKernel(type + "2 *x", "x[i].y++"));
  taken_by_nvrtc(total.text(cgen::Dialect::cuda));
  std::vector<Four> x = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  std::vector<Three> y(2);
  std::vector<Two> z(2);
  std::int32_t length = 2;
  float shift[] = {10, 20};
  Four* x_pointer = x.data();
  Three* y_pointer = y.data();
  Two* z_pointer = z.data();
  rtcg::testing::CudaOnCpu(taken_by_nvrtc(kernel.text(cgen::Dialect::cuda)))
      .run_checked("compute", {{1, 1, 1}, {256, 1, 1}, 0},
                   {&length, &x_pointer, &y_pointer, &z_pointer, &shift[0], &shift[1], &length},
                   {{x.data(), 2 * sizeof(Four)},
                    {y.data(), 2 * sizeof(Three)},
                    {z.data(), 2 * sizeof(Two)}});
  EXPECT_EQ(y[1].z, 220.0F);
  EXPECT_EQ(y[0].y, 4.0F);
  EXPECT_EQ(z[0].x, 20.0F);
}

TEST(KernelsOfShortVectors, ConvertHalves) {
  check_halves<Half>("half");
  check_halves<BFloat16>("bfloat");
}

TEST(KernelsOfShortVectors, WantAlignedElementsWhereTheDeviceDoes) {
  const ElementwiseKernel kernel("float4 *x", "x[i] = x[i] + x[i]");
  on_every_device([&] {
    const auto memory = ones<float>({9});
    const AnyArray shifted =
        wrap_memory(vector_of(DType::f32, 4), make_layout({2}), memory.address() + 4,
                    memory.stream(), memory.any().storage());
    if (memory.device().info().id.kind == runtime::BackendKind::host) {
      kernel(shifted);
      EXPECT_EQ(memory.to_vector(), (std::vector<float>{1, 2, 2, 2, 2, 2, 2, 2, 2}));
    } else {
      EXPECT_ERROR("arrays.snippet_kernel.misaligned", kernel(shifted));
    }
  });
}

struct Particle {
  double mass;
  float position[3];
  std::int32_t cell;
};

cgen::LaidOutStruct particle() {
  cgen::StructBuilder<Particle> builder("particle");
  builder.field("mass", &Particle::mass)
      .field("position", &Particle::position)
      .field("cell", &Particle::cell);
  return builder.build();
}

TEST(KernelsOfStructs, ReadAndWriteFields) {
  const ElementwiseKernel move(
      parse_arguments("particle *p, const float *v, double *mass", {particle()}),
      R"(
    for (int k = 0; k < 3; ++k) { p[i].position[k] += (k + 1) * v[i]; }
    p[i].cell = i;
    mass[i] = weight(p[i]))",
      {.preamble = "double weight(particle p) { return 2 * p.mass; }"});
  on_every_device([&] {
    std::vector<Particle> values(10);
    for (std::size_t k = 0; k < 10; ++k) {
      values[k] = {static_cast<double>(k), {1, 2, 3}, -1};
    }
    const AnyArray p = structs_from_host(values);
    EXPECT_EQ(p.shape(), (Extents{10, sizeof(Particle)}));
    const auto v = arange<float>(5);
    const auto mass = zeros<double>({5});
    move(p(Slice{{}, {}, 2}), v, mass);  // every other one
    const std::vector<Particle> result = structs_to_host<Particle>(p);
    EXPECT_EQ(result[6].position[2], 3 + 3 * 3);
    EXPECT_EQ(result[6].cell, 3);
    EXPECT_EQ(result[7].position[2], 3);
    EXPECT_EQ(result[7].cell, -1);
    EXPECT_EQ(mass.to_vector(), (std::vector<double>{0, 4, 8, 12, 16}));
  });
  taken_by_nvrtc(move.text(cgen::Dialect::cuda));
}

TEST(KernelsOfStructs, ReduceThem) {
  const ReductionKernel heaviest(particle(), "nobody()", "a.mass < b.mass ? b : a", "p[i]",
                                 {struct_argument(particle(), "p")}, {.preamble = R"(
    particle nobody() { particle p; p.mass = -1; p.cell = -1; return p; })"});
  const ReductionKernel total("double", "0", "a + b", "p[i].mass",
                              {struct_argument(particle(), "p")});
  on_every_device([&] {
    std::vector<Particle> values(1000);
    for (std::size_t k = 0; k < 1000; ++k) {
      values[k] = {static_cast<double>((k * 37) % 1000), {0, 0, 0}, static_cast<int>(k)};
    }
    const AnyArray p = structs_from_host(values);
    const Particle found = structs_to_host<Particle>(heaviest(p))[0];
    EXPECT_EQ(found.mass, 999);
    EXPECT_EQ((found.cell * 37) % 1000, 999);
    EXPECT_EQ(Array<double>(total(p)).item(), 499500);
  });
}

TEST(KernelsOfStructs, RefuseWhatIsNone) {
  const StreamScope scope(runtime::Device::find("host").default_stream());
  const ElementwiseKernel kernel({struct_argument(particle(), "p")}, "p[i].cell = 1");
  EXPECT_ERROR("arrays.field_of.not_structs", kernel(zeros<std::uint8_t>({3, 7})));
  EXPECT_ERROR("arrays.snippet_kernel.wrong_dtype", kernel(zeros<float>({3})));
  EXPECT_ERROR("arrays.parse_arguments.syntax", parse_arguments("particle p", {particle()}));
}

TEST(CheckStructLayout, FindsWhatTheDeviceDoesOtherwise) {
  on_every_device([&] {
    check_struct_layout(current_stream(), particle());
    cgen::LaidOutStruct wrong = particle();
    wrong.fields[2].offset_bytes = 24;
    EXPECT_ERROR("arrays.check_struct_layout.mismatch",
                 check_struct_layout(current_stream(), wrong));
    const ElementwiseKernel kernel({struct_argument(wrong, "p")}, "p[i].cell = 1");
    EXPECT_ERROR("arrays.check_struct_layout.mismatch",
                 kernel(structs_from_host(std::vector<Particle>(3))));
    wrong = particle();
    wrong.size_bytes = 48;
    EXPECT_ERROR("arrays.check_struct_layout.mismatch",
                 check_struct_layout(current_stream(), wrong));
  });
}

}  // namespace
}  // namespace rtcg::arrays
