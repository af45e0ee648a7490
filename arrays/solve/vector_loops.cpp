#include "rtcg/arrays/solve/vector_loops.h"

#include <compare>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"
#include "rtcg/arrays/kernels/blocks_at_once.h"
#include "rtcg/arrays/kernels/known_executors.h"
#include "rtcg/arrays/kernels/loop_call.h"
#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::arrays::detail {
namespace {

/// Threads of a block, and elements that a block takes: four of each thread, so that reads of
/// several elements are under way.
constexpr std::int64_t block_threads_of_vectors = 256;
constexpr std::int64_t block_elements_of_vectors = 1024;

using ArrayArguments = std::vector<std::pair<std::string, AnyArray>>;

/// A kernel over vectors: statements of element i, and sums.
struct VectorKernel {
  struct Sum {
    std::string name;     ///< of the array for it
    std::string element;  ///< of which "[i]" is the index
  };
  std::string name;
  std::string scalar{};  ///< a statement that the others use: `<> alpha = ...`
  std::vector<std::string> statements{};
  std::vector<Sum> sums{};
  std::string vectors;    ///< arguments of n elements
  std::string scalars{};  ///< of one, but the sums
};

std::string with_index(std::string text, const std::string& index) {
  const std::string place = "[" + index + "]";
  for (std::size_t at = text.find("[i]"); at != std::string::npos;
       at = text.find("[i]", at + place.size())) {
    text.replace(at, 3, place);
  }
  return text;
}

/// How blocks share the elements.
struct BlockShape {
  std::int64_t elements = block_elements_of_vectors;  ///< that a block takes at a time
  std::int64_t blocks = 0;  ///< that take turns; 0: as many as there are elements for
  friend auto operator<=>(const BlockShape&, const BlockShape&) = default;
};

/// Threads keep what they add to sums, blocks write one part of each, and the last one adds these
/// up.
loopy::Kernel made_kernel(const VectorKernel& form, DType dtype, bool is_long,
                          const BlockShape& shape) {
  const char* const after_scalar = form.scalar.empty() ? "" : ", dep=scalar";
  std::string domain = "{[i]: 0 <= i < n}";
  std::string index = "i";
  std::string recipe = fmt::format(
      "split_iname(i, {}, outer_name=block, outer_tag=g.0, inner_name=of_block)\n"
      "split_iname(of_block, {}, outer_tag=unr, inner_tag=l.0)\n",
      shape.elements, block_threads_of_vectors);
  if (shape.blocks > 0 && !form.sums.empty()) {
    // lanes in a domain of their own: the number of turns is the same for all threads of a block
    const std::string begin = fmt::format("{}*({}*turn + block)", shape.elements, shape.blocks);
    index = fmt::format("{} + {}*item + lane", begin, block_threads_of_vectors);
    domain = fmt::format(
        "{{[block, turn]: 0 <= block < {} and 0 <= turn and {} < n}} "
        "{{[item, lane]: 0 <= item < {} and 0 <= lane < {} and {} < n}}",
        shape.blocks, begin, shape.elements / block_threads_of_vectors, block_threads_of_vectors,
        index);
    recipe = "tag_inames(block:g.0, item:unr, lane:l.0)\n";
  }
  std::string statements =
      form.scalar.empty() ? "" : fmt::format("{} {{id=scalar}}\n", form.scalar);
  std::string scalars = form.scalars;
  for (std::size_t k = 0; k < form.statements.size(); ++k) {
    statements += fmt::format("{} {{id=element_{}{}}}\n", with_index(form.statements[k], index), k,
                              after_scalar);
  }
  for (const VectorKernel::Sum& sum : form.sums) {
    statements += fmt::format(
        "{0}[0] = 0 {{id=start_{0}}}\n"
        "{0}[0] += {1} {{id=add_{0}, atomic, dep=start_{0}{2}}}\n",
        sum.name, with_index(sum.element, index), form.scalar.empty() ? "" : ":scalar");
    recipe += fmt::format("reduce_updates({})\n", sum.name);
    scalars += (scalars.empty() ? "" : ", ") + sum.name;
  }
  loopy::KernelOptions options;
  options.name = form.name;
  options.default_type = loop_type(dtype);
  options.assumptions = "n >= 1";
  options.arguments = fmt::format("{}: [n]; ", form.vectors);
  options.arguments += scalars.empty() ? "" : scalars + ": [1]; ";
  options.arguments += is_long ? "n: i64" : "n: i32";
  return loopy::apply_recipe(loopy::make_kernel(domain, statements, options), recipe);
}

/// Short vectors have an element for each thread, so that there are many blocks.
BlockShape shape_of(runtime::Device device, std::int64_t count) {
  if (device.info().is_cpu) {
    return {};
  }
  const std::int64_t blocks = blocks_at_once(device);
  return {count < blocks * block_elements_of_vectors ? block_threads_of_vectors
                                                     : block_elements_of_vectors,
          blocks};
}

void run_vector_kernel(runtime::StreamRef stream, const VectorKernel& form, std::int64_t count,
                       DType dtype, const ArrayArguments& arrays) {
  // made once for each device, type, kind of index and shape
  static auto& known = *new KnownExecutors<std::tuple<DType, bool, std::string, BlockShape>>;
  const bool is_long = count > std::numeric_limits<std::int32_t>::max() / 2;
  std::vector<loopy::NamedArgument> arguments;
  for (const auto& [name, array] : arrays) {
    arguments.push_back(loop_argument(name, array, stream));
  }
  arguments.push_back(loopy::arg("n", count));
  const BlockShape shape = shape_of(stream.device(), count);
  known.of(stream.device(), {dtype, is_long, form.name, shape},
           [&] { return made_kernel(form, dtype, is_long, shape); })(stream, arguments);
}

}  // namespace

