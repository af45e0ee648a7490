#include "rtcg/loopy/recipe/parse_kernel_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/close_names.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/cgen/support/trimmed.h"
#include "rtcg/loopy/create/make_kernel_with_callees.h"
#include "rtcg/loopy/create/parse_arguments.h"
#include "rtcg/loopy/create/parse_functions.h"
#include "rtcg/loopy/create/parse_statements.h"
#include "rtcg/loopy/kernel/parse_domain.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/symbolic/invalid_line.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

const std::vector<std::string>& section_names() {
  static const std::vector<std::string> names = {
      "kernel", "domains", "structs", "arguments", "type",       "assume",    "functions",
      "fix",    "sizes",   "small",   "order",     "statements", "transform", "callee"};
  return names;
}

/// `axpy.loopy:7`, or `line 7 of the kernel file`.
std::string place(const std::string& path, int line) {
  return path.empty() ? fmt::format("line {} of the kernel file", line)
                      : fmt::format("{}:{}", path, line);
}

[[noreturn]] void fail(const std::string& code, const std::string& place, const std::string& what) {
  throw InvalidInput(code, fmt::format("{}: {}", place, what));
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

// ---- sections --------------------------------------------------------------------------------

/// Whether the parser of a section knows comments; out of the others they are taken.
bool keeps_comments(std::string_view section) {
  return section == "statements" || section == "transform" || section == "functions";
}

struct Section {
  std::string name;
  std::string place;
  int name_line = 0;
  /// The line on which the text begins.
  int first_line = 0;
  /// The text after the name, and the lines below; with empty ones, so lines can be counted.
  std::vector<std::string> lines{};

  void add_line(std::string line) {
    if (!keeps_comments(name)) {
      line.erase(std::min(line.find('#'), line.size()));
    }
    line.erase(line.find_last_not_of(" \t\r") + 1);
    lines.push_back(std::move(line));
  }

  void drop_empty_lines() {
    while (!lines.empty() && lines.back().empty()) {
      lines.pop_back();
    }
    while (!lines.empty() && lines.front().empty()) {
      lines.erase(lines.begin());
      ++first_line;
    }
  }

  /// The lines without the blanks that all indented ones begin with.
  [[nodiscard]] std::string text() const {
    const bool begins_after_name = first_line == name_line;
    std::size_t indent = std::string::npos;
    for (std::size_t i = begins_after_name ? 1 : 0; i < lines.size(); ++i) {
      indent = std::min(indent, lines[i].find_first_not_of(" \t"));
    }
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool is_after_name = begins_after_name && i == 0;
      text += (i == 0 ? "" : "\n") +
              lines[i].substr(is_after_name ? 0 : std::min(indent, lines[i].size()));
    }
    return text;
  }
};

// A section begins with its name in the first column; what belongs to it follows on the same line
// or is indented.
std::vector<Section> split_sections(const std::string& text, const std::string& path) {
  std::vector<Section> sections;
  int number = 0;
  for (const std::string& line : split_lines(text)) {
    ++number;
    const std::string content(trimmed(line));
    const bool is_indented = !line.empty() && (line.front() == ' ' || line.front() == '\t');
    const bool is_comment = content.starts_with('#');
    if (content.empty() || (is_comment && (!is_indented || sections.empty()))) {
      if (!sections.empty()) {
        sections.back().add_line({});
      }
    } else if (is_indented && sections.empty()) {
      fail("loopy.parse_kernel_file.no_section", place(path, number),
           fmt::format("'{}' belongs to no section: begin with one of {} in the first column",
                       content, fmt::join(section_names(), ", ")));
    } else if (is_indented) {
      sections.back().add_line(line);
    } else {
      const std::size_t end = std::min(content.find_first_of(" \t#"), content.size());
      const std::string rest(trimmed(content.substr(end)));
      sections.push_back({content.substr(0, end), place(path, number), number, number});
      sections.back().add_line(rest.starts_with('#') ? "" : rest);
    }
  }
  for (Section& section : sections) {
    section.drop_empty_lines();
  }
  return sections;
}

std::map<std::string, std::int64_t> parse_values(const Section& section) {
  std::map<std::string, std::int64_t> values;
  std::string text = section.text();
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ',' || c == ';'; }, '\n');
  for (const std::string& item : split_lines(text)) {
    if (trimmed(item).empty()) {
      continue;
    }
    const std::size_t equal = item.find('=');
    const std::string name(trimmed(item.substr(0, equal)));
    const std::string value = equal == std::string::npos
                                  ? std::string()
                                  : std::string(trimmed(std::string_view(item).substr(equal + 1)));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (!is_identifier(name) || error != std::errc() || end != value.data() + value.size()) {
      fail("loopy.parse_kernel_file.bad_value", section.place,
           fmt::format("'{}' is not a value of a parameter: write n=1000", trimmed(item)));
    }
    values[name] = number;
  }
  return values;
}

