// Scans: nests whose statements have running values along one loop.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/listed_source.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

struct ScanProblem {
  SlicedLoop along{};              ///< the loop of the running values
  std::vector<SlicedLoop> rows{};  ///< the others, longest first
  std::size_t neighbours = 0;      ///< the row loop along which neighbours are read
  bool is_along_rows = true;       ///< whether neighbours are read along the loop of the scan
  std::int64_t most_width = 1;     ///< elements of the widest type in 16 bytes
  double points = 1;
  double read_bytes = 0;   ///< at each point
  double moved_bytes = 0;  ///< with what is written
  double values = 1;       ///< that are scanned at each point
  double accesses = 0;     ///< to arrays, at each point
};

enum class ScanForm {
  blocks_of_rows,  ///< a block goes through a row
  three_launches,
  look_back,
  threads_of_rows,  ///< a thread goes through a row
};

struct ScanChoice {
  ScanForm form = ScanForm::blocks_of_rows;
  std::int64_t threads = 32;
  std::int64_t unrolled = 1;
  std::int64_t width = 1;     ///< of vectors; with `unrolled` the items of a thread
  std::int64_t steps = 1;     ///< loops of a block, on processors
  bool is_exchanged = false;  ///< items are loaded and stored neighbours by neighbours
  std::int64_t lanes = 1;     ///< rows side by side in a block, whose elements are neighbours
  static constexpr auto lengths =
      std::tuple(&ScanChoice::threads, &ScanChoice::unrolled, &ScanChoice::width,
                 &ScanChoice::steps, &ScanChoice::lanes);
  static constexpr auto answers = std::tuple(&ScanChoice::form, &ScanChoice::is_exchanged);
  friend auto operator<=>(const ScanChoice&, const ScanChoice&) = default;
};

class ScanReader {
 public:
  ScanReader(const Kernel& kernel, const IntegerValues& parameters)
      : kernel_(infer_types(expand_subst(kernel))), parameters_(parameters) {}

  /// Nothing for other nests.
  std::optional<ScanProblem> read() {
    if (kernel_.instructions.empty()) {
      return std::nullopt;
    }
    const NameSet& within = kernel_.instructions.front().within_inames;
    NameSet along;
    for (const Instruction& each : kernel_.instructions) {
      const double values_before = values_;
      if (get_if<Assignment>(each) == nullptr || each.within_inames != within ||
          !add_scans(each, along)) {
        return std::nullopt;
      }
      if (!each.predicates.empty() && values_ > values_before) {
        return std::nullopt;  // not every element has a running value
      }
    }
    if (along.size() != 1) {
      return std::nullopt;
    }
    for (const std::string& each : within) {
      if (tag_of(kernel_, each).kind != AxisKind::sequential ||
          with_parent_inames(kernel_, {each}).size() != 1) {
        return std::nullopt;
      }
      const SlicedLoop loop = sliced_loop(kernel_, parameters_, each);
      problem_.points *= static_cast<double>(loop.length);
      if (along.count(each) != 0) {
        problem_.along = loop;
      } else {
        problem_.rows.push_back(loop);
      }
    }
    std::stable_sort(problem_.rows.begin(), problem_.rows.end(),
                     [](const SlicedLoop& a, const SlicedLoop& b) { return a.length > b.length; });
    read_accesses();
    return std::move(problem_);
  }

 private:
  /// Adds the loops with which the scans' bounds grow; false where something else is reduced.
  bool add_scans(const Instruction& instruction, NameSet& along) {
    bool is_plain = true;
    for_each_expression(instruction, [&](const Expr& expr) {
      walk(expr, [&](const Expr& part) {
        if (const Reduction* scanned = as_scan(part)) {
          is_plain = is_plain && add_scan(part, *scanned, instruction, along);
          return false;
        }
        is_plain = is_plain && get_if<Reduction>(part) == nullptr;
        return true;
      });
    });
    return is_plain;
  }

  bool add_scan(const Expr& scan, const Reduction& reduction, const Instruction& around,
                NameSet& along) {
    const Domain* home = reduction.inames.size() == 1
                             ? find_home_domain(kernel_, reduction.inames.front())
                             : nullptr;
    if (home == nullptr) {
      return false;
    }
    for (const Constraint& each : home->constraints.constraints()) {
      if (each.expr.coefficient(reduction.inames.front()) != 0) {
        for (const Affine::Term& term : each.expr.terms()) {
          if (around.within_inames.count(term.name) != 0) {
            along.insert(term.name);
          }
        }
      }
    }
    scanned_.insert(reduction.inames.front());
    values_ += static_cast<double>(types_of_targets(kernel_, scan).size());
    return true;
  }

