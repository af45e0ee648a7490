#include "rtcg/loopy/create/describe.h"

#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel_with_callees.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy::describe {
namespace {

std::string generated(const Kernel& kernel, Target target) {
  return cgen::print_module(generate(kernel, target).module, dialect_of(target)).text;
}

/// Both are the same kernel, and the same text is generated of them.
void expect_twins(const Kernel& text, const Kernel& typed) {
  ASSERT_EQ(to_string(typed), to_string(text));
  for (const Target target : {Target::host, Target::opencl, Target::cuda}) {
    EXPECT_EQ(generated(typed, target), generated(text, target));
  }
}
/// The same for kernels of which no text can be generated as they are.
void expect_same_kernel(const Kernel& text, const Kernel& typed) {
  EXPECT_EQ(to_string(typed), to_string(text));
}

const Iname i("i"), j("j"), k("k");
const Param n("n"), m("m");
const Array a("a"), b("b"), c("c"), x("x"), y("y"), out("out");
const Condition below_n = 0 <= i && i < n;

Description over_i() {
  return kernel("loopy_kernel").domain(below_n).type(f32);
}
Kernel text_over_i(std::string_view statements) {
  return make_kernel("{[i]: 0 <= i < n}", statements, {.default_type = f32});
}

// ---- the kernels of examples/kernels

Kernel typed_axpy() {
  const Param alpha("a"), beta("b");
  const Array z("z");
  return kernel("axpy").domain(below_n).type(f32).add(z(i) = alpha * x(i) + beta * y(i));
}

Kernel typed_heat() {
  const auto [t] = inames("t");
  const Param steps("steps", i32), length("n", i32);
  const Array u("u", f32, {length}), v("v", f32, {length});
  return kernel("heat")
      .domain({t, i, j},
              0 <= t && t < steps && 1 <= i && 1 <= j && i < length - 1 && j < length - 1)
      .arguments({u, v, length, steps})
      .assume(length >= 3 && steps >= 0)
      .add(loop(t, {v(i) = u(i) + 0.25 * (u(i - 1) - 2 * u(i) + u(i + 1)), global_barrier(),
                    u(j) = v(j)}));
}

Kernel typed_matmul() {
  return kernel("matmul")
      .domain(0 <= i && i < n && 0 <= j && j < n && 0 <= k && k < n)
      .type(f32)
      .add(c(i, j) = sum(k, a(i, k) * b(k, j)));
}

Kernel typed_row_sums() {
  const Array matrix("a", f32, {n, m}), total("total", f32, {n});
  return kernel("row_sums")
      .domain(0 <= i && i < n && 0 <= j && j < m)
      .arguments({matrix, total})
      .assume(m >= 1)
      .add(total(i) = sum(j, matrix(i, j)));
}

Kernel typed_stencil() {
  const Array u("u", f32, {n, n}), result("out", f32, {n, n});
  return kernel("stencil")
      .domain(1 <= i && 1 <= j && i < n - 1 && j < n - 1)
      .arguments({u, result})
      .assume(n >= 3)
      .add(result(i, j) = u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j));
}

Kernel typed_transpose() {
  const Array matrix("a", f32, {n, m}), result("out", f32, {m, n});
  return kernel("transpose")
      .domain(0 <= i && i < n && 0 <= j && j < m)
      .arguments({matrix, result})
      .add(result(j, i) = matrix(i, j));
}

Kernel typed_halve() {
  const auto [row, column] = inames("y", "x");
  const Param h("h"), w("w");
  const Array picture =
      Array("picture", f32, {2 * h, 2 * w}).image({.between = ImageReads::Between::linear});
  const Array half = Array("half", f32, {h, w}).image();
  return kernel("halve")
      .domain(0 <= row && row < h && 0 <= column && column < w)
      .arguments({picture, half})
      .add(half(row, column) = picture.sample({2 * row + 0.5f, 2 * column + 0.5f}));
}

Kernel typed_turn() {
  const auto [row, column] = inames("y", "x");
  const Param h("h"), w("w"), cosine("cosine", f32), sine("sine", f32);
  const Array picture = Array("picture", f32, {h, w})
                            .image({ImageReads::Outside::border, ImageReads::Between::linear});
  const Array result("out", f32, {h, w});
  const Rule v("v", {}, row - h / 2.0F), u("u", {}, column - w / 2.0F);
  return kernel("turn")
      .domain(0 <= row && 0 <= column && row < h && column < w)
      .arguments({picture, result, cosine, sine})
      .add(result(row, column) = picture.sample(
               {h / 2.0F + cosine * v() - sine * u(), w / 2.0F + sine * v() + cosine * u()}));
}

