#include "rtcg/loopy/create/make_einsum.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/split_outside_brackets.h"
#include "rtcg/loopy/transform/tag_array_axes.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void fail(std::string_view subscripts, const std::string& what) {
  throw InvalidInput("loopy.make_einsum.syntax",
                     fmt::format("cannot read '{}': {}", subscripts, what));
}

/// `i, j`.
std::string indices(const std::string& letters) {
  std::string text;
  for (const char letter : letters) {
    text += (text.empty() ? "" : ", ") + std::string(1, letter);
  }
  return text;
}

std::string element(const std::string& array, const std::string& letters) {
  return letters.empty() ? array : fmt::format("{}[{}]", array, indices(letters));
}

struct Subscripts {
  std::vector<std::string> operands{};
  std::string result{};
  std::string reduced{};
};

Subscripts read_subscripts(std::string text, std::size_t operand_count) {
  std::erase(text, ' ');
  Subscripts read;
  const std::size_t arrow = text.find("->");
  read.operands = split_outside_brackets(text.substr(0, arrow), ',');
  if (read.operands.size() != operand_count) {
    fail(text, fmt::format("it has {} operands, and there are {} names", read.operands.size(),
                           operand_count));
  }
  std::map<char, int> uses;
  for (const std::string& letters : read.operands) {
    for (const char letter : letters) {
      if (letter < 'a' || letter > 'z') {
        fail(text, fmt::format("'{}' is not a small letter", letter));
      }
      ++uses[letter];
    }
  }
  if (arrow == std::string::npos) {
    for (const auto& [letter, count] : uses) {
      if (count == 1) {
        read.result += letter;
      }
    }
  } else {
    read.result = split_outside_brackets(text.substr(arrow + 2), ',').front();
  }
  for (const char letter : read.result) {
    if (uses.count(letter) == 0 || std::count(read.result.begin(), read.result.end(), letter) > 1) {
      fail(text,
           fmt::format("'{}' of the result must appear there once, and in an operand", letter));
    }
  }
  for (const auto& [letter, count] : uses) {
    if (read.result.find(letter) == std::string::npos) {
      read.reduced += letter;
    }
  }
  return read;
}

}  // namespace

Kernel make_einsum(std::string_view subscripts, const std::vector<std::string>& operands,
                   const KernelOptions& options) {
  const Subscripts read = read_subscripts(std::string(subscripts), operands.size());
  std::string domains;
  for (const char letter : read.result + read.reduced) {
    domains += fmt::format("{{[{0}]: 0 <= {0} < N{0}}}\n", letter);
  }
  std::vector<std::string> factors;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    factors.push_back(element(operands[i], read.operands[i]));
  }
  std::string value = fmt::format("{}", fmt::join(factors, "*"));
  if (!read.reduced.empty()) {
    value = fmt::format("sum(({}), {})", indices(read.reduced), value);
  }
  const std::string target = read.result.empty() ? "out[0]" : element("out", read.result);
  return make_kernel(domains, target + " = " + value, options);
}

Kernel make_copy_kernel(int axes, std::string_view output_layout, std::string_view input_layout,
                        const KernelOptions& options) {
  if (axes < 1) {
    throw InvalidInput("loopy.make_copy_kernel.no_axes",
                       fmt::format("an array of {} axes cannot be copied", axes));
  }
  std::string domains;
  std::vector<std::string> inames;
  for (int axis = 0; axis < axes; ++axis) {
    domains += fmt::format("{{[i{0}]: 0 <= i{0} < n{0}}}\n", axis);
    inames.push_back(fmt::format("i{}", axis));
  }
  Kernel kernel = make_kernel(
      domains, fmt::format("output[{0}] = input[{0}]", fmt::join(inames, ", ")), options);
  kernel = tag_array_axes(std::move(kernel), {"output"}, output_layout);
  kernel = tag_array_axes(std::move(kernel), {"input"}, input_layout);
  kernel.recipe.clear();
  return kernel;
}

}  // namespace rtcg::loopy