/// A line in the first column that is no section: misspelt, or text of the section before it.
[[noreturn]] void refuse_section(const Section& section, const Section* before) {
  const std::string text = section.text();
  const bool is_name =
      is_identifier(section.name.substr(0, section.name.find_last_not_of(':') + 1));
  const std::vector<std::string> close = is_name && !text.starts_with('=')
                                             ? close_names(section.name, section_names())
                                             : std::vector<std::string>();
  fail("loopy.parse_kernel_file.unknown_section", section.place,
       !close.empty() ? fmt::format("there is no section '{}'; close names are '{}'", section.name,
                                    fmt::join(close, "', '"))
       : before != nullptr
           ? fmt::format("'{}{}{}' begins in the first column, where only sections begin: indent "
                         "it if it belongs to '{}'; the sections are {}",
                         section.name, text.empty() ? "" : " ", text.substr(0, text.find('\n')),
                         before->name, fmt::join(section_names(), ", "))
           : fmt::format("there is no section '{}': there are {}", section.name,
                         fmt::join(section_names(), ", ")));
}

/// @param before  the section above it; null if it is the first one
void read_section(const Section& section, const Section* before, KernelFile& file) {
  const std::string text = section.text();
  const std::string& name = section.name;
  const auto refuse = [&](const std::string& what) {
    fail("loopy.parse_kernel_file.bad_value", section.place, what);
  };
  if (name == "kernel") {
    file.options.name = text;
    if (!is_identifier(text)) {
      refuse(fmt::format("'{}' is not a name of a kernel: write letters, digits and _", text));
    }
  } else if (name == "domains") {
    file.domains = text;
  } else if (name == "structs") {
    file.options.structs = text;
  } else if (name == "arguments") {
    file.options.arguments = text;
  } else if (name == "type") {
    file.options.default_type = parse_scalar_type(text);
    if (!file.options.default_type) {
      refuse(fmt::format("'{}' is not a type: write f32, f64, i32, ...", text));
    }
  } else if (name == "assume") {
    file.options.assumptions = text;
  } else if (name == "functions") {
    file.options.functions = text;
  } else if (name == "fix") {
    file.options.fixed_parameters = parse_values(section);
  } else if (name == "sizes") {
    file.sizes = parse_values(section);
  } else if (name == "small") {
    file.small_sizes = parse_values(section);
  } else if (name == "order") {
    if (text != "sequential" && text != "data") {
      refuse(fmt::format("statements are in no order '{}': write sequential or data", text));
    }
    file.options.sequential_dependencies = text == "sequential";
  } else if (name == "statements") {
    file.statements = text;
  } else if (name == "transform") {
    file.recipe = text;
  } else {
    refuse_section(section, before);
  }
}

// ---- places in the file ----------------------------------------------------------------------

int line_of(const KernelFile& file, std::string_view section) {
  const auto found = file.lines.find(section);
  return found == file.lines.end() ? 1 : found->second;
}

/// Preceded by as many empty lines as make its parser count the lines of the file.
std::string as_in_file(int first_line, const std::string& text) {
  return std::string(static_cast<std::size_t>(first_line - 1), '\n') + text;
}

/// Whether the text calls a function or rule, or names it as the operation of a reduction.
bool calls(std::string_view line, std::string_view name) {
  const auto is_part_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const std::string_view text = line.substr(0, line.find('#'));
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::string_view before = text.substr(0, at);
    const std::string_view after = text.substr(at + name.size());
    const bool is_whole = (before.empty() || !is_part_of_name(before.back())) &&
                          (after.empty() || !is_part_of_name(after.front()));
    const bool is_operation = before.ends_with("reduce(") || before.ends_with("scan(");
    const bool is_definition = before.find_first_not_of(' ') == std::string_view::npos &&
                               after.find(":=") != std::string_view::npos;
    if (is_whole && !is_definition && (is_operation || after.starts_with('('))) {
      return true;
    }
  }
  return false;
}

