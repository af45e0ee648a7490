#include "rtcg/loopy/create/refuse_half_written.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access_overlap.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/kernel/expand_rules.h"

namespace rtcg::loopy::detail {
namespace {

bool is_affine(const ArrayAccess& access) {
  return !access.is_linear &&
         std::all_of(access.indices.begin(), access.indices.end(),
                     [](const Expr& index) { return index_cases(index).size() == 1; });
}

/// One writes an element in a later iteration of the loop than the other touches it.
bool is_later(const Kernel& kernel, const ArrayAccess& one, const ArrayAccess& other,
              const std::string& loop) {
  ConstraintSet set = at_one_element(kernel, one, other);
  set.add_nonnegative(Affine(loop + "'1") - Affine(loop + "'2") - 1);
  return !set.is_empty();
}

bool is_not_later(const Kernel& kernel, const ArrayAccess& one, const ArrayAccess& other,
                  const std::string& loop) {
  ConstraintSet set = at_one_element(kernel, one, other);
  set.add_nonnegative(Affine(loop + "'2") - Affine(loop + "'1"));
  return !set.is_empty();
}

class HalfWritten {
 public:
  explicit HalfWritten(const Kernel& kernel) : kernel_(kernel) {
    for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
      for (const std::string& name : written_variables(kernel.instructions[i])) {
        writers_[name].push_back(i);
      }
    }
  }

  void refuse() const {
    for (std::size_t reader = 1; reader < kernel_.instructions.size(); ++reader) {
      for (const std::size_t writer : writers_read_by(reader)) {
        refuse(writer, reader);
      }
    }
  }

 private:
  /// Assignments before a statement that alone write an array which the statement reads. Hardly any
  /// pair of statements is one of these, so that many statements take no longer than their reads.
  [[nodiscard]] std::set<std::size_t> writers_read_by(std::size_t reader) const {
    std::set<std::size_t> result;
    for (const std::string& name : read_variables(kernel_, kernel_.instructions[reader])) {
      const std::optional<std::size_t> writer = only_writer(name);
      if (writer && *writer < reader && is<Assignment>(kernel_.instructions[*writer])) {
        result.insert(*writer);
      }
    }
    return result;
  }

  [[nodiscard]] std::optional<std::size_t> only_writer(const std::string& array) const {
    const auto writers = writers_.find(array);
    return writers != writers_.end() && writers->second.size() == 1
               ? std::optional(writers->second.front())
               : std::nullopt;
  }

  void refuse(std::size_t writer_place, std::size_t reader_place) const {
    const Instruction& writer = kernel_.instructions[writer_place];
    const Instruction& reader = kernel_.instructions[reader_place];
    std::vector<std::string> loops;
    std::set_intersection(writer.within_inames.begin(), writer.within_inames.end(),
                          reader.within_inames.begin(), reader.within_inames.end(),
                          std::back_inserter(loops));
    if (loops.empty()) {
      return;
    }
    for (const ArrayAccess& written : accesses_of(kernel_, writer)) {
      if (!written.is_write || find_argument(kernel_, written.array) == nullptr ||
          !is_affine(written) || !only_writer(written.array) ||
          !writes_elements_once(writer, written)) {
        continue;
      }
      const std::vector<ArrayAccess> reads = reads_of(reader, written.array);
      for (const std::string& loop : loops) {
        const auto any = [&](const auto& relation) {
          return std::any_of(reads.begin(), reads.end(), [&](const ArrayAccess& read) {
            return relation(kernel_, written, read, loop);
          });
        };
        if (any(is_later) && any(is_not_later)) {
          throw_half_written(writer, reader, written.array, loop);
        }
      }
    }
  }

  [[nodiscard]] std::vector<ArrayAccess> reads_of(const Instruction& reader,
                                                  const std::string& array) const {
    std::vector<ArrayAccess> reads = accesses_of(kernel_, reader);
    std::erase_if(reads, [&](const ArrayAccess& each) {
      return each.is_write || each.array != array || !is_affine(each);
    });
    return reads;
  }

  [[nodiscard]] bool writes_elements_once(const Instruction& writer,
                                          const ArrayAccess& written) const {
    return std::none_of(
        writer.within_inames.begin(), writer.within_inames.end(),
        [&](const std::string& loop) { return is_later(kernel_, written, written, loop); });
  }

  [[noreturn]] void throw_half_written(const Instruction& writer, const Instruction& reader,
                                       const std::string& array, const std::string& loop) const {
    throw InvalidInput(
        "loopy.make_kernel.half_written",
        fmt::format("'{0}' and '{1}' share the loop '{2}', in which '{1}' reads elements of '{3}' "
                    "that later iterations of '{0}' set, and others that are set by then: give "
                    "'{1}' an iname of its own for '{2}' if '{0}' is to set all of '{3}' first, "
                    "'{2}2' with the same bounds; or state 'order sequential' if the loop is to "
                    "run both in each iteration",
                    writer.id, reader.id, loop, array));
  }

  const Kernel& kernel_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> writers_;
};

}  // namespace

void refuse_half_written(const Kernel& kernel) {
  if (kernel.instructions.size() < 2 ||
      std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                  [](const Instruction& each) { return is<BarrierInstruction>(each); })) {
    return;
  }
  if (kernel.rules.empty()) {
    HalfWritten(kernel).refuse();
    return;
  }
  const Kernel expanded =
      map_expressions(kernel, [&](const Expr& expr) { return expand_rules(kernel, expr); });
  HalfWritten(expanded).refuse();
}

}  // namespace rtcg::loopy::detail
