#include "rtcg/loopy/preprocess/stage_items.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>

#include "rtcg/loopy/analyze/axis_length.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/analyze/vector_access.h"
#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t most_shared_bytes = 48 * 1024;
constexpr std::int64_t bytes_of_all_banks = 128;
constexpr std::int64_t most_vector_bytes = 16;

/// The elements of an array that a block's threads own, each a run of them.
struct OwnedItems {
  Access access{};
  std::string thread{};  ///< the iname on l.0
  std::int64_t threads = 1;
  std::vector<std::string> items{};  ///< the inames that count within a thread
  std::int64_t count = 1;            ///< of a thread
  std::int64_t lanes = 1;            ///< of a vector of items
  Affine own{};                      ///< the place within the block
  Affine block{};                    ///< the rest of the last index
  NameSet outer{};                   ///< the other inames around the statement
  ConstraintSet limits{};            ///< of `place_name`, for places that are touched
  std::vector<Expr> conditions{};    ///< the same for all places
  std::int64_t element_bytes = 1;
  cgen::Type type{};

  [[nodiscard]] bool owns(const std::string& name) const {
    return name == thread || std::find(items.begin(), items.end(), name) != items.end();
  }
  [[nodiscard]] bool mentions_own(const Expr& expr) const {
    const NameSet names = free_names(expr);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& each) { return owns(each); });
  }
};

/// The place of an element within the block; no iname is called so.
constexpr const char* place_name = "(place)";

/// An array in shared memory with rows of several threads' items, padded where the threads of a
/// warp would find their items in the same banks.
struct ItemTile {
  std::string name{};
  std::int64_t threads_of_row = 1;
  std::int64_t items = 1;
  std::int64_t padding = 0;
  std::int64_t bytes = 0;
  std::string last_use{};  ///< id of the statement
  bool has_several_readers = false;

  [[nodiscard]] std::int64_t row() const { return threads_of_row * items; }
};

ItemTile tile_for(const OwnedItems& owned) {
  ItemTile tile;
  tile.items = owned.count;
  // as many threads at a time as read all banks once
  const std::int64_t at_once =
      std::max<std::int64_t>(1, bytes_of_all_banks / (owned.lanes * owned.element_bytes));
  const std::int64_t common = std::gcd(owned.count / owned.lanes, at_once);
  tile.threads_of_row = std::gcd(owned.threads, at_once / common);
  tile.padding = common > 1 ? owned.lanes : 0;
  tile.bytes =
      owned.threads / tile.threads_of_row * (tile.row() + tile.padding) * owned.element_bytes;
  return tile;
}

/// `expr >= 0` for a condition that compares whole numbers; nothing for others.
std::optional<Affine> as_nonnegative(const Expr& condition) {
  const Comparison* comparison = get_if<Comparison>(condition);
  const auto left = comparison != nullptr ? to_affine(comparison->left) : std::nullopt;
  const auto right = comparison != nullptr ? to_affine(comparison->right) : std::nullopt;
  if (!left || !right) {
    return std::nullopt;
  }
  switch (comparison->op) {
    case ComparisonOp::greater_equal:
      return *left - *right;
    case ComparisonOp::greater:
      return *left - *right - Affine(1);
    case ComparisonOp::less_equal:
      return *right - *left;
    case ComparisonOp::less:
      return *right - *left - Affine(1);
    default:
      return std::nullopt;
  }
}

class ItemReader {
 public:
  ItemReader(const Kernel& kernel, const Instruction& instruction)
      : kernel_(kernel), instruction_(instruction) {}

  /// Nothing for elements that cannot be exchanged.
  std::optional<OwnedItems> read(const Access& access) {
    owned_ = {};
    owned_.access = access;
    return is_in_global_memory() && finds_thread() && finds_items() && knows_limits()
               ? std::optional(owned_)
               : std::nullopt;
  }

 private:
  bool is_in_global_memory() {
    const Argument* argument = find_argument(kernel_, owned_.access.array);
    const bool is_contiguous =
        argument != nullptr && argument->is_array &&
        argument->address_space == AddressSpace::global && argument->type &&
        !owned_.access.indices.empty() &&
        (argument->strides_elements.empty() || as_integer(argument->strides_elements.back()) == 1);
    const auto kind = is_contiguous ? cgen::scalar_kind(*argument->type) : std::nullopt;
    if (!kind) {
      return false;
    }
    owned_.type = *argument->type;
    owned_.element_bytes = cgen::size_bytes(*kind);
    return true;
  }

