#include "rtcg/loopy/recipe/apply_recipe.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/close_names.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/transform/alias_temporaries.h"
#include "rtcg/loopy/transform/arguments.h"
#include "rtcg/loopy/transform/assignment_to_subst.h"
#include "rtcg/loopy/transform/buffer_array.h"
#include "rtcg/loopy/transform/carry_values.h"
#include "rtcg/loopy/transform/chunk_iname.h"
#include "rtcg/loopy/transform/duplicate_inames.h"
#include "rtcg/loopy/transform/edit_instructions.h"
#include "rtcg/loopy/transform/exchange_items.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/extract_subst.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/transform/fold_constants.h"
#include "rtcg/loopy/transform/fuse_kernels.h"
#include "rtcg/loopy/transform/fuse_reductions.h"
#include "rtcg/loopy/transform/hardware_axes.h"
#include "rtcg/loopy/transform/hoist_factors.h"
#include "rtcg/loopy/transform/hold_array.h"
#include "rtcg/loopy/transform/inline_kernel.h"
#include "rtcg/loopy/transform/instruction_inames.h"
#include "rtcg/loopy/transform/join_domains.h"
#include "rtcg/loopy/transform/join_inames.h"
#include "rtcg/loopy/transform/join_launches.h"
#include "rtcg/loopy/transform/keep_row.h"
#include "rtcg/loopy/transform/loosen_bounds.h"
#include "rtcg/loopy/transform/map_domain.h"
#include "rtcg/loopy/transform/pad_bank_conflicts.h"
#include "rtcg/loopy/transform/pipeline.h"
#include "rtcg/loopy/transform/precompute.h"
#include "rtcg/loopy/transform/prioritize_loops.h"
#include "rtcg/loopy/transform/privatize_updates.h"
#include "rtcg/loopy/transform/queue_reads.h"
#include "rtcg/loopy/transform/reduce_online.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"
#include "rtcg/loopy/transform/reduce_updates.h"
#include "rtcg/loopy/transform/reduction_arg_to_subst_rule.h"
#include "rtcg/loopy/transform/rename_iname.h"
#include "rtcg/loopy/transform/rename_inames.h"
#include "rtcg/loopy/transform/save_and_reload_temporaries.h"
#include "rtcg/loopy/transform/scan_over_grid.h"
#include "rtcg/loopy/transform/separate_array_axis.h"
#include "rtcg/loopy/transform/separate_loop_head_tail_slab.h"
#include "rtcg/loopy/transform/split_array_axis.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/split_phases.h"
#include "rtcg/loopy/transform/split_reduction.h"
#include "rtcg/loopy/transform/store_value.h"
#include "rtcg/loopy/transform/swizzle.h"
#include "rtcg/loopy/transform/swizzle_bank_conflicts.h"
#include "rtcg/loopy/transform/tag_array_axes.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/temporaries.h"
#include "rtcg/loopy/transform/tile.h"
#include "rtcg/loopy/transform/to_batched.h"
#include "rtcg/loopy/transform/use_tensor_cores.h"
#include "rtcg/loopy/transform/vectorize.h"
#include "rtcg/loopy/transform/walk_grid.h"

// One row for each transformation that recipes know: how its arguments and options are read.

namespace rtcg::loopy {
namespace {

using Texts = std::vector<std::string>;

/// `[i, j]`, `i:j`, or one item; nothing for an empty text.
Texts parse_list(std::string_view text) {
  char separator = ':';
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
    separator = ',';
  }
  Texts items;
  std::string item;
  for (const char c : text) {
    if (c == separator) {
      items.push_back(std::exchange(item, {}));
    } else if (c != ' ') {
      item += c;
    }
  }
  if (!item.empty() || !items.empty()) {
    items.push_back(std::move(item));
  }
  return items;
}

/// A step whose arguments and options are read one after the other; those that are not read are an
/// error in the end.
class StepReader {
 public:
  explicit StepReader(const RecipeStep& step) : step_(step) {}

