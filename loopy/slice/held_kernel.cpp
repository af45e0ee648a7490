#include "rtcg/loopy/slice/held_kernel.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy::detail {
namespace {

/// Arrays that statements write and others, in other loops, read later.
std::vector<std::string> find_handed_on(const Kernel& expanded) {
  std::vector<std::string> result;
  const auto add = [&](const std::string& array) {
    const Instruction* writer = nullptr;
    for (const Instruction& each : expanded.instructions) {
      if (writer != nullptr && each.within_inames != writer->within_inames &&
          read_variables(expanded, each).count(array) != 0) {
        result.push_back(array);
        return;
      }
      if (writer == nullptr && written_variables(each).count(array) != 0) {
        writer = &each;
      }
    }
  };
  for (const Argument& each : expanded.arguments) {
    if (each.is_array) {
      add(each.name);
    }
  }
  for (const Temporary& each : expanded.temporaries) {
    if (!each.shape.empty() && each.initial_values.empty()) {
      add(each.name);
    }
  }
  return result;
}

/// The loops that go through one axis of an array, element by element, wherever it is touched:
/// those around the statements.
std::vector<std::string> loops_along(const Kernel& expanded,
                                     const std::vector<ArrayAccess>& accesses, std::size_t axis) {
  std::vector<std::string> loops;
  for (const ArrayAccess& access : accesses) {
    const Name* iname = access.is_linear ? nullptr : get_if<Name>(access.indices[axis]);
    const Instruction& statement = *find_instruction(expanded, access.statement);
    if (iname == nullptr || statement.within_inames.count(iname->name) == 0) {
      return {};
    }
    if (std::find(loops.begin(), loops.end(), iname->name) == loops.end()) {
      loops.push_back(iname->name);
    }
  }
  return loops;
}

class LoopUniter {
 public:
  /// @param most_axes  of an array, along which loops become one
  LoopUniter(const Kernel& kernel, std::size_t most_axes) : most_axes_(most_axes) {
    result_.kernel = kernel;
  }

  std::optional<HeldKernel> run() {
    result_.arrays = find_handed_on(expand_subst(result_.kernel));
    for (const std::string& each : result_.arrays) {
      unite_loops_of(each);
    }
    result_.kernel.recipe.clear();
    const Kernel expanded = expand_subst(result_.kernel);
    // nests that share their loops read results back from a cache
    const bool keeps_results = !result_.words.together.empty();
    std::erase_if(result_.arrays, [&](const std::string& each) {
      return !is_shared(expanded, each) ||
             (!keeps_results && find_argument(expanded, each) != nullptr);
    });
    return result_.arrays.empty() ? std::nullopt : std::optional(std::move(result_));
  }

 private:
  void unite_loops_of(const std::string& array) {
    const Kernel expanded = expand_subst(result_.kernel);
    std::vector<ArrayAccess> accesses = accesses_of(expanded);
    std::erase_if(accesses, [&](const auto& each) { return each.array != array; });
    std::size_t axes = 0;
    for (std::size_t axis = 0; axis < accesses.front().indices.size() && axes < most_axes_;
         ++axis) {
      const std::vector<std::string> loops = loops_along(expanded, accesses, axis);
      axes += loops.empty() ? 0 : 1;
      if (loops.size() > 1) {
        unite(loops);
      }
    }
  }

  void unite(const std::vector<std::string>& loops) {
    Slicing words;
    words.together = {loops};
    if (why_not([&] { return apply(result_.kernel, words); })) {
      return;
    }
    result_.kernel = apply(result_.kernel, words);
    const auto is_of = [&](const std::vector<std::string>& known) {
      return known.front() == loops.front();
    };
    auto& together = result_.words.together;
    const auto known = std::find_if(together.begin(), together.end(), is_of);
    if (known == together.end()) {
      together.push_back(loops);
    } else {
      known->insert(known->end(), loops.begin() + 1, loops.end());
    }
  }

  /// Whether a loop is around all statements that touch the array.
  [[nodiscard]] static bool is_shared(const Kernel& expanded, const std::string& array) {
    std::optional<NameSet> shared;
    for (const Instruction& each : expanded.instructions) {
      if (touches(expanded, each, array)) {
        shared = shared.value_or(each.within_inames);
        std::erase_if(*shared,
                      [&](const auto& loop) { return each.within_inames.count(loop) == 0; });
      }
    }
    return shared && !shared->empty();
  }

  const std::size_t most_axes_;
  HeldKernel result_{};
};

}  // namespace

std::vector<HeldKernel> find_held_kernels(const Kernel& kernel) {
  const bool is_plain = std::all_of(kernel.instructions.begin(), kernel.instructions.end(),
                                    [](const Instruction& each) { return is<Assignment>(each); });
  std::vector<HeldKernel> result;
  for (const std::size_t most_axes : {std::size_t{1}, SIZE_MAX}) {
    auto found = is_plain ? LoopUniter(kernel, most_axes).run() : std::nullopt;
    if (found && (result.empty() || result.front().words != found->words)) {
      result.push_back(*std::move(found));
    }
  }
  return result;
}

}  // namespace rtcg::loopy::detail
