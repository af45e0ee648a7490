#include "rtcg/arrays/solve/vector_loops.h"

#include <compare>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

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

/// Statements of element i and elements of sums, where the threads of a block keep what theirs
/// contribute.
struct ElementText {
  std::string domains{};
  std::string statements{};
  std::string recipe{};
};

std::string statements_of(const VectorKernel& form, const std::string& index,
                          const std::string& after_scalar) {
  std::string result;
  for (std::size_t k = 0; k < form.statements.size(); ++k) {
    result += fmt::format("{} {{id=block_{}{}}}\n", with_index(form.statements[k], index), k,
                          after_scalar);
  }
  return result;
}

/// A block for as many elements as it takes.
ElementText text_of_blocks(const VectorKernel& form, std::int64_t elements,
                           const std::string& after_scalar) {
  ElementText text;
  const auto add_recipe = [&](const std::string& iname) {
    text.recipe += fmt::format("split_iname({}, {}, outer_tag=unr, inner_tag=l.0)\n", iname,
                               block_threads_of_vectors);
  };
  text.statements = statements_of(form, "i", after_scalar);
  if (!form.statements.empty()) {
    text.domains = "{[i]: 0 <= i < n} ";
    text.recipe += fmt::format("split_iname(i, {}, outer_tag=g.0)\n", elements);
    add_recipe("i_inner");
  }
  for (std::size_t k = 0; k < form.sums.size(); ++k) {
    text.domains += fmt::format(
        "{{[b{0}, h{0}]: 0 <= b{0} and 0 <= h{0} < {1} and {1}*b{0} + h{0} < n}} "
        "{{[c{0}]: 0 <= c{0} and {1}*c{0} < n}} ",
        k, elements);
    text.statements +=
        fmt::format("parts{0}[b{0}] = sum(h{0}, {1}) {{id=block_sum_{0}{2}}}\n", k,
                    with_index(form.sums[k].element, fmt::format("{}*b{} + h{}", elements, k, k)),
                    after_scalar);
    text.recipe += fmt::format("tag_inames(b{0}:g.0)\n", k);
    add_recipe(fmt::format("h{}", k));
  }
  return text;
}

/// Blocks that take turns: see blocks_at_once().
ElementText text_of_turns(const VectorKernel& form, const BlockShape& shape,
                          const std::string& after_scalar) {
  const std::string begin = fmt::format("{}*({}*turn + block)", shape.elements, shape.blocks);
  const std::string index = fmt::format("{} + {}*item + lane", begin, block_threads_of_vectors);
  ElementText text;
  text.domains = fmt::format(
      "{{[block, turn]: 0 <= block < {0} and 0 <= turn and {1} < n}} "
      "{{[item, lane]: 0 <= item < {2} and 0 <= lane < {3} and {4} < n}} ",
      shape.blocks, begin, shape.elements / block_threads_of_vectors, block_threads_of_vectors,
      index);
  text.recipe = "tag_inames(block:g.0, item:unr, lane:l.0)\n";
  text.statements = statements_of(form, index, after_scalar);
  for (std::size_t k = 0; k < form.sums.size(); ++k) {
    text.domains += fmt::format(
        "{{[z{0}, h{0}]: 0 <= z{0} < {1} and 0 <= h{0} < {1}}} "
        "{{[c{0}]: 0 <= c{0} < {2} and {3}*c{0} < n}} ",
        k, block_threads_of_vectors, shape.blocks, shape.elements);
    text.statements += fmt::format(
        "<> own{0}[{1}]\n"
        "own{0}[z{0}] = 0 {{id=zero_{0}, inames=block:z{0}}}\n"
        "own{0}[lane] = own{0}[lane] + {2} {{id=own_{0}, dep=zero_{0}{3}}}\n"
        "parts{0}[block] = sum(h{0}, own{0}[h{0}]) {{id=block_sum_{0}, dep=zero_{0}:own_{0}}}\n",
        k, block_threads_of_vectors, with_index(form.sums[k].element, index),
        after_scalar.empty() ? "" : ":scalar");
    text.recipe += fmt::format("tag_inames(z{0}:l.0, h{0}:l.0)\n", k);
  }
  return text;
}

/// Each block writes its part of a sum to memory, and the last one adds them up.
loopy::Kernel made_kernel(const VectorKernel& form, DType dtype, bool is_long,
                          const BlockShape& shape) {
  const std::string after_scalar = form.scalar.empty() ? "" : ", dep=scalar";
  const bool has_turns = shape.blocks > 0 && !form.sums.empty();
  ElementText text = has_turns ? text_of_turns(form, shape, after_scalar)
                               : text_of_blocks(form, shape.elements, after_scalar);
  std::string statements =
      form.scalar.empty() ? "" : fmt::format("{} {{id=scalar}}\n", form.scalar);
  for (std::size_t k = 0; k < form.sums.size(); ++k) {
    const std::string parts = has_turns
                                  ? std::to_string(shape.blocks)
                                  : fmt::format("(n + {})//{}", shape.elements - 1, shape.elements);
    statements += fmt::format("<{}> parts{}[{}]\n", name(dtype), k, parts);
    text.recipe += fmt::format(
        "set_temporary_address_space([parts{0}], global)\n"
        "split_iname(c{0}, {1}, inner_tag=l.0)\n",
        k, block_threads_of_vectors);
  }
  statements += text.statements;
  if (!form.sums.empty()) {
    statements += "... last_block {id=all, dep=block_*}\n";
  }
  for (std::size_t k = 0; k < form.sums.size(); ++k) {
    statements +=
        fmt::format("{0}[0] = sum(c{1}, parts{1}[c{1}]) {{dep=all}}\n", form.sums[k].name, k);
  }
  loopy::KernelOptions options;
  options.name = form.name;
  options.default_type = loop_type(dtype);
  options.assumptions = "n >= 1";
  options.arguments = fmt::format("{}: [n]; ", form.vectors);
  std::string scalars = form.scalars;
  for (const VectorKernel::Sum& sum : form.sums) {
    scalars += (scalars.empty() ? "" : ", ") + sum.name;
  }
  options.arguments += scalars.empty() ? "" : scalars + ": [1]; ";
  options.arguments += is_long ? "n: i64" : "n: i32";
  return loopy::apply_recipe(loopy::make_kernel(text.domains, statements, options), text.recipe);
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
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<std::pair<DType, std::int64_t>, LoopCall>;
  const std::int64_t size = blocks.shape()[1];
  const LoopCall& product = [&]() -> const LoopCall& {
    const std::lock_guard lock(mutex);
    auto found = known.find({r.dtype(), size});
    if (found == known.end()) {
      loopy::KernelOptions options;
      options.name = "block_diagonal_product";
      options.default_type = loop_type(r.dtype());
      options.arguments =
          fmt::format("blocks: [(n + {1})//{0}, {0}, {0}]; r, z: [n]; n: i32", size, size - 1);
      options.assumptions = "n >= 1";
      found = known
                  .try_emplace({r.dtype(), size},
                               loopy::make_kernel(
                                   fmt::format("{{[e, i, j]: 0 <= e and 0 <= i, j < {0} and "
                                               "{0}*e + i < n and {0}*e + j < n}}",
                                               size),
                                   fmt::format("z[{0}*e + i] = sum(j, blocks[e, i, j]*r[{0}*e + "
                                               "j])",
                                               size),
                                   options))
                  .first;
    }
    return found->second;
  }();
  product.run(stream, {{"blocks", blocks}, {"r", r}, {"z", z}}, {{"n", r.count()}});
}

}  // namespace rtcg::arrays::detail
