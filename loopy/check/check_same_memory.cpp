#include "rtcg/loopy/check/check_same_memory.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access_overlap.h"
#include "rtcg/loopy/polyhedral/digits_apart.h"
#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::loopy {
namespace {

bool are_equal(const std::vector<Expr>& one, const std::vector<Expr>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const Expr& left, const Expr& right) {
                      return left == right || as_integer(simplify_index(left - right)) == 0;
                    });
}

void check_layout(const Kernel& kernel, const Argument& one, const Argument& other) {
  const bool is_same_type = !one.type || !other.type || *one.type == *other.type;
  if (!one.is_array || !other.is_array || !is_same_type || !are_equal(one.shape, other.shape) ||
      !are_equal(one.strides_elements, other.strides_elements) ||
      !are_equal({one.offset_elements}, {other.offset_elements})) {
    throw InvalidInput("loopy.check_same_memory.other_layout",
                       fmt::format("'{}' of kernel '{}' cannot be the same memory as '{}': their "
                                   "types, shapes or layouts differ",
                                   one.name, kernel.name, other.name));
  }
}

/// An array that is written, and another one that may be the same memory.
class PairCheck {
 public:
  PairCheck(const Kernel& kernel, std::string written, std::string read)
      : kernel_(kernel), written_(std::move(written)), read_(std::move(read)) {}

  void run() const {
    check_raw_code();
    std::vector<ArrayAccess> writes;
    std::vector<ArrayAccess> reads;
    for (ArrayAccess& each : accesses_of(kernel_)) {
      if (each.array == written_ && each.is_write) {
        writes.push_back(std::move(each));
      } else if (each.array == read_) {
        reads.push_back(std::move(each));
      }
    }
    for (const ArrayAccess& write : writes) {
      for (const ArrayAccess& read : reads) {
        if (!is_read_before(write, read)) {
          complain(write.statement, read.statement);
        }
      }
    }
  }

 private:
  /// C text accesses unknown elements.
  void check_raw_code() const {
    for (const Instruction& each : kernel_.instructions) {
      const RawCode* raw = get_if<RawCode>(each);
      for (const std::string& array : {written_, read_}) {
        if (raw != nullptr && (raw->reads.count(array) != 0 || raw->writes.count(array) != 0)) {
          complain(each.id, each.id);
        }
      }
    }
  }

  [[nodiscard]] bool is_read_before(const ArrayAccess& write, const ArrayAccess& read) const {
    if (!is_in_same_iteration(write, read)) {
      return at_one_element(kernel_, write, read).is_empty();
    }
    return write.statement == read.statement || depends_on(write.statement, read.statement);
  }

  /// Whether an element is read in the iteration alone that writes it.
  [[nodiscard]] bool is_in_same_iteration(const ArrayAccess& write, const ArrayAccess& read) const {
    const auto is_around_read = [&](const std::string& iname) {
      return read.inames.count(iname) != 0;
    };
    const auto is_in_order = [&](const std::string& iname) {
      return write.inames.count(iname) != 0 || !tag_of(kernel_, iname).is_parallel();
    };
    if (!std::all_of(write.inames.begin(), write.inames.end(), is_around_read) ||
        !std::all_of(read.inames.begin(), read.inames.end(), is_in_order)) {
      return false;
    }
    const ConstraintSet meeting = with_digits_apart(at_one_element(kernel_, write, read));
    return std::all_of(write.inames.begin(), write.inames.end(), [&](const std::string& iname) {
      return meeting.implies(Constraint{Affine(iname + "'1") - Affine(iname + "'2"), true});
    });
  }

  [[nodiscard]] bool depends_on(const std::string& later, const std::string& earlier) const {
    const std::vector<std::vector<std::size_t>> order = statement_order(kernel_);
    const auto place_of = [&](const std::string& id) {
      return static_cast<std::size_t>(find_instruction(kernel_, id) - kernel_.instructions.data());
    };
    const std::size_t wanted = place_of(earlier);
    std::set<std::size_t> known;
    std::vector<std::size_t> open = {place_of(later)};
    while (!open.empty()) {
      const std::size_t here = open.back();
      open.pop_back();
      for (const std::size_t each : order[here]) {
        if (known.insert(each).second) {
          open.push_back(each);
        }
      }
    }
    return known.count(wanted) != 0;
  }

  [[noreturn]] void complain(const std::string& writer, const std::string& reader) const {
    throw InvalidInput(
        "loopy.check_same_memory.read_after_write",
        fmt::format("'{}' may be the same memory as '{}', but '{}' may write elements of '{}' "
                    "before '{}' reads them in '{}': read each element in the iteration that "
                    "writes it, or give the arrays memory of their own and leave out may_be",
                    written_, read_, writer, written_, reader, read_));
  }

  const Kernel& kernel_;
  std::string written_;
  std::string read_;
};

bool is_written(const Kernel& kernel, const std::string& array) {
  return std::any_of(
      kernel.instructions.begin(), kernel.instructions.end(),
      [&](const Instruction& each) { return written_variables(each).count(array) != 0; });
}

}  // namespace

void check_same_memory(const Kernel& kernel) {
  for (const Argument& argument : kernel.arguments) {
    for (const std::string& name : argument.may_be) {
      const Argument* other = find_argument(kernel, name);
      if (other == nullptr || other == &argument) {
        throw InvalidInput(
            "loopy.check_same_memory.unknown_array",
            fmt::format("'{}' of kernel '{}' may be the same memory as '{}', which is no other "
                        "argument",
                        argument.name, kernel.name, name));
      }
      check_layout(kernel, argument, *other);
      const bool is_first_written = is_written(kernel, argument.name);
      const bool is_second_written = is_written(kernel, other->name);
      if (is_first_written && is_second_written) {
        throw InvalidInput("loopy.check_same_memory.both_written",
                           fmt::format("kernel '{}' writes '{}' and '{}', which may be the same "
                                       "memory: one of the two may be written",
                                       kernel.name, argument.name, other->name));
      }
      if (is_first_written || is_second_written) {
        PairCheck(kernel, is_first_written ? argument.name : other->name,
                  is_first_written ? other->name : argument.name)
            .run();
      }
    }
  }
}

}  // namespace rtcg::loopy
