#include "rtcg/loopy/transform/assign_auto_axes.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/global_array.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/overfetch.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/choose_address_spaces.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/join_inames.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy {
namespace {

/// How far apart in memory neighbours along `iname` are in what the statement reads from global
/// memory; smallest first.
std::int64_t stride_of(const Kernel& kernel, const Instruction& instruction,
                       const std::string& iname) {
  constexpr std::int64_t unknown = INT64_MAX / 2;
  std::int64_t best = unknown;
  for (const ArrayAccess& access : accesses_of(kernel, instruction)) {
    const std::optional<Argument> array = find_global_array(kernel, access.array);
    if (!array || access.is_linear) {
      continue;
    }
    const bool is_divided = std::any_of(access.indices.begin(), access.indices.end(),
                                        [](const Expr& index) { return !to_affine(index); });
    if (const auto overfetch =
            is_divided ? overfetch_along(kernel, access, iname) : std::optional<double>()) {
      best = std::min(best, static_cast<std::int64_t>(*overfetch * 16));
      continue;
    }
    const std::vector<Expr> strides =
        array->strides_elements.empty() ? c_order_strides(array->shape) : array->strides_elements;
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      const auto index = to_affine(access.indices[axis]);
      const std::int64_t coefficient = index ? index->coefficient(iname) : 0;
      if (coefficient == 0) {
        continue;
      }
      // a symbolic stride counts as a long one, shorter for inner axes
      const std::int64_t stride =
          as_integer(strides[axis])
              .value_or((std::int64_t{1} << 20) << (access.indices.size() - axis));
      best = std::min(best, std::abs(coefficient) * stride);
    }
  }
  return best;
}

std::optional<std::int64_t> range_length(const Kernel& kernel, const std::string& iname) {
  const auto [smallest, largest] = range_of(constraints_of(kernel, {iname}), Affine(iname));
  return largest && smallest ? std::optional(*largest - *smallest + 1) : std::nullopt;
}

/// Lengths of the axes of the block that inames are tagged with.
using BlockLengths = std::array<std::int64_t, 3>;

/// Those of the launch that each statement is in.
std::vector<BlockLengths> block_lengths(const Kernel& kernel) {
  std::vector<BlockLengths> lengths;
  for (std::size_t begin = 0; begin < kernel.instructions.size();) {
    NameSet inames;
    std::size_t end = begin;
    for (bool is_end = false; !is_end && end < kernel.instructions.size(); ++end) {
      const BarrierInstruction* barrier = get_if<BarrierInstruction>(kernel.instructions[end]);
      inames.merge(used_inames(kernel.instructions[end]));
      is_end = barrier != nullptr && barrier->scope == BarrierScope::global;
    }
    BlockLengths own = {0, 0, 0};
    for (const auto& [iname, tag] : kernel.iname_tags) {
      if (tag.kind == AxisKind::block && is_iname(kernel, iname) && inames.count(iname) != 0) {
        auto& length = own[static_cast<std::size_t>(tag.number)];
        length = std::max(length, range_length(kernel, iname).value_or(0));
      }
    }
    lengths.insert(lengths.end(), end - begin, own);
    begin = end;
  }
  return lengths;
}

/// With the inames as one, or nothing where that is refused.
std::optional<Kernel> joined_if_legal(const Kernel& kernel, const std::vector<std::string>& inames,
                                      const JoinOptions& options) {
  std::optional<Kernel> joined;
  const auto join = [&]() -> const Kernel& {
    return joined.emplace(join_inames(kernel, inames, options));
  };
  return why_not(join) ? std::nullopt : std::move(joined);
}

