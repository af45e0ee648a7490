#include "rtcg/arrays/scan/selecting_call.h"

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::arrays::detail {
namespace {

constexpr int threads_of_selection = 256;

std::string at(std::string text, const std::string& place) {
  for (std::size_t found = text.find('@'); found != std::string::npos;
       found = text.find('@', found + place.size())) {
    text.replace(found, 1, place);
  }
  return text;
}

std::string arguments_of(const SelectionForm& form) {
  std::string result = form.arguments + "; ";
  for (const SelectionForm::Output& each : form.outputs) {
    result += fmt::format("{}: {}[n]; ", each.name, name(each.dtype));
  }
  if (form.rejected) {
    result += fmt::format("{}: {}[n]; ", form.rejected->name, name(form.rejected->dtype));
  }
  return result + "count: i64[1]; n: i32";
}

/// `chosen` of element `place`, and `position`: how many are chosen before it.
std::string scan_of(const SelectionForm& form, const std::string& place) {
  const std::string type = form.is_long ? "i64" : "i32";
  const bool has_runs = !form.begins_run.empty();
  const std::string counted =
      fmt::format("cast({}, {})", type, at(has_runs ? form.begins_run : form.is_chosen, "j"));
  std::string result;
  if (form.totals) {
    result = fmt::format(
        "joined(c, s, d, t) := make_tuple(c + d, if(d > 0, t, {}))  {{neutral=0:{}}}\n"
        "<{}> place, <{}> total = scan(joined, j, {}, {}) {{id=place}}\n",
        form.totals->joined, form.totals->neutral, type, name(form.totals->dtype), counted,
        at(form.totals->value, "j"));
  } else {
    result = fmt::format("<{}> place = scan(sum, j, {}) {{id=place}}\n", type, counted);
  }
  return result + fmt::format(
                      "<i32> chosen = {} {{id=chosen}}\n"
                      "<{}> position = place - {} {{id=position, dep=place:chosen}}\n",
                      at(form.is_chosen, place), type, has_runs ? "1" : "chosen");
}

std::string cast_to(const SelectionForm::Output& output, const std::string& value) {
  return output.dtype == output.kept ? value
                                     : fmt::format("cast({}, {})", name(output.dtype), value);
}

/// Eight, if results of so many fit into a third of the shared memory.
int items_of_thread(const SelectionForm& form) {
  int bytes = 0;
  for (const SelectionForm::Output& each : form.outputs) {
    bytes += static_cast<int>(size_bytes(each.kept));
  }
  bytes += form.rejected ? static_cast<int>(size_bytes(form.rejected->kept)) : 0;
  return bytes <= 8 ? 8 : 4;
}

/// Statements that gather values in shared memory, and write these.
std::string kept_and_written(const SelectionForm::Output& output, int tile, const std::string& own,
                             bool is_rejected) {
  const std::string loop = is_rejected ? "r" : "h";
  const std::string local = is_rejected ? "t - (position - before[0])" : "position - before[0]";
  const std::string begin = is_rejected ? fmt::format("{}*b - before[0]", tile) : "before[0]";
  return fmt::format(
      "<{0}> kept_{1}[{2}]\n"
      "<{0}> own_{1} = {3} {{id=own_{1}, dep=place}}\n"
      "kept_{1}[{4}] = own_{1} {{disjoint, if=chosen {5} 0, dep=own_{1}:position:before, "
      "id=kept_{1}}}\n"
      "{1}[{6} + {7}] = {8} {{inames=b:{7}, disjoint, dep=kept_{1}:before:number_{7}}}\n",
      name(output.kept), output.name, tile, own, local, is_rejected ? "==" : ">", begin, loop,
      cast_to(output, fmt::format("kept_{}[{}]", output.name, loop)));
}

}  // namespace

loopy::Kernel selecting_kernel(const SelectionForm& form) {
  loopy::KernelOptions options;
  options.name = form.name;
  options.arguments = arguments_of(form);
  options.assumptions = "n >= 1";
  std::string statements = scan_of(form, "i");
  for (const SelectionForm::Output& each : form.outputs) {
    statements += fmt::format("{}[position] = {} {{disjoint, if=chosen > 0, dep=position}}\n",
                              each.name, cast_to(each, at(each.value, "i")));
  }
  if (form.rejected) {
    statements +=
        fmt::format("{}[i - position] = {} {{disjoint, if=chosen == 0, dep=position}}\n",
                    form.rejected->name, cast_to(*form.rejected, at(form.rejected->value, "i")));
  }
  statements += "count[0] = position + chosen {if=i == n - 1, dep=position}";
  return loopy::make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j <= i}", statements, options);
}

loopy::Kernel selecting_tiles_kernel(const SelectionForm& form) {
  const int items = items_of_thread(form);
  const int tile = threads_of_selection * items;
  const std::string place = fmt::format("({}*b + t)", tile);
  loopy::KernelOptions options;
  options.name = form.name;
  options.arguments = arguments_of(form);
  options.assumptions = "n >= 1";
  std::string statements = scan_of(form, place);
  statements += fmt::format(
      "<i32> before[1]\n<i32> after[1]\n"
      "before[0] = position {{if=t == 0, id=before, dep=position}}\n"
      "after[0] = position + chosen {{disjoint, if=t == {} or {} == n - 1, id=after, "
      "dep=position}}\n"
      "count[0] = position + chosen {{if={} == n - 1, dep=position}}\n"
      "<i32> number = after[0] - before[0] {{id=number_h, inames=b, dep=after:before}}\n",
      tile - 1, place, place);
  std::string kept;
  for (const SelectionForm::Output& each : form.outputs) {
    statements += kept_and_written(each, tile, at(each.value, place), false);
    kept += fmt::format(", kept_{}", each.name);
  }
  std::string domains = fmt::format(
      "{{[b, t]: 0 <= b and 0 <= t < {0} and {0}*b + t < n}} {{[j]: 0 <= j <= {0}*b + t}} "
      "{{[h]: 0 <= h < number}}",
      tile);
  if (form.rejected) {
    domains += " {[r]: 0 <= r < others}";
    statements += fmt::format(
        "<i32> others = min({0}, n - {0}*b) - number {{id=number_r, inames=b, dep=number_h}}\n",
        tile);
    statements += kept_and_written(*form.rejected, tile, at(form.rejected->value, place), true);
    kept += fmt::format(", kept_{}", form.rejected->name);
  }
  return loopy::apply_recipe(
      loopy::make_kernel(domains, statements, options),
      fmt::format("set_temporary_address_space([before, after{}], local)\n"
                  "split_iname(t, {}, outer_name=thread, inner_name=item, outer_tag=l.0, "
                  "inner_tag=ilp)\n"
                  "split_iname(h, {}, inner_tag=l.0)\n{}"
                  "tag_inames(b:g.0)\nscan_over_grid(b, how=look_back)\nexchange_items(thread)\n",
                  kept, items, threads_of_selection,
                  form.rejected
                      ? fmt::format("split_iname(r, {}, inner_tag=l.0)\n", threads_of_selection)
                      : ""));
}

void SelectingCall::run(runtime::StreamRef stream,
                        const std::vector<std::pair<std::string, AnyArray>>& arrays, std::int64_t n,
                        bool gives_same_bits) const {
  const runtime::Device device = stream.device();
  const bool is_cuda = device.info().id.kind == runtime::BackendKind::cuda;
  if (form_.is_long || !is_cuda || !gives_same_bits) {
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