struct Particle {
  float x, y, z;
  float vx, vy, vz;
  float mass;
  std::int32_t kind;
};

Kernel typed_particles() {
  const auto [index] = inames("i");
  const Param length("n"), dt("dt", f32);
  const StructArray p("p",
                      cgen::StructBuilder<Particle>("particle")
                          .field("x", &Particle::x)
                          .field("y", &Particle::y)
                          .field("z", &Particle::z)
                          .field("vx", &Particle::vx)
                          .field("vy", &Particle::vy)
                          .field("vz", &Particle::vz)
                          .field("mass", &Particle::mass)
                          .build(),
                      {length});
  const Array force("force", f32, {3, length});
  Description result =
      kernel("particles")
          .domain(0 <= index && index < length)
          .arguments({p["x"], p["y"], p["z"], p["vx"], p["vy"], p["vz"], p["mass"], force, dt});
  const std::vector<std::string> axes = {"x", "y", "z"};
  for (int axis = 0; axis < 3; ++axis) {
    const Array speed = p["v" + axes[static_cast<std::size_t>(axis)]];
    result.add(speed(index) = speed(index) + dt * force(axis, index) / p["mass"](index));
  }
  for (const std::string& axis : axes) {
    const Array place = p[axis];
    result.add(place(index) = place(index) + dt * p["v" + axis](index));
  }
  return result;
}

TEST(Describe, SaysWhatTheFilesOfExamplesSay) {
  const std::map<std::string, Kernel> twins = {
      {"axpy", typed_axpy()},          {"heat", typed_heat()},
      {"matmul", typed_matmul()},      {"row_sums", typed_row_sums()},
      {"stencil", typed_stencil()},    {"transpose", typed_transpose()},
      {"turn", typed_turn()},          {"halve", typed_halve()},
      {"particles", typed_particles()}};
  std::set<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(RTCG_SOURCE_DIR "/examples/kernels")) {
    const KernelFile file = read_kernel_file(entry.path().string());
    SCOPED_TRACE(entry.path().stem().string());
    files.insert(entry.path().stem().string());
    ASSERT_TRUE(twins.count(file.options.name)) << "a kernel without a typed twin";
    const Kernel& typed = twins.at(file.options.name);
    const Kernel text = described_kernel(file);
    expect_twins(text, typed);
    expect_twins(transformed_kernel(file, text), transformed_kernel(file, typed));
  }
  EXPECT_EQ(files.size(), twins.size());
}

// ---- domains and arguments

TEST(Describe, BoundsInamesAsTextDoes) {
  const Iname jj("jj");
  const Temp first("first"), length("length");
  const Param nonzeros("nonzeros");
  const Array values("values", f32, {nonzeros}), starts("starts");
  expect_same_kernel(make_kernel("{[i]: 0 <= i < n} {[jj]: 0 <= jj < length}",
                                 "<> first = starts[i]\n"
                                 "<> length = starts[i + 1] - first\n"
                                 "y[i] = sum(jj, values[[first + jj]])",
                                 {.arguments = "values: f32[nonzeros]"}),
                     kernel("loopy_kernel")
                         .domain(below_n)
                         .domain(0 <= jj && jj < length)
                         .add(first = starts(i))
                         .add(length = starts(i + 1) - first)
                         .add(y(i) = sum(jj, values.linear(first + jj))));
  expect_twins(make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i and i mod 2 = 0 and j < n // 2}",
                           "out[i, j] = 1.0", {.arguments = "out: f32[n, n]"}),
               kernel("loopy_kernel")
                   .domain(0 <= i && i < n && 0 <= j && j <= i && i % 2 == 0 && j < floor_div(n, 2))
                   .add(Array("out", f32, {n, n})(i, j) = 1.0));
}