void dot_into(runtime::StreamRef stream, const AnyArray& a, const AnyArray& b,
              const AnyArray& product) {
  VectorKernel form{.name = "square_of_vector", .vectors = "a"};
  ArrayArguments arrays = {{"a", a}, {"product", product}};
  if (a.address() == b.address()) {
    form.sums = {{"product", "a[i]*a[i]"}};
  } else {
    form.name = "dot_of_vectors";
    form.vectors = "a, b";
    form.sums = {{"product", "a[i]*b[i]"}};
    arrays.emplace_back("b", b);
  }
  run_vector_kernel(stream, form, a.count(), a.dtype(), arrays);
}

namespace {

VectorKernel form_of_step(bool has_square, bool has_rho) {
  VectorKernel form{.name = "step_along",
                    .scalar =
                        "<> alpha = rho[0]/image_product[0] if square[0] > limit[0] and "
                        "image_product[0] > 0 else 0",
                    .statements = {"x[i] = x[i] + alpha*p[i]", "next_r[i] = r[i] - alpha*image[i]"},
                    .vectors = "x, p, image, r, next_r",
                    .scalars = "rho, square, image_product, limit"};
  // the next r once more: compilers see that it is the same
  if (has_square) {
    form.name += "_to_square";
    form.sums.push_back({"next_square", "(r[i] - alpha*image[i])**2"});
  }
  if (has_rho) {
    form.name += "_and_rho";
    form.vectors += ", diagonal";
    form.sums.push_back({"next_rho", "diagonal[i]*(r[i] - alpha*image[i])**2"});
  }
  return form;
}

}  // namespace

loopy::Kernel step_kernel(DType dtype, bool has_rho, std::int64_t blocks, std::int64_t elements) {
  return made_kernel(form_of_step(true, has_rho), dtype, false, {elements, blocks});
}

void step_along(runtime::StreamRef stream, const StepVectors& vectors, const StepScalars& scalars,
                const StepSums& sums) {
  ArrayArguments arrays = {{"x", vectors.x},           {"p", vectors.p},
                           {"image", vectors.image},   {"r", vectors.r},
                           {"next_r", vectors.next_r}, {"rho", scalars.rho},
                           {"square", scalars.square}, {"image_product", scalars.p_dot_image},
                           {"limit", scalars.limit}};
  if (sums.square) {
    arrays.emplace_back("next_square", *sums.square);
  }
  if (sums.rho) {
    arrays.emplace_back("diagonal", *vectors.diagonal);
    arrays.emplace_back("next_rho", *sums.rho);
  }
  run_vector_kernel(stream, form_of_step(sums.square.has_value(), sums.rho.has_value()),
                    vectors.x.count(), vectors.x.dtype(), arrays);
}

void turn_direction(runtime::StreamRef stream, const AnyArray& p, const AnyArray& z,
                    const std::optional<AnyArray>& diagonal, const AnyArray& next_rho,
                    const AnyArray& rho, const AnyArray& square, const AnyArray& limit) {
  VectorKernel form{.name = "turn_direction",
                    .scalar = "<> beta = next_rho[0]/rho[0] if square[0] > limit[0] else 0",
                    .statements = {"p[i] = z[i] + beta*p[i]"},
                    .vectors = "p, z",
                    .scalars = "next_rho, rho, square, limit"};
  ArrayArguments arrays = {{"p", p},     {"z", z},           {"next_rho", next_rho},
                           {"rho", rho}, {"square", square}, {"limit", limit}};
  if (diagonal) {
    form.name += "_by_diagonal";
    form.statements = {"p[i] = diagonal[i]*z[i] + beta*p[i]"};
    form.vectors += ", diagonal";
    arrays.emplace_back("diagonal", *diagonal);
  }
  run_vector_kernel(stream, form, p.count(), p.dtype(), arrays);
}

void multiply_blocks(runtime::StreamRef stream, const AnyArray& blocks, const AnyArray& r,
                     const AnyArray& z) {
  // planned by the loop engine for each size of blocks
  static auto& known = *new MadeOnce<std::pair<DType, std::int64_t>, LoopCall>;
  const std::int64_t size = blocks.shape()[1];
  const LoopCall& product = known.of({r.dtype(), size}, [&] {
    loopy::KernelOptions options;
    options.name = "block_diagonal_product";
    options.default_type = loop_type(r.dtype());
    options.arguments =
        fmt::format("blocks: [(n + {1})//{0}, {0}, {0}]; r, z: [n]; n: i32", size, size - 1);
    options.assumptions = "n >= 1";
    return loopy::make_kernel(
        fmt::format("{{[e, i, j]: 0 <= e and 0 <= i, j < {0} and {0}*e + i < n and {0}*e + j < n}}",
                    size),
        fmt::format("z[{0}*e + i] = sum(j, blocks[e, i, j]*r[{0}*e + j])", size), options);
  });
  product.run(stream, {{"blocks", blocks}, {"r", r}, {"z", z}}, {{"n", r.count()}});
}

}  // namespace rtcg::arrays::detail
