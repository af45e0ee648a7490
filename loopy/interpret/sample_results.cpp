#include "rtcg/loopy/interpret/sample_results.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy::interpretation {
namespace {

/// When a statement runs: its place among its neighbours, the value of the loop around these, and
/// so on, from the outermost loop to the innermost.
using Time = std::vector<std::int64_t>;

/// A step, and the loops around it.
struct Writer {
  const Step* step = nullptr;
  const Part* part = nullptr;
  std::vector<const Part*> loops{};
  std::vector<std::int64_t> places{};  ///< one more than loops
  std::size_t target = 0;
  /// Points at which an element is written, by the number of fixed outer loops.
  std::vector<Nest> searches{};
};

class Sampler {
 public:
  Sampler(Program& program, const InterpretOptions& options)
      : program_(program), machine_(program.machine()), options_(options) {
    collect(program.parts(), {}, {});
    machine_.find_value = [this](int variable, std::int64_t element) {
      return writers_.count(variable) == 0
                 ? machine_.initial_value(machine_.variables[static_cast<std::size_t>(variable)],
                                          element)
                 : value_before(variable, element, now_, here_);
    };
  }
  ~Sampler() { machine_.find_value = nullptr; }
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  Interpretation run() {
    machine_.limit_operations(options_.most_operations);
    Interpretation result;
    result.is_sampled = true;
    const std::vector<int> arrays = program_.results();
    std::vector<std::vector<std::int64_t>> chosen;
    std::size_t most = options_.places.empty() ? options_.samples : 0;
    for (const int array : arrays) {
      const Variable& variable = machine_.variables[static_cast<std::size_t>(array)];
      chosen.push_back(options_.places.empty() ? some_elements(variable)
                                               : stated_elements(variable));
      result.arrays[variable.name].kind = variable.kind;
      most = options_.places.empty() ? most : std::max(most, chosen.back().size());
    }
    std::size_t done = 0;
    constexpr std::size_t fewest = 4;
    const double of_few = std::max(options_.most_operations, options_.operations_of_few_samples);
    try {
      for (; done < most; ++done) {
        machine_.allow_operations(done >= fewest ? options_.most_operations
                                  : done == 0    ? std::max(options_.most_operations, of_few / 2)
                                                 : of_few);
        for (std::size_t i = 0; i < arrays.size(); ++i) {
          if (done < chosen[i].size()) {
            add_sample(result, arrays[i], chosen[i][done]);
          }
        }
      }
    } catch (const Unsupported& error) {
      if (error.code() != "loopy.interpret.too_long" || done < std::min(fewest, most)) {
        throw;
      }
    }
    result.operations = machine_.operations;
    result.first_open = machine_.first_open;
    return result;
  }

 private:
  void add_sample(Interpretation& result, int index, std::int64_t element) {
    const Variable& variable = machine_.variables[static_cast<std::size_t>(index)];
    ExpectedArray& array = result.arrays.at(variable.name);
    std::vector<ExpectedNumber> numbers;
    for (int lane = 0; lane < variable.lanes; ++lane) {
      machine_.lane = lane;
      const Value value = value_before(index, element, {}, nullptr);
      if (variable.is_complex) {
        const Value complex = in_complex(value);
        numbers.push_back({complex.real, complex.error});
        numbers.push_back({complex.imaginary, complex.error});
      } else {
        const Value real = in_reals(value);
        numbers.push_back({real.real, real.error});
      }
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      array.places.push_back(static_cast<std::size_t>(element * variable.numbers()) + i);
      array.numbers.push_back(numbers[i]);
    }
  }

  /// Those of options.places.
  [[nodiscard]] std::vector<std::int64_t> stated_elements(const Variable& variable) const {
    const auto found = options_.places.find(variable.name);
    std::vector<std::int64_t> elements;
    for (const std::size_t place :
         found == options_.places.end() ? std::vector<std::size_t>{} : found->second) {
      const auto element =
          static_cast<std::int64_t>(place / static_cast<std::size_t>(variable.numbers()));
      if (std::find(elements.begin(), elements.end(), element) == elements.end()) {
        elements.push_back(element);
      }
    }
    return elements;
  }