TEST(Describe, StatesArgumentsAsTextDoes) {
  const Param size("n", i32), width("m", i32), stride("s", i64);
  const Array fortran = Array("a", f32, {size, width}).order(Order::fortran);
  const Array strided = Array("b", f64, {size, width}).strides({stride, 2}).offset(width);
  const Array table = Array("table", f64, {16}).in(AddressSpace::constant);
  const Array result("out", f64, {size, width});
  expect_twins(
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}",
                  "out[i, j] = a[i, j] + b[i, j]*table[j % 16] + scale",
                  {.name = "all",
                   .arguments = "a: f32[n, m] {order=F}; b: f64[n, m] {strides=s:2, offset=m}; "
                                "table: f64[16] {space=constant}; out: f64[n, m]; n, m: i32; "
                                "s: i64",
                   .default_type = f64,
                   .assumptions = "n >= 1 and m mod 16 = 0"}),
      kernel("all")
          .domain(0 <= i && i < size && 0 <= j && j < width)
          .arguments({fortran, strided, table, result, size, width, stride})
          .type(f64)
          .assume(size >= 1 && width % 16 == 0)
          .add(result(i, j) = fortran(i, j) + strided(i, j) * table(j % 16) + Param("scale")));
  // names alone state an order
  expect_twins(make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i] + b[i]",
                           {.arguments = "out, b, ...", .default_type = f32}),
               over_i().arguments({out, b}).add(out(i) = a(i) + b(i)));
  // what is stated of an argument need not be listed
  expect_twins(make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]",
                           {.arguments = "out: f64[n]", .default_type = f32}),
               over_i().add(Array("out", f64, {n})(i) = 2 * a(i)));
}

TEST(Describe, FixesParametersAndOrdersStatements) {
  expect_twins(
      make_kernel(
          "{[i]: 0 <= i < n*2}", "a[i] = b[n, i]\nc[i] = a[i]",
          {.default_type = f32, .sequential_dependencies = true, .fixed_parameters = {{"n", 8}}}),
      kernel("loopy_kernel")
          .domain(0 <= i && i < n * 2)
          .type(f32)
          .sequential()
          .fix(n, 8)
          .add(a(i) = b(n, i))
          .add(c(i) = a(i)));
}

// ---- values

TEST(Describe, HasTheValuesOfText) {
  const Array d("d", i32, {n}), bits("bits", i32, {n});
  expect_twins(
      make_kernel("{[i]: 0 <= i < n}",
                  "out[i] = a[i]**2 / 3 - -b[i]*0.5 + 0.5f + 2.0d*cast(f64, d[i] // 3 % 4)\n"
                  "bits[i] = (d[i] << 2 | d[i] >> 1) ^ d[i] & 7\n"
                  "c[i] = if(a[i] < 1 and not b[i] >= 2 or i != 3, sin(a[i]), max(b[i], 0))\n"
                  "x[i] = abs(a[i]) + sqrt(b[i]) + exp(a[i]) + log(b[i]) + cos(a[i]) + "
                  "min(a[i], b[i]) + rsqrt(a[i])",
                  {.arguments = "d, bits: i32[n]", .default_type = f32}),
      over_i()
          .arguments({d, bits})
          .add(out(i) = power(a(i), 2) / 3 - -b(i) * 0.5 + 0.5F +
                        literal(cgen::ScalarKind::f64, 2.0) * cast(f64, floor_div(d(i), 3) % 4))
          .add(bits(i) = ((d(i) << 2 | d(i) >> 1) ^ (d(i) & 7)))
          .add(c(i) = select((a(i) < 1 && !(b(i) >= 2)) || i != 3, sin(a(i)), max(b(i), 0)))
          .add(x(i) = abs(a(i)) + sqrt(b(i)) + exp(a(i)) + log(b(i)) + cos(a(i)) + min(a(i), b(i)) +
                      call("rsqrt", a(i))));
  const Array z("z", cgen::complex_of(f32), {n});
  expect_twins(make_kernel("{[i]: 0 <= i < n}", "z[i] = 2j*z[i]", {.arguments = "z: c64[n]"}),
               kernel("loopy_kernel").domain(below_n).add(z(i) = imaginary(2) * z(i)));
}

