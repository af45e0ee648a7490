#include "rtcg/arrays/scan/selecting_call.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::arrays::detail {
namespace {

std::string at(std::string text, const std::string& place) {
  for (std::size_t found = text.find('@'); found != std::string::npos;
       found = text.find('@', found + place.size())) {
    text.replace(found, 1, place);
  }
  return text;
}

/// The text with other names for `s` and `t`.
std::string with_operands(const std::string& text, const std::string& s, const std::string& t) {
  std::string result;
  const auto is_word = [](char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_alone =
        (i == 0 || !is_word(text[i - 1])) && (i + 1 == text.size() || !is_word(text[i + 1]));
    result += is_alone && text[i] == 's'   ? s
              : is_alone && text[i] == 't' ? t
                                           : std::string(1, text[i]);
  }
  return result;
}

/// Elements that are scanned for element `place`.
std::string range_of_scan(const SelectionForm& form, const std::string& place) {
  return fmt::format("{{[j]: 0 <= j {} {}}}", form.ends_run.empty() ? "<=" : "<", place);
}

std::string arguments_of(const SelectionForm& form) {
  std::string result = form.arguments + "; ";
  for (const SelectionForm::Output& each : form.outputs) {
    result += fmt::format("{}: {}[n]; ", each.name, name(each.dtype));
  }
  if (form.rejected) {
    result += fmt::format("{}: {}[n]; ", form.rejected->name, name(form.rejected->dtype));
  }
  return result + "count: i64[1]; n: " + (form.is_long ? "i64" : "i32");
}

loopy::KernelOptions options_of(const SelectionForm& form) {
  loopy::KernelOptions options;
  options.name = form.name;
  options.arguments = arguments_of(form);
  options.assumptions = "n >= 1";
  return options;
}

/// Whether element `@` ends a run.
std::string ends_of_runs(const SelectionForm& form) {
  return with_operands(form.ends_run, "key[@]", "later[@]");
}

std::string joined_values(const SelectionForm& form, const std::string& s, const std::string& t) {
  return "(" + with_operands(form.totals->joined, s, t) + ")";
}

/// Pairs of how many ends of runs there are, and what the elements after the last one combine to.
std::string rule_of_totals(const SelectionForm& form) {
  return fmt::format(
      "joined(c, s, d, t) := make_tuple(c + d, if(d > 0, t, {}))  {{neutral=0:{}}}\n",
      joined_values(form, "s", "t"), form.totals->neutral);
}

/// What element `place` adds to such a pair.
std::string value_in_run(const SelectionForm& form, const std::string& place) {
  return fmt::format("if({} > 0, {}, {})", at(ends_of_runs(form), place), form.totals->neutral,
                     at(form.totals->value, place));
}

/// `chosen` of element `place`, and `position`: how many are chosen before it. Ends of runs are
/// counted up to the element before, each of which has a next one.
std::string scan_of_chosen(const SelectionForm& form, const std::string& place) {
  const std::string type = form.is_long ? "i64" : "i32";
  if (form.ends_run.empty()) {
    return fmt::format(
        "<{0}> up_to = scan(sum, j, cast({0}, {1})) {{id=up_to}}\n"
        "<i32> chosen = {2} {{id=chosen}}\n"
        "<{0}> position = up_to - chosen {{id=position, dep=up_to:chosen}}\n",
        type, at(form.is_chosen, "j"), at(form.is_chosen, place));
  }
  const std::string ends = at(ends_of_runs(form), "j");
  std::string result;
  if (form.totals) {
    result = rule_of_totals(form) +
             fmt::format(
                 "<{0}> position, <{1}> up_to_before = scan(joined, j, cast({0}, {2}), {3}) "
                 "{{id=position}}\n"
                 "<{1}> total = {4} {{id=total, dep=position}}\n",
                 type, name(form.totals->dtype), ends, value_in_run(form, "j"),
                 joined_values(form, "up_to_before", at(form.totals->value, place)));
  } else {
    result =
        fmt::format("<{0}> position = scan(sum, j, cast({0}, {1})) {{id=position}}\n", type, ends);
  }
  return result + fmt::format(
                      "<i32> chosen = 1 {{id=last, inames={2}}}\n"
                      "chosen = {0} {{id=chosen, dep=last, if={1} < n - 1}}\n",
                      at(ends_of_runs(form), place), place, place == "i" ? "i" : "b:t");
}

std::string cast_to(const SelectionForm::Output& output, const std::string& value) {
  return output.dtype == output.kept ? value
                                     : fmt::format("cast({}, {})", name(output.dtype), value);
}

/// Of the blocks of a selection.
struct TileShape {
  int threads;
  int items;  ///< of a thread
};

/// Of the values that a block gathers for one element.
std::int64_t gathered_bytes(const SelectionForm& form) {
  std::int64_t bytes = 0;
  for (const SelectionForm::Output& each : form.outputs) {
    bytes += size_bytes(each.kept);
  }
  return bytes;
}

/// For threads that keep keys and values of their items in registers. Sums of 2^28 i32 by keys of
/// i32 take 1253 us on an H200 (2026-11-29), and 1408 in tiles of 256 * 8, 1313 of 128 * 16, 1558
/// of 512 * 8.
TileShape tile_of_totals(const SelectionForm& form) {
  return {256, gathered_bytes(form) <= 8 ? 16 : 8};
}

/// The same for threads that keep the values of their items in registers, with one word of marks:
/// 32 registers, so that four blocks run at once. On an H200 (2026-11-29) 2^28 elements of 4 bytes
/// take 586 us in such tiles of 512 * 16, written by hand, and 648 of 256 * 16.
TileShape tile_of_marks(const SelectionForm& form) {
  return {512, gathered_bytes(form) <= 4 ? 16 : 8};
}

/// Steps that let a thread load its items, by vectors if `is_aligned`.
std::string lanes_of_items(const SelectionForm& form, int items, bool is_aligned) {
  std::size_t widest = 1;
  for (const SelectionForm::Output& each : form.outputs) {
    widest = std::max<std::size_t>(widest, size_bytes(each.kept));
  }
  const auto lanes = static_cast<int>(vector_bytes / widest);
  return is_aligned && lanes < items
             ? fmt::format("split_iname(item, {}, outer_tag=ilp, inner_tag=vec)\n", lanes)
             : fmt::format("tag_inames(item:{})\n", is_aligned ? "vec" : "ilp");
}

/// The statement that writes the values of `output`, which the block has gathered for `gathered`.
std::string written(const SelectionForm::Output& output, const std::string& begin,
                    const std::string& loop, const std::string& kept, const std::string& gathered) {
  return fmt::format(
      "{0}[{1} + {2}] = {3} {{inames=b:{2}, disjoint, dep=kept_{4}:before:number_{2}}}\n",
      output.name, begin, loop, cast_to(output, kept), gathered);
}

/// Statements that combine the runs of each thread, `run[item]`, after `begun[item]` runs that
/// begin in the tile among the thread's items. The key before the first item is in own_key[0], and
/// the one after the last in `later`.
std::string combined_in_threads(const SelectionForm& form, int items, int tile) {
  const std::string own = fmt::format("{}*thread + item", items);
  const std::string element = fmt::format("({}*b + {})", tile, own);
  return fmt::format(
      "<{key}> own_key[{items} + 2]\n<{number}> run[{items}]\n<i32> begun[{items}]\n"
      "own_key[0] = key[{tile}*b + {items}*thread - 1] {{id=previous, inames=b:thread, "
      "if=thread > 0 and {tile}*b + {items}*thread < n}}\n"
      "own_key[{items} + 1] = later[{tile}*b + {items}*thread + {items} - 1] {{id=next, "
      "inames=b:thread, if={tile}*b + {items}*thread + {items} < n}}\n"
      "run[z] = {neutral} {{id=no_run, inames=b:thread:z}}\n"
      "begun[z] = 0 {{id=no_begin, inames=b:thread:z}}\n"
      "own_key[item + 1] = key[{element}] {{id=own_key, inames=b:thread:item}}\n"
      "run[item] = {value} {{id=value, inames=b:thread:item, dep=no_run}}\n"
      "begun[item] = if({own} > 0, {begins}, 0) {{id=begins, inames=b:thread:item, "
      "dep=previous:own_key:no_begin}}\n"
      "run[k] = if(begun[k] > 0, run[k], {joined}) {{id=run, inames=b:thread:k, "
      "dep=value:begins}}\n"
      "begun[k] = begun[k - 1] + begun[k] {{id=begun, inames=b:thread:k, dep=run}}\n",
      fmt::arg("key", name(form.outputs.front().kept)),
      fmt::arg("number", name(form.totals->dtype)), fmt::arg("items", items),
      fmt::arg("tile", tile), fmt::arg("neutral", form.totals->neutral),
      fmt::arg("element", element), fmt::arg("value", at(form.totals->value, element)),
      fmt::arg("own", own),
      fmt::arg("begins", with_operands(form.ends_run, "own_key[item]", "own_key[item + 1]")),
      fmt::arg("joined", joined_values(form, "run[k - 1]", "run[k]")));
}

/// The same over the threads before each one: `begun_before`, and `run_before`, the run that goes
/// on in the thread.
std::string combined_over_threads(const SelectionForm& form, int threads, int items) {
  return rule_of_totals(form) +
         fmt::format(
             "<i32> begun_of[{0}]\n<{1}> run_of[{0}]\n<i32> begun_to[{0}]\n<{1}> run_to[{0}]\n"
             "begun_of[thread] = begun[{2}] {{id=begun_of, inames=b:thread, dep=begun}}\n"
             "run_of[thread] = run[{2}] {{id=run_of, inames=b:thread, dep=begun}}\n"
             "<i32> all_begun, <{1}> whole_run = scan(joined, q, begun_of[q], run_of[q]) "
             "{{id=over_threads, inames=b:thread, dep=begun_of:run_of}}\n"
             "begun_to[thread] = all_begun {{id=begun_to, inames=b:thread, dep=over_threads}}\n"
             "run_to[thread] = whole_run {{id=run_to, inames=b:thread, dep=over_threads}}\n"
             "<i32> begun_before = 0 {{id=none_before, inames=b:thread}}\n"
             "<{1}> run_before = {3} {{id=no_run_before, inames=b:thread}}\n"
             "begun_before = begun_to[thread - 1] {{id=begun_before, inames=b:thread, "
             "if=thread > 0, dep=none_before:begun_to}}\n"
             "run_before = run_to[thread - 1] {{id=run_before, inames=b:thread, "
             "if=thread > 0, dep=no_run_before:run_to}}\n",
             threads, name(form.totals->dtype), items - 1, form.totals->neutral);
}

/// Blocks that combine the runs of a tile, gather their totals, and then look back for the place of
/// the first one and for what the run has so far with which the tile begins. Each thread owns
/// `items` neighbours, and loads them by vectors if `is_aligned`.
loopy::Kernel kernel_of_totals(const SelectionForm& form, bool is_aligned) {
  const auto [threads, items] = tile_of_totals(form);
  const int tile = threads * items;
  const SelectionForm::Output& keys = form.outputs.front();
  const SelectionForm::Output& totals = form.outputs.back();
  const std::string element = fmt::format("({}*b + {}*thread + item)", tile, items);
  const std::string domains = fmt::format(
      "{{[b]: 0 <= b and {2}*b < n}} {{[thread]: 0 <= thread < {0}}} "
      "{{[item]: 0 <= item < {1} and {2}*b + {1}*thread + item < n}} "
      "{{[z]: 0 <= z < {1}}} {{[k]: 1 <= k < {1}}} "
      "{{[q]: 0 <= q <= thread}} {{[j]: 0 <= j < {2}*b}} {{[h]: 0 <= h < number}}",
      threads, items, tile);
  const std::string statements =
      combined_in_threads(form, items, tile) + combined_over_threads(form, threads, items) +
      fmt::format(
          "<{key}> kept_keys[{tile}]\n<{number}> kept_totals[{tile}]\n"
          // of the last tile `later` has no such element
          "<i32> last_ends = 1 {{id=last_of_all, inames=b}}\n"
          "last_ends = {last_ends} {{id=last_ends, inames=b, if={tile}*b + {tile} < n, "
          "dep=last_of_all}}\n"
          "<i32> number = begun_to[{last}] + last_ends {{id=number, inames=b, "
          "dep=begun_to:last_ends}}\n"
          "<{number}> open_run = if(last_ends > 0, {neutral}, run_to[{last}]) {{id=open_run, "
          "inames=b, dep=run_to:last_ends}}\n"
          "<i32> ends = 1 {{id=last, inames=b:thread:item}}\n"
          "ends = {ends} {{id=ends, inames=b:thread:item, if={element} < n - 1, "
          "dep=last:own_key:next}}\n"
          "kept_keys[begun_before + begun[item]] = own_key[item + 1] {{disjoint, id=kept_keys, "
          "inames=b:thread:item, if=ends > 0, dep=ends:begun_before:begun}}\n"
          "kept_totals[begun_before + begun[item]] = if(begun[item] > 0, run[item], {in_block}) "
          "{{disjoint, id=kept_totals, inames=b:thread:item, if=ends > 0, "
          "dep=ends:begun_before:run_before:begun}}\n"
          "<i32> before, <{number}> going_on = scan(joined, j, cast(i32, {ends_of_j}), {value}) "
          "{{id=before, inames=b, dep=number:open_run}}\n"
          "count[0] = before + number {{if={tile}*b + {tile} >= n, dep=before, inames=b}}\n"
          "{keys}[before + h] = {key_of_h} {{inames=b:h, disjoint, dep=before:kept_keys}}\n"
          "{totals}[before + h] = {total_of_h} {{inames=b:h, disjoint, dep=before:kept_totals}}\n",
          fmt::arg("key", name(keys.kept)), fmt::arg("number", name(totals.kept)),
          fmt::arg("tile", tile), fmt::arg("last", threads - 1), fmt::arg("element", element),
          fmt::arg("ends", with_operands(form.ends_run, "own_key[item + 1]", "own_key[item + 2]")),
          fmt::arg("in_block", joined_values(form, "run_before", "run[item]")),
          fmt::arg("last_ends", at(ends_of_runs(form), fmt::format("{0}*b + {0} - 1", tile))),
          fmt::arg("neutral", form.totals->neutral),
          fmt::arg("ends_of_j", at(ends_of_runs(form), "j")),
          fmt::arg("value", value_in_run(form, "j")), fmt::arg("keys", keys.name),
          fmt::arg("key_of_h", cast_to(keys, "kept_keys[h]")), fmt::arg("totals", totals.name),
          fmt::arg("total_of_h", cast_to(totals, fmt::format("if(h == 0, {}, kept_totals[h])",
                                                             joined_values(form, "going_on",
                                                                           "kept_totals[h]")))));
  return loopy::apply_recipe(
      loopy::make_kernel(domains, statements, options_of(form)),
      fmt::format("set_temporary_address_space([own_key, run, begun], private)\n"
                  "set_temporary_address_space([begun_of, run_of, begun_to, run_to, kept_keys, "
                  "kept_totals], local)\n"
                  "tag_inames([thread:l.0, z:unr, k:unr])\n{}"
                  "split_iname(h, {}, inner_tag=l.0)\ntag_inames(b:g.0)\n"
                  "scan_over_grid(b, how=look_back, totals=[number, open_run])\n",
                  lanes_of_items(form, items, is_aligned), threads));
}

/// Where the mark of an element is computed from the element that the statement `load` has read, it
/// takes that one.
loopy::Kernel with_kept_element(loopy::Kernel kernel, const std::string& mark,
                                const std::string& load) {
  using loopy::Expr;
  const loopy::Assignment kept = *get_if<loopy::Assignment>(*find_instruction(kernel, load));
  for (loopy::Instruction& each : kernel.instructions) {
    if (each.id == mark && is<loopy::Access>(kept.value)) {
      each = map_expressions(each, [&](const Expr& expr) {
        return rewrite_bottom_up(expr, [&](const Expr& part) {
          return part == kept.value ? std::optional(kept.targets.front()) : std::nullopt;
        });
      });
    }
  }
  return kernel;
}

/// Blocks that mark the chosen elements of a tile, gather them, and then look back for the place of
/// the first one. Each thread owns `items` neighbours, and loads them by vectors if `is_aligned`.
loopy::Kernel kernel_of_marks(const SelectionForm& form, const loopy::Kernel* mask,
                              bool is_aligned) {
  const auto [threads, items] = tile_of_marks(form);
  const int tile = threads * items;
  const std::string own = fmt::format("{}*thread + item", items);
  const std::string element = fmt::format("({}*b + {})", tile, own);
  const bool has_runs = !form.ends_run.empty();
  std::string domains = fmt::format(
      "{{[b, thread, item]: 0 <= b and 0 <= thread < {0} and 0 <= item < {1} and "
      "{2}*b + {3} < n}} {{[s]: 0 <= s <= {3}}} {{[u]: 0 <= u < {2} and {2}*b + u < n}} "
      "{{[j]: 0 <= j < {2}*b}} {{[h]: 0 <= h < number}}",
      threads, items, tile, own);
  std::string statements = fmt::format("<u8> marks[{}]\n", tile);
  std::string kept;
  std::string gathered;
  std::string outputs;
  std::string private_arrays;
  for (const SelectionForm::Output& each : form.outputs) {
    // ends of runs are found by the next element, too: the last one of a thread is in `later`
    const std::string value = fmt::format("own_{}{}", each.name, has_runs ? "[item]" : "");
    if (has_runs) {
      private_arrays = fmt::format("set_temporary_address_space(own_{}, private)\n", each.name);
      statements += fmt::format(
          "<{0}> own_{1}[{2}]\n"
          "own_{1}[{3}] = later[{4}*b + {3}*thread + {5}] {{id=next, inames=b:thread, "
          "if={4}*b + {3}*thread + {3} < n}}\n",
          name(each.kept), each.name, items + 1, items, tile, items - 1);
    }
    statements += fmt::format("{}{} = {} {{id=own_{}, inames=b:thread:item}}\n",
                              has_runs ? "" : fmt::format("<{}> ", name(each.kept)), value,
                              at(each.value, element), each.name);
    const std::string place =
        form.rejected
            ? fmt::format("if(marks[{0}] > 0, up_to - 1, {1} - ({0}) + up_to)", own, tile - 1)
            : "up_to - 1";
    gathered += fmt::format(
        "<{0}> kept_{1}[{2}]\n"
        "kept_{1}[{3}] = {4} {{disjoint, id=kept_{1}, {5}dep=own_{1}:marks:up_to, "
        "inames=b:thread:item}}\n",
        name(each.kept), each.name, tile, place, value,
        form.rejected ? "" : fmt::format("if=marks[{}] > 0, ", own));
    outputs += written(each, "before", "h", fmt::format("kept_{}[h]", each.name), each.name);
    kept += fmt::format("{}kept_{}", kept.empty() ? "" : ", ", each.name);
  }
  const std::string first = "own_" + form.outputs.front().name;
  statements += fmt::format(
      "marks[{0}] = {1} {{id=marks, inames=b:thread:item, dep={2}}}\n"
      "<i32> number = sum(u, cast(i32, marks[u])) {{id=number_h, inames=b, dep=marks}}\n"
      "<i32> up_to = scan(sum, s, cast(i32, marks[s])) {{id=up_to, dep=marks:number_h, "
      "inames=b:thread:item}}\n",
      own,
      has_runs ? fmt::format("cast(u8, {} == n - 1 or {})", element,
                             with_operands(form.ends_run, first + "[item]", first + "[item + 1]"))
               : fmt::format("cast(u8, {})", at(form.is_chosen, element)),
      has_runs ? first + ":next" : first);
  statements += gathered;
  if (form.rejected) {
    domains += " {[r]: 0 <= r < others}";
    statements += fmt::format(
        "<i32> others = min({0}, n - {0}*b) - number {{id=number_r, inames=b, dep=number_h}}\n",
        tile);
    outputs += written(*form.rejected, fmt::format("{}*b - before", tile), "r",
                       fmt::format("kept_{}[{} - r]", form.outputs.front().name, tile - 1),
                       form.outputs.front().name);
  }
  statements += fmt::format(
      "<i32> before = scan(sum, j, cast(i32, {})) {{id=before, inames=b, dep=number_h}}\n"
      "count[0] = before + number {{if={}*(b + 1) >= n, dep=before, inames=b}}\n",
      at(has_runs ? ends_of_runs(form) : form.is_chosen, "j"), tile);
  loopy::Kernel kernel = loopy::make_kernel(domains, statements + outputs, options_of(form));
  if (mask != nullptr) {
    kernel = with_mask(std::move(kernel), *mask);
  }
  return loopy::apply_recipe(
      with_kept_element(std::move(kernel), "marks", first),
      fmt::format(
          "set_temporary_address_space([{}], local)\n{}tag_inames(thread:l.0)\n{}"
          "split_iname(h, {}, inner_tag=l.0)\n{}"
          "tag_inames(b:g.0)\nscan_over_grid(b, how=look_back, totals=[number])\n",
          kept, private_arrays, lanes_of_items(form, items, is_aligned), threads,
          form.rejected ? fmt::format("split_iname(r, {}, inner_tag=l.0)\n", threads) : ""));
}

}  // namespace

