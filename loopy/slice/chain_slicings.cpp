// Chains: kernels with several nests, which are sliced as kernels of their own.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/structural_hash.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/slice/access_groups.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/hinted_source.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "rtcg/loopy/slice/nest_kernel.h"
#include "rtcg/loopy/slice/online_kernel.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/slice/slicing_steps.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::size_t most_nests = 8;
constexpr double most_chains = 100000;
constexpr double most_of_a_launch = 20000;
constexpr std::size_t choices_of_all_nests = 400000;  // that are looked at, about
constexpr double seconds_of_a_point = 1e-8;           // of one thread

bool is_launch_end(const Instruction& instruction) {
  const BarrierInstruction* barrier = get_if<BarrierInstruction>(instruction);
  return barrier != nullptr && barrier->scope == BarrierScope::global;
}

/// Sets of numbers that are merged.
class Unions {
 public:
  explicit Unions(std::size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t each) {
    while (parents_[each] != each) {
      each = parents_[each];
    }
    return each;
  }
  /// The smaller one stays.
  void merge(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parents_;
};

/// Where the groups of reads of a nest are among those of the kernel.
struct GroupNumbers {
  /// Numbers in the kernel, by array and number in the nest.
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> groups{};
  /// Those that no copy serves: another nest changes the array between the reads of the kernel.
  std::set<std::pair<std::string, std::int64_t>> changing{};
};

/// A nest: statements that share loops, or values that do not outlive their launch.
struct Nest {
  std::vector<std::size_t> statements{};  ///< of the kernel
  NameSet inames{};
  std::string name{};  ///< one of them, around the first statement if there is one
  double points = 1;   ///< iterations of the loops of all statements
  Kernel kernel{};     ///< the nest alone
  SourcePtr slicings{};
  std::vector<std::size_t> places{};    ///< of its slicings that are combined
  std::vector<bool> adds_launches{};    ///< of each of these
  std::vector<std::string> left_out{};  ///< as SlicingSource::left_out
  double runs = 1;                      ///< iterations of the loops of the host around it
  /// Iterations of its loops, for the parameters.
  std::map<std::string, std::int64_t, std::less<>> lengths{};
  NameSet reads{};  ///< arrays
  std::optional<OnlineKernel> one_pass{};

  [[nodiscard]] double seconds(std::size_t place) const {
    return runs * slicings->predicted_seconds(place);
  }
  [[nodiscard]] bool writes(const std::string& array) const {
    return std::any_of(
        kernel.instructions.begin(), kernel.instructions.end(),
        [&](const Instruction& each) { return written_variables(each).count(array) != 0; });
  }
  /// Whether blocks share a reduction, whose parts another launch adds up.
  [[nodiscard]] bool shares_reductions(const Slicing& slicing) const {
    return std::any_of(slicing.inames.begin(), slicing.inames.end(), [&](const InameSlicing& each) {
      return each.factors.front().axis.kind == AxisKind::grid &&
             std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                         [&](const Instruction& instruction) {
                           return reduction_inames(instruction).count(each.iname) != 0;
                         });
    });
  }
};

/// Whether a statement writes the array between the reads of a group.
bool changes_between(const Kernel& kernel, const AccessGroup& group) {
  const auto is_user = [&](const Instruction& each) {
    return std::any_of(group.reads.begin(), group.reads.end(),
                       [&](const ArrayAccess& read) { return read.statement == each.id; });
  };
  const auto& all = kernel.instructions;
  const auto first = std::find_if(all.begin(), all.end(), is_user);
  const auto last = std::find_if(all.rbegin(), all.rend(), is_user).base();
  return first < last && std::any_of(first, last - 1, [&](const Instruction& each) {
           return written_variables(each).count(group.reads.front().array) != 0;
         });
}

/// @param nest    statements of `kernel` alone
/// @param kernel  the kernel, or what passes over several reductions make of it
GroupNumbers number_groups(const Kernel& nest, const Kernel& kernel, const NameSet& arrays) {
  GroupNumbers numbers;
  for (const std::string& array : arrays) {
    const std::vector<AccessGroup> own = access_groups(nest, array);
    const std::vector<AccessGroup> all = access_groups(kernel, array);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto found = std::find_if(all.begin(), all.end(), [&](const AccessGroup& each) {
        return each.contains(own[i].reads.front());
      });
      if (found != all.end()) {
        const std::pair group(array, own.size() > 1 ? static_cast<std::int64_t>(i) + 1 : 0);
        numbers.groups[group] = all.size() > 1 ? found - all.begin() + 1 : 0;
        if (changes_between(kernel, *found)) {
          numbers.changing.insert(group);
        }
      }
    }
  }
  return numbers;
}

class ChainReader {
 public:
  explicit ChainReader(const Kernel& kernel)
      : kernel_(infer_types(expand_subst(kernel))), hosts_(host_loops_of(kernel_)) {}