TEST(Describe, ReducesAndScans) {
  const Array total("total"), place("p", i32, {1}), matrix("a");
  const char* const domain = "{[i, j, k]: 0 <= i, j, k < n}";
  const auto over_all = [] {
    return kernel("loopy_kernel")
        .domain(0 <= i && i < n && 0 <= j && j < n && 0 <= k && k < n)
        .type(f32);
  };
  const auto twins = [&](const char* text, const Statement& statement) {
    SCOPED_TRACE(text);
    expect_twins(make_kernel(domain, text, {.default_type = f32}), over_all().add(statement));
  };
  twins("c[i] = sum((j, k), a[i, j, k])", c(i) = sum({j, k}, a(i, j, k)));
  twins("c[i] = sum_f64(j, a[i, j])", c(i) = sum(f64, j, a(i, j)));
  twins("c[i] = product(j, a[i, j])", c(i) = product(j, a(i, j)));
  twins("c[i] = reduce(max, j, a[i, j])", c(i) = reduce("max", j, a(i, j)));
  twins("c[i] = reduce(min, j, a[i, j])", c(i) = reduce("min", j, a(i, j)));
  twins("c[i] = any(j, a[i, j] > 2)", c(i) = any(j, a(i, j) > 2));
  twins("c[i] = all(j, a[i, j] > 2)", c(i) = all(j, a(i, j) > 2));
  expect_twins(make_kernel(domain,
                           "c[0], p[0] = argmax(i, a[i], i)\nb[0], p[0] = "
                           "argmin(i, a[i], i) {dep=set_c}",
                           {.arguments = "p: i32[1]", .default_type = f32}),
               over_all()
                   .add(assign({c(0), place(0)}, argmax(i, a(i), i)))
                   .add(assign({b(0), place(0)}, argmin(i, a(i), i)).depends("set_c")));
  expect_twins(make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", "c[i] = scan(sum, j, a[j])",
                           {.default_type = f32}),
               kernel("loopy_kernel")
                   .domain(0 <= i && i < n && 0 <= j && j <= i)
                   .type(f32)
                   .add(c(i) = scan(sum(j, a(j)))));
}

TEST(Describe, HasRules) {
  const Param p("p"), q("q");
  const Rule square("f", {p}, p * p);
  const Rule longest = Rule("longest", {p, q}, select(abs(p) < abs(q), q, p)).neutral({0});
  const Rule shift("shift", {}, a(i) - 1);
  expect_twins(
      text_over_i("f(p) := p*p\n"
                  "longest(p, q) := if(abs(p) < abs(q), q, p) {neutral=0}\n"
                  "shift := a[i] - 1\n"
                  "out[i] = f(a[i]) + f$far(b[i]) + a$near[i] + shift"),
      over_i().add(square).add(longest).add(shift).add(
          out(i) = square(a(i)) + square.tagged("far")(b(i)) + a.tagged("near")(i) + shift()));
  // rules that are only used follow
  expect_twins(text_over_i("longest(p, q) := if(abs(p) < abs(q), q, p) {neutral=0}\n"
                           "out[0] = reduce(longest, i, a[i])"),
               over_i().add(out(0) = reduce(longest, i, a(i))));
}

// ---- statements

TEST(Describe, HasTemporaries) {
  const Temp t("t"), s("s", f64), tile("m", f32, {4}), row("row", f32);
  const Temp weights = Temp("w", f32, {3}).table({1, 2, 1});
  expect_twins(text_over_i("<> t = a[i]\n"
                           "<f64> s = 2*t\n"
                           "t += 1\n"
                           "<f32> m[4]\n"
                           "<f32> w[3] = table(1, 2, 1)\n"
                           "m[0] = t*w[i % 3] {dep=*}\n"
                           "out[i] = m[0] + s {dep=*}"),
               over_i()
                   .add(t = a(i))
                   .add(s = 2 * t)
                   .add(t += 1)
                   .add((tile(0) = t * weights(i % 3)).depends("*"))
                   .add((out(i) = tile(0) + s).depends("*")));
  // a shape that is not stated is inferred
  expect_same_kernel(make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 16}",
                                 "<f32> row[j] = a[i, j]\nb[i, j] = row[j]", {.default_type = f32}),
                     kernel("loopy_kernel")
                         .domain(0 <= i && i < n && 0 <= j && j < 16)
                         .type(f32)
                         .add(row(j) = a(i, j))
                         .add(b(i, j) = row(j)));
  const Kernel shared = over_i().add(Temp("m", f32, {4}).in(AddressSpace::local)(0) = a(i));
  EXPECT_EQ(find_temporary(shared, "m")->address_space, AddressSpace::local);
}

