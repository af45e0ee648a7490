#include "rtcg/arrays/sort/list_builder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/arrays/core/made_once.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/snippet.h"
#include "rtcg/arrays/kernels/snippet_form.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/copy_if.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"

namespace rtcg::arrays {
namespace {

using detail::SnippetToken;

std::string joined_tokens(const std::vector<SnippetToken>& tokens) {
  std::string result;
  for (const SnippetToken& token : tokens) {
    result += (token.blanks.empty() ? "" : " ") + token.text;
  }
  return result;
}

/// The token after the bracket that closes the one at `open`.
std::size_t after_brackets(const std::vector<SnippetToken>& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    depth += tokens[i].text == "(" ? 1 : tokens[i].text == ")" ? -1 : 0;
    if (depth == 0) {
      return i + 1;
    }
  }
  return tokens.size();
}

}  // namespace

struct ListBuilder::Program {
  Program(std::vector<ListDeclaration> given, std::string_view generate,
          std::vector<KernelArgument> all, ListBuilderOptions chosen, SourceOrigin from)
      : lists(std::move(given)),
        tokens(detail::tokenize_snippet(generate)),
        arguments(std::move(all)),
        options(std::move(chosen)),
        where(from) {
    check_lists();
    check_text();
    for (const SnippetToken& token : tokens) {
      static_cast<void>(names.reserve(token.text));
    }
    for (const SnippetToken& token : detail::tokenize_snippet(options.preamble)) {
      static_cast<void>(names.reserve(token.text));
    }
    for (const KernelArgument& argument : arguments) {
      static_cast<void>(names.reserve(argument.name));
    }
    for (const ListDeclaration& list : lists) {
      own.emplace(list.name,
                  OwnNames{names.make(list.name + "_counts"), names.make(list.name + "_values"),
                           names.make(list.name + "_next")});
    }
  }

  struct OwnNames {
    std::string counts;
    std::string values;
    std::string next;
  };
  struct Kernels {
    ElementwiseKernel count;
    ElementwiseKernel write;
  };

  [[nodiscard]] const ListDeclaration* find(const std::string& name) const {
    const auto found = std::find_if(lists.begin(), lists.end(),
                                    [&](const auto& each) { return each.name == name; });
    return found == lists.end() ? nullptr : &*found;
  }

  /// Whether the list has a count of its own that a list needs which is made.
  [[nodiscard]] bool is_counted(const ListDeclaration& list,
                                const std::set<std::string>& omitted) const {
    return list.shares_count_of.empty() &&
           std::any_of(lists.begin(), lists.end(), [&](const auto& each) {
             return (each.name == list.name || each.shares_count_of == list.name) &&
                    omitted.count(each.name) == 0;
           });
  }

