#include "rtcg/runtime/compile/diagnostics.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace rtcg::runtime {
namespace {

constexpr std::size_t most_errors_shown = 3;
constexpr std::size_t longest_log_shown = 2000;

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

struct Word {
  std::string_view text;
  Severity severity;
};
constexpr Word words[] = {{"fatal error", Severity::error}, {"catastrophic error", Severity::error},
                          {"error", Severity::error},       {"warning", Severity::warning},
                          {"note", Severity::note},         {"remark", Severity::note}};

// Takes a number from the end of `text`; 0 when there is none.
int take_number(std::string_view& text) {
  std::size_t begin = text.size();
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0) {
    --begin;
  }
  int number = 0;
  std::from_chars(text.data() + begin, text.data() + text.size(), number);
  text = text.substr(0, begin);
  return number;
}

bool take_end(std::string_view& text, char end) {
  if (text.empty() || text.back() != end) {
    return false;
  }
  text.remove_suffix(1);
  return true;
}

// The text before the severity: `k.c:3:5`, `k.c:3` or `k.cu(3)`.
std::optional<Diagnostic> parse_place(std::string_view place) {
  Diagnostic diagnostic;
  const bool is_nvrtc = take_end(place, ')');
  diagnostic.line = take_number(place);
  if (diagnostic.line == 0 || !take_end(place, is_nvrtc ? '(' : ':')) {
    return std::nullopt;
  }
  if (!is_nvrtc) {
    std::string_view before = place;
    const int number = take_number(before);
    if (number > 0 && take_end(before, ':')) {
      diagnostic.column = diagnostic.line;
      diagnostic.line = number;
      place = before;
    }
  }
  diagnostic.file = place;
  return diagnostic;
}

// PoCL with the severity first: `error: k.cl:3:5: text`.
std::optional<Diagnostic> parse_pocl_line(std::string_view line) {
  for (const Word& word : words) {
    if (line.rfind(std::string(word.text) + ": ", 0) != 0) {
      continue;
    }
    const std::string_view rest = line.substr(word.text.size() + 2);
    const std::size_t at = rest.find(": ");
    auto diagnostic = at == rest.npos ? std::nullopt : parse_place(rest.substr(0, at));
    if (diagnostic) {
      diagnostic->severity = word.severity;
      diagnostic->text = rest.substr(at + 2);
      return diagnostic;
    }
  }
  return std::nullopt;
}

// gcc, clang, PoCL, NVIDIA's OpenCL: `k.c:3:5: error: text`; NVRTC: `k.cu(3): error: text` and
// `k.cu(3): warning #177-D: text`.
std::optional<Diagnostic> parse_line(std::string_view line) {
  if (auto diagnostic = parse_pocl_line(line); diagnostic) {
    // some versions repeat the severity after the place
    for (const Word& word : words) {
      const std::string repeated = std::string(word.text) + ": ";
      if (diagnostic->text.rfind(repeated, 0) == 0) {
        diagnostic->text.erase(0, repeated.size());
      }
    }
    return diagnostic;
  }
  for (std::size_t at = line.find(": "); at != line.npos; at = line.find(": ", at + 1)) {
    auto diagnostic = parse_place(line.substr(0, at));
    if (!diagnostic) {
      continue;
    }
    const std::string_view rest = line.substr(at + 2);
    const std::size_t colon = rest.find(": ");
    const std::string_view found = rest.substr(0, std::min(rest.find(" #"), colon));
    for (const Word& word : words) {
      if (colon != rest.npos && found == word.text) {
        diagnostic->severity = word.severity;
        diagnostic->text = rest.substr(colon + 2);
        return diagnostic;
      }
    }
  }
  return std::nullopt;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

bool is_in_headers(const CompileRequest& request, std::string_view file) {
  const std::string_view base = base_name(file);
  return std::any_of(request.options.headers.begin(), request.options.headers.end(),
                     [&](const auto& header) { return base_name(header.first) == base; });
}

// Whether a message is about the request's own text and not about a header.
bool is_about_source(const CompileRequest& request, std::string_view file) {
  if (is_in_headers(request, file)) {
    return false;
  }
  if (!request.source_path.empty() && file == request.source_path) {
    return true;
  }
  for (std::string_view ending : {".h", ".hpp", ".cuh", ".inl"}) {
    if (file.size() > ending.size() && file.substr(file.size() - ending.size()) == ending) {
      return false;
    }
  }
  return file.find("/include/") == file.npos;
}

// `#line 7 "user.cpp"`: the next line gets that number.
struct LineDirective {
  int line = 0;
  std::string_view file;
};
std::optional<LineDirective> parse_line_directive(std::string_view text) {
  constexpr std::string_view word = "#line ";
  if (text.substr(0, word.size()) != word) {
    return std::nullopt;
  }
  LineDirective directive;
  const auto [end, error] =
      std::from_chars(text.data() + word.size(), text.data() + text.size(), directive.line);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error == std::errc() && rest.size() > 3 && rest[1] == '"') {
    directive.file = rest.substr(2, rest.size() - 3);
  }
  return error == std::errc() ? std::optional(directive) : std::nullopt;
}

