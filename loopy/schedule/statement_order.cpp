#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/graph.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/schedule/statement_ids.h"

namespace rtcg::loopy {
namespace {

/// For each statement those that it is stated to depend on, ascending.
Edges stated_order(const Kernel& kernel) {
  const std::vector<Instruction>& statements = kernel.instructions;
  Edges stated(statements.size());
  if (std::all_of(statements.begin(), statements.end(),
                  [](const Instruction& each) { return each.depends_on.empty(); })) {
    return stated;
  }
  std::unordered_map<std::string_view, std::size_t> number;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    number.emplace(statements[i].id, i);
  }
  for (std::size_t i = 0; i < statements.size(); ++i) {
    for (const std::string& id : statements[i].depends_on) {
      const auto found = number.find(id);
      if (found != number.end() && found->second != i) {
        stated[i].push_back(found->second);
      }
    }
    std::sort(stated[i].begin(), stated[i].end());
    stated[i].erase(std::unique(stated[i].begin(), stated[i].end()), stated[i].end());
  }
  return stated;
}

bool is_source_order(const Edges& stated) {
  for (std::size_t i = 0; i < stated.size(); ++i) {
    if (!stated[i].empty() && stated[i].back() > i) {
      return false;
    }
  }
  return true;
}

[[noreturn]] void refuse_cycle(const Kernel& kernel, const char* what, const Edges& edges) {
  throw InvalidInput("loopy.schedule.dependency_cycle",
                     fmt::format("{}: {}", what, ids_of(kernel, find_cycle(edges))));
}

/// Collects which statements come before each, going through them in the order of the source.
class OrderCollector {
 public:
  OrderCollector(const Kernel& kernel, const Edges& stated)
      : kernel_(kernel), stated_(stated), is_in_order_(is_source_order(stated)) {
    for (const std::vector<std::size_t>& each : stated) {
      before_.emplace_back(each.begin(), each.end());
    }
  }

  Edges run() {
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      if (is<BarrierInstruction>(kernel_.instructions[i])) {
        add_fence(i);
      } else {
        add_statement(i);
      }
    }
    Edges result;
    for (const std::set<std::size_t>& each : before_) {
      result.emplace_back(each.begin(), each.end());
    }
    return result;
  }

 private:
  struct Uses {
    std::vector<std::size_t> writers{};  ///< so far
    std::vector<std::size_t> readers{};  ///< since the last writer
    std::vector<std::size_t> early{};    ///< readers before any writer
  };

  /// Whether the first statement is stated to depend on the second one, through others, too.
  [[nodiscard]] bool depends_on(std::size_t statement, std::size_t other) {
    if (stated_[statement].empty() || (is_in_order_ && statement < other)) {
      return false;
    }
    if (!all_stated_) {
      all_stated_ = transitive_closure(stated_);
    }
    const std::vector<std::size_t>& all = (*all_stated_)[statement];
    return std::binary_search(all.begin(), all.end(), other);
  }

  /// Source order gives way to what is stated.
  void put_before(std::size_t earlier, std::size_t later) {
    if (earlier == later) {
      return;
    }
    const bool is_reversed = depends_on(earlier, later);
    before_[is_reversed ? earlier : later].insert(is_reversed ? later : earlier);
  }

  void put_after_last_fence(std::size_t i) {
    if (last_fence_) {
      put_before(*last_fence_, i);
    }
  }

  /// Barriers of users keep everything in place.
  void add_fence(std::size_t i) {
    for (const std::size_t each : since_fence_) {
      put_before(each, i);
    }
    since_fence_.clear();
    put_after_last_fence(i);
    last_fence_ = i;
  }

  void add_statement(std::size_t i) {
    put_after_last_fence(i);
    since_fence_.push_back(i);
    const Instruction& instruction = kernel_.instructions[i];
    const NameSet written = written_variables(instruction);
    for (const std::string& each : read_variables(kernel_, instruction)) {
      Uses& use = uses_[each];
      if (!use.writers.empty()) {
        put_before(use.writers.back(), i);
      } else if (written.count(each) == 0) {
        use.early.push_back(i);
      }
      use.readers.push_back(i);
    }
    for (const std::string& each : written) {
      add_write(i, each);
    }
  }

  void add_write(std::size_t i, const std::string& variable) {
    Uses& use = uses_[variable];
    for (const std::size_t reader : use.readers) {
      const bool is_early =
          std::find(use.early.begin(), use.early.end(), reader) != use.early.end();
      if (is_early && find_temporary(kernel_, variable) != nullptr) {
        put_before(i, reader);  // a temporary is read after it is written
      } else {
        put_before(reader, i);
      }
    }
    if (!use.writers.empty()) {
      put_before(use.writers.back(), i);
    }
    use.readers.clear();
    use.writers.push_back(i);
  }

  const Kernel& kernel_;
  const Edges& stated_;
  const bool is_in_order_;             // statements depend on earlier ones only
  std::optional<Edges> all_stated_{};  // through others, too; made if it is asked for
  std::vector<std::set<std::size_t>> before_{};
  std::unordered_map<std::string, Uses> uses_{};
  std::optional<std::size_t> last_fence_{};
  std::vector<std::size_t> since_fence_{};
};

}  // namespace

std::vector<std::vector<std::size_t>> statement_order(const Kernel& kernel) {
  const Edges stated = stated_order(kernel);
  if (!sorted_topologically(stated)) {
    refuse_cycle(kernel, "statements depend on each other in a circle", stated);
  }
  Edges result = OrderCollector(kernel, stated).run();
  if (!sorted_topologically(result)) {
    refuse_cycle(kernel,
                 "stated dependencies and the variables that statements share ask for a circle",
                 result);
  }
  return result;
}

}  // namespace rtcg::loopy