  [[nodiscard]] std::vector<std::int64_t> some_elements(const Variable& variable) const {
    if (variable.count == 0) {
      return {};
    }
    std::mt19937_64 random(options_.seed);
    std::vector<std::int64_t> elements;
    std::set<std::int64_t> seen;
    const auto add = [&](const auto& index_of) {
      std::int64_t element = variable.offset;
      for (std::size_t axis = 0; axis < variable.shape.size(); ++axis) {
        element += index_of(variable.shape[axis]) * variable.strides[axis];
      }
      if (seen.insert(element).second) {
        elements.push_back(element);
      }
    };
    add([](std::int64_t) { return std::int64_t{0}; });
    add([](std::int64_t length) { return length - 1; });
    for (std::size_t i = 0; i < options_.samples; ++i) {
      // every other one may be at rims, where the last tiles are cut off
      const bool may_be_last = i % 2 == 1;
      add([&](std::int64_t length) {
        const std::uint64_t bits = random();
        return may_be_last && bits >> 62 == 0
                   ? length - 1
                   : static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(length));
      });
    }
    return elements;
  }

  void collect(const std::vector<Part>& parts, const std::vector<const Part*>& loops,
               const std::vector<std::int64_t>& places) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::vector<std::int64_t> own = places;
      own.push_back(static_cast<std::int64_t>(i));
      if (parts[i].loop) {
        std::vector<const Part*> within = loops;
        within.push_back(&parts[i]);
        collect(parts[i].body, within, own);
        continue;
      }
      const Step& step = *parts[i].step;
      for (std::size_t target = 0; target < step.targets.size(); ++target) {
        Writer writer{&step, &parts[i], loops, own, target, {}};
        add_searches(writer);
        writers_[step.targets[target].first].push_back(std::move(writer));
      }
    }
  }

  /// Name of the slot that holds an index of the element that is searched for.
  static std::string slot_name(std::size_t axis) { return fmt::format("(index {})", axis); }

  void add_searches(Writer& writer) {
    const Instruction& instruction = *writer.step->instruction;
    ConstraintSet set = constraints_of(program_.kernel(), instruction.within_inames);
    const Expr& target = get_if<Assignment>(instruction)->targets[writer.target];
    if (const Access* access = get_if<Access>(target)) {
      for (std::size_t axis = 0; axis < access->indices.size(); ++axis) {
        const std::optional<Affine> index = to_affine(access->indices[axis]);
        const bool is_known =
            index && std::all_of(index->terms().begin(), index->terms().end(),
                                 [&](const auto& t) { return machine_.find_slot(t.name) >= 0; });
        if (is_known) {
          static_cast<void>(machine_.add_slot(slot_name(axis)));
          set.add_zero(*index - Affine(slot_name(axis)));
        }
      }
    }
    for (std::size_t still = 0; still <= writer.loops.size(); ++still) {
      NameSet known;
      std::vector<std::string> inames;
      for (std::size_t i = 0; i < writer.loops.size(); ++i) {
        if (i < still) {
          known.insert(writer.loops[i]->iname);
        } else {
          inames.push_back(writer.loops[i]->iname);
        }
      }
      writer.searches.emplace_back(machine_, set, inames, known);
    }
  }

  [[nodiscard]] Time time_of(const Writer& writer) const {
    Time time;
    for (std::size_t i = 0; i < writer.loops.size(); ++i) {
      time.push_back(writer.places[i]);
      time.push_back(
          machine_.slots[static_cast<std::size_t>(machine_.find_slot(writer.loops[i]->iname))]);
    }
    time.push_back(writer.places.back());
    return time;
  }

  /// The indices of an element where axes do not overlap.
  void set_indices(const Variable& variable, std::int64_t element) {
    std::vector<std::size_t> order(variable.shape.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::sort(order.begin(), order.end(), [&](std::size_t l, std::size_t r) {
      return variable.strides[l] > variable.strides[r];
    });
    std::int64_t rest = element - variable.offset;
    for (const std::size_t axis : order) {
      const std::int64_t stride = std::max<std::int64_t>(variable.strides[axis], 1);
      if (const int slot = machine_.find_slot(slot_name(axis)); slot >= 0) {
        machine_.slots[static_cast<std::size_t>(slot)] = rest / stride;
      }
      rest %= stride;
    }
  }

  /// What the last write before a time left there; an empty time is the end.
  Value value_before(int variable, std::int64_t element, Time end,
                     const Writer* reader) {  // by value: now_ changes
    constexpr int deepest = 1500;             // of calls: the stack ends somewhere
    if (++depth_ > deepest) {
      throw Unsupported("loopy.interpret.too_long",
                        fmt::format("kernel '{}' has results that follow from more than {} others "
                                    "in a row",
                                    program_.kernel().name, deepest));
    }
    const std::vector<std::int64_t> slots = machine_.slots;
    const int lane = machine_.lane;
    const std::string statement = machine_.statement;
    const Time now = now_;
    const Writer* const here = here_;
    Time last;
    const Writer* last_writer = nullptr;
    for (const Writer& writer : writers_.at(variable)) {
      machine_.count_step();
      machine_.slots = slots;
      const std::optional<Time> found = last_write(writer, variable, element, end, reader);
      if (found && (last_writer == nullptr || *found > last)) {
        last = *found;
        last_writer = &writer;
      }
    }
    machine_.lane = lane;
    const Value value = last_writer == nullptr
                            ? machine_.initial_value(
                                  machine_.variables[static_cast<std::size_t>(variable)], element)
                            : written(*last_writer, variable, element, last);
    machine_.slots = slots;
    machine_.lane = lane;
    machine_.statement = statement;
    now_ = now;
    here_ = here;
    --depth_;
    return value;
  }

  std::optional<Time> last_write(const Writer& writer, int variable, std::int64_t element,
                                 const Time& end, const Writer* reader) {
    std::size_t shared = 0;
    while (reader != nullptr && shared < writer.loops.size() && shared < reader->loops.size() &&
           writer.loops[shared] == reader->loops[shared]) {
      ++shared;
    }
    set_indices(machine_.variables[static_cast<std::size_t>(variable)], element);
    const std::vector<std::int64_t> slots = machine_.slots;
    // what runs in the same iteration of more loops is later
    for (std::size_t still = shared + 1; still-- > 0;) {
      machine_.slots = slots;
      std::optional<Time> last;
      writer.searches[still].run(machine_, [&] {
        machine_.count_step();
        const Time time = time_of(writer);
        const std::vector<int>& own =
            machine_.variables[static_cast<std::size_t>(variable)].private_slots;
        const bool is_of_others = std::any_of(own.begin(), own.end(), [&](int slot) {
          const auto at = static_cast<std::size_t>(slot);
          return machine_.slots[at] != slots[at];
        });
        if (!is_of_others && (end.empty() || time < end) && (!last || time > *last)) {
          here_ = &writer;
          now_ = time;
          const Value holds = program_.holds(*writer.step);
          const bool is_on = !holds.is_certain() || holds.integer != 0;
          if (is_on && writer.step->targets[writer.target].second(machine_).may_be(element)) {
            last = time;
          }
        }
        return true;
      });
      if (last) {
        return last;
      }
    }
    return std::nullopt;
  }

  /// What the writer writes at a time.
  Value written(const Writer& writer, int variable, std::int64_t element, const Time& time) {
    const auto key = std::pair(std::pair(writer.step, machine_.lane), time);
    auto known = known_.find(key);
    for (std::size_t i = 0; i < writer.loops.size(); ++i) {
      machine_.slots[static_cast<std::size_t>(machine_.find_slot(writer.loops[i]->iname))] =
          time[2 * i + 1];
    }
    here_ = &writer;
    now_ = time;
    const bool is_there = writer.step->targets[writer.target].second(machine_).is_certain();
    std::vector<Value> values;
    if (!is_there) {
      machine_.statement = writer.step->instruction->id;
      machine_.written_element = element;
      values = writer.step->values(machine_);
      machine_.written_element = -1;
    } else if (known == known_.end()) {
      machine_.statement = writer.step->instruction->id;
      known = known_.emplace(key, writer.step->values(machine_)).first;
    }
    const Variable& target = machine_.variables[static_cast<std::size_t>(variable)];
    const Value value =
        converted((is_there ? known->second : values).at(writer.target), target.kind);
    if (is_open(value)) {
      machine_.note_open(*writer.step->instruction, fmt::format("the value of '{}'", target.name));
    }
    const Value holds = program_.holds(*writer.step);
    return holds.is_certain() && is_there
               ? value
               : either(value, value_before(variable, element, time, &writer));
  }

  Program& program_;
  Machine& machine_;
  const InterpretOptions& options_;
  std::map<int, std::vector<Writer>> writers_;
  std::map<std::pair<std::pair<const Step*, int>, Time>, std::vector<Value>> known_;
  Time now_;                      ///< of the statement that runs
  const Writer* here_ = nullptr;  ///< that statement
  int depth_ = 0;
};

}  // namespace

Interpretation sample_results(Program& program, const InterpretOptions& options) {
  return Sampler(program, options).run();
}

}  // namespace rtcg::loopy::interpretation