// The line of the source, from 1, that a message is about, without the effect of #line; 0 if there
// is none.
std::size_t find_line(const CompileRequest& request, const Diagnostic& diagnostic,
                      const std::vector<std::string>& lines) {
  const bool is_own_name = is_about_source(request, diagnostic.file);
  std::string_view believed_file;
  int believed_line = 1;
  for (std::size_t i = 0; i < lines.size(); ++i, ++believed_line) {
    if (const auto directive = parse_line_directive(lines[i])) {
      believed_file = directive->file.empty() ? believed_file : directive->file;
      believed_line = directive->line - 1;
    } else if (believed_line == diagnostic.line &&
               (believed_file.empty() ? is_own_name : believed_file == diagnostic.file)) {
      return i + 1;
    }
  }
  return 0;
}

// The line before, the line, and a caret below the column.
std::string excerpt(const CompileRequest& request, const Diagnostic& diagnostic,
                    const std::vector<std::string>& lines) {
  const std::size_t line = find_line(request, diagnostic, lines);
  if (line == 0) {
    return {};
  }
  std::string text;
  for (std::size_t shown = line > 1 ? line - 1 : line; shown <= line; ++shown) {
    text += fmt::format("\n{:>6} | {}", shown, lines[shown - 1]);
  }
  if (diagnostic.column > 0) {
    const std::string& offending = lines[line - 1];
    const auto before = std::min(static_cast<std::size_t>(diagnostic.column - 1), offending.size());
    std::string blanks(before, ' ');
    for (std::size_t i = 0; i < before; ++i) {
      blanks[i] = offending[i] == '\t' ? '\t' : ' ';
    }
    text += fmt::format("\n       | {}^", blanks);
  }
  const auto& origins = request.source.origins;
  if (line <= origins.size() && origins[line - 1].file != nullptr) {
    text += fmt::format("\n  built at {}:{}", origins[line - 1].file, origins[line - 1].line);
  }
  return text;
}

std::string describe(const CompileRequest& request, const std::string& log) {
  const std::vector<std::string> lines = split_lines(request.source.text);
  std::string text;
  std::size_t errors = 0;
  for (const Diagnostic& diagnostic : parse_diagnostics(log)) {
    if (diagnostic.severity != Severity::error) {
      continue;
    }
    if (++errors <= most_errors_shown) {
      const std::string column =
          diagnostic.column > 0 ? fmt::format(":{}", diagnostic.column) : std::string();
      text += fmt::format("\n{}:{}{}: error: {}{}", diagnostic.file, diagnostic.line, column,
                          diagnostic.text, excerpt(request, diagnostic, lines));
    }
  }
  if (errors > most_errors_shown) {
    text += fmt::format("\n... and {} more errors", errors - most_errors_shown);
  }
  if (errors == 0) {
    // A linker's or an assembler's words: as they are.
    text = log.empty() ? " it exited without a message" : "\n" + log.substr(0, longest_log_shown);
  }
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

}  // namespace

std::vector<Diagnostic> parse_diagnostics(std::string_view log) {
  std::vector<Diagnostic> diagnostics;
  for (const std::string& line : split_lines(log)) {
    if (auto diagnostic = parse_line(line)) {
      diagnostics.push_back(std::move(*diagnostic));
    }
  }
  return diagnostics;
}

CompileFailure compile_failure(std::string code, std::string_view compiler,
                               const CompileRequest& request,
                               const std::vector<std::string>& options, std::string log) {
  std::string message =
      fmt::format("{} refused '{}':{}", compiler, request.program_name, describe(request, log));
  return CompileFailure(
      std::move(code), std::move(message),
      {request.source.text, fmt::format("{}", fmt::join(options, " ")), std::move(log)});
}

}  // namespace rtcg::runtime