  void read_accesses() {
    std::int64_t widest = 1;
    std::map<std::string, std::size_t> neighbours;
    for (const ArrayAccess& each : accesses_of(kernel_)) {
      const Argument* argument = find_argument(kernel_, each.array);
      if (argument == nullptr || each.indices.empty()) {
        continue;
      }
      const double bytes = size_bytes(*argument->type);
      problem_.moved_bytes += bytes;
      problem_.accesses += 1;
      problem_.read_bytes += each.is_write ? 0 : bytes;
      if (const auto last = to_affine(each.indices.back())) {
        for (const Affine::Term& term : last->terms()) {
          neighbours[scanned_.count(term.name) != 0 ? problem_.along.iname : term.name] += 1;
        }
        // one element for all takes part in no vectors
        if (!last->terms().empty()) {
          widest = std::max<std::int64_t>(widest, size_bytes(*argument->type));
        }
      }
    }
    problem_.most_width = std::min<std::int64_t>(4, std::max<std::int64_t>(1, 16 / widest));
    problem_.values = values_;
    for (std::size_t i = 0; i < problem_.rows.size(); ++i) {
      if (neighbours[problem_.rows[i].iname] >
          neighbours[problem_.rows[problem_.neighbours].iname]) {
        problem_.neighbours = i;
      }
    }
    problem_.is_along_rows =
        problem_.rows.empty() ||
        neighbours[problem_.along.iname] >= neighbours[problem_.rows[problem_.neighbours].iname];
  }

  Kernel kernel_;
  const IntegerValues& parameters_;
  ScanProblem problem_{};
  NameSet scanned_{};
  double values_ = 0;
};

bool is_cut_by_grid(const ScanChoice& choice) {
  return choice.form == ScanForm::three_launches || choice.form == ScanForm::look_back;
}

std::int64_t scan_tile(const ScanChoice& choice) {
  return choice.threads * choice.unrolled * choice.width * choice.steps;
}

/// Along the loop whose neighbours are neighbours in memory.
std::int64_t rows_side_by_side(const ScanChoice& choice) {
  return choice.form == ScanForm::threads_of_rows ? choice.threads : choice.lanes;
}

std::int64_t scan_blocks(const ScanProblem& problem, const ScanChoice& choice) {
  std::int64_t blocks =
      is_cut_by_grid(choice) ? ceil_divide(problem.along.length, scan_tile(choice)) : 1;
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    blocks *= i == problem.neighbours
                  ? ceil_divide(problem.rows[i].length, rows_side_by_side(choice))
                  : problem.rows[i].length;
  }
  return blocks;
}

/// Of a block: a value for each warp, and the items that are exchanged, with padding.
std::int64_t shared_bytes(const ScanProblem& problem, const ScanChoice& choice) {
  if (choice.form == ScanForm::threads_of_rows) {
    return 0;
  }
  // two values for each thread where lanes are others than those of the scan
  const auto of_warps = static_cast<std::int64_t>(8 * problem.values) *
                        (choice.lanes > 1 ? 2 * choice.threads * choice.lanes
                                          : std::max<std::int64_t>(1, choice.threads / warp_size));
  // what is written takes the place of what has been read
  const double of_items = std::max(problem.read_bytes, problem.moved_bytes - problem.read_bytes) *
                          static_cast<double>(scan_tile(choice)) * 1.125;
  return of_warps + (choice.is_exchanged ? static_cast<std::int64_t>(of_items) : 0);
}

