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
    const std::string number(name(form.totals->dtype));
    const auto joined = [&](const std::string& s, const std::string& t) {
      return "(" + with_operands(form.totals->joined, s, t) + ")";
    };
    // the value after an element that ends a run begins the next one; the first value of all is
    // after no element
    result = fmt::format(
        "joined(c, s, d, t) := make_tuple(c + d, if(d > 0, t, {0}))  {{neutral=0:{1}}}\n"
        "<{2}> position, <{3}> after_first = scan(joined, j, cast({2}, {4}), {5}) {{id=position}}\n"
        "<{3}> first_value = {6} {{id=first_value}}\n"
        "<{3}> total = if(position == 0, {7}, after_first) {{id=total, "
        "dep=position:first_value}}\n",
        joined("s", "t"), form.totals->neutral, type, number, ends,
        at(form.totals->later_value, "j"), at(form.totals->value, "0"),
        joined("first_value", "after_first"));
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

/// As many elements as results of them fit into a third of the shared memory.
TileShape tile_of_totals(const SelectionForm& form) {
  return {256, gathered_bytes(form) <= 8 ? 8 : 4};
}

/// The same for threads that keep the values of their items in registers, with one word of marks:
/// 32 registers, so that four blocks run at once. On an H200 (2026-11-29) 2^28 elements of 4 bytes
/// take 586 us in such tiles of 512 * 16, written by hand, and 648 of 256 * 16.
TileShape tile_of_marks(const SelectionForm& form) {
  return {512, gathered_bytes(form) <= 4 ? 16 : 8};
}

/// The statement that writes the values of `output`, which the block has gathered for `gathered`.
std::string written(const SelectionForm::Output& output, const std::string& begin,
                    const std::string& loop, const std::string& kept, const std::string& gathered) {
  return fmt::format(
      "{0}[{1} + {2}] = {3} {{inames=b:{2}, disjoint, dep=kept_{4}:before:number_{2}}}\n",
      output.name, begin, loop, cast_to(output, kept), gathered);
}

/// Blocks that look back for the place and the value before each element, and then gather the
/// chosen ones.
loopy::Kernel kernel_of_totals(const SelectionForm& form) {
  const auto [threads, items] = tile_of_totals(form);
  const int tile = threads * items;
  const std::string place = fmt::format("({}*b + t)", tile);
  std::string statements = scan_of_chosen(form, place);
  statements += fmt::format(
      "<i32> before[1]\n<i32> after[1]\n"
      "before[0] = position {{if=t == 0, id=before, dep=position:chosen}}\n"
      "after[0] = position + chosen {{disjoint, if=t == {} or {} == n - 1, id=after, "
      "dep=position:chosen}}\n"
      "count[0] = position + chosen {{if={} == n - 1, dep=position:chosen}}\n"
      "<i32> number = after[0] - before[0] {{id=number_h, inames=b, dep=after:before}}\n",
      tile - 1, place, place);
  std::string kept;
  for (const SelectionForm::Output& each : form.outputs) {
    statements += fmt::format(
        "<{0}> kept_{1}[{2}]\n"
        "<{0}> own_{1} = {3} {{id=own_{1}, dep=position:total}}\n"
        "kept_{1}[position - before[0]] = own_{1} {{disjoint, if=chosen > 0, "
        "dep=own_{1}:position:chosen:before, id=kept_{1}}}\n",
        name(each.kept), each.name, tile, at(each.value, place));
    statements += written(each, "before[0]", "h", fmt::format("kept_{}[h]", each.name), each.name);
    kept += fmt::format(", kept_{}", each.name);
  }
  const std::string domains = fmt::format(
      "{{[b, t]: 0 <= b and 0 <= t < {0} and {0}*b + t < n}} {{[h]: 0 <= h < number}} {1}", tile,
      range_of_scan(form, fmt::format("{}*b + t", tile)));
  return loopy::apply_recipe(
      loopy::make_kernel(domains, statements, options_of(form)),
      fmt::format("set_temporary_address_space([before, after{}], local)\n"
                  "split_iname(t, {}, outer_name=thread, inner_name=item, outer_tag=l.0, "
                  "inner_tag=ilp)\n"
                  "split_iname(h, {}, inner_tag=l.0)\n"
                  "tag_inames(b:g.0)\nscan_over_grid(b, how=look_back)\nexchange_items(thread)\n",
                  kept, items, threads));
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
  constexpr int vector_bytes = 16;
  const int lanes = vector_bytes / static_cast<int>(size_bytes(form.outputs.front().kept));
  return loopy::apply_recipe(
      with_kept_element(std::move(kernel), "marks", first),
      fmt::format(
          "set_temporary_address_space([{}], local)\n{}tag_inames(thread:l.0)\n{}"
          "split_iname(h, {}, inner_tag=l.0)\n{}"
          "tag_inames(b:g.0)\nscan_over_grid(b, how=look_back, totals=[number])\n",
          kept, private_arrays,
          is_aligned && lanes < items
              ? fmt::format("split_iname(item, {}, outer_tag=ilp, inner_tag=vec)\n", lanes)
              : fmt::format("tag_inames(item:{})\n", is_aligned ? "vec" : "ilp"),
          threads,
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
  return form.totals ? kernel_of_totals(form) : kernel_of_marks(form, mask, is_aligned);
}

bool is_aligned_for_vectors(const AnyArray& array) {
  constexpr std::uint64_t vector_bytes = 16;
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