  [[nodiscard]] std::string text() {
    if (next_ == step_.arguments.size()) {
      fail(fmt::format("argument {} is missing", next_ + 1));
    }
    return step_.arguments[next_++];
  }
  [[nodiscard]] std::string text_or_empty() {
    return next_ == step_.arguments.size() ? std::string() : text();
  }
  [[nodiscard]] std::int64_t number() { return to_number(text()); }
  [[nodiscard]] std::size_t axis() {
    const std::int64_t value = number();
    if (value < 0) {
      fail(fmt::format("{} is not an axis", value));
    }
    return static_cast<std::size_t>(value);
  }
  [[nodiscard]] Texts list() { return parse_list(text()); }
  /// All further arguments, the items of lists among them one by one.
  [[nodiscard]] Texts rest() {
    Texts result;
    while (next_ < step_.arguments.size()) {
      const std::string argument = text();
      const Texts items = argument.starts_with('[') ? parse_list(argument) : Texts{argument};
      result.insert(result.end(), items.begin(), items.end());
    }
    return result;
  }
  /// All further arguments as `key:value`.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs() {
    std::vector<std::pair<std::string, std::string>> result;
    for (const std::string& item : rest()) {
      const Texts parts = parse_list(item);
      if (parts.size() != 2) {
        fail(fmt::format("expected 'name:value', found '{}'", item));
      }
      result.emplace_back(parts[0], parts[1]);
    }
    return result;
  }
  [[nodiscard]] std::string option(const std::string& name, std::string otherwise = {}) {
    read_options_.push_back(name);
    const auto found = step_.options.find(name);
    return found == step_.options.end() ? std::move(otherwise) : found->second;
  }
  [[nodiscard]] Texts list_option(const std::string& name) { return parse_list(option(name)); }

  [[nodiscard]] std::int64_t to_number(const std::string& text) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail(fmt::format("expected a number, found '{}'", text));
    }
    return value;
  }
  /// After all were read, before the transformation begins.
  void finish() const {
    if (next_ != step_.arguments.size()) {
      fail(fmt::format("it takes only {} argument{}", next_, next_ == 1 ? "" : "s"));
    }
    for (const auto& [name, value] : step_.options) {
      if (std::find(read_options_.begin(), read_options_.end(), name) == read_options_.end()) {
        fail(fmt::format(
            "it has no option '{}', but {}", name,
            read_options_.empty() ? "none" : fmt::format("{}", fmt::join(read_options_, ", "))));
      }
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidInput("loopy.apply_recipe.bad_arguments",
                       fmt::format("cannot do '{}': {}", to_string(step_), what));
  }

 private:
  const RecipeStep& step_;
  std::size_t next_ = 0;
  Texts read_options_;
};

using Apply = std::function<Kernel(Kernel, StepReader&)>;

/// A row for a transformation that takes what `read...` get from the step, in this order.
template <class... Read>
Apply row(auto transformation, Read... read) {
  return [=](Kernel kernel, StepReader& step) {
    // braces: the arguments are read from left to right
    std::tuple<decltype(read(step))...> arguments{read(step)...};
    step.finish();
    return std::apply(
        [&](auto&... argument) { return transformation(std::move(kernel), argument...); },
        arguments);
  };
}

std::string text(StepReader& step) {
  return step.text();
}
std::string text_or_empty(StepReader& step) {
  return step.text_or_empty();
}
std::int64_t number(StepReader& step) {
  return step.number();
}
std::size_t axis(StepReader& step) {
  return step.axis();
}
Texts list(StepReader& step) {
  return step.list();
}
Texts rest(StepReader& step) {
  return step.rest();
}
std::vector<std::pair<std::string, std::string>> pairs(StepReader& step) {
  return step.pairs();
}
auto text_option(const char* name) {
  return [name](StepReader& step) { return step.option(name); };
}
auto list_option(const char* name) {
  return [name](StepReader& step) { return step.list_option(name); };
}