loopy::Kernel selecting_kernel(const SelectionForm& form) {
  std::string statements = scan_of_chosen(form, "i");
  for (const SelectionForm::Output& each : form.outputs) {
    statements += fmt::format("{}[position] = {} {{disjoint, if=chosen > 0, dep=chosen:{}}}\n",
                              each.name, cast_to(each, at(each.value, "i")),
                              form.totals ? "position:total" : "position");
  }
  if (form.rejected) {
    statements +=
        fmt::format("{}[i - position] = {} {{disjoint, if=chosen == 0, dep=position:chosen}}\n",
                    form.rejected->name, cast_to(*form.rejected, at(form.rejected->value, "i")));
  }
  statements += "count[0] = position + chosen {if=i == n - 1, dep=position:chosen}";
  return loopy::make_kernel("{[i]: 0 <= i < n} " + range_of_scan(form, "i"), statements,
                            options_of(form));
}

loopy::Kernel with_mask(loopy::Kernel kernel, const loopy::Kernel& scan) {
  using loopy::Expr;
  const auto& set = *get_if<loopy::Assignment>(scan.instructions.at(0));
  const loopy::Reduction& along = *loopy::as_scan(set.value);
  const loopy::Substitution of_length = {{length_of_mask, loopy::Name{"n"}}};
  kernel = map_expressions(std::move(kernel), [&](const Expr& expr) {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const auto* access = get_if<loopy::Access>(part);
      if (access == nullptr || access->array != "mask") {
        return std::nullopt;
      }
      loopy::Substitution values = of_length;
      values.emplace(along.inames.front(), access->indices.front());
      return substitute(along.operands.front(), values);
    });
  });
  std::erase_if(kernel.arguments, [](const auto& each) { return each.name == "mask"; });
  for (loopy::Argument each : scan.arguments) {
    if (each.name == "out" || each.name == length_of_mask ||
        find_argument(kernel, each.name) != nullptr) {
      continue;
    }
    for (auto* lengths : {&each.shape, &each.strides_elements}) {
      for (Expr& one : *lengths) {
        one = substitute(one, of_length);
      }
    }
    kernel.arguments.push_back(std::move(each));
  }
  kernel.functions.insert(kernel.functions.end(), scan.functions.begin(), scan.functions.end());
  kernel.assumptions.add(scan.assumptions.substitute(length_of_mask, loopy::Affine("n")));
  return kernel;
}