TEST(Describe, CopiesTemporariesAndElements) {
  const Temp t("t"), s("s");
  expect_twins(text_over_i("<> t = a[i]\n<> s = t\nout[i] = s\nb[i] = out[i] {dep=set_out}\n"
                           "b[i] -= 1 {dep=set_b}\nc[i] = 3\nc[i] *= 2 {dep=set_c}\n"
                           "x[i] = 3\nx[i] /= 2 {dep=set_x}"),
               over_i()
                   .add(t = a(i))
                   .add(s = t)
                   .add(out(i) = s)
                   .add((b(i) = out(i)).depends("set_out"))
                   .add((b(i) -= 1).depends("set_b"))
                   .add(c(i) = 3)
                   .add((c(i) *= 2).depends("set_c"))
                   .add(x(i) = 3)
                   .add((x(i) /= 2).depends("set_x")));
}

TEST(Describe, HasTheOptionsOfStatements) {
  expect_twins(make_kernel("{[i, j]: 0 <= i, j < n}",
                           "a[i] = 1 {id=first, tags=x:y}\n"
                           "b[j] = 2 {id_prefix=second, if=j > 2, tags=x}\n"
                           "c[i] = 3 {dep=first:sec*, inames=i}\n"
                           "out[0] = 4 {dep_query=tag:x and not tag:y, inames=}\n"
                           "x[i] = 5 {dup=i->i2}\n"
                           "y[0] += a[i] {atomic, dep=first}\n"
                           "with {tags=t}\n"
                           "  z[i] = 6 {inames=+i}\n"
                           "  w[i] = 7\n"
                           "end",
                           {.default_type = f32}),
               kernel("loopy_kernel")
                   .domain(0 <= i && 0 <= j && i < n && j < n)
                   .type(f32)
                   .add((a(i) = 1).id("first").tags("x", "y"))
                   .add((b(j) = 2).id_prefix("second").when(j > 2).tags("x"))
                   .add((c(i) = 3).depends("first", "sec*").within(i))
                   .add((out(0) = 4).depends_on_matches("tag:x and not tag:y").within())
                   .add((x(i) = 5).duplicate(i, "i2"))
                   .add((y(0) += a(i)).atomic().depends("first"))
                   .add(block({(Array("z")(i) = 6).also_within(i), Array("w")(i) = 7}).tags("t")));
  expect_same_kernel(
      text_over_i("y[0] = 1 {atomic=init}\ny[0] += a[i] {atomic, dep=set_y}"),
      over_i().add((y(0) = 1).atomic_init()).add((y(0) += a(i)).atomic().depends("set_y")));
}

TEST(Describe, HasLoopsAndBranches) {
  expect_twins(make_kernel("{[i, j]: 0 <= i, j < n}",
                           "for i, j\n"
                           "  <> t = a[i]\n"
                           "  if t > 2\n"
                           "    out[i, j] = 1\n"
                           "  elif j < 3\n"
                           "    out[i, j] = 2\n"
                           "    t = 0\n"
                           "  else\n"
                           "    out[i, j] = t\n"
                           "  end\n"
                           "end",
                           {.default_type = f32}),
               kernel("loopy_kernel")
                   .domain(0 <= i && 0 <= j && i < n && j < n)
                   .type(f32)
                   .add(loop({i, j}, {Temp("t") = a(i),
                                      when(Temp("t") > 2, {out(i, j) = 1})
                                          .otherwise_if(j < 3, {out(i, j) = 2, Temp("t") = 0})
                                          .otherwise({out(i, j) = Temp("t")})})));
}

TEST(Describe, HasBarriersAndCText) {
  expect_same_kernel(
      text_over_i("a[i] = 1\n... lbarrier {dep=set_a}\n... nop {id=nothing}\n"
                  "... c \"${b[i]} = frob(${a[i]}, ${n});\" {writes=b, reads=table}"),
      over_i()
          .add(a(i) = 1)
          .add(local_barrier().depends("set_a"))
          .add(no_operation().id("nothing"))
          .add(c_text("${0} = frob(${1}, ${2});", {b(i), a(i), n}).writes(b).reads("table")));
}