std::map<std::string, std::int64_t> numbers(StepReader& step) {
  std::map<std::string, std::int64_t> values;
  for (const auto& [name, value] : step.pairs()) {
    values[name] = step.to_number(value);
  }
  return values;
}
std::map<std::string, std::string> texts(StepReader& step) {
  const auto pairs = step.pairs();
  return {pairs.begin(), pairs.end()};
}
SplitOptions split_options(StepReader& step) {
  return {.outer_name = step.option("outer_name"),
          .inner_name = step.option("inner_name"),
          .outer_tag = step.option("outer_tag"),
          .inner_tag = step.option("inner_tag")};
}
SplitOptions all_split_options(StepReader& step) {
  SplitOptions options = split_options(step);
  options.within = step.option("within");
  const Texts slabs = step.list_option("slabs");
  if (!slabs.empty()) {
    if (slabs.size() != 2) {
      step.fail("slabs are those at the beginning and those at the end: slabs=0:1");
    }
    options.head_slabs = step.to_number(slabs[0]);
    options.tail_slabs = step.to_number(slabs[1]);
  }
  return options;
}
JoinOptions join_options(StepReader& step) {
  return {.name = step.option("name"), .tag = step.option("tag")};
}
DuplicateOptions duplicate_options(StepReader& step) {
  return {.within = step.option("within"), .new_names = step.list_option("new_names")};
}
BarrierOptions barrier_options(StepReader& step) {
  return {.scope = step.option("scope", "global"), .id = step.option("id")};
}
AddressSpace address_space_option(StepReader& step) {
  const std::string space = step.option("address_space");
  if (space == "private") {
    return AddressSpace::private_;
  }
  if (space == "local") {
    return AddressSpace::local;
  }
  if (space == "global") {
    return AddressSpace::global;
  }
  if (!space.empty()) {
    step.fail(fmt::format("'{}' is not an address space: write private, local or global", space));
  }
  return AddressSpace::automatic;
}
PrecomputeOptions precompute_options(StepReader& step) {
  return {.default_tag = step.option("default_tag"),
          .inames = step.list_option("inames"),
          .temporary_name = step.option("temporary_name"),
          .address_space = address_space_option(step),
          .outer_inames = step.list_option("outer_inames"),
          .vector_width = step.to_number(step.option("vector_width", "0")),
          .any_offset = step.option("any_offset") == "yes",
          .any_sweep = step.option("any_sweep") == "yes",
          .within = step.option("within")};
}

Texts list_or_none(StepReader& step) {
  return parse_list(step.text_or_empty());
}
BufferOptions buffer_options(StepReader& step) {
  const BufferOptions usual;
  return {.init = step.option("init", usual.init),
          .store = step.option("store", usual.store),
          .temporary_name = step.option("temporary_name"),
          .default_tag = step.option("default_tag"),
          .is_filled = step.option("is_filled") != "no"};
}
KeepRowOptions keep_row_options(StepReader& step) {
  KeepRowOptions options;
  options.temporary_name = step.option("temporary_name");
  const AddressSpace space = address_space_option(step);
  options.address_space = space == AddressSpace::automatic ? options.address_space : space;
  options.vector_width = step.to_number(step.option("vector_width", "0"));
  return options;
}
StoreOptions store_options(StepReader& step) {
  return {.in_loops = step.option("in_loops") == "yes"};
}
HoldOptions hold_options(StepReader& step) {
  HoldOptions options;
  options.temporary_name = step.option("temporary_name");
  const AddressSpace space = address_space_option(step);
  options.address_space = space == AddressSpace::automatic ? options.address_space : space;
  return options;
}
PrivatizeUpdatesOptions privatize_updates_options(StepReader& step) {
  return {.copies = step.to_number(step.option("copies", "1")),
          .type = step.option("type"),
          .temporary_name = step.option("temporary_name")};
}
QueueReadsOptions queue_options(StepReader& step) {
  QueueReadsOptions options;
  options.temporary_name = step.option("temporary_name");
  const AddressSpace space = address_space_option(step);
  options.address_space = space == AddressSpace::automatic ? options.address_space : space;
  options.fills_registers = step.option("fills_registers") == "yes";
  return options;
}
SwizzleOptions swizzle_options(StepReader& step) {
  return {.group = step.to_number(step.option("group", "0")),
          .patterns = step.to_number(step.option("patterns", "0")),
          .rows = step.to_number(step.option("rows", "0"))};
}
InlineOptions inline_options(StepReader& step) {
  return {.as_function = step.option("as_function") == "yes"};
}
FuseOptions fuse_options(StepReader& step) {
  return {.suffix = step.option("suffix", FuseOptions{}.suffix),
          .data_flow = step.list_option("data_flow")};
}
BatchOptions batch_options(StepReader& step) {
  const BatchOptions usual;
  return {.iname = step.option("iname", usual.iname),
          .count = step.option("count", usual.count),
          .tag = step.option("tag")};
}
std::vector<TiledIname> tiled_inames(StepReader& step) {
  std::vector<TiledIname> inames;
  for (const std::string& item : step.list()) {
    inames.push_back(parse_tiled_iname(item));
  }
  return inames;
}
TileOptions tile_options(StepReader& step) {
  TileOptions options;
  for (const std::string& item : step.list_option("reductions")) {
    const TiledIname piece = parse_tiled_iname(item);
    options.reductions.emplace_back(piece.iname, piece.threads);
  }
  if (const std::string arrays = step.option("fetch"); !arrays.empty()) {
    options.fetch = parse_list(arrays);
  }
  options.pad = step.option("pad", "yes") != "no";
  return options;
}