Slicing scan_slicing(const ScanProblem& problem, const ScanChoice& choice) {
  Slicing slicing;
  int axis = 0;
  if (choice.form != ScanForm::threads_of_rows) {
    InameSlicing along{problem.along.iname, {{0, {}}}};
    if (is_cut_by_grid(choice)) {
      along.factors.front().axis = {AxisKind::grid, axis++};
    }
    const auto add = [&](std::int64_t length, AxisKind kind, int number = 0) {
      if (length > 1) {
        along.factors.push_back({length, {kind, number}});
      }
    };
    add(choice.threads, AxisKind::block, choice.lanes > 1 ? 1 : 0);
    add(choice.steps, AxisKind::sequential);
    add(choice.unrolled, AxisKind::unroll);
    add(choice.width, AxisKind::vec);
    slicing.inames.push_back(std::move(along));
  }
  // the loop of the threads is on the axis of the most blocks, as is the longest one otherwise
  const std::int64_t side_by_side = rows_side_by_side(choice);
  const bool has_threads = choice.form == ScanForm::threads_of_rows || choice.lanes > 1;
  std::vector<std::size_t> order;
  if (has_threads) {
    order.push_back(problem.neighbours);
  }
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    if (!has_threads || i != problem.neighbours) {
      order.push_back(i);
    }
  }
  for (const std::size_t each : order) {
    InameSlicing row{problem.rows[each].iname, {{0, {AxisKind::grid, axis++}}}};
    if (each == problem.neighbours && side_by_side > 1) {
      row.factors.push_back({side_by_side, {AxisKind::block, 0}});
    }
    slicing.inames.push_back(std::move(row));
  }
  if (choice.form == ScanForm::look_back) {
    slicing.look_back.push_back(problem.along.iname);
  }
  if (choice.is_exchanged) {
    slicing.exchanges.push_back(problem.along.iname);
  }
  return slicing;
}

// What scans cost on GPUs: estimates.
constexpr double scan_block_clocks = 2500;  // waiting for the first values, and barriers
constexpr double look_back_clocks = 1500;   // until the blocks before have published
/// Between tiles that pass on what has come before: one in 1024 waits for the one before it, which
/// takes as long as a load from the second-level cache and a scan of lanes.
constexpr double look_back_clocks_of_tile = 2000.0 / 1024;
constexpr double clocks_of_access = 2;        // instructions of a warp for a load or store
constexpr double clocks_of_exchange = 3;      // instructions of a warp for each shuffle of a scan
constexpr double clocks_of_shared_step = 12;  // of a step of a scan in shared memory
constexpr double spread_of_run = 0.12;        // lines that a thread's run of vectors touches twice
constexpr double seconds_of_scan_launch = 3e-6;
constexpr double seconds_of_part_scans = 1.2e-6;  // of an iteration of the second launch
constexpr double parts_of_iteration = 256 * 8;    // of scan_over_grid's threads and items