TEST(Describe, CopiesAsynchronously) {
  const Temp tile("m", f32, {4});
  expect_same_kernel(
      text_over_i("<f32> m[4]\nm[0] = a[i] {asynchronous}\n... commit copies {dep=*}\n"
                  "... wait for copies, but for 1 groups {dep=*}"),
      over_i()
          .add((tile(0) = a(i)).asynchronous())
          .add(commit_copies().depends("*"))
          .add(wait_for_copies(1).depends("*")));
  EXPECT_ERROR("loopy.describe.option", over_i().add(no_operation().asynchronous()).make());
}

TEST(Describe, CallsKernels) {
  const Kernel scale = make_kernel("{[k]: 0 <= k < 8}", "y[k] = s*x[k]",
                                   {.name = "scale", .arguments = "x, y: f32[8]; s: i32"});
  const Param size("n", i32);
  const Array from("a", f32, {size, 8}), to("b", f32, {size, 8});
  const KernelOptions options{.arguments = "a, b: f32[n, 8]; n: i32"};
  const auto twin = [&](const Statement& statement) {
    return kernel("loopy_kernel")
        .domain(0 <= i && i < size)
        .arguments({from, to, size})
        .callee(scale)
        .add(statement);
  };
  const char* const domain = "{[i]: 0 <= i < n}";
  expect_twins(
      make_kernel_with_callees(domain, "... call scale(x=a[i, _0], y=b[i, _0], s=3*i)", options,
                               {scale}),
      twin(inline_call("scale", {{"x", from(i, axis(0))}, {"y", to(i, axis(0))}, {"s", 3 * i}})));
  expect_twins(
      make_kernel_with_callees(domain, "[k]: b[i, k] = scale([k]: a[i, k], 3*i)", options, {scale}),
      twin(to(i, axis(0)) = call("scale", from(i, axis(0)), 3 * i)));
  expect_twins(
      make_kernel_with_callees(domain, "... call scale(a[i, _0], b[i, _0], 3*i) {as_function}",
                               options, {scale}),
      twin(inline_call("scale", {{"", from(i, axis(0))}, {"", to(i, axis(0))}, {"", 3 * i}})
               .as_function()));
  const Temp s("s"), t("t");
  expect_twins(text_over_i("<> s, <> t = sincos(a[i])\nout[i] = s + t"),
               over_i().add(assign({s, t}, call("sincos", a(i)))).add(out(i) = s + t));
}

TEST(Describe, NamesAreTakenByTransformations) {
  const Kernel split = split_iname(typed_axpy(), i, 128);
  EXPECT_TRUE(is_iname(split, "i_outer"));
}

// ---- bad use

template <class Left, class Right>
concept comparable = requires(const Left& left, const Right& right) {
  left < right;
};
static_assert(comparable<Iname, Param> && comparable<int, Iname> && comparable<Element, double>);
// `0 <= i < n`
static_assert(!comparable<Condition, Param> && !comparable<Condition, int>);
static_assert(!std::is_convertible_v<Condition, bool>);
static_assert(!std::is_convertible_v<bool, Value>);

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing was thrown";
}

std::string here(int line) {
  return "describe_test.cpp:" + std::to_string(line) + ": ";
}

TEST(Describe, RefusesWhatIsNoDescription) {
  EXPECT_ERROR("loopy.describe.name", Iname("2i"));
  EXPECT_ERROR("loopy.describe.literal", Value(UINT64_MAX));
  EXPECT_ERROR("loopy.describe.index_count", Array("u", f32, {n, n})(i));
  EXPECT_ERROR("loopy.describe.index_count", Array("u", f32, {n}).strides({1, 2}));
  EXPECT_ERROR("loopy.describe.table", Temp("w", f32, {3}).table({1, 2}));
  EXPECT_ERROR("loopy.describe.operands", reduce("mean", i, a(i)));
  EXPECT_ERROR("loopy.describe.operands", reduce("argmax", i, a(i)));
  EXPECT_ERROR("loopy.describe.scan", scan(a(i)));
  EXPECT_ERROR("loopy.describe.targets", assign({c(0), b(0)}, a(i)));
  EXPECT_ERROR("loopy.describe.targets", assign({a(i) + 1}, a(i)));
  EXPECT_ERROR("loopy.describe.branches", when(i > 2, {a(i) = 1}).otherwise({}).otherwise({}));
  EXPECT_ERROR("loopy.describe.c_text", c_text("${1} = 2;", {a(i)}));
  EXPECT_ERROR("loopy.describe.c_text", c_text("${0} = 2;", {sum(i, a(i))}));
  EXPECT_ERROR("loopy.describe.no_iname", over_i().domain(n > 2));
  EXPECT_ERROR("loopy.parse_domain.duplicate_iname", over_i().domain({i}, i < 2));
  EXPECT_ERROR("loopy.parse_domain.not_affine", kernel("f").domain(i * i < n));
  EXPECT_ERROR("loopy.parse_domain.not_affine", kernel("f").domain(i % n == 0));
  EXPECT_ERROR("loopy.parse_domain.not_affine", kernel("f").domain(i));
  EXPECT_ERROR("loopy.parse_domain.disjunction", over_i().assume(n < 2 || n > 4));
  EXPECT_ERROR("loopy.parse_domain.rounding", kernel("f").domain(i % 2 == 2));
}