ReduceOverGridOptions grid_options(StepReader& step) {
  ReduceOverGridOptions options;
  const std::string how = step.option("how", "two_stage");
  if (how != "two_stage" && how != "atomic" && how != "last") {
    step.fail(fmt::format("'{}' is not a way to reduce: write two_stage, atomic or last", how));
  }
  options.how = how == "atomic" ? GridReduction::atomic
                : how == "last" ? GridReduction::last_block
                                : GridReduction::two_stage;
  options.threads = step.to_number(step.option("threads", "256"));
  return options;
}

ScanOverGridOptions scan_options(StepReader& step) {
  const std::string how = step.option("how", "three_launches");
  if (how != "three_launches" && how != "look_back") {
    step.fail(fmt::format("'{}' is not a way to scan: write three_launches or look_back", how));
  }
  return {.how = how == "look_back" ? GridScan::look_back : GridScan::three_launches,
          .threads = step.to_number(step.option("threads", "256")),
          .totals = step.list_option("totals")};
}

using Table = std::map<std::string, Apply, std::less<>>;

Table loop_rows() {
  return {
      {"add_inames_to_instructions", row(add_inames_to_instructions, list, text)},
      {"add_inames_for_unused_hardware_axes",
       row(add_inames_for_unused_hardware_axes, text_or_empty)},
      {"assume", row(assume, text)},
      {"chunk_iname", row(chunk_iname, text, number, split_options)},
      {"duplicate_inames", row(duplicate_inames, list, duplicate_options)},
      {"exchange_items", row(exchange_items, text)},
      {"fuse_kernels", row(
                           [](Kernel kernel, const std::string& other, const FuseOptions& options) {
                             return fuse_kernels(std::move(kernel), kernel_from_text(other),
                                                 options);
                           },
                           text, fuse_options)},
      {"fix_parameters", row(fix_parameters, numbers)},
      {"fuse_loops", row(fuse_loops, rest)},
      {"fuse_reductions", row(fuse_reductions, list)},
      {"inline_kernel", row(
                            [](Kernel kernel, const std::string& callee, const std::string& call,
                               const Bindings& bindings, const InlineOptions& options) {
                              return inline_kernel(std::move(kernel), kernel_from_text(callee),
                                                   call, bindings, options);
                            },
                            text, text, pairs, inline_options)},
      {"join_domains", row(join_domains, text)},
      {"join_inames", row(join_inames, list, join_options)},
      {"join_launches", row(join_launches)},
      {"loosen_bounds", row(loosen_bounds, text, list)},
      {"make_reduction_inames_unique", row(make_reduction_inames_unique)},
      {"map_domain", row(map_domain, pairs)},
      {"prioritize_loops", row(prioritize_loops, rest)},
      {"reduce_online", row(reduce_online, text)},
      {"reduce_over_grid", row(reduce_over_grid, text, grid_options)},
      {"remove_inames_from_instructions", row(remove_inames_from_instructions, list, text)},
      {"remove_unused_inames", row(remove_unused_inames)},
      {"rename_iname", row(rename_iname, text, text)},
      {"rename_inames", row(rename_inames, list, text)},
      {"scan_over_grid", row(scan_over_grid, text, scan_options)},
      {"separate_loop_head_tail_slab", row(separate_loop_head_tail_slab, text, number, number)},
      {"split_iname", row(split_iname, text, number, all_split_options)},
      {"split_phases", row(split_phases, text, number)},
      {"split_reduction_inward", row(split_reduction_inward, rest)},
      {"split_reduction_outward", row(split_reduction_outward, rest)},
      {"tag_inames",
       row([](Kernel kernel, const InameTags& tags) { return tag_inames(std::move(kernel), tags); },
           pairs)},
      {"to_batched", row(to_batched, list, batch_options)},
      {"swizzle", row(swizzle, number)},
      {"tile", row(tile, tiled_inames, tile_options)},
      {"untag_inames", row(untag_inames, rest)},
      {"use_tensor_cores", row(use_tensor_cores, text)},
      {"vectorize", row(vectorize, text, list_option("arrays"))},
      {"walk_grid", row(walk_grid, number, text)},
  };
}

