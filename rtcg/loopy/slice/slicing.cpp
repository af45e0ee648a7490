#include "rtcg/loopy/slice/slicing.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/recipe.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void fail(std::string_view text, const std::string& what) {
  throw InvalidInput("loopy.parse_slicing.syntax",
                     fmt::format("cannot read the slicing '{}': {}; write "
                                 "'i: g.0 l.0*64 ilp*2; k: for for*8; fetch a transposed pad 1'",
                                 text, what));
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

std::int64_t parse_number(std::string_view text, std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0) {
    fail(text, fmt::format("'{}' is no number", digits));
  }
  return value;
}

FetchPlan parse_fetch(std::string_view text, const std::vector<std::string>& words) {
  if (words.size() < 2) {
    fail(text, "'fetch' names no array");
  }
  FetchPlan plan{words[1], false, 0};
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "transposed") {
      plan.is_transposed = true;
    } else if (words[i] == "pad" && i + 1 < words.size()) {
      plan.padding = parse_number(text, words[++i]);
    } else {
      fail(text, fmt::format("did not expect '{}' after 'fetch'", words[i]));
    }
  }
  return plan;
}

InameSlicing parse_iname(std::string_view text, const std::vector<std::string>& words) {
  InameSlicing result;
  if (words.front().size() < 2 || words.front().back() != ':' || words.size() < 2) {
    fail(text, fmt::format("expected 'iname: axis ...', found '{}'", words.front()));
  }
  result.iname = words.front().substr(0, words.front().size() - 1);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t star = words[i].find('*');
    SlicingFactor factor;
    factor.axis = parse_iname_tag(words[i].substr(0, star));
    if (star != std::string::npos) {
      factor.length = parse_number(text, std::string_view(words[i]).substr(star + 1));
    }
    if ((i == 1) != (factor.length == 0)) {
      fail(text, fmt::format("the first loop of '{}' takes the rest, all others have a length",
                             result.iname));
    }
    result.factors.push_back(factor);
  }
  return result;
}

std::string part_name(const std::string& iname, std::size_t number) {
  return fmt::format("{}_{}", iname, number);
}

/// `[i, j]` as recipes have it.
std::string list_of(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

void add_splits(const InameSlicing& sliced, std::vector<RecipeStep>& steps) {
  const std::size_t last = sliced.factors.size() - 1;
  if (last == 0) {
    if (sliced.factors.front().axis.kind != AxisKind::sequential) {
      steps.push_back(
          {"tag_inames", {sliced.iname + ":" + to_string(sliced.factors.front().axis)}, {}});
    }
    return;
  }
  std::string rest = sliced.iname;
  for (std::size_t i = 0; i < last; ++i) {
    std::int64_t inner_length = 1;
    for (std::size_t j = i + 1; j <= last; ++j) {
      inner_length *= sliced.factors[j].length;
    }
    const std::string inner = i + 1 == last ? part_name(sliced.iname, last)
                                            : fmt::format("{}_{}to{}", sliced.iname, i + 1, last);
    RecipeStep step{"split_iname",
                    {rest, std::to_string(inner_length)},
                    {{"outer_name", part_name(sliced.iname, i)}, {"inner_name", inner}}};
    const auto add_tag = [&](const char* option, const InameTag& tag) {
      if (tag.kind != AxisKind::sequential) {
        step.options[option] = to_string(tag);
      }
    };
    add_tag("outer_tag", sliced.factors[i].axis);
    if (i + 1 == last) {
      add_tag("inner_tag", sliced.factors[last].axis);
    }
    steps.push_back(std::move(step));
    rest = inner;
  }
}

const InameSlicing* find_sliced(const Slicing& slicing, const std::string& iname) {
  for (const InameSlicing& each : slicing.inames) {
    if (each.iname == iname) {
      return &each;
    }
  }
  return nullptr;
}

/// The loops that lie within a block, of the inames that the array's reads mention.
std::vector<std::string> swept_parts(const Kernel& expanded, const Slicing& slicing,
                                     const std::string& array) {
  NameSet mentioned;
  bool is_read = false;
  for (const ArrayAccess& access : accesses_of(expanded)) {
    if (access.array != array || access.is_write) {
      continue;
    }
    is_read = true;
    for (const Expr& index : access.indices) {
      mentioned.merge(free_names(index));
    }
  }
  if (!is_read) {
    throw InvalidInput(
        "loopy.recipe_of.unknown_array",
        fmt::format("kernel '{}' reads no array '{}' that could be fetched", expanded.name, array));
  }
  std::vector<std::string> sweep;
  for (const std::string& iname : all_inames(expanded)) {
    if (mentioned.count(iname) == 0) {
      continue;
    }
    const InameSlicing* sliced = find_sliced(slicing, iname);
    if (sliced == nullptr) {
      sweep.push_back(iname);
      continue;
    }
    for (std::size_t i = 1; i < sliced->factors.size(); ++i) {
      sweep.push_back(part_name(iname, i));
    }
  }
  return sweep;
}

/// The step that lets the copies of what is fetched along the loop of a reduction run ahead.
RecipeStep pipeline_step(const Slicing& slicing, const NameSet& reduced,
                         const std::map<std::string, std::vector<std::string>>& sweeps) {
  for (const InameSlicing& each : slicing.inames) {
    if (reduced.count(each.iname) == 0 || each.factors.size() < 2 ||
        each.factors.front().axis.kind != AxisKind::sequential) {
      continue;
    }
    std::vector<std::string> tiles;
    for (const FetchPlan& fetch : slicing.fetches) {
      const std::vector<std::string>& sweep = sweeps.at(fetch.array);
      if (std::find(sweep.begin(), sweep.end(), part_name(each.iname, 1)) != sweep.end()) {
        tiles.push_back(fetch.array + "_tile");
      }
    }
    if (!tiles.empty()) {
      return {"pipeline",
              {list_of(tiles), part_name(each.iname, 0), std::to_string(slicing.stages)},
              {}};
    }
  }
  throw InvalidInput("loopy.recipe_of.nothing_to_pipeline",
                     fmt::format("'stages {}' takes something that is fetched along the loop of a "
                                 "reduction, which slicing '{}' has not",
                                 slicing.stages, to_string(slicing)));
}

}  // namespace