TEST(Describe, RefusesKernelsThatContradictThemselves) {
  EXPECT_ERROR("loopy.describe.two_meanings", over_i().add(Array("i")(i) = 1).make());
  EXPECT_ERROR("loopy.describe.two_meanings",
               over_i().add(Array("a", f64, {n})(i) = 1).add(b(i) = a(i)).make());
  EXPECT_ERROR("loopy.describe.unbound_iname", over_i().add(a(i) = b(j)).make());
  EXPECT_ERROR("loopy.describe.unassigned", over_i().add(a(i) = Temp("t")).make());
  EXPECT_ERROR("loopy.describe.division_by_zero", over_i().add(a(i) = b(i) / 0).make());
  EXPECT_ERROR("loopy.describe.division_by_zero", over_i().add(a(i % 0) = b(i)).make());
  EXPECT_ERROR("loopy.describe.option", over_i().add(local_barrier().atomic()).make());
  EXPECT_ERROR("loopy.describe.option", over_i().add((a(i) = 1).writes("b")).make());
  EXPECT_ERROR("loopy.make_kernel.duplicate_id",
               over_i().add((a(i) = 1).id("x")).add((b(i) = 1).id("x")).make());
  EXPECT_ERROR("loopy.describe.index_count", over_i().add(a(i) = 1).add(b(i) = a(i, 0)).make());
}

TEST(Describe, SaysWhichLineIsWrong) {
  int line = __LINE__ + 1;
  EXPECT_EQ(message_of([] {
              static_cast<void>(Array("u", f32, {n, n})(i));
            }),
            here(line) + "'u' has 2 axes, found 1 index");
  line = __LINE__ + 1;
  EXPECT_EQ(
      message_of([] { kernel("f").domain(i * i < n); }),
      here(line) + "a product of names in a domain: bounds are sums of integer multiples of names");
  line = __LINE__ + 1;
  const Description unbound = over_i().add(a(i) = 1).add(b(i) = c(j));
  EXPECT_EQ(message_of([&] { static_cast<void>(unbound.make()); }),
            here(line) + "no domain bounds iname 'j': add .domain(0 <= j && ...)");
  // errors of make_kernel have the place of the statement, others that of the kernel
  line = __LINE__ + 1;
  const Description depends = over_i().add((a(i) = 1).depends("q"));
  EXPECT_EQ(message_of([&] { static_cast<void>(depends.make()); }),
            here(line) + "statement 'set_a' depends on 'q', which is not the id of a statement");
  line = __LINE__ + 1;
  const Description indexed = kernel("f").domain(below_n).add(a(b(i)) = 1);
  EXPECT_EQ(message_of([&] { static_cast<void>(indexed.make()); }).find(here(line)), 0U);
}

TEST(Describe, HasImages) {
  const Param h("h"), w("w");
  const Array picture = Array("picture", f32, {h, w})
                            .image({ImageReads::Outside::border, ImageReads::Between::linear});
  const Array shifted("shifted", f32, {h, w});
  expect_twins(make_kernel("{[i, j]: 0 <= i < h and 0 <= j < w}",
                           "shifted[i, j] = picture[i - 1, j] + sample(picture, i, j + 0.5)",
                           {.name = "shift",
                            .arguments = "shifted: f32[h, w]; picture: f32[h, w] {space=image, "
                                         "filter=linear, address=border}"}),
               kernel("shift")
                   .domain(0 <= i && i < h && 0 <= j && j < w)
                   .add(shifted(i, j) = picture(i - 1, j) + picture.sample({i, j + 0.5})));
}

}  // namespace
}  // namespace rtcg::loopy::describe