  /// In the order of their first statements; empty if there are too many, or one without loops of
  /// the host around it.
  std::vector<Nest> read() const {
    Unions unions(kernel_.instructions.size());
    std::map<std::string, std::size_t, std::less<>> owners;
    const auto share = [&](std::size_t statement, const NameSet& names) {
      for (const std::string& each : names) {
        unions.merge(statement, owners.emplace(each, statement).first->second);
      }
    };
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      if (!is_launch_end(kernel_.instructions[i])) {
        share(i, inames_of(i));
        share(i, values_of(i));
      }
    }
    std::map<std::size_t, Nest> nests;
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      if (!is_launch_end(kernel_.instructions[i])) {
        Nest& nest = nests[unions.find(i)];
        nest.statements.push_back(i);
        nest.inames.merge(inames_of(i));
      }
    }
    std::vector<Nest> result;
    for (auto& [first, nest] : nests) {
      result.push_back(std::move(nest));
    }
    const std::size_t least_nests = hosts_.empty() ? 2 : 1;
    if (result.size() < least_nests || result.size() > most_nests) {
      return {};
    }
    for (Nest& nest : result) {
      nest.kernel = nest_kernel(kernel_, nest.statements, hosts_);
      const NameSet& around = nest.kernel.instructions.front().within_inames;
      nest.name = !around.empty()       ? *around.begin()
                  : nest.inames.empty() ? ""
                                        : *nest.inames.begin();
      for (const ArrayAccess& each : accesses_of(nest.kernel)) {
        if (!each.is_write) {
          nest.reads.insert(each.array);
        }
      }
      nest.one_pass = find_online_kernel(nest.kernel);
    }
    return result;
  }

  [[nodiscard]] bool has_host_loops() const { return !hosts_.empty(); }

  /// With a value from the middle of each loop of the host.
  [[nodiscard]] IntegerValues with_host_loops(IntegerValues parameters) const {
    for (const std::string& each : hosts_) {
      ConstraintSet set = constraints_of(kernel_, {each});
      for (const auto& [name, value] : parameters) {
        set = set.substitute(name, Affine(value));
      }
      const auto first = set.minimum(Affine(each));
      const auto last = set.maximum(Affine(each));
      if (first && last) {
        parameters[each] = *first + (*last - *first) / 2;
      }
    }
    return parameters;
  }

  /// How often the host runs a nest: values of the loops around it.
  [[nodiscard]] double runs_of(const Nest& nest, const IntegerValues& parameters) const {
    PointCounter counter(kernel_, parameters);
    double runs = 1;
    for (const std::size_t each : nest.statements) {
      NameSet around = kernel_.instructions[each].within_inames;
      std::erase_if(around, [&](const auto& iname) { return hosts_.count(iname) == 0; });
      runs = std::max(runs, around.empty() ? 1 : counter.points(around));
    }
    return runs;
  }

  /// The launch that a statement is in, counted from 0 on.
  [[nodiscard]] std::size_t launch_of(std::size_t statement) const {
    return static_cast<std::size_t>(std::count_if(
        kernel_.instructions.begin(),
        kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(statement), is_launch_end));
  }

 private:
  [[nodiscard]] NameSet inames_of(std::size_t statement) const {
    NameSet inames = used_inames(kernel_.instructions[statement]);
    std::erase_if(inames, [&](const auto& each) { return hosts_.count(each) != 0; });
    return inames;
  }
  /// Temporaries that are not in global memory.
  [[nodiscard]] NameSet values_of(std::size_t statement) const {
    NameSet names = read_variables(kernel_, kernel_.instructions[statement]);
    names.merge(written_variables(kernel_.instructions[statement]));
    std::erase_if(names, [&](const auto& each) {
      const Temporary* temporary = find_temporary(kernel_, each);
      return temporary == nullptr || temporary->address_space == AddressSpace::global ||
             !temporary->initial_values.empty();
    });
    return names;
  }

  const Kernel kernel_;
  const NameSet hosts_;
};

/// Threads along the axes of a block.
using BlockShape = std::array<std::int64_t, 3>;
BlockShape block_shape(const Slicing& slicing) {
  BlockShape shape = {1, 1, 1};
  for (const InameSlicing& each : slicing.inames) {
    for (const SlicingFactor& factor : each.factors) {
      if (factor.axis.kind == AxisKind::block) {
        shape.at(static_cast<std::size_t>(factor.axis.number)) *= factor.length;
      }
    }
  }
  return shape;
}

/// A slicing of each nest, by its place among those that are combined.
struct Chain {
  std::array<std::uint16_t, most_nests> places{};
  std::uint16_t apart = 0;  ///< a bit for each nest that begins a launch of its own
  float seconds = 0;
  std::int64_t shared_bytes = 0;  ///< of a block, of the launch that needs most
};

/// Nests that share launches.
struct LaunchGroup {
  std::vector<std::size_t> nests{};
  std::vector<Chain> chains{};
};

/// The slicing of one nest in the words of the kernel.
Slicing in_kernel(const GroupNumbers& numbers, Slicing slicing) {
  for (FetchPlan& fetch : slicing.fetches) {
    if (!fetch.at.empty()) {
      continue;  // all that its march reads
    }
    const bool is_ahead = !fetch.in_registers && fetch.stages == 0 && slicing.stages > 1;
    fetch.stages = is_ahead ? slicing.stages : fetch.stages;
    fetch.group = numbers.groups.at({fetch.array, fetch.group});
  }
  for (QueuePlan& queue : slicing.queues) {
    queue.along = slicing.marches.front().iname;
  }
  slicing.stages = 1;
  return slicing;
}

bool copies_what_changes(const GroupNumbers& numbers, const Slicing& slicing) {
  return std::any_of(slicing.fetches.begin(), slicing.fetches.end(), [&](const FetchPlan& each) {
    return numbers.changing.count({each.array, each.group}) != 0;
  });
}

/// A bit for each nest whose reductions run in one pass (Slicing::online).
using PassSet = std::uint32_t;
PassSet pass_of(std::size_t nest, const Slicing& slicing) {
  return slicing.online.empty() ? 0 : PassSet{1} << nest;
}

/// The numbers of groups of each nest. One pass over several reductions reads less, which changes
/// the numbers of what other nests read.
using NumbersOfNests = std::map<PassSet, std::vector<GroupNumbers>>;