  bool finds_thread() {
    for (const std::string& each : instruction_.within_inames) {
      const InameTag tag = tag_of(kernel_, each);
      if (tag.kind != AxisKind::block) {
        continue;
      }
      if (tag.number != 0 || !owned_.thread.empty()) {
        return false;
      }
      owned_.thread = each;
    }
    const auto length =
        owned_.thread.empty() ? std::nullopt : constant_length(kernel_, owned_.thread);
    if (!length || !begins_at_0(owned_.thread)) {
      return false;
    }
    owned_.threads = *length;
    return true;
  }

  [[nodiscard]] bool begins_at_0(const std::string& iname) const {
    return constraints_of(kernel_, {iname}).minimum(Affine(iname)) == 0;
  }

  /// The items of a thread count as the digits of a number do.
  bool finds_items() {
    const auto last = to_affine(owned_.access.indices.back());
    const std::int64_t step = last ? last->coefficient(owned_.thread) : 0;
    if (step <= 1) {
      return false;
    }
    std::vector<Affine::Term> digits;
    NameSet mentioned;
    for (const Affine::Term& term : last->terms()) {
      if (find_temporary(kernel_, term.name) != nullptr) {
        return false;  // which may differ from thread to thread
      }
      const bool is_around = instruction_.within_inames.count(term.name) != 0;
      if (is_around && !tag_of(kernel_, term.name).is_parallel() && term.coefficient < step) {
        digits.push_back(term);
      }
      mentioned.insert(term.name);
    }
    std::sort(digits.begin(), digits.end(), [](const Affine::Term& a, const Affine::Term& b) {
      return a.coefficient < b.coefficient;
    });
    for (const Affine::Term& digit : digits) {
      const auto length = constant_length(kernel_, digit.name);
      if (digit.coefficient != owned_.count || !length || !begins_at_0(digit.name)) {
        return false;
      }
      if (tag_of(kernel_, digit.name).kind == AxisKind::vec && owned_.count == 1) {
        owned_.lanes = *length;
      }
      owned_.count *= *length;
      owned_.items.push_back(digit.name);
      owned_.own = owned_.own + Affine(digit.name, digit.coefficient);
    }
    owned_.own = owned_.own + Affine(owned_.thread, step);
    owned_.block = *last - owned_.own;
    return owned_.count == step && are_others_outside(mentioned);
  }

  /// The copies are within the other inames: loops among these go around the threads' items.
  bool are_others_outside(NameSet mentioned) {
    for (std::size_t i = 0; i + 1 < owned_.access.indices.size(); ++i) {
      const Expr& index = owned_.access.indices[i];
      if (owned_.mentions_own(index) || !has_known_value(index)) {
        return false;
      }
      mentioned.merge(free_names(index));
    }
    for (const std::string& each : instruction_.within_inames) {
      if (!owned_.owns(each)) {
        const AxisKind kind = tag_of(kernel_, each).kind;
        if (kind != AxisKind::grid &&
            !(kind == AxisKind::sequential && mentioned.count(each) != 0)) {
          return false;
        }
        owned_.outer.insert(each);
      }
    }
    return true;
  }

  /// Whether the expression is the same for all threads wherever it is computed.
  [[nodiscard]] bool has_known_value(const Expr& expr) const {
    const NameSet names = free_names(expr);
    return accessed_arrays(expr).empty() && called_functions(expr).empty() &&
           std::none_of(names.begin(), names.end(), [&](const std::string& each) {
             return find_temporary(kernel_, each) != nullptr;
           });
  }

  /// Without the other inames of the domains.
  [[nodiscard]] ConstraintSet constraints_on(const NameSet& inames) const {
    const ConstraintSet all = constraints_of(kernel_, inames);
    std::vector<std::string> others = all.names();
    std::erase_if(others, [&](const std::string& each) {
      return inames.count(each) != 0 || !is_iname(kernel_, each);
    });
    return all.project_out(others);
  }

