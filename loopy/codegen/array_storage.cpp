#include "rtcg/loopy/codegen/array_storage.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/codegen/kernel_variables.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

/// Of an array of a thread or a block: extents in the text are of type int.
constexpr std::int64_t most_elements = std::numeric_limits<std::int32_t>::max();

[[noreturn]] std::int64_t refuse_length(const Temporary& temporary) {
  throw InvalidInput(
      "loopy.generate.temporary_too_long",
      fmt::format("temporary '{}' has more than 2^31 - 1 elements, which no array of "
                  "a thread or a block may have: use shorter tiles or less padding",
                  temporary.name));
}

std::int64_t constant_length(const Kernel& kernel, const Temporary& temporary, const Expr& length) {
  if (const auto affine = to_affine(length)) {
    if (const auto value = kernel.assumptions.maximum(*affine)) {
      return *value;
    }
  }
  throw InvalidInput(
      "loopy.generate.array_length_not_constant",
      fmt::format("temporary '{}' has an axis of length {}, which is not a constant: "
                  "arrays of a thread or a block need constant lengths",
                  temporary.name, to_string(length)));
}

std::int64_t linear_length(const Kernel& kernel, const Temporary& temporary) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < temporary.shape.size(); ++axis) {
    const std::int64_t stride = as_integer(temporary.strides_elements[axis]).value_or(1);
    const std::int64_t steps = constant_length(kernel, temporary, temporary.shape[axis]) - 1;
    if (stride > most_elements || steps > most_elements ||
        (last += std::max<std::int64_t>(steps, 0) * stride) >= most_elements) {
      refuse_length(temporary);
    }
  }
  return last + 1;
}

/// Aligned as the widest load takes it: compilers then join loads of neighbours by themselves.
constexpr int alignment_bytes = 16;

struct SharedArray {
  cgen::Type element;
  std::string name;
  std::vector<int> extents;
  std::int64_t bytes = 0;
};

cgen::Statement shared_array(const SharedArray& array) {
  cgen::Declaration declaration{.type = array_type(array.element, array.extents),
                                .name = array.name,
                                .memory = cgen::MemorySpace::shared};
  if (array.bytes >= alignment_bytes) {
    declaration.align_bytes = alignment_bytes;
  }
  return declaration;
}

/// The arrays as pointers to their first rows, one after the other in memory whose size the launch
/// gives; how many bytes they take.
std::int64_t declare_in_dynamic_memory(const std::vector<SharedArray>& arrays,
                                       const std::string& name, cgen::BlockBuilder& body) {
  const cgen::Expr memory = body.add(cgen::dynamic_shared_array(cgen::u8, name));
  std::int64_t offset = 0;
  for (const SharedArray& each : arrays) {
    const cgen::Type row = cgen::pointer_to(array_type(each.element, each.extents, 1));
    body << cgen::declare(
        cgen::const_(row), each.name,
        cgen::cast(row, offset == 0 ? memory : memory + static_cast<int>(offset)));
    offset += round_up(each.bytes, alignment_bytes);
  }
  return offset;
}

}  // namespace

std::vector<int> storage_extents(const Kernel& kernel, const Temporary& temporary) {
  std::vector<std::int64_t> extents;
  for (const Expr& length : temporary.shape) {
    // one element at least, as C has it: where a domain is empty, none is touched
    extents.push_back(std::max<std::int64_t>(constant_length(kernel, temporary, length), 1));
  }
  if (!temporary.strides_elements.empty()) {
    // strides of C order with longer rows are rows of that length; others make one long array
    for (std::size_t axis = extents.size(); axis-- > 1;) {
      const auto outer = as_integer(temporary.strides_elements[axis - 1]);
      const auto inner = as_integer(temporary.strides_elements[axis]);
      if (!outer || !inner || *inner <= 0 || *outer % *inner != 0 ||
          *outer / *inner < extents[axis]) {
        return {};
      }
      extents[axis] = *outer / *inner;
    }
    if (!extents.empty() && as_integer(temporary.strides_elements.back()) != 1) {
      return {};
    }
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    count = extent > most_elements / count ? refuse_length(temporary) : count * extent;
  }
  return {extents.begin(), extents.end()};
}

std::vector<int> declared_extents(const Kernel& kernel, const Temporary& temporary) {
  std::vector<int> extents = storage_extents(kernel, temporary);
  if (extents.empty() && !temporary.shape.empty()) {
    extents = {static_cast<int>(linear_length(kernel, temporary))};
  }
  return extents;
}

BlockMemory block_memory(KernelVariables& variables) {
  const LaunchFacts& launch = variables.launch;
  BlockMemory result;
  std::vector<SharedArray> arrays;
  for (const Temporary& temporary : launch.kernel.temporaries) {
    const bool is_used =
        std::any_of(launch.statements.begin(), launch.statements.end(), [&](std::size_t statement) {
          return launch.facts.touched(statement).count(temporary.name) != 0;
        });
    if (temporary.address_space != AddressSpace::local || !is_used) {
      continue;
    }
    std::vector<int> extents = declared_extents(launch.kernel, temporary);
    if (extents.empty()) {
      extents = {1};  // a scalar that all threads share
    }
    std::int64_t bytes = loopy::size_bytes(*temporary.type);
    for (const int extent : extents) {
      bytes *= extent;
    }
    result.bytes += bytes;
    result.arrays.emplace_back(temporary.name, bytes);
    arrays.push_back({*temporary.type, temporary.name, std::move(extents), bytes});
  }
  cgen::BlockBuilder body;
  if (result.bytes > launch.rules.most_static_shared_bytes) {
    result.is_dynamic = true;
    result.bytes = declare_in_dynamic_memory(arrays, variables.new_name("block_memory"), body);
  } else {
    for (const SharedArray& each : arrays) {
      if (launch.rules.has_threads) {
        body << shared_array(each);
      } else {
        body << cgen::declare(array_type(each.element, each.extents), each.name);
      }
    }
  }
  result.declarations = body.statements();
  return result;
}

}  // namespace rtcg::loopy