/// @param passes  nests that have one_pass
std::vector<GroupNumbers> numbers_for(const Kernel& kernel, const std::vector<Nest>& nests,
                                      PassSet passes) {
  Slicing words;
  for (std::size_t i = 0; i < nests.size(); ++i) {
    if ((passes >> i & 1) != 0) {
      words.online.insert(words.online.end(), nests[i].one_pass->inames.begin(),
                          nests[i].one_pass->inames.end());
    }
  }
  const Kernel shown = infer_types(expand_subst(apply(kernel, words)));
  std::vector<GroupNumbers> result;
  for (std::size_t i = 0; i < nests.size(); ++i) {
    const Kernel& nest = (passes >> i & 1) != 0 ? nests[i].one_pass->kernel : nests[i].kernel;
    result.push_back(number_groups(nest, shown, nests[i].reads));
  }
  return result;
}

/// Of all sets of nests that can run in one pass within the kernel.
NumbersOfNests numbers_of(const Kernel& kernel, const std::vector<Nest>& nests) {
  NumbersOfNests result = {{0, numbers_for(kernel, nests, 0)}};
  for (std::size_t i = 0; i < nests.size(); ++i) {
    NumbersOfNests with_nest;
    const auto refusal = why_not([&] {
      for (const auto& [passes, numbers] : result) {
        if (nests[i].one_pass) {
          const PassSet more = passes | PassSet{1} << i;
          with_nest.emplace(more, numbers_for(kernel, nests, more));
        }
      }
    });
    if (!refusal) {
      result.merge(with_nest);
    }
  }
  return result;
}

/// A nest that stays as it is, in one thread.
class PlainSource final : public SlicingSource {
 public:
  explicit PlainSource(double points)
      : seconds_(gpu::launch_seconds + points * seconds_of_a_point) {}

  [[nodiscard]] std::size_t count() const override { return 1; }
  [[nodiscard]] RankedSlicing at(std::size_t /*place*/) const override { return {}; }
  [[nodiscard]] double predicted_seconds(std::size_t /*place*/) const override { return seconds_; }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t /*place*/) const override {
    return {};
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t /*place*/) const override {
    return {};
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    return slicing == Slicing() ? std::optional<std::size_t>(0) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t /*first*/, std::size_t /*second*/,
                                                     std::uint64_t /*mask*/) const override {
    return 0;
  }

 private:
  const double seconds_;
};