class ScanCost {
 public:
  ScanCost(const ScanProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  [[nodiscard]] double seconds(const ScanChoice& choice) const {
    return machine_.is_cpu ? cpu_seconds(choice) : gpu_seconds(choice);
  }

 private:
  [[nodiscard]] double gpu_seconds(const ScanChoice& choice) const {
    const bool is_three = choice.form == ScanForm::three_launches;
    const bool is_of_threads = choice.form == ScanForm::threads_of_rows;
    // compilers load several elements of a thread's loop ahead
    const double items = is_of_threads ? 4 : static_cast<double>(choice.unrolled * choice.width);
    const double lanes = static_cast<double>(choice.lanes);
    const double threads = static_cast<double>(choice.threads) * lanes;
    const double blocks = static_cast<double>(scan_blocks(problem_, choice));
    const double multiprocessors = machine_.multiprocessors;
    // registers of the items, two for eight bytes, and others
    const double words = std::max(1.0, 4 / static_cast<double>(problem_.most_width));
    const double registers = 32 + 2 * items * problem_.values * words;
    const double resident = gpu::resident_blocks(
        machine_, threads, registers, static_cast<double>(shared_bytes(problem_, choice)));
    const double used = std::min(multiprocessors, blocks);
    const double on_each = std::min(resident, std::ceil(blocks / multiprocessors));
    // a warp reads whole lines unless each thread goes along its own row
    const bool is_scattered = is_of_threads == problem_.is_along_rows;
    const double run_bytes = lanes * 16 / static_cast<double>(problem_.most_width);
    const double spread = choice.lanes > 1 ? std::max(1.0, gpu::sector_bytes / run_bytes)
                          : is_scattered && !problem_.rows.empty()
                              ? 4
                              : 1 + (choice.is_exchanged ? 0 : spread_of_run) *
                                        static_cast<double>(choice.unrolled - 1);
    const double bytes =
        problem_.points * (problem_.moved_bytes + (is_three ? problem_.read_bytes : 0)) * spread;
    const double flight = on_each * threads * items * problem_.read_bytes;
    const double memory = bytes / machine_.memory_bytes_per_second * multiprocessors / used /
                          std::clamp(flight / gpu::bytes_in_flight, 0.05, 1.0);
    const double tiles = problem_.points / (threads * (is_of_threads ? 1 : items));
    const double warps = std::max(1.0, threads / machine_.warp_lanes);
    // across lanes, values go through shared memory, each time with a barrier
    const double exchanges = is_of_threads      ? 0
                             : choice.lanes > 1 ? clocks_of_shared_step / clocks_of_exchange *
                                                      std::log2(static_cast<double>(choice.threads))
                                                : 5 + (warps > 1 ? 2 + std::log2(warps) : 0);
    // loads and stores of vectors; three for each where items are exchanged
    const double accesses = problem_.accesses * items / static_cast<double>(choice.width) *
                            (choice.is_exchanged ? 3 : 1);
    const double clocks_of_warp =
        problem_.values * (exchanges * clocks_of_exchange + (is_of_threads ? 2 : 3 * items)) +
        accesses * clocks_of_access + 10;
    // to shared memory and back, before the scan and after it
    const double exchanged = choice.is_exchanged ? 2 * problem_.points * problem_.moved_bytes : 0;
    const double core =
        (tiles * warps * clocks_of_warp / 4 + exchanged / machine_.shared_bytes_per_clock) / used /
        machine_.clock_hz;
    const double waves = std::ceil(blocks / (multiprocessors * resident));
    // tiles of a block that come one after the other
    const double turns =
        is_of_threads ? static_cast<double>(problem_.along.length) / 8
        : is_cut_by_grid(choice)
            ? 1
            : std::ceil(static_cast<double>(problem_.along.length) / (threads / lanes * items));
    const double latency = waves *
                           (turns * scan_block_clocks / (is_of_threads ? 4 : 1) +
                            (choice.form == ScanForm::look_back ? look_back_clocks : 0)) /
                           machine_.clock_hz;
    const double parts = static_cast<double>(problem_.along.length) / (threads / lanes * items);
    const double launches = is_three
                                ? 3 * seconds_of_scan_launch +
                                      std::ceil(parts / parts_of_iteration) * seconds_of_part_scans
                                : seconds_of_scan_launch;
    const double look_back = choice.form == ScanForm::look_back
                                 ? parts * look_back_clocks_of_tile / machine_.clock_hz
                                 : 0;
    // while all warps of a block wait for each other, others keep memory busy
    const double exposed = on_each > 2 ? 0.15 : on_each > 1 ? 0.3 : 1;
    const double most = std::max({memory, core, look_back});
    return most + exposed * (memory + core + look_back - most) + 0.25 * latency + launches;
  }

  [[nodiscard]] double cpu_seconds(const ScanChoice& choice) const {
    constexpr double clocks_of_step = 4;
    const double cores = std::max(1, machine_.multiprocessors);
    const double blocks = static_cast<double>(scan_blocks(problem_, choice));
    const bool is_three = choice.form == ScanForm::three_launches;
    const bool is_lanes =
        choice.form == ScanForm::threads_of_rows && choice.threads > 1 && !problem_.is_along_rows;
    const double clocks = problem_.points * problem_.values * clocks_of_step *
                          (is_three   ? 2
                           : is_lanes ? 0.25
                                      : 1);
    const double bytes =
        problem_.points * (problem_.moved_bytes + (is_three ? problem_.read_bytes : 0));
    return std::ceil(blocks / cores) / blocks * clocks / machine_.clock_hz +
           bytes / machine_.memory_bytes_per_second + (is_three ? 6e-6 : 2e-6);
  }

  const ScanProblem& problem_;
  const MachineModel& machine_;
};

class ScanEnumerator {
 public:
  ScanEnumerator(const Kernel& kernel, const ScanProblem& problem,
                 const SlicingConstraints& constraints)
      : kernel_(kernel), problem_(problem), constraints_(constraints) {}