/// Rows shorter than half of l.0 leave most threads without work: several of them then share
/// the axis. Takes the iname of the row, the first of `open`, whose name is empty from then on,
/// and leaves what is left of the rows.
Kernel side_by_side(Kernel kernel, const BlockLengths& lengths,
                    std::vector<std::pair<std::int64_t, std::string>>& open) {
  const std::string row = open[0].second;
  const std::string rows = open[1].second;
  const auto row_length = range_length(kernel, row);
  const auto row_count = range_length(kernel, rows);
  if (!row_length || !row_count || *row_length < 1) {
    return kernel;
  }
  std::int64_t together = std::min(lengths[0] / *row_length, *row_count);
  while (together > 1 && *row_count % together != 0) {
    --together;
  }
  const std::int64_t down = std::max<std::int64_t>(1, lengths[1]);
  const auto rounds = [&](std::int64_t count) { return ceil_divide(count, down); };
  if (together < 2 || rounds(*row_count / together) == rounds(*row_count)) {
    return kernel;
  }
  NameGenerator names = make_name_generator(kernel);
  const std::string outer = names.make(rows + "_outer");
  const std::string inner = names.make(rows + "_inner");
  Kernel joined = kernel;
  joined.iname_tags.erase(row);
  joined.iname_tags.erase(rows);
  joined =
      split_iname(std::move(joined), rows, together, {.outer_name = outer, .inner_name = inner});
  const JoinOptions options{.name = names.make(row + "_thread"), .tag = "l.0"};
  std::optional<Kernel> result = joined_if_legal(joined, {inner, row}, options);
  if (!result) {
    return kernel;
  }
  open[0].second.clear();
  open[1].second = outer;
  return *std::move(result);
}

/// Inames that are to be spread, by their strides in memory, and the axes that are free for them.
struct Spread {
  std::vector<std::pair<std::int64_t, std::string>> open{};
  std::array<bool, 3> is_taken{};
};

Spread find_spread(const Kernel& kernel, const Instruction& instruction,
                   const BlockLengths& lengths) {
  Spread spread;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    spread.is_taken[i] = lengths[i] == 0;
  }
  for (const std::string& iname : instruction.within_inames) {
    const InameTag tag = tag_of(kernel, iname);
    if (tag.kind == AxisKind::block_auto) {
      spread.open.emplace_back(stride_of(kernel, instruction, iname), iname);
    } else if (tag.kind == AxisKind::block) {
      spread.is_taken[static_cast<std::size_t>(tag.number)] = true;
    }
  }
  std::sort(spread.open.begin(), spread.open.end());
  return spread;
}

/// Short rows on one axis, where that helps.
Kernel with_short_rows(Kernel kernel, const std::string& id, const BlockLengths& lengths,
                       Spread& spread) {
  if (!spread.is_taken[0] && spread.open.size() > 1 &&
      is<Assignment>(*find_instruction(kernel, id))) {
    kernel = side_by_side(std::move(kernel), lengths, spread.open);
    spread.is_taken[0] = spread.open.front().second.empty();
  }
  return kernel;
}

/// How often each thread runs the statement where each iname is on an axis of its own, as far as
/// lengths are known.
std::int64_t rounds_by_axis(const Kernel& kernel, const BlockLengths& lengths, Spread spread) {
  std::int64_t rounds = 1;
  for (const auto& [stride, iname] : spread.open) {
    if (iname.empty()) {
      continue;
    }
    const auto axis = std::find(spread.is_taken.begin(), spread.is_taken.end(), false);
    const auto own = range_length(kernel, iname);
    if (axis == spread.is_taken.end()) {
      rounds *= own.value_or(1);
      continue;
    }
    const auto number = static_cast<std::size_t>(axis - spread.is_taken.begin());
    *axis = true;
    rounds *= own && *own > lengths[number] ? ceil_divide(*own, lengths[number]) : 1;
  }
  return rounds;
}

/// Each iname on an axis of its own.
Kernel axis_by_axis(Kernel kernel, const BlockLengths& lengths, Spread spread) {
  for (const auto& [stride, iname] : spread.open) {
    if (iname.empty()) {
      continue;
    }
    const auto axis = std::find(spread.is_taken.begin(), spread.is_taken.end(), false);
    const auto own = range_length(kernel, iname);
    kernel.iname_tags.erase(iname);
    if (axis == spread.is_taken.end()) {
      continue;  // a loop
    }
    *axis = true;
    const int number = static_cast<int>(axis - spread.is_taken.begin());
    const std::int64_t length = lengths[static_cast<std::size_t>(number)];
    if (own && *own <= length) {
      kernel.iname_tags.insert_or_assign(iname, InameTag{AxisKind::block, number});
      continue;
    }
    SplitOptions options;
    options.inner_tag = fmt::format("l.{}", number);
    kernel = split_iname(std::move(kernel), iname, length, options);
  }
  return kernel;
}