/// The line of the statements that an error about a function or rule is about: the first that
/// calls one of the names which the message has in quotes. Nothing where there is none, or where
/// calls differ and several lines have them.
std::optional<int> line_of_call(const KernelFile& file, const Error& error) {
  const std::string& message = error.message();
  const std::vector<std::string> lines = split_lines(file.statements);
  for (std::size_t begin = message.find('\''); begin != std::string::npos;) {
    const std::size_t end = message.find('\'', begin + 1);
    if (end == std::string::npos) {
      break;
    }
    const std::string name = message.substr(begin + 1, end - begin - 1);
    std::vector<int> found;
    for (std::size_t i = 0; is_identifier(name) && i < lines.size(); ++i) {
      if (calls(lines[i], name)) {
        found.push_back(line_of(file, "statements") + static_cast<int>(i));
      }
    }
    if (!found.empty()) {
      const bool is_of_one_call = error.code().ends_with(".argument_count");
      return is_of_one_call && found.size() > 1 ? std::nullopt : std::optional(found.front());
    }
    begin = message.find('\'', end + 1);
  }
  return std::nullopt;
}

/// What `body` gives; its errors say where in the file they come from.
template <class Body>
auto with_place(const KernelFile& file, int line, const Body& body) {
  try {
    return body();
  } catch (const InvalidLine& error) {
    fail(error.code(), place(file.path, static_cast<int>(error.line())), error.problem());
  } catch (const InvalidInput& error) {
    fail(error.code(), place(file.path, line), error.message());
  } catch (const Unsupported& error) {
    throw Unsupported(error.code(), fmt::format("{}: {}", place(file.path, line), error.message()));
  }
}

/// The same; errors about a function or rule have the line that calls it.
template <class Body>
auto with_place_of_call(const KernelFile& file, int line, const Body& body) {
  return with_place(file, line, [&] {
    try {
      return body();
    } catch (const InvalidLine&) {
      throw;
    } catch (const InvalidInput& error) {
      if (const auto of_call = line_of_call(file, error)) {
        throw InvalidLine(error.code(), static_cast<std::size_t>(*of_call), error.message());
      }
      throw;
    }
  });
}

/// Whether a step of a recipe goes on in the next line: a bracket outside of quotes is open.
bool is_open(const std::string& text) {
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted) {
      i += c == '\\' ? 1 : 0;
      is_quoted = c != '"';
    } else if (c == '#' && depth == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else {
      is_quoted = c == '"';
      depth += c == '(' || c == '[' ? 1 : 0;
      depth -= c == ')' || c == ']' ? 1 : 0;
    }
  }
  return depth > 0;
}

}  // namespace

namespace {
KernelFile file_of(const std::vector<Section>& sections, const std::string& path, int first_line) {
  KernelFile file;
  file.path = path;
  const Section* before = nullptr;
  for (const Section& section : sections) {
    if (!file.lines.emplace(section.name, section.first_line).second) {
      fail("loopy.parse_kernel_file.duplicate_section", section.place,
           fmt::format("a second section '{}'", section.name));
    }
    read_section(section, before, file);
    before = &section;
  }
  for (const char* needed : {"domains", "statements"}) {
    if (file.lines.count(needed) == 0) {
      fail("loopy.parse_kernel_file.missing_section", place(path, first_line),
           fmt::format("there is no section '{}'", needed));
    }
  }
  return file;
}

void check_are_parameters(const KernelFile& file, const Kernel& kernel, std::string_view section,
                          const std::map<std::string, std::int64_t>& values) {
  for (const auto& value : values) {
    const std::string& name = value.first;
    const bool is_scalar =
        std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                    [&](const Argument& each) { return each.name == name && !each.is_array; });
    if (!is_scalar) {
      fail("loopy.parse_kernel_file.bad_value", place(file.path, line_of(file, section)),
           fmt::format("'{}' is not a parameter of kernel '{}'", name, kernel.name));
    }
  }
}
}  // namespace

KernelFile parse_kernel_file(std::string_view text, const std::string& path) {
  // `callee f` begins another kernel, called f
  std::vector<std::vector<Section>> kernels(1);
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // editors of Windows write it
  if (text.starts_with(byte_order_mark)) {
    text.remove_prefix(byte_order_mark.size());
  }
  for (Section& section : split_sections(std::string(text), path)) {
    if (section.name == "callee") {
      kernels.emplace_back();
      section.name = "kernel";
    }
    kernels.back().push_back(std::move(section));
  }
  KernelFile file = file_of(kernels.front(), path, 1);
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    file.callees.push_back(file_of(kernels[i], path, kernels[i].front().name_line));
  }
  return file;
}

KernelFile read_kernel_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  if (!stream || std::filesystem::is_directory(path)) {
    throw InvalidInput("loopy.read_kernel_file.unreadable",
                       fmt::format("cannot read '{}': give the path of a kernel file", path));
  }
  return parse_kernel_file(text.str(), path);
}