  std::vector<ScanChoice> run() {
    const bool is_cpu = constraints_.machine.is_cpu;
    for (const ScanForm form : {ScanForm::blocks_of_rows, ScanForm::three_launches,
                                ScanForm::look_back, ScanForm::threads_of_rows}) {
      const bool is_of_threads = form == ScanForm::threads_of_rows;
      if ((is_of_threads && problem_.rows.empty()) ||
          (form == ScanForm::look_back && (is_cpu || !constraints_.machine.has_device_fences)) ||
          (is_cpu && form == ScanForm::blocks_of_rows)) {
        continue;
      }
      if (is_cpu) {
        add_for_processors(form);
        continue;
      }
      for (std::int64_t threads = 32; threads <= most_threads_of_block; threads *= 2) {
        if (threads < constraints_.min_threads || threads > constraints_.max_threads) {
          continue;
        }
        if (is_of_threads) {
          add({form, threads});
          continue;
        }
        if (!problem_.is_along_rows) {
          add_side_by_side(form, threads);
        }
        for (std::int64_t width = 1; width <= problem_.most_width; width *= 2) {
          for (std::int64_t unrolled = 1; unrolled * width <= 16; unrolled *= 2) {
            add({form, threads, unrolled, width});
            if (unrolled * width > 1 && problem_.is_along_rows) {
              add({form, threads, unrolled, width, 1, true});
            }
          }
          // runs of other lengths cost more lines without an exchange
          for (const std::int64_t unrolled : {3, 6}) {
            if (width > 1 && problem_.is_along_rows) {
              add({form, threads, unrolled, width, 1, true});
            }
          }
        }
      }
    }
    return std::move(choices_);
  }

 private:
  /// Neighbouring rows on neighbouring lanes, where the elements of a row are far apart.
  void add_side_by_side(ScanForm form, std::int64_t threads) {
    for (const std::int64_t lanes : {8, 16, 32, 64}) {
      for (std::int64_t unrolled = 1; unrolled <= 16 && lanes < threads; unrolled *= 2) {
        add({form, threads / lanes, unrolled, 1, 1, false, lanes});
      }
    }
  }

  void add_for_processors(ScanForm form) {
    if (form == ScanForm::threads_of_rows) {
      for (const std::int64_t threads : {1, 8, 16, 32}) {
        add({form, threads});
      }
      return;
    }
    for (std::int64_t steps = 1024; steps <= 65536; steps *= 2) {
      add({form, 1, 1, 1, steps});
    }
  }

  void add(const ScanChoice& choice) {
    // the threads of a longer one would not all have elements
    const bool is_too_long =
        choice.form != ScanForm::threads_of_rows && scan_tile(choice) > problem_.along.length;
    const std::size_t axes = problem_.rows.size() + (is_cut_by_grid(choice) ? 1 : 0);
    if (is_too_long || axes > 3 ||
        shared_bytes(problem_, choice) > constraints_.machine.shared_bytes ||
        !has_few_blocks_across(choice) || scan_blocks(problem_, choice) < constraints_.min_blocks ||
        !is_possible(choice)) {
      return;
    }
    choices_.push_back(choice);
  }

  /// g.1 and g.2 have fewer blocks than g.0.
  [[nodiscard]] bool has_few_blocks_across(const ScanChoice& choice) const {
    const bool is_first_free = is_cut_by_grid(choice);
    const bool has_threads = choice.form == ScanForm::threads_of_rows || choice.lanes > 1;
    for (std::size_t i = 0; i < problem_.rows.size(); ++i) {
      const bool is_on_first = !is_first_free && (has_threads ? i == problem_.neighbours : i == 0);
      if (!is_on_first && problem_.rows[i].length > most_blocks_across) {
        return false;
      }
    }
    return true;
  }

  /// Asks the transformations and the generator, once for each kind of choice. Items are exchanged
  /// where they can be, so that no kind becomes impossible by that.
  [[nodiscard]] bool is_possible(const ScanChoice& choice) {
    return possible_.has(
        {static_cast<std::int64_t>(choice.form), choice.unrolled > 1, choice.width > 1,
         choice.threads > 1, choice.threads > 32, choice.lanes > 1},
        [&] { return scan_slicing(problem_, choice); });
  }

  const Kernel& kernel_;
  const ScanProblem& problem_;
  const SlicingConstraints& constraints_;
  std::vector<ScanChoice> choices_{};
  PossibleKinds possible_{kernel_, constraints_.machine.is_cpu ? Target::host : Target::cuda};
};

struct ScanFamily {
  using Problem = ScanProblem;
  using Choice = ScanChoice;
  using Cost = ScanCost;
  using Enumerator = ScanEnumerator;

  static SlicedChoice sliced(const Problem& problem, const Choice& choice, const MachineModel&) {
    return {scan_slicing(problem, choice), choice.threads * choice.lanes,
            scan_blocks(problem, choice), shared_bytes(problem, choice)};
  }
};

}  // namespace

SourcePtr scan_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  return listed_slicings<ScanFamily>(kernel, ScanReader(kernel, constraints.parameters).read(),
                                     constraints);
}

}  // namespace rtcg::loopy::detail