  /// Whether the statement runs for all places between limits.
  bool knows_limits() {
    ConstraintSet boxes;
    const auto add_box = [&](const std::string& iname, std::int64_t length) {
      boxes.add_nonnegative(Affine(iname));
      boxes.add_nonnegative(Affine(length - 1) - Affine(iname));
    };
    add_box(owned_.thread, owned_.threads);
    for (const std::string& each : owned_.items) {
      add_box(each, *constant_length(kernel_, each));
    }
    const ConstraintSet all = constraints_on(instruction_.within_inames);
    const ConstraintSet outside = constraints_on(owned_.outer);
    ConstraintSet known = boxes;  // all that holds of the places between the limits
    known.add(outside);
    for (const Constraint& each : all.constraints()) {
      if (!known.implies(each) && add_limit(each)) {
        known.add(each);
      }
    }
    const auto& constraints = all.constraints();
    if (std::any_of(constraints.begin(), constraints.end(),
                    [&](const Constraint& each) { return !known.implies(each); })) {
      return false;
    }
    for (const Congruence& each : all.congruences()) {
      if (!outside.implies(each)) {
        return false;
      }
    }
    return std::all_of(
        instruction_.predicates.begin(), instruction_.predicates.end(), [&](const Expr& each) {
          if (!has_known_value(each)) {
            return false;
          }
          if (!owned_.mentions_own(each)) {
            owned_.conditions.push_back(each);
            return true;
          }
          const std::optional<Affine> limit = as_nonnegative(each);
          return limit &&
                 (boxes.implies_nonnegative(*limit) || add_limit(Constraint{*limit, false}));
        });
  }

  /// Takes limits of places, and of whole runs of `run` places: 128*g + l < 500 in place of
  /// 256*g + 2*l + item < 1000.
  bool add_limit(const Constraint& constraint) {
    std::int64_t run = 1;
    for (std::size_t i = 0; i <= owned_.items.size(); ++i) {
      if (add_limit_of_runs(constraint, run)) {
        return true;
      }
      run *= i < owned_.items.size() ? *constant_length(kernel_, owned_.items[i]) : 1;
    }
    return false;
  }

  bool add_limit_of_runs(const Constraint& constraint, std::int64_t run) {
    const Affine whole = constraint.expr * run;
    const std::int64_t times = whole.coefficient(owned_.thread) / owned_.count;
    if (run > 1 && (std::abs(times) != 1 || constraint.is_equality)) {
      return false;
    }
    Affine rest = whole;
    for (const Affine::Term& term : owned_.own.terms()) {
      rest = rest - Affine(term.name, term.coefficient >= run ? term.coefficient * times : 0);
    }
    for (const Affine::Term& term : rest.terms()) {
      if (owned_.owns(term.name) || find_temporary(kernel_, term.name) != nullptr) {
        return false;
      }
    }
    // the last place of a run is the first one and run - 1
    const Affine last = times < 0 ? Affine(run - 1) : Affine(0);
    owned_.limits.add(Constraint{rest + last + Affine(place_name, times), constraint.is_equality});
    return true;
  }

  const Kernel& kernel_;
  const Instruction& instruction_;
  OwnedItems owned_{};
};

class ItemStaging {
 public:
  explicit ItemStaging(Kernel kernel)
      : kernel_(std::move(kernel)), names_(make_name_generator(kernel_)) {}

  Kernel run() {
    std::vector<std::string> marked;
    for (const Instruction& each : kernel_.instructions) {
      if (each.exchanges_items && is<Assignment>(each)) {
        marked.push_back(each.id);
      }
    }
    for (const std::string& each : marked) {
      stage_reads(each);
    }
    for (const std::string& each : marked) {
      stage_write(each);
    }
    return std::move(kernel_);
  }

 private:
  [[nodiscard]] std::size_t index_of(const std::string& id) const {
    return static_cast<std::size_t>(find_instruction(kernel_, id) - kernel_.instructions.data());
  }

  /// Accesses outside of branches, one for each array that has one alone.
  [[nodiscard]] static std::vector<Expr> lone_reads(const Expr& value) {
    std::vector<Expr> found;
    std::map<std::string, int> counts;
    walk(value, [&](const Expr& part) {
      const Access* element = get_if<Access>(part);
      if (element != nullptr && std::find(found.begin(), found.end(), part) == found.end()) {
        found.push_back(part);
        counts[element->array] += 1;
      }
      return !is<Conditional>(part) && !is<Logical>(part);
    });
    std::erase_if(found, [&](const Expr& each) { return counts[target_name(each)] != 1; });
    return found;
  }

