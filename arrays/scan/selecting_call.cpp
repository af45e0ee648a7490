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
  const std::string ends = at(form.ends_run, "j");
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
                      at(form.ends_run, place), place, place == "i" ? "i" : "b:t");
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

/// The same where the values of a tile and the chosen ones are in shared memory, with a byte for
/// each mark, and six blocks run at once. On an H200 (2026-11-29) 2^28 elements of 4 bytes take
/// 824 us in tiles of 256 * 15 and 851 of 256 * 11.
TileShape tile_of_marks(const SelectionForm& form) {
  const std::int64_t bytes = gathered_bytes(form);
  return {256, bytes <= 4 ? 15 : bytes <= 8 ? 7 : 3};
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

/// Statements that load the values of a tile, `@` of each element, and gather in shared memory the
/// chosen ones from the first place on, and all others from the last one down if `has_rejected`.
std::string gathered(const SelectionForm::Output& output, int tile, const std::string& element,
                     bool has_rejected) {
  return fmt::format(
      "<{0}> tile_{1}[{2}]\n<{0}> kept_{1}[{2}]\n"
      "tile_{1}[f] = {3} {{id=tile_{1}, inames=b:f}}\n"
      "kept_{1}[{4}] = tile_{1}[t] {{disjoint, id=kept_{1}, {5}dep=tile_{1}:marks:up_to, "
      "inames=b:t}}\n",
      name(output.kept), output.name, tile, at(output.value, element),
      has_rejected ? fmt::format("if(marks[t] > 0, up_to - 1, {} - t + up_to)", tile - 1)
                   : "up_to - 1",
      has_rejected ? "" : "if=marks[t] > 0, ");
}

/// Blocks that mark the chosen elements of a tile, gather them, and then look back for the place of
/// the first one. Threads load neighbours, and then own `items` neighbours each; an odd number of
/// these is in different banks.
loopy::Kernel kernel_of_marks(const SelectionForm& form, const loopy::Kernel* mask) {
  const auto [threads, items] = tile_of_marks(form);
  const int tile = threads * items;
  const std::string element = fmt::format("({}*b + f)", tile);
  const bool has_runs = !form.ends_run.empty();
  const std::string& is_marked = has_runs ? form.ends_run : form.is_chosen;
  std::string domains = fmt::format(
      "{{[b]: 0 <= b and {0}*b < n}} {{[f]: 0 <= f < {0} and {0}*b + f < n}} "
      "{{[e]: 0 <= e < {0} and {0}*b + e >= n}} {{[t, s]: 0 <= t < {0} and 0 <= s <= t}} "
      "{{[j]: 0 <= j < {0}*b}} {{[h]: 0 <= h < number}}",
      tile);
  std::string statements = fmt::format(
      "<u8> marks[{0}]\n<i32> total[1]\n"
      "marks[e] = 0 {{id=none, inames=b:e}}\n"
      "{1}marks[f] = cast(u8, mark) {{id=marks, dep=mark:none, inames=b:f}}\n",
      tile,
      has_runs ? fmt::format("<i32> mark = 1 {{id=last, inames=b:f}}\n"
                             "mark = {} {{id=mark, dep=last, if={} < n - 1}}\n",
                             at(is_marked, element), element)
               : fmt::format("<i32> mark = {} {{id=mark, inames=b:f}}\n", at(is_marked, element)));
  std::string kept;
  std::string outputs;
  for (const SelectionForm::Output& each : form.outputs) {
    statements += gathered(each, tile, element, form.rejected.has_value());
    outputs += written(each, "before", "h", fmt::format("kept_{}[h]", each.name), each.name);
    kept += fmt::format(", tile_{0}, kept_{0}", each.name);
  }
  statements += fmt::format(
      "<i32> up_to = scan(sum, s, cast(i32, marks[s])) {{id=up_to, dep=marks, inames=b:t}}\n"
      "total[0] = up_to {{id=total, dep=up_to, if=t == {}}}\n"
      "<i32> number = total[0] {{id=number_h, inames=b, dep=total}}\n",
      tile - 1);
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
      "count[0] = before + number {{if=t == 0 and {}*(b + 1) >= n, dep=before, inames=b:t}}\n",
      at(is_marked, "j"), tile);
  loopy::Kernel kernel = loopy::make_kernel(domains, statements + outputs, options_of(form));
  if (mask != nullptr) {
    kernel = with_mask(std::move(kernel), *mask);
  }
  return loopy::apply_recipe(
      std::move(kernel),
      fmt::format(
          "set_temporary_address_space([marks, total{}], local)\n"
          "split_iname(t, {}, outer_name=thread, inner_name=item, outer_tag=l.0, inner_tag=ilp)\n"
          "split_iname(f, {}, outer_tag=ilp, inner_tag=l.0)\n"
          "split_iname(e, {}, inner_tag=l.0)\n"
          "split_iname(h, {}, inner_tag=l.0)\n{}"
          "tag_inames(b:g.0)\nscan_over_grid(b, how=look_back, totals=[number])\n",
          kept, items, threads, threads, threads,
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

loopy::Kernel selecting_tiles_kernel(const SelectionForm& form, const loopy::Kernel* mask) {
  return form.totals ? kernel_of_totals(form) : kernel_of_marks(form, mask);
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
  for (const auto& [name, array] : arrays) {
    arguments.push_back(loop_argument(name, array, stream));
  }
  arguments.push_back(loopy::arg("n", n));
  tiles_.of(device, true, [&] { return selecting_tiles_kernel(form_); })(stream, arguments);
}

}  // namespace rtcg::arrays::detail
