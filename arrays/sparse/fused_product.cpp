#include "rtcg/arrays/sparse/fused_product.h"

#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::arrays::detail {

loopy::Kernel fused_product_kernel(DType dtype) {
  loopy::KernelOptions options;
  options.name = "sparse_product_and_dot";
  options.default_type = loop_type(dtype);
  options.arguments =
      "value: [nz]; x: [n]; y: [n]; first: i32[n + 1]; column: i32[nz]; product: [1]; n, nz: i32";
  options.assumptions = "n >= 1 and nz >= 1";
  loopy::Kernel kernel = loopy::make_kernel(
      "{[b, t]: 0 <= b and 0 <= t < 128 and 128*b + t < n} {[k]: begin <= k < end} "
      "{[s]: 0 <= s < 128 and 128*b + s < n} {[c]: 0 <= c and 128*c < n}",
      fmt::format(R"(
      <{0}> image[128]
      <{0}> parts[(n + 127)//128]
      <> begin = first[128*b + t] {{id=begin}}
      <> end = first[128*b + t + 1] {{id=end}}
      image[t] = sum(k, value[k]*x[column[k]]) {{id=image, dep=begin:end}}
      y[128*b + t] = image[t] {{dep=image}}
      parts[b] = sum(s, x[128*b + s]*image[s]) {{id=parts, dep=image}}
      ... last_block {{id=all, dep=parts}}
      product[0] = sum(c, parts[c]) {{dep=all}}
      )",
                  name(dtype)),
      options);
  return loopy::apply_recipe(std::move(kernel),
                             "set_temporary_address_space([parts], global)\n"
                             "tag_inames(b:g.0, t:l.0, s:l.0)\n"
                             "split_iname(c, 128, inner_tag=l.0)\n");
}

namespace {

const loopy::Executor& executor_of_fused_product(runtime::Device device, DType dtype) {
  using Key = std::tuple<const runtime::Backend*, DType>;
  static auto& mutex = *new std::mutex;
  static auto& known =
      *new std::map<Key, loopy::Executor>;  // never destroyed, as the planned loops
  const Key key{&device.backend(), dtype};
  const std::lock_guard lock(mutex);
  auto found = known.find(key);
  if (found == known.end()) {
    found = known.emplace(key, loopy::Executor(fused_product_kernel(dtype), device)).first;
  }
  return found->second;
}

}  // namespace

bool can_fuse_product(const AnySparseMatrix& a) {
  const auto longest =
      max(a.first()(Slice{1, a.rows() + 1}) - a.first()(Slice{0, a.rows()})).item<std::int64_t>();
  constexpr std::int64_t most_of_a_thread = 32;  // longer rows are read by several threads
  return longest <= most_of_a_thread && longest * a.rows() <= 4 * a.entries();
}

void multiply_and_dot(runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                      const AnyArray& y, const AnyArray& product) {
  executor_of_fused_product(stream.device(), a.dtype())(
      stream,
      {loop_argument("value", a.value(), stream), loop_argument("x", x, stream),
       loop_argument("y", y, stream), loop_argument("first", a.first(), stream),
       loop_argument("column", a.column(), stream), loop_argument("product", product, stream),
       loopy::arg("n", a.rows()), loopy::arg("nz", a.entries())});
}

}  // namespace rtcg::arrays::detail