std::string to_string(const Slicing& slicing) {
  std::string text;
  for (const InameSlicing& each : slicing.inames) {
    text += (text.empty() ? "" : "; ") + each.iname + ":";
    for (const SlicingFactor& factor : each.factors) {
      text += " " + to_string(factor.axis);
      if (factor.length != 0) {
        text += fmt::format("*{}", factor.length);
      }
    }
  }
  for (const FetchPlan& fetch : slicing.fetches) {
    text += (text.empty() ? "" : "; ") + ("fetch " + fetch.array);
    text += fetch.is_transposed ? " transposed" : "";
    text += fetch.padding != 0 ? fmt::format(" pad {}", fetch.padding) : "";
  }
  if (slicing.stages != 1) {
    text += fmt::format("; stages {}", slicing.stages);
  }
  return text;
}

Slicing parse_slicing(std::string_view text) {
  Slicing slicing;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, ';');) {
    const std::vector<std::string> words = words_of(part);
    if (words.empty()) {
      continue;
    }
    if (words.front() == "fetch") {
      slicing.fetches.push_back(parse_fetch(text, words));
    } else if (words.front() == "stages" && words.size() == 2) {
      slicing.stages = parse_number(text, words[1]);
    } else {
      slicing.inames.push_back(parse_iname(text, words));
    }
  }
  return slicing;
}

std::vector<RecipeStep> recipe_of(const Kernel& kernel, const Slicing& slicing) {
  const Kernel expanded = expand_subst(kernel);
  NameSet reduced;
  for (const Instruction& instruction : expanded.instructions) {
    reduced.merge(reduction_inames(instruction));
  }
  std::vector<RecipeStep> steps;
  for (const InameSlicing& each : slicing.inames) {
    if (!is_iname(kernel, each.iname)) {
      throw InvalidInput("loopy.recipe_of.unknown_iname",
                         fmt::format("kernel '{}' has no iname '{}': its inames are {}",
                                     kernel.name, each.iname, fmt::join(all_inames(kernel), ", ")));
    }
    add_splits(each, steps);
    if (reduced.count(each.iname) == 0) {
      continue;
    }
    // the block's tree stands around the loops, so that each thread adds up its own part first
    for (std::size_t i = 1; i < each.factors.size(); ++i) {
      if (each.factors[i].axis.kind == AxisKind::block) {
        steps.push_back({"split_reduction_outward", {part_name(each.iname, i)}, {}});
      }
    }
  }
  std::map<std::string, std::vector<std::string>> sweeps;
  for (const FetchPlan& fetch : slicing.fetches) {
    const std::vector<std::string> sweep = swept_parts(expanded, slicing, fetch.array);
    sweeps[fetch.array] = sweep;
    steps.push_back({"add_prefetch",
                     {fetch.array, list_of(sweep)},
                     {{"temporary_name", fetch.array + "_tile"}}});
    const std::string tile = fetch.array + "_tile";
    if (fetch.is_transposed) {
      steps.push_back({"tag_array_axes", {list_of({tile}), "F"}, {}});
    }
    if (fetch.padding != 0) {
      steps.push_back({"add_padding",
                       {tile, fetch.is_transposed ? "1" : "0", std::to_string(fetch.padding)},
                       {}});
    }
  }
  if (slicing.stages != 1) {
    steps.push_back(pipeline_step(slicing, reduced, sweeps));
  }
  return steps;
}

Kernel apply(const Kernel& kernel, const Slicing& slicing) {
  return apply_recipe(kernel, recipe_of(kernel, slicing));
}

}  // namespace rtcg::loopy