  void stage_reads(const std::string& id) {
    const Expr value = get_if<Assignment>(*find_instruction(kernel_, id))->value;
    for (const Expr& read : lone_reads(value)) {
      const Access& access = *get_if<Access>(read);
      const bool is_written = std::any_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                                          [&](const Instruction& each) {
                                            return written_variables(each).count(access.array) != 0;
                                          });
      const Instruction statement = *find_instruction(kernel_, id);
      const auto owned = is_written ? std::nullopt : ItemReader(kernel_, statement).read(access);
      if (owned && takes_loaded(id, read, *owned)) {
        continue;
      }
      ItemTile* tile = owned ? tile_of(*owned, id) : nullptr;
      if (tile == nullptr) {
        continue;
      }
      Instruction fill = copy_statement(*owned, *tile, true);
      fill.call_site = statement.call_site;
      fill.depends_on = dependencies_outside(statement, *owned);
      if (!tile->last_use.empty()) {
        fill.depends_on.insert(tile->last_use);
      }
      tile->last_use = id;
      loaded_.push_back({*owned, tile->name, fill.id});
      const std::size_t place = index_of(id);
      read_from_tile(kernel_.instructions[place], read, *owned, *tile, fill.id);
      kernel_.instructions.insert(kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(place),
                                  std::move(fill));
    }
  }

  static void read_from_tile(Instruction& reader, const Expr& read, const OwnedItems& owned,
                             const ItemTile& tile, const std::string& fill) {
    reader = map_expressions(std::move(reader), [&](const Expr& expr) {
      return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
        return part == read ? std::optional(element_of_owner(owned, tile)) : std::nullopt;
      });
    });
    reader.depends_on.insert(fill);
  }

  /// Reads from a tile that another statement has had loaded with the same items.
  bool takes_loaded(const std::string& id, const Expr& read, const OwnedItems& owned) {
    const auto found = std::find_if(loaded_.begin(), loaded_.end(), [&](const LoadedItems& each) {
      const OwnedItems& its = each.owned;
      const auto& limits = its.limits.constraints();
      const std::size_t last = owned.access.indices.size() - 1;
      return its.access.array == owned.access.array && its.access.indices.size() == last + 1 &&
             std::equal(its.access.indices.begin(), its.access.indices.end() - 1,
                        owned.access.indices.begin()) &&
             its.thread == owned.thread && its.threads == owned.threads &&
             its.count == owned.count && its.lanes == owned.lanes && its.block == owned.block &&
             its.outer == owned.outer && its.conditions.empty() && owned.conditions.empty() &&
             std::all_of(limits.begin(), limits.end(),
                         [&](const Constraint& limit) { return owned.limits.implies(limit); });
    });
    const auto is_on_grid = [&](const std::string& each) {
      return tag_of(kernel_, each).kind == AxisKind::grid;
    };
    // loops around the threads would load other items in each turn
    if (found == loaded_.end() ||
        !std::all_of(owned.outer.begin(), owned.outer.end(), is_on_grid)) {
      return false;
    }
    ItemTile& tile = *std::find_if(tiles_.begin(), tiles_.end(),
                                   [&](const ItemTile& each) { return each.name == found->tile; });
    tile.has_several_readers = true;
    read_from_tile(kernel_.instructions[index_of(id)], read, owned, tile, found->fill);
    return true;
  }

  void stage_write(const std::string& id) {
    const Instruction statement = *find_instruction(kernel_, id);
    const Assignment& assignment = *get_if<Assignment>(statement);
    const Access* target =
        assignment.targets.size() == 1 ? get_if<Access>(assignment.targets.front()) : nullptr;
    if (target == nullptr || assignment.is_atomic || statement.disjoint_at ||
        is_touched_elsewhere(target->array, id) ||
        read_variables(kernel_, statement).count(target->array) != 0) {
      return;
    }
    const auto owned = ItemReader(kernel_, statement).read(*target);
    ItemTile* tile = owned ? tile_of(*owned, id) : nullptr;
    if (tile == nullptr) {
      return;
    }
    Instruction store = copy_statement(*owned, *tile, false);
    store.call_site = statement.call_site;
    store.depends_on = {id};
    for (Instruction& each : kernel_.instructions) {
      if (each.depends_on.count(id) != 0 && !is_in_items(each, *owned)) {
        each.depends_on.insert(store.id);
      }
    }
    const std::size_t place = index_of(id);
    Instruction& writer = kernel_.instructions[place];
    writer.kind = Assignment{{element_of_owner(*owned, *tile)}, assignment.value};
    if (!tile->last_use.empty()) {
      writer.depends_on.insert(tile->last_use);
    }
    tile->last_use = store.id;
    kernel_.instructions.insert(
        kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(place) + 1, std::move(store));
  }

  [[nodiscard]] bool is_touched_elsewhere(const std::string& array, const std::string& id) const {
    return std::any_of(
        kernel_.instructions.begin(), kernel_.instructions.end(),
        [&](const Instruction& each) { return each.id != id && touches(kernel_, each, array); });
  }

  /// Whether it shares loops over the items.
  [[nodiscard]] static bool is_in_items(const Instruction& instruction, const OwnedItems& owned) {
    return std::any_of(owned.items.begin(), owned.items.end(), [&](const std::string& item) {
      return instruction.within_inames.count(item) != 0;
    });
  }

  /// Those of the statement, and in place of statements within the items what these depend on.
  [[nodiscard]] NameSet dependencies_outside(const Instruction& statement,
                                             const OwnedItems& owned) const {
    NameSet result;
    NameSet seen;
    std::vector<std::string> open(statement.depends_on.begin(), statement.depends_on.end());
    while (!open.empty()) {
      const std::string id = std::move(open.back());
      open.pop_back();
      const Instruction* each = find_instruction(kernel_, id);
      if (each == nullptr || !seen.insert(id).second) {
        continue;
      }
      if (is_in_items(*each, owned)) {
        open.insert(open.end(), each->depends_on.begin(), each->depends_on.end());
      } else {
        result.insert(id);
      }
    }
    return result;
  }

  [[nodiscard]] bool comes_after(const std::string& id, const std::string& earlier) const {
    NameSet seen;
    std::vector<std::string> open = {id};
    while (!open.empty()) {
      const std::string next = std::move(open.back());
      open.pop_back();
      const Instruction* each = find_instruction(kernel_, next);
      if (each == nullptr || !seen.insert(next).second) {
        continue;
      }
      if (each->depends_on.count(earlier) != 0) {
        return true;
      }
      open.insert(open.end(), each->depends_on.begin(), each->depends_on.end());
    }
    return false;
  }

  [[nodiscard]] std::int64_t shared_bytes() const {
    std::int64_t bytes = 0;
    for (const Temporary& each : kernel_.temporaries) {
      if (each.address_space != AddressSpace::local) {
        continue;
      }
      std::int64_t elements = each.type ? size_bytes(*each.type) : 8;
      for (const Expr& length : each.shape) {
        elements *= as_integer(length).value_or(most_shared_bytes);
      }
      bytes += elements;
    }
    return bytes;
  }

  /// One whose last use is over before the loops of the statement, or a new one; null where there
  /// is no room.
  ItemTile* tile_of(const OwnedItems& owned, const std::string& id) {
    ItemTile tile = tile_for(owned);
    for (ItemTile& each : tiles_) {
      const Temporary& made = *find_temporary(kernel_, each.name);
      if (each.items == tile.items && each.threads_of_row == tile.threads_of_row &&
          each.padding == tile.padding && each.bytes == tile.bytes && *made.type == owned.type &&
          !each.has_several_readers &&
          !is_in_items(*find_instruction(kernel_, each.last_use), owned) &&
          comes_after(id, each.last_use)) {
        std::erase_if(loaded_, [&](const LoadedItems& one) { return one.tile == each.name; });
        return &each;
      }
    }
    if (shared_bytes() + tile.bytes > most_shared_bytes) {
      return nullptr;
    }
    Temporary temporary;
    temporary.name = names_.make(owned.access.array + "_items");
    temporary.type = owned.type;
    temporary.shape = {Expr(owned.threads / tile.threads_of_row), Expr(tile.row())};
    if (tile.padding > 0) {
      temporary.strides_elements = {Expr(tile.row() + tile.padding), Expr(1)};
    }
    temporary.address_space = AddressSpace::local;
    tile.name = temporary.name;
    kernel_.temporaries.push_back(std::move(temporary));
    tiles_.push_back(std::move(tile));
    return &tiles_.back();
  }

  [[nodiscard]] static Expr element_of_owner(const OwnedItems& owned, const ItemTile& tile) {
    const Expr thread = Name{owned.thread};
    const Expr item = to_expr(owned.own - Affine(owned.thread, owned.count));
    return tile.threads_of_row == 1
               ? access(tile.name, {thread, item})
               : access(tile.name,
                        {floor_div(thread, tile.threads_of_row),
                         modulo(thread, tile.threads_of_row) * Expr(owned.count) + item});
  }

  /// Copies the items of the block between the array and the tile, neighbours by neighbours.
  Instruction copy_statement(const OwnedItems& owned, const ItemTile& tile, bool is_fill) {
    for (std::int64_t lanes = owned.lanes == 2 || owned.lanes == 4 ? owned.lanes : 1;; lanes /= 2) {
      if (lanes * owned.element_bytes > most_vector_bytes) {
        continue;
      }
      const Kernel before = kernel_;
      Instruction copy = copy_by_lanes(owned, tile, lanes, is_fill);
      if (lanes == 1) {
        return copy;
      }
      const Assignment& assignment = *get_if<Assignment>(copy);
      const Expr& global = is_fill ? assignment.value : assignment.targets.front();
      if (!why_not_vector_access(kernel_, copy, global, lane_, static_cast<int>(lanes))) {
        return copy;
      }
      kernel_ = before;
    }
  }

  Instruction copy_by_lanes(const OwnedItems& owned, const ItemTile& tile, std::int64_t lanes,
                            bool is_fill) {
    Domain domain;
    Instruction copy;
    const auto add_iname = [&](const std::string& base, std::int64_t length, const InameTag& tag) {
      if (length == 1) {
        return Affine(0);
      }
      const std::string iname = names_.make(base);
      domain.inames.push_back(iname);
      domain.constraints.add_nonnegative(Affine(iname));
      domain.constraints.add_nonnegative(Affine(length - 1) - Affine(iname));
      kernel_.iname_tags.insert_or_assign(iname, tag);
      copy.within_inames.insert(iname);
      return Affine(iname);
    };
    const std::string base = tile.name;
    const Affine turn = add_iname(base + "_turn", owned.count / lanes, {AxisKind::unroll});
    const Affine thread = add_iname(base + "_thread", owned.threads, {AxisKind::block, 0});
    const Affine lane = add_iname(base + "_lane", lanes, {AxisKind::vec});
    lane_ = lane.terms().empty() ? "" : lane.terms().front().name;
    const Affine group = thread + turn * owned.threads;
    const Affine place = group * lanes + lane;
    domain.constraints.add(owned.limits);
    domain.constraints = domain.constraints.substitute(place_name, place);
    kernel_.domains.push_back(std::move(domain));
    copy.within_inames.insert(owned.outer.begin(), owned.outer.end());
    std::vector<Expr> indices = owned.access.indices;
    indices.back() = to_expr(owned.block + place);
    const Expr in_array = access(owned.access.array, std::move(indices));
    // rows are whole groups of lanes
    const std::int64_t groups = tile.row() / lanes;
    const bool is_by_rows = owned.threads % groups == 0;
    const Expr by_thread = to_expr(is_by_rows ? thread : group);
    const Expr row = floor_div(by_thread, groups) +
                     (is_by_rows ? to_expr(turn * (owned.threads / groups)) : Expr(0));
    const Expr in_tile =
        access(tile.name, {row, modulo(by_thread, groups) * Expr(lanes) + to_expr(lane)});
    copy.id = names_.make((is_fill ? "load_" : "store_") + owned.access.array);
    copy.kind = is_fill ? Assignment{{in_tile}, in_array} : Assignment{{in_array}, in_tile};
    copy.predicates = owned.conditions;
    copy.is_fill = is_fill;
    return copy;
  }

  Kernel kernel_;
  NameGenerator names_;
  std::vector<ItemTile> tiles_{};
  struct LoadedItems {
    OwnedItems owned{};
    std::string tile{};
    std::string fill{};  ///< id of the statement that has loaded them
  };
  std::vector<LoadedItems> loaded_{};  // what tiles hold
  std::string lane_{};
};

}  // namespace

Kernel with_staged_items(Kernel kernel) {
  const bool is_any = std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                                  [](const Instruction& each) { return each.exchanges_items; });
  return is_any ? ItemStaging(std::move(kernel)).run() : kernel;
}

}  // namespace rtcg::loopy