  void check_lists() const {
    bool is_right = !lists.empty();
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const std::string& mother = lists[i].shares_count_of;
      const bool is_new = find(lists[i].name) == &lists[i] && is_identifier(lists[i].name);
      const bool has_mother =
          mother.empty() ||
          std::any_of(lists.begin(), lists.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const auto& each) {
                        return each.name == mother && each.shares_count_of.empty();
                      });
      is_right = is_right && is_new && has_mother;
    }
    if (!is_right) {
      throw InvalidInput(
          "arrays.list_builder.lists",
          "each list has a name of its own, and shares the count of a list before it "
          "that has its own, or of none");
    }
  }

  void check_text() const {
    bool appends = false;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (find_appended(tokens[i].text) == nullptr) {
        continue;
      }
      appends = true;
      if (i + 2 >= tokens.size() || tokens[i + 1].text != "(" || tokens[i + 2].text == ")") {
        throw InvalidInput("arrays.list_builder.append",
                           fmt::format("{} is called with the value to append", tokens[i].text));
      }
    }
    if (!appends) {
      throw InvalidInput(
          "arrays.list_builder.append",
          fmt::format("the text appends to no list: call APPEND_{}(value)", lists.front().name));
    }
  }

  [[nodiscard]] const ListDeclaration* find_appended(const std::string& word) const {
    constexpr std::string_view start = "APPEND_";
    return word.starts_with(start) ? find(word.substr(start.size())) : nullptr;
  }

  /// The text with what it appends counted or written.
  [[nodiscard]] std::string text(const std::vector<SnippetToken>& given, bool writes,
                                 const std::set<std::string>& omitted) const {
    std::vector<SnippetToken> result;
    const auto add = [&](const std::string& piece) {
      result.push_back({detail::TokenKind::symbol, piece, " "});
    };
    for (std::size_t i = 0; i < given.size(); ++i) {
      const ListDeclaration* list = find_appended(given[i].text);
      if (list == nullptr) {
        result.push_back(given[i]);
        continue;
      }
      const std::size_t after = after_brackets(given, i + 1);
      const std::vector<SnippetToken> value(given.begin() + static_cast<std::ptrdiff_t>(i + 2),
                                            given.begin() + static_cast<std::ptrdiff_t>(after - 1));
      const OwnNames& names_of = own.at(list->name);
      const bool is_omitted = omitted.count(list->name) != 0;
      if (writes ? is_omitted : !is_counted(*list, omitted)) {
        add("(0)");
      } else if (writes) {
        add(fmt::format("({}[{}++] = ({}))", names_of.values, names_of.next,
                        text(value, writes, omitted)));
      } else {
        add(fmt::format("({} += 1)", names_of.next));
      }
      i = after - 1;
    }
    return joined_tokens(result);
  }

  [[nodiscard]] Kernels make_kernels(const std::set<std::string>& omitted) const {
    std::vector<KernelArgument> of_count = arguments;
    std::vector<KernelArgument> of_write = arguments;
    std::string begin_of_count;
    std::string end_of_count;
    std::string begin_of_write;
    for (const ListDeclaration& list : lists) {
      const OwnNames& names_of = own.at(list.name);
      const OwnNames& mother =
          list.shares_count_of.empty() ? names_of : own.at(list.shares_count_of);
      if (is_counted(list, omitted)) {
        of_count.push_back(array_argument(DType::i64, names_of.counts));
        begin_of_count += fmt::format("long {} = 0; ", names_of.next);
        end_of_count += fmt::format(" {}[i] = {};", names_of.counts, names_of.next);
        KernelArgument starts = array_argument(DType::i64, names_of.counts);
        starts.is_const = true;
        of_write.push_back(starts);
      }
      if (omitted.count(list.name) != 0) {
        continue;
      }
      of_write.push_back(array_argument(list.dtype, names_of.values));
      begin_of_write += fmt::format("long {} = {}[i]; ", names_of.next, mother.counts);
    }
    const ElementwiseOptions elementwise{options.preamble, {}, options.name};
    // a continue of the text ends the loop around it
    return {ElementwiseKernel(of_count,
                              begin_of_count + "do { " + text(tokens, false, omitted) +
                                  " } while (0);" + end_of_count,
                              elementwise, where),
            ElementwiseKernel(
                of_write, begin_of_write + "do { " + text(tokens, true, omitted) + " } while (0);",
                elementwise, where)};
  }

  [[nodiscard]] const Kernels& kernels_without(const std::set<std::string>& omitted) const {
    return made.of(omitted, [&] { return make_kernels(omitted); });
  }

  std::map<std::string, BuiltList> run(std::int64_t objects, const std::vector<Expression>& values,
                                       const std::set<std::string>& omitted) const {
    for (const std::string& each : omitted) {
      if (find(each) == nullptr) {
        throw InvalidInput("arrays.list_builder.lists",
                           fmt::format("'{}' cannot be omitted: it is no list", each));
      }
    }
    detail::check_argument_count(arguments.size(), values.size());
    const Slice range{0, objects};
    const Kernels& kernels = kernels_without(omitted);
    std::map<std::string, AnyArray> starts;
    std::vector<Expression> for_count = values;
    std::map<std::string, AnyArray> counts;
    for (const ListDeclaration& list : lists) {
      if (is_counted(list, omitted)) {
        counts.emplace(list.name, zeros(DType::i64, {objects + 1}));
        for_count.emplace_back(counts.at(list.name)(range));
      }
    }
    if (objects != 0 && !counts.empty()) {
      kernels.count.run(for_count, {range, current_stream()});
    }
    for (const auto& [name, array] : counts) {
      starts.emplace(name, cumulative_sum(array, {.is_exclusive = true}));
    }
    std::map<std::string, BuiltList> result;
    std::vector<Expression> for_write = values;
    bool has_values = false;
    std::map<std::string, std::int64_t> totals;
    for (const ListDeclaration& list : lists) {
      const std::string& owner = list.shares_count_of.empty() ? list.name : list.shares_count_of;
      if (is_counted(list, omitted)) {
        totals.emplace(owner, starts.at(owner)(-1).item<std::int64_t>());
        for_write.emplace_back(starts.at(owner)(range));
      }
      if (omitted.count(list.name) != 0) {
        continue;
      }
      const std::int64_t total = totals.at(owner);
      const BuiltList built{empty(list.dtype, {total}), starts.at(owner), total, {}};
      for_write.emplace_back(built.values);
      has_values = has_values || total != 0;
      result.emplace(list.name, built);
    }
    if (has_values) {
      kernels.write.run(for_write, {range, current_stream()});
    }
    for (const ListDeclaration& list : lists) {
      if (list.leaves_out_empty && omitted.count(list.name) == 0) {
        leave_out_empty(result.at(list.name));
      }
    }
    return result;
  }

  static void leave_out_empty(BuiltList& list) {
    const AnyArray begins = list.starts(Slice{0, -1});
    const AnyArray ends = list.starts(Slice{1, {}});
    const AnyArray objects = find_if(Expression(ends) > Expression(begins)).trimmed().copy();
    const AnyArray kept = empty(DType::i64, {objects.count() + 1});
    kept(-1) = Expression(list.count);
    if (objects.count() != 0) {
      kept(Slice{0, -1}) = take(list.starts, objects, 0);
    }
    list.starts = kept;
    list.objects = objects;
  }

  std::vector<ListDeclaration> lists;
  std::vector<SnippetToken> tokens;
  std::vector<KernelArgument> arguments;
  ListBuilderOptions options;
  SourceOrigin where;
  NameGenerator names{};
  std::map<std::string, OwnNames> own{};
  mutable detail::MadeOnce<std::set<std::string>, Kernels> made{};
};

ListBuilder::ListBuilder(std::vector<ListDeclaration> lists, std::string_view generate,
                         const ArgumentList& arguments, ListBuilderOptions options,
                         SourceOrigin where)
    : program_(std::make_shared<const Program>(std::move(lists), generate, arguments.list(),
                                               std::move(options), where)) {}

std::map<std::string, BuiltList> ListBuilder::operator()(
    std::int64_t objects, const std::vector<Expression>& values,
    const std::set<std::string>& omitted) const {
  return program_->run(objects, values, omitted);
}

}  // namespace rtcg::arrays