class ChainSource final : public SlicingSource {
 public:
  /// @param most_shared_bytes  of a block
  ChainSource(const Kernel& kernel, std::vector<Nest> nests, const ChainReader& reader,
              NumbersOfNests numbers, std::int64_t most_shared_bytes)
      : nests_(std::move(nests)),
        numbers_(std::move(numbers)),
        most_shared_bytes_(most_shared_bytes) {
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      for (const std::string& iname : nests_[i].inames) {
        nest_of_.emplace(iname, i);
      }
    }
    std::vector<LaunchGroup> groups = group_by_launch(reader);
    for (LaunchGroup& group : groups) {
      combine(kernel, group);
    }
    combine_groups(std::move(groups));
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      by_places_.emplace(key_of(chains_[i]), i);
    }
  }

  [[nodiscard]] std::size_t count() const override { return chains_.size(); }
  [[nodiscard]] RankedSlicing at(std::size_t place) const override {
    const Chain& chain = chains_.at(place);
    RankedSlicing result;
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      const RankedSlicing part = nests_[i].slicings->at(place_in(chain, i));
      result.threads = std::max(result.threads, part.threads);
      result.blocks = std::max(result.blocks, part.blocks);
      result.least_seconds += nests_[i].runs * part.least_seconds;
    }
    result.slicing = slicing_of(chain);
    result.words = to_string(result.slicing);
    result.predicted_seconds = chain.seconds;
    result.shared_bytes = chain.shared_bytes;
    return result;
  }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return chains_.at(place).seconds;
  }
  [[nodiscard]] std::vector<std::string> left_out() const override {
    std::vector<std::string> result;
    for (const Nest& each : nests_) {
      for (const std::string& family : each.left_out) {
        result.push_back("of the nest of '" + each.name + "': " + family);
      }
    }
    return result;
  }
  /// Which nests begin launches, then those of each nest.
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    const Chain& chain = chains_.at(place);
    std::vector<std::int64_t> result = {chain.apart};
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      const std::vector<std::int64_t> own = nests_[i].slicings->decisions(place_in(chain, i));
      result.insert(result.end(), own.begin(), own.end());
    }
    return result;
  }
  /// One nest is sliced by a neighbour of its slicing, or launches are others.
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override {
    const Chain& chain = chains_.at(place);
    std::vector<std::size_t> result;
    const auto add = [&](const Chain& other) {
      const auto found = by_places_.find(key_of(other));
      if (found != by_places_.end() && found->second != place) {
        result.push_back(found->second);
      }
    };
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      std::set<std::size_t> near;
      for (const std::size_t each : nests_[i].slicings->neighbours(place_in(chain, i))) {
        near.insert(each);
      }
      Chain other = chain;
      for (std::size_t k = 0; k < nests_[i].places.size(); ++k) {
        if (near.count(nests_[i].places[k]) != 0) {
          other.places.at(i) = static_cast<std::uint16_t>(k);
          add(other);
        }
      }
    }
    for (const std::uint16_t apart : aparts_) {
      Chain other = chain;
      other.apart = apart;
      add(other);
    }
    std::sort(result.begin(), result.end());
    return result;
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    Chain chain;
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      const auto part = part_of(slicing, i);
      const auto place = part ? nests_[i].slicings->find(*part) : std::nullopt;
      const std::vector<std::size_t>& known = nests_[i].places;
      const auto found = place ? std::find(known.begin(), known.end(), *place) : known.end();
      if (found == known.end()) {
        return std::nullopt;
      }
      chain.places.at(i) = static_cast<std::uint16_t>(found - known.begin());
    }
    for (const std::uint16_t apart : aparts_) {
      chain.apart = apart;
      const auto found = by_places_.find(key_of(chain));
      if (found != by_places_.end() && slicing_of(chain) == slicing) {
        return found->second;
      }
    }
    return std::nullopt;
  }
  /// Takes each nest, and the launches, from one of both.
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override {
    Chain chain = chains_.at(first);
    const Chain& other = chains_.at(second);
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      chain.places.at(i) = (mask >> i & 1) != 0 ? other.places.at(i) : chain.places.at(i);
    }
    chain.apart = (mask >> nests_.size() & 1) != 0 ? other.apart : chain.apart;
    const auto found = by_places_.find(key_of(chain));
    return found != by_places_.end() ? std::optional(found->second) : std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t place_in(const Chain& chain, std::size_t nest) const {
    return nests_[nest].places[chain.places.at(nest)];
  }

  static std::uint64_t key_of(const Chain& chain) {
    StructuralHash hash;
    for (const std::uint16_t each : chain.places) {
      hash.add(each);
    }
    hash.add(chain.apart);
    return hash.value();
  }

  [[nodiscard]] Slicing slicing_of(const Chain& chain) const {
    std::vector<std::size_t> all(nests_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return slicing_of(chain, all);
  }
  [[nodiscard]] Slicing slicing_of(const Chain& chain,
                                   const std::vector<std::size_t>& nests) const {
    std::vector<Slicing> parts;
    PassSet passes = 0;
    for (const std::size_t i : nests) {
      parts.push_back(nests_[i].slicings->at(place_in(chain, i)).slicing);
      passes |= pass_of(i, parts.back());
    }
    const std::vector<GroupNumbers>& numbers = numbers_.at(passes);
    Slicing all;
    for (std::size_t k = 0; k < nests.size(); ++k) {
      Slicing part = in_kernel(numbers[nests[k]], std::move(parts[k]));
      name_loops_of_rows(nests[k], part);
      const auto append = [](auto& to, auto& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(all.inames, part.inames);
      append(all.fetches, part.fetches);
      append(all.keeps, part.keeps);
      append(all.buffers, part.buffers);
      append(all.privates, part.privates);
      append(all.global_values, part.global_values);
      append(all.marches, part.marches);
      append(all.queues, part.queues);
      append(all.atomic_reductions, part.atomic_reductions);
      append(all.last_block_reductions, part.last_block_reductions);
      append(all.look_back, part.look_back);
      append(all.exchanges, part.exchanges);
      append(all.online, part.online);
    }
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      if ((chain.apart >> i & 1) != 0) {
        all.launches.push_back(nests_[i].name);
      }
    }
    return all;
  }

  /// What a slicing of the kernel says of one nest, in the nest's words.
  [[nodiscard]] std::optional<Slicing> part_of(const Slicing& slicing, std::size_t nest) const {
    Slicing part;
    const auto is_of = [&](const std::string& iname, std::size_t one) {
      const auto found = nest_of_.find(iname);
      return found != nest_of_.end() && found->second == one;
    };
    const auto is_own = [&](const std::string& iname) { return is_of(iname, nest); };
    PassSet passes = 0;
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      const bool is_one_pass =
          std::any_of(slicing.online.begin(), slicing.online.end(),
                      [&](const auto& each) { return is_of(each.front(), i); });
      passes |= is_one_pass ? PassSet{1} << i : 0;
    }
    if (numbers_.count(passes) == 0) {
      return std::nullopt;
    }
    for (const InameSlicing& each : slicing.inames) {
      if (is_own(each.iname)) {
        part.inames.push_back(each);
      }
    }
    for (const std::string& each : slicing.atomic_reductions) {
      if (is_own(each)) {
        part.atomic_reductions.push_back(each);
      }
    }
    for (const MarchPlan& each : slicing.marches) {
      if (is_own(each.iname)) {
        part.marches.push_back(each);
      }
    }
    for (QueuePlan queue : slicing.queues) {
      if (is_own(queue.along)) {
        queue.along.clear();
        part.queues.push_back(std::move(queue));
      }
    }
    for (const std::vector<std::string>& each : slicing.online) {
      if (is_own(each.front())) {
        part.online.push_back(each);
      }
    }
    for (const std::string& each : slicing.look_back) {
      if (is_own(each)) {
        part.look_back.push_back(each);
      }
    }
    for (const std::string& each : slicing.exchanges) {
      if (is_own(each)) {
        part.exchanges.push_back(each);
      }
    }
    for (const std::string& each : slicing.last_block_reductions) {
      if (is_own(each)) {
        part.last_block_reductions.push_back(each);
      }
    }
    for (FetchPlan fetch : slicing.fetches) {
      if (!fetch.at.empty()) {
        if (is_own(fetch.at)) {
          part.fetches.push_back(fetch);
        }
        continue;
      }
      for (const auto& [own, number] : numbers_.at(passes)[nest].groups) {
        if (own.first == fetch.array && number == fetch.group) {
          fetch.group = own.second;
          part.stages = std::max(part.stages, fetch.stages);
          fetch.stages = 0;
          part.fetches.push_back(fetch);
          break;
        }
      }
    }
    for (const std::string& each : slicing.global_values) {
      if (nests_[nest].writes(each)) {
        part.global_values.push_back(each);
      }
    }
    for (const PrivatePlan& each : slicing.privates) {
      if (nests_[nest].writes(each.array)) {
        part.privates.push_back(each);
      }
    }
    for (const BufferPlan& each : slicing.buffers) {
      if (nests_[nest].writes(each.array)) {
        part.buffers.push_back(each);
      }
    }
    for (KeepPlan keep : slicing.keeps) {
      if (keep.over.empty() ? nests_[nest].reads.count(keep.array) != 0
                            : is_own(keep.over.front())) {
        keep.over.clear();
        part.keeps.push_back(std::move(keep));
      }
    }
    return part;
  }

  /// Of a nest whose rows are of arrays that others read, too.
  void name_loops_of_rows(std::size_t nest, Slicing& part) const {
    for (KeepPlan& keep : part.keeps) {
      const auto readers = std::count_if(nests_.begin(), nests_.end(), [&](const Nest& each) {
        return each.reads.count(keep.array) != 0;
      });
      if (readers > 1) {
        keep.over = loops_along(nests_[nest].kernel, part, keep.array);
      }
    }
  }
  static std::vector<std::string> loops_along(const Kernel& nest, const Slicing& slicing,
                                              const std::string& array) {
    NameSet mentioned;
    for (const ArrayAccess& access : accesses_of(nest)) {
      for (const Expr& index : access.indices) {
        mentioned.merge(access.array == array ? free_names(index) : NameSet());
      }
    }
    std::vector<std::string> loops;
    for (const InameSlicing& each : slicing.inames) {
      if (mentioned.count(each.iname) != 0 && is_along_row(each)) {
        loops.push_back(each.iname);
      }
    }
    return loops;
  }

  std::vector<LaunchGroup> group_by_launch(const ChainReader& reader) const {
    Unions unions(nests_.size());
    std::map<std::size_t, std::size_t> nest_of_launch;
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      for (const std::size_t statement : nests_[i].statements) {
        unions.merge(i, nest_of_launch.emplace(reader.launch_of(statement), i).first->second);
      }
    }
    std::map<std::size_t, LaunchGroup> groups;
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      groups[unions.find(i)].nests.push_back(i);
    }
    std::vector<LaunchGroup> result;
    for (auto& [first, group] : groups) {
      result.push_back(std::move(group));
    }
    return result;
  }

  /// The ways to slice nests of one launch: with equally many threads, or in launches of their own.
  /// Nests that cannot be sliced within the kernel stay as they are.
  void combine(const Kernel& kernel, LaunchGroup& group) {
    std::uint16_t apart = 0;
    for (std::size_t i = 1; i < group.nests.size(); ++i) {
      apart |= static_cast<std::uint16_t>(1U << group.nests[i]);
    }
    const bool have_names =
        std::none_of(group.nests.begin(), group.nests.end(),
                     [&](std::size_t nest) { return nests_[nest].name.empty(); });
    const bool can_be_apart = apart != 0 && have_names && are_in_order(group);
    for (const std::size_t nest : group.nests) {
      if (!is_possible(kernel, {{nest}}, 0) &&
          !(can_be_apart && is_possible(kernel, {{nest}}, apart))) {
        leave_plain(nest);
      }
    }
    if (group.nests.size() == 1 || is_possible(kernel, group, 0)) {
      add_combinations(group, 0, most_of_nest(group));
    }
    if (can_be_apart && is_possible(kernel, group, apart)) {
      add_combinations(group, apart, most_of_nest(group));
    }
    const auto sort_and_try = [&] {
      std::stable_sort(group.chains.begin(), group.chains.end(),
                       [](const Chain& a, const Chain& b) { return a.seconds < b.seconds; });
      drop_impossible(kernel, group);
    };
    sort_and_try();
    if (group.chains.empty()) {
      leave_all_but_longest(group);
      add_combinations(group, 0, SIZE_MAX);
      sort_and_try();
    }
  }

  /// What decides whether a nest can be in one launch with nests that share an array with it, or be
  /// sliced apart.
  struct Kind {
    /// The loops on the grid: the number of the loop, that of the axis, whether other loops are
    /// around the blocks, iterations of a block, and whether there are several blocks.
    std::vector<std::array<std::int64_t, 5>> blocks{};
    /// Of all loops if shared arrays are copied to tiles, whose points depend on how these are cut.
    std::uint64_t tiles = 0;
    std::uint64_t others = 0;  ///< of all else
  };

  /// @param shared  arrays that a nest writes and another one touches
  [[nodiscard]] std::vector<Kind> kinds_of(const Nest& nest, const NameSet& shared) const {
    std::vector<Kind> result;
    for (const std::size_t place : nest.places) {
      result.push_back(kind_of(nest, nest.slicings->at(place).slicing, shared));
    }
    return result;
  }

  [[nodiscard]] static Kind kind_of(const Nest& nest, const Slicing& slicing,
                                    const NameSet& shared) {
    Kind kind;
    for (std::size_t i = 0; i < slicing.inames.size(); ++i) {
      const std::vector<SlicingFactor>& factors = slicing.inames[i].factors;
      for (std::size_t f = 0; f < factors.size(); ++f) {
        if (factors[f].axis.kind == AxisKind::grid) {
          std::int64_t tile = 1;
          for (std::size_t inner = f + 1; inner < factors.size(); ++inner) {
            tile *= factors[inner].length;
          }
          const auto length = nest.lengths.find(slicing.inames[i].iname);
          const bool are_several = length == nest.lengths.end() || length->second > tile;
          kind.blocks.push_back({static_cast<std::int64_t>(i), factors[f].axis.number,
                                 static_cast<std::int64_t>(f), tile, are_several ? 1 : 0});
        }
      }
    }
    StructuralHash others;
    StructuralHash tiles;
    bool copies_shared = false;
    for (const FetchPlan& each : slicing.fetches) {
      if (shared.count(each.array) != 0) {
        copies_shared = true;
        others.add(each.array);
        others.add(each.group);
        others.add(each.in_registers);
        others.add(each.at);
        others.add(each.swept.size());
      }
    }
    for (const InameSlicing& each : slicing.inames) {
      tiles.add(each.factors.size());
      for (const SlicingFactor& factor : each.factors) {
        tiles.add(factor.length);
        tiles.add(static_cast<int>(factor.axis.kind));
      }
    }
    kind.tiles = copies_shared ? tiles.value() : 0;
    for (const KeepPlan& each : slicing.keeps) {
      others.add(shared.count(each.array) != 0);
    }
    for (const std::size_t count :
         {slicing.privates.size(), slicing.buffers.size(), slicing.marches.size(),
          slicing.queues.size(), slicing.look_back.size(), slicing.exchanges.size(),
          slicing.online.size(), slicing.global_values.size(), slicing.atomic_reductions.size(),
          slicing.last_block_reductions.size()}) {
      others.add(count);
    }
    kind.others = others.value();
    return kind;
  }

  /// Equal for chains that are refused alike: in one launch it matters which loops have equally
  /// large blocks, and how large these are where they differ or where shared arrays are copied.
  [[nodiscard]] static std::uint64_t kind_of(
      const Chain& chain, const std::map<std::size_t, std::vector<Kind>>& kinds) {
    StructuralHash hash;
    hash.add(chain.apart);
    std::vector<std::int64_t> tiles;
    for (const auto& [nest, own] : kinds) {
      const Kind& kind = own.at(chain.places.at(nest));
      hash.add(kind.others);
      hash.add(kind.blocks.size());
      hash.add(chain.apart == 0 ? kind.tiles : 0);
      for (const auto& [iname, axis, around, tile, are_several] : kind.blocks) {
        if (chain.apart == 0) {
          const auto known = std::find(tiles.begin(), tiles.end(), tile);
          hash.add(iname);
          hash.add(axis);
          hash.add(around);
          hash.add(are_several);
          hash.add(known - tiles.begin());
          if (known == tiles.end()) {
            tiles.push_back(tile);
          }
        }
      }
    }
    if (tiles.size() > 1) {  // which elements other blocks have depends on the lengths, too
      for (const std::int64_t each : tiles) {
        hash.add(each);
      }
    }
    return hash.value();
  }

  /// Arrays that a nest writes and another one touches.
  [[nodiscard]] NameSet shared_arrays(const LaunchGroup& group) const {
    NameSet shared;
    for (const std::size_t user : group.nests) {
      for (const ArrayAccess& access : accesses_of(nests_[user].kernel)) {
        if (std::any_of(group.nests.begin(), group.nests.end(), [&](std::size_t writer) {
              return writer != user && nests_[writer].writes(access.array);
            })) {
          shared.insert(access.array);
        }
      }
    }
    return shared;
  }

  /// Asks the transformations and the generator about the first of each kind; drops the kinds that
  /// are not asked about, those of the slowest.
  void drop_impossible(const Kernel& kernel, LaunchGroup& group) const {
    constexpr std::size_t most_tried = 64;  // of all nests in one launch, or apart; some ms each
    const NameSet shared = shared_arrays(group);
    if (group.nests.size() < 2 || shared.empty()) {
      return;
    }
    std::map<std::size_t, std::vector<Kind>> kinds;
    for (const std::size_t nest : group.nests) {
      kinds.emplace(nest, kinds_of(nests_[nest], shared));
    }
    std::map<std::uint64_t, bool> known;
    std::map<std::uint16_t, std::size_t> tried;  // by what is apart
    std::erase_if(group.chains, [&](const Chain& chain) {
      const std::uint64_t kind = kind_of(chain, kinds);
      const auto found = known.find(kind);
      if (found != known.end()) {
        return found->second;
      }
      if (tried[chain.apart]++ >= most_tried) {
        return true;
      }
      const std::string code = code_of_refusal(kernel, slicing_of(chain, group.nests));
      const bool is_refused = code.starts_with("loopy.insert_barriers.") ||
                              code.starts_with("loopy.privatize_updates.");
      if (code.empty() || is_refused) {
        known.emplace(kind, is_refused);
      }
      return !code.empty();  // other reasons are those of this one alone
    });
  }

  void leave_plain(std::size_t nest) {
    nests_[nest].slicings = std::make_shared<PlainSource>(nests_[nest].points);
    nests_[nest].places = {0};
    nests_[nest].adds_launches = {false};
  }
  void leave_all_but_longest(const LaunchGroup& group) {
    const auto seconds = [&](std::size_t nest) {
      return nests_[nest].seconds(nests_[nest].places.front());
    };
    const std::size_t longest =
        *std::max_element(group.nests.begin(), group.nests.end(),
                          [&](std::size_t a, std::size_t b) { return seconds(a) < seconds(b); });
    for (const std::size_t nest : group.nests) {
      if (nest != longest) {
        leave_plain(nest);
      }
    }
  }

  /// How many slicings of a nest are combined with those of others of its launch.
  [[nodiscard]] static std::size_t most_of_nest(const LaunchGroup& group) {
    return group.nests.size() == 1
               ? SIZE_MAX
               : static_cast<std::size_t>(
                     std::pow(most_of_a_launch, 1.0 / static_cast<double>(group.nests.size())));
  }

  /// Whether the statements of each nest follow each other.
  [[nodiscard]] bool are_in_order(const LaunchGroup& group) const {
    for (std::size_t i = 1; i < group.nests.size(); ++i) {
      if (nests_[group.nests[i - 1]].statements.back() >
          nests_[group.nests[i]].statements.front()) {
        return false;
      }
    }
    return true;
  }

  /// Asks the transformations and the generator about the nests' first slicings of one shape.
  [[nodiscard]] bool is_possible(const Kernel& kernel, const LaunchGroup& group,
                                 std::uint16_t apart) const {
    LaunchGroup tried = group;
    add_combinations(tried, apart, std::min<std::size_t>(40, most_of_nest(group)));
    if (tried.chains.empty()) {
      return false;
    }
    const auto best =
        std::min_element(tried.chains.begin(), tried.chains.end(),
                         [](const Chain& a, const Chain& b) { return a.seconds < b.seconds; });
    return !why_not_sliced(kernel, slicing_of(*best, group.nests));
  }

  void add_combinations(LaunchGroup& group, std::uint16_t apart, std::size_t most) const {
    constexpr BlockShape any_shape = {0, 0, 0};
    std::map<BlockShape, std::vector<Chain>> chains = {{any_shape, {Chain{{}, apart}}}};
    for (std::size_t n = 0; n < group.nests.size(); ++n) {
      const Nest& nest = nests_[group.nests[n]];
      std::map<BlockShape, std::vector<Chain>> longer;
      const std::size_t most_adding = apart == 0 && group.nests.size() > 1 ? 0 : most / 2;
      std::size_t taken = 0;
      std::size_t adding = 0;
      for (std::size_t k = 0; k < nest.places.size() && taken < most; ++k) {
        if (nest.adds_launches[k] && adding++ >= most_adding) {
          continue;
        }
        ++taken;
        const RankedSlicing ranked = nest.slicings->at(nest.places[k]);
        const Slicing& own = ranked.slicing;
        const BlockShape shape = apart != 0 || own == Slicing() ? any_shape : block_shape(own);
        for (const auto& [known, shorter] : chains) {
          if (known != any_shape && shape != any_shape && known != shape) {
            continue;
          }
          for (Chain chain : shorter) {
            // a block of one launch has the arrays of all its nests
            chain.shared_bytes = apart == 0 ? chain.shared_bytes + ranked.shared_bytes
                                            : std::max(chain.shared_bytes, ranked.shared_bytes);
            if (chain.shared_bytes > most_shared_bytes_) {
              continue;
            }
            chain.places.at(group.nests[n]) = static_cast<std::uint16_t>(k);
            const double saved = n != 0 && apart == 0 ? nest.runs * gpu::launch_seconds : 0;
            chain.seconds += static_cast<float>(nest.seconds(nest.places[k]) - saved);
            longer[shape == any_shape ? known : shape].push_back(chain);
          }
        }
      }
      chains = std::move(longer);
    }
    for (auto& [shape, all] : chains) {
      group.chains.insert(group.chains.end(), all.begin(), all.end());
    }
  }

  void combine_groups(std::vector<LaunchGroup> groups) {
    const std::size_t most =
        static_cast<std::size_t>(std::pow(most_chains, 1.0 / static_cast<double>(groups.size())));
    chains_ = {Chain{}};
    for (const LaunchGroup& group : groups) {
      std::vector<Chain> longer;
      for (const Chain& before : chains_) {
        for (std::size_t k = 0; k < std::min(most, group.chains.size()); ++k) {
          Chain chain = before;
          chain.shared_bytes = std::max(chain.shared_bytes, group.chains[k].shared_bytes);
          for (const std::size_t nest : group.nests) {
            chain.places.at(nest) = group.chains[k].places.at(nest);
          }
          chain.apart |= group.chains[k].apart;
          chain.seconds += group.chains[k].seconds;
          longer.push_back(chain);
        }
      }
      chains_ = std::move(longer);
    }
    std::stable_sort(chains_.begin(), chains_.end(),
                     [](const Chain& a, const Chain& b) { return a.seconds < b.seconds; });
    std::set<std::uint16_t> aparts;
    for (const Chain& each : chains_) {
      aparts.insert(each.apart);
    }
    aparts_.assign(aparts.begin(), aparts.end());
  }

  std::vector<Nest> nests_;
  NumbersOfNests numbers_;
  std::int64_t most_shared_bytes_;
  std::map<std::string, std::size_t, std::less<>> nest_of_{};
  std::vector<Chain> chains_{};
  std::vector<std::uint16_t> aparts_{};
  std::unordered_map<std::uint64_t, std::size_t> by_places_{};
};