Table data_rows() {
  return {
      {"add_dtypes", row(add_dtypes, pairs)},
      {"add_padding", row(add_padding, text, axis, number)},
      {"add_prefetch", row(add_prefetch, text, list_or_none, precompute_options)},
      {"alias_temporaries", row(alias_temporaries, list)},
      {"buffer_array", row(
                           [](Kernel kernel, const std::string& array, const Texts& inames,
                              const BufferOptions& options) {
                             return buffer_array(std::move(kernel), array, inames, options);
                           },
                           text, list_or_none, buffer_options)},
      {"carry_values", row(carry_values, text, text)},
      {"hold_array", row(hold_array, text, hold_options)},
      {"keep_row", row(keep_row, text, list, keep_row_options)},
      {"pad_bank_conflicts", row(pad_bank_conflicts, rest)},
      {"pipeline", row(pipeline, list, text, number)},
      {"precompute", row(precompute, text, list_or_none, precompute_options)},
      {"queue_reads", row(queue_reads, text, text, number, queue_options)},
      {"privatize_temporaries", row(privatize_temporaries, list, list_option("temporaries"))},
      {"privatize_updates", row(privatize_updates, text, privatize_updates_options)},
      {"reduce_updates", row(reduce_updates, text)},
      {"remove_unused_arguments", row(remove_unused_arguments)},
      {"rename_argument", row(rename_argument, text, text)},
      {"unprivatize_temporaries", row(unprivatize_temporaries, text, list)},
      {"save_and_reload_temporaries", row(save_and_reload_temporaries, list_or_none)},
      {"separate_array_axis", row(separate_array_axis, text, axis)},
      {"set_argument_order", row(set_argument_order, list)},
      {"set_temporary_address_space", row(set_temporary_address_space, list, text)},
      {"split_array_axis", row(split_array_axis, text, axis, number)},
      {"store_value", row(store_value, text, list, store_options)},
      {"swizzle_bank_conflicts", row(swizzle_bank_conflicts, rest, swizzle_options)},
      {"tag_array_axes", row(tag_array_axes, list, text)},
  };
}

Table statement_rows() {
  return {
      {"add_barrier", row(add_barrier, text, text, barrier_options)},
      {"add_dependency", row(add_dependency, text, text)},
      {"assignment_to_subst", row(assignment_to_subst, text, text_option("rule"))},
      {"expand_subst", row(expand_subst, text_or_empty, text_option("within"))},
      {"extract_subst", row(extract_subst, text, text, list, text_option("within"))},
      {"fold_constants", row(fold_constants)},
      {"hoist_factors", row(hoist_factors)},
      {"reduction_arg_to_subst_rule", row(reduction_arg_to_subst_rule, list, text_option("rule"))},
      {"remove_instructions", row(remove_instructions, text)},
      {"remove_predicates", row(remove_predicates, text_or_empty)},
      {"replace_instruction_ids", row(replace_instruction_ids, texts)},
      {"tag_instructions", row(tag_instructions, text, text_option("match"))},
  };
}

const Table& transformations() {
  static const Table table = [] {
    Table all = loop_rows();
    all.merge(data_rows());
    all.merge(statement_rows());
    return all;
  }();
  return table;
}

}  // namespace

Kernel apply_recipe(Kernel kernel, const std::vector<RecipeStep>& steps) {
  for (const RecipeStep& step : steps) {
    const auto found = transformations().find(step.transformation);
    if (found == transformations().end()) {
      const Texts close = close_names(step.transformation, transformation_names());
      throw InvalidInput(
          "loopy.apply_recipe.unknown_transformation",
          fmt::format("there is no transformation '{}'{}{}", step.transformation,
                      close.empty() ? "" : ": did you mean ", fmt::join(close, ", ")));
    }
    StepReader reader(step);
    kernel = found->second(std::move(kernel), reader);
  }
  return kernel;
}

Kernel apply_recipe(Kernel kernel, std::string_view text) {
  return apply_recipe(std::move(kernel), parse_recipe(text));
}

std::vector<std::string> transformation_names() {
  Texts names;
  for (const auto& [name, apply] : transformations()) {
    names.push_back(name);
  }
  return names;
}

}  // namespace rtcg::loopy