loopy::Kernel selecting_tiles_kernel(const SelectionForm& form, bool is_aligned,
                                     const loopy::Kernel* mask) {
  return form.totals ? kernel_of_totals(form, is_aligned) : kernel_of_marks(form, mask, is_aligned);
}

bool is_aligned_for_vectors(const AnyArray& array) {
  return array.address() % vector_bytes == 0;
}

void SelectingCall::run(runtime::StreamRef stream,
                        const std::vector<std::pair<std::string, AnyArray>>& arrays,
                        std::int64_t n) const {
  const runtime::Device device = stream.device();
  const bool is_cuda = device.info().id.kind == runtime::BackendKind::cuda;
  if (form_.is_long || !is_cuda) {
    planned_.run(stream, arrays, {{"n", n}});
    return;
  }
  std::vector<loopy::NamedArgument> arguments;
  bool is_aligned = true;
  for (const auto& [name, array] : arrays) {
    arguments.push_back(loop_argument(name, array, stream));
    is_aligned = is_aligned && (name == "later" || is_aligned_for_vectors(array));
  }
  arguments.push_back(loopy::arg("n", n));
  tiles_.of(device, is_aligned, [&] { return selecting_tiles_kernel(form_, is_aligned); })(
      stream, arguments);
}

}  // namespace rtcg::arrays::detail