/// Those of the nest by the hints that it knows; of others left_out has the reason.
SourcePtr slicings_by_known_hints(Nest& nest, SlicingConstraints& constraints,
                                  const RankingBounds& bounds) {
  while (true) {
    try {
      return nest_slicings(nest.kernel, constraints, bounds);
    } catch (const InvalidInput& error) {
      if (error.code() != "loopy.slicings.unknown_hint") {
        throw;
      }
      const bool has_arrays = !constraints.arrays.empty();
      nest.left_out.push_back(std::string("hints for ") + (has_arrays ? "arrays" : "inames") +
                              " (" + error.message() + ")");
      has_arrays ? constraints.arrays.clear() : constraints.inames.clear();
    }
  }
}

/// @throws InvalidInput  loopy.slicings.unknown_hint: for a loop of the host, or for an array that
/// no nest reads
void check_hints_of(const std::vector<Nest>& nests, const SlicingConstraints& constraints) {
  NameSet inames;
  NameSet arrays;
  for (const Nest& nest : nests) {
    inames.insert(nest.inames.begin(), nest.inames.end());
    arrays.insert(nest.reads.begin(), nest.reads.end());
  }
  for (const auto& [name, hint] : constraints.inames) {
    refuse_unknown_hint("iname", name, {inames.begin(), inames.end()});
  }
  for (const auto& [name, use] : constraints.arrays) {
    refuse_unknown_hint("array", name, {arrays.begin(), arrays.end()});
  }
}