Kernel described_kernel(const KernelFile& file) {
  // each section alone first: their errors do not say which of them they are about
  with_place(file, line_of(file, "domains"), [&] { return parse_domains(file.domains); });
  const Structs structs = with_place(file, line_of(file, "structs"),
                                     [&] { return parse_structs(file.options.structs); });
  with_place(file, line_of(file, "arguments"),
             [&] { return parse_arguments(file.options.arguments, structs); });
  with_place(file, line_of(file, "assume"),
             [&] { return parse_assumptions(file.options.assumptions); });
  const int functions_line = line_of(file, "functions");
  with_place(file, functions_line,
             [&] { return parse_functions(as_in_file(functions_line, file.options.functions)); });
  std::vector<Kernel> callees;
  for (const KernelFile& callee : file.callees) {
    callees.push_back(transformed_kernel(callee, described_kernel(callee)));
  }
  const int first_line = line_of(file, "statements");
  Kernel kernel = with_place_of_call(file, first_line, [&] {
    return make_kernel_with_callees(file.domains, as_in_file(first_line, file.statements),
                                    file.options, callees);
  });
  check_are_parameters(file, kernel, "sizes", file.sizes);
  check_are_parameters(file, kernel, "small", file.small_sizes);
  return kernel;
}

Kernel transformed_kernel(const KernelFile& file, Kernel described) {
  Kernel kernel = std::move(described);
  int line = line_of(file, "transform") - 1;
  int first_line = 0;
  std::string step;
  const std::vector<std::string> lines = split_lines(file.recipe);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ++line;
    first_line = step.empty() ? line : first_line;
    step += lines[i] + "\n";
    if (i + 1 == lines.size() || !is_open(step)) {
      kernel = with_place(file, first_line, [&] {
        return apply_recipe(std::move(kernel), as_in_file(first_line, step));
      });
      step.clear();
    }
  }
  return kernel;
}

namespace {

/// The line of each statement of the file, by its id in the kernel.
std::map<std::string, int, std::less<>> lines_of_statements(const KernelFile& file,
                                                            const Kernel& described) {
  const ParsedStatements parsed =
      parse_statements(as_in_file(line_of(file, "statements"), file.statements));
  std::map<std::string, int, std::less<>> lines;
  // statements that call other kernels become several
  const bool is_one_each = parsed.statements.size() == described.instructions.size();
  for (std::size_t i = 0; i < parsed.statements.size(); ++i) {
    const std::string& id = parsed.statements[i].instruction.id;
    const std::string& name = is_one_each ? described.instructions[i].id : id;
    lines.emplace(name, static_cast<int>(parsed.statements[i].line));
  }
  return lines;
}

/// The name in quotes that follows, with what is around it left out.
std::string_view next_quoted(std::string_view text) {
  const std::size_t begin = text.find('\'');
  const std::size_t end = begin == std::string_view::npos ? begin : text.find('\'', begin + 1);
  return end == std::string_view::npos ? std::string_view()
                                       : text.substr(begin + 1, end - begin - 1);
}

}  // namespace

std::string message_with_place(const KernelFile& file, const Kernel& described,
                               const Error& error) {
  const std::string& message = error.message();
  if (message.starts_with(file.path + ":") || message.starts_with("line ")) {
    return message;
  }
  const auto lines = lines_of_statements(file, described);
  for (const std::string_view word : {"statement '", "statements '"}) {
    const std::size_t at = message.find(word);
    if (at == std::string::npos) {
      continue;
    }
    std::string id(next_quoted(std::string_view(message).substr(at)));
    // copies of a statement are numbered
    for (auto found = lines.find(id); !id.empty(); found = lines.find(id)) {
      if (found != lines.end()) {
        return fmt::format("{}: {}", place(file.path, found->second), message);
      }
      const std::size_t end = id.find_last_of('_');
      id.resize(end == std::string::npos ? 0 : end);
    }
  }
  if (const auto line =
          error.code().starts_with("loopy.type_of.") ? line_of_call(file, error) : std::nullopt) {
    return fmt::format("{}: {}", place(file.path, *line), message);
  }
  const auto is_of = [&](std::string_view function) { return error.code().starts_with(function); };
  const bool is_of_kernel = is_of("loopy.check_") || is_of("loopy.infer_types.") ||
                            is_of("loopy.schedule.") || is_of("loopy.insert_barriers.") ||
                            is_of("loopy.generate.") || is_of("loopy.realize_reductions.") ||
                            is_of("loopy.choose_address_spaces.") || is_of("loopy.type_of.");
  return file.path.empty() || !is_of_kernel ? message : fmt::format("{}: {}", file.path, message);
}

Kernel kernel_from_text(std::string_view text_or_path) {
  const bool is_text = text_or_path.find('\n') != std::string_view::npos;
  const KernelFile file =
      is_text ? parse_kernel_file(text_or_path) : read_kernel_file(std::string(text_or_path));
  return transformed_kernel(file, described_kernel(file));
}

}  // namespace rtcg::loopy