/// All inames as one, in the order of memory, over all threads: neighbours copy neighbours, and
/// none but the last round leaves threads without work. Nothing where that takes `rounds`, too.
std::optional<Kernel> flat(Kernel kernel, const BlockLengths& lengths, const Spread& spread,
                           std::int64_t rounds) {
  std::int64_t elements = 1;
  std::vector<std::string> inames;  // the slowest varying first
  for (const auto& [stride, iname] : spread.open) {
    const auto own = range_length(kernel, iname);
    if (!own || *own < 1) {
      return std::nullopt;
    }
    elements *= *own;
    inames.insert(inames.begin(), iname);
    kernel.iname_tags.erase(iname);
  }
  std::vector<int> axes;
  std::int64_t threads = 1;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (!spread.is_taken[i] && lengths[i] > 1) {
      axes.push_back(static_cast<int>(i));
      threads *= lengths[i];
    }
  }
  if (inames.empty() || axes.empty() || ceil_divide(elements, threads) >= rounds) {
    return std::nullopt;
  }
  std::string rest = inames.back();
  if (inames.size() > 1) {
    rest = make_name_generator(kernel).make(rest + "_flat");
    const JoinOptions options{.name = rest};
    std::optional<Kernel> joined = joined_if_legal(kernel, inames, options);
    if (!joined) {
      return std::nullopt;
    }
    kernel = *std::move(joined);
  }
  std::int64_t left = elements;
  for (const int axis : axes) {
    const std::int64_t length = lengths[static_cast<std::size_t>(axis)];
    if (left <= length) {
      kernel.iname_tags.insert_or_assign(rest, InameTag{AxisKind::block, axis});
      return kernel;
    }
    NameGenerator names = make_name_generator(kernel);
    const std::string outer = names.make(inames.back() + "_round");
    const std::string inner = names.make(inames.back() + "_thread");
    kernel = split_iname(
        std::move(kernel), rest, length,
        {.outer_name = outer, .inner_name = inner, .inner_tag = fmt::format("l.{}", axis)});
    rest = outer;
    left = ceil_divide(left, length);
  }
  return kernel;
}

Kernel assign_axes_of(const Kernel& kernel, const std::string& id, const BlockLengths& lengths) {
  const Instruction& instruction = *find_instruction(kernel, id);
  const Spread spread = find_spread(kernel, instruction, lengths);
  Spread by_axis = spread;
  Kernel result = with_short_rows(kernel, id, lengths, by_axis);
  // asked before the inames are split, which is dear
  const std::int64_t rounds = instruction.is_fill ? rounds_by_axis(result, lengths, by_axis) : 1;
  if (rounds > 1) {
    if (auto other = flat(kernel, lengths, spread, rounds)) {
      return *std::move(other);
    }
  }
  return axis_by_axis(std::move(result), lengths, std::move(by_axis));
}

}  // namespace

Kernel assign_auto_axes(Kernel kernel) {
  const bool has_any =
      std::any_of(kernel.iname_tags.begin(), kernel.iname_tags.end(),
                  [](const auto& each) { return each.second.kind == AxisKind::block_auto; });
  if (!has_any) {
    return kernel;
  }
  const std::vector<BlockLengths> lengths = block_lengths(kernel);
  std::vector<std::string> ids;
  for (const Instruction& instruction : kernel.instructions) {
    ids.push_back(instruction.id);
  }
  const RecordedStep step(kernel);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const NameSet& inames = find_instruction(kernel, ids[i])->within_inames;
    if (std::any_of(inames.begin(), inames.end(), [&](const std::string& iname) {
          return tag_of(kernel, iname).kind == AxisKind::block_auto;
        })) {
      kernel = assign_axes_of(kernel, ids[i], lengths[i]);
    }
  }
  // what no statement is spread over, such as the loop of a reduction, stays a loop
  std::erase_if(kernel.iname_tags,
                [](const auto& each) { return each.second.kind == AxisKind::block_auto; });
  step.remove_parts(kernel);  // these splits follow from the others
  return kernel;
}

Kernel placed_on_axes(const Kernel& kernel) {
  Kernel placed = expand_subst(kernel);
  if (!why_not([&] { return infer_types(placed); })) {
    placed = infer_types(std::move(placed));
  }
  return choose_address_spaces(assign_auto_axes(std::move(placed)));
}

}  // namespace rtcg::loopy