/// Those of the nest, with fewer threads where it is too small for those that are asked for; as it
/// is where there is nothing to slice.
SourcePtr slicings_of(Nest& nest, SlicingConstraints constraints, const RankingBounds& bounds) {
  const auto is_other = [&](const auto& each) { return nest.inames.count(each.first) == 0; };
  std::erase_if(constraints.inames, is_other);
  std::erase_if(constraints.arrays,
                [&](const auto& use) { return nest.reads.count(use.first) == 0; });
  try {
    SourcePtr source = slicings_by_known_hints(nest, constraints, bounds);
    if (source->count() == 0) {
      constraints.min_threads = 1;
      source = nest_slicings(nest.kernel, constraints, bounds);
    }
    for (std::string& each : source->left_out()) {
      nest.left_out.push_back(std::move(each));
    }
    if (source->count() != 0) {
      return source;
    }
  } catch (const InvalidInput& error) {
    if (error.code() != "loopy.slicings.nothing_to_slice") {
      throw;
    }
  }
  return std::make_shared<PlainSource>(nest.points);
}

/// Iterations of the loops of all statements, those of reductions among them.
double points_of(const Kernel& kernel, const IntegerValues& parameters) {
  PointCounter counter(kernel, parameters);
  double points = 0;
  for (const Instruction& each : kernel.instructions) {
    points += counter.points(used_inames(each));
  }
  return points;
}

/// Iterations of each loop whose ends are known.
std::map<std::string, std::int64_t, std::less<>> lengths_of(const Kernel& kernel,
                                                            const IntegerValues& parameters) {
  std::map<std::string, std::int64_t, std::less<>> lengths;
  for (const std::string& each : all_inames(kernel)) {
    ConstraintSet set = constraints_of(kernel, {each});
    for (const auto& [name, value] : parameters) {
      set = set.substitute(name, Affine(value));
    }
    const auto [first, last] = range_of(set, Affine(each));
    if (first && last) {
      lengths[each] = *last - *first + 1;
    }
  }
  return lengths;
}

/// Whether blocks can share the reductions of a nest within the kernel, asked once for each way.
bool can_share(const Kernel& kernel, const GroupNumbers& numbers, const Slicing& slicing,
               std::map<std::pair<bool, bool>, bool>& known) {
  const std::pair way(slicing.atomic_reductions.empty(), slicing.last_block_reductions.empty());
  const auto found = known.find(way);
  return found != known.end()
             ? found->second
             : known.emplace(way, !why_not_sliced(kernel, in_kernel(numbers, slicing)))
                   .first->second;
}

}  // namespace

SourcePtr chain_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  const ChainReader reader(kernel);
  std::vector<Nest> nests = reader.read();
  if (nests.empty()) {
    return nullptr;
  }
  check_hints_of(nests, constraints);
  bool has_any = false;
  SlicingConstraints with_hosts = constraints;
  with_hosts.free_layouts.clear();  // nests that share an array would lay it out in different ways
  with_hosts.parameters = reader.with_host_loops(constraints.parameters);
  const std::size_t most =
      nests.size() == 2 ? 2000 : static_cast<std::size_t>(most_of_a_launch / 20);
  // more than are combined, since some cannot be
  const RankingBounds bounds{.most_slicings = 20 * most,
                             .most_choices = choices_of_all_nests / nests.size()};
  NumbersOfNests numbers = numbers_of(kernel, nests);
  for (std::size_t n = 0; n < nests.size(); ++n) {
    Nest& nest = nests[n];
    nest.points = points_of(nest.kernel, with_hosts.parameters);
    nest.lengths = lengths_of(nest.kernel, with_hosts.parameters);
    nest.slicings = slicings_of(nest, with_hosts, bounds);
    nest.runs = reader.runs_of(nest, constraints.parameters);
    std::size_t adding = 0;
    std::map<std::pair<bool, bool>, bool> possible;
    for (std::size_t i = 0; i < nest.slicings->count() && nest.places.size() < most; ++i) {
      const Slicing slicing = nest.slicings->at(i).slicing;
      const auto known = numbers.find(pass_of(n, slicing));
      if (known == numbers.end() || copies_what_changes(known->second[n], slicing)) {
        continue;
      }
      const bool adds_launch = nest.shares_reductions(slicing);
      // nests that share a launch add none
      if (adds_launch &&
          (adding == most / 2 || !can_share(kernel, known->second[n], slicing, possible))) {
        continue;
      }
      // blocks of other nests come in another order, and tiles that are filled ahead do not outlive
      // an iteration of the host
      if (slicing.swizzle_rows == 0 && (slicing.stages == 1 || !reader.has_host_loops())) {
        nest.places.push_back(i);
        adding += adds_launch ? 1 : 0;
        nest.adds_launches.push_back(adds_launch);
        has_any = has_any || !(slicing == Slicing());
      }
    }
  }
  if (!has_any) {
    return nullptr;
  }
  auto source = std::make_shared<ChainSource>(
      kernel, std::move(nests), reader, std::move(numbers),
      std::min(constraints.max_shared_bytes, constraints.machine.shared_bytes));
  return source->count() != 0 ? source : nullptr;
}

}  // namespace rtcg::loopy::detail
