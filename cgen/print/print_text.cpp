// Comments, raw text, inline assembly and preprocessor lines: what holds text of the user's, which
// must neither break out of its place nor swallow what follows.
#include <algorithm>

#include "rtcg/cgen/print/printer.h"

namespace rtcg::cgen {

namespace {

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return lines;
    }
    text.remove_prefix(end + 1);
  }
}

/// A comment's line such that it neither ends the comment nor goes on in the line below.
std::string safe_comment_line(std::string line) {
  for (char& c : line) {
    if (c == '\r' || c == '\f' || c == '\v') {
      c = ' ';
    }
  }
  for (const std::string_view bad : {"*/", "/*",
                                     "?"
                                     "?/"}) {
    for (std::size_t at = line.find(bad); at != std::string::npos; at = line.find(bad, at + 1)) {
      line.insert(at + bad.size() - 1, " ");
    }
  }
  while (!line.empty() && line.back() == ' ') {
    line.pop_back();
  }
  if (!line.empty() && line.back() == '\\') {
    line += " .";  // a backslash at the end would pull the next line into the comment
  }
  return line;
}

}  // namespace

void Printer::directive(const Statement& tree, std::string_view text) {
  out.begin_line_at(0, tree.where());
  out.append(text);
  out.end_line();
}

void Printer::comment(const Statement& tree, const Comment& node) {
  const std::vector<std::string> lines = split_lines(node.text);
  const auto words = [&](std::string_view prefix, const std::string& text) {
    // Long lines are broken between words, each part starting like the first.
    std::string_view rest = text;
    while (true) {
      out.begin_line(tree.where());
      out.append(prefix);
      const std::size_t used = out.column();
      const std::size_t room = options_.max_columns > used + 20 ? options_.max_columns - used : 20;
      std::size_t end = rest.size();
      if (rest.size() > room) {
        const std::size_t blank = rest.rfind(' ', room);
        const std::size_t next = rest.find(' ', room);
        end = blank != std::string_view::npos && blank > 0 ? blank
              : next != std::string_view::npos             ? next
                                                           : rest.size();
      }
      out.append(safe_comment_line(std::string(rest.substr(0, end))));
      out.end_line();
      if (end >= rest.size()) {
        return;
      }
      rest.remove_prefix(end + 1);
    }
  };
  if (node.style == CommentStyle::line && dialect_ != Dialect::c) {
    for (const std::string& line : lines) {
      words("// ", line);
    }
    return;
  }
  if (lines.size() == 1 && lines[0].size() + 10 + out.column() < options_.max_columns) {
    out.line("/* " + safe_comment_line(lines[0]) + " */", tree.where());
    return;
  }
  out.line("/*", tree.where());
  for (const std::string& line : lines) {
    words(" * ", line);
  }
  out.line(" */", tree.where());
}

void Printer::inline_asm(const Statement& tree, const InlineAsm& node) {
  begin(tree);
  out.append(words_.asm_);
  out.append(node.is_volatile ? " volatile(" : "(");
  ++brackets_;
  const std::vector<std::string> lines = split_lines(node.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out.append(' ');
      break_here(Level::comma);
    }
    out.append(string_literal(lines[i] + (i + 1 < lines.size() ? "\n" : "")));
  }
  const auto operands = [&](const std::vector<AsmOperand>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      out.append(i > 0 ? ", " : " ");
      break_here(Level::comma);
      out.append(string_literal(list[i].constraint) + "(");
      expr(list[i].value, Level::comma);
      out.append(')');
    }
  };
  const int sections = !node.clobbers.empty()  ? 3
                       : !node.inputs.empty()  ? 2
                       : !node.outputs.empty() ? 1
                                               : 0;
  if (sections >= 1) {
    out.append(" :");
    operands(node.outputs);
  }
  if (sections >= 2) {
    out.append(" :");
    operands(node.inputs);
  }
  if (sections >= 3) {
    out.append(" :");
    for (std::size_t i = 0; i < node.clobbers.size(); ++i) {
      out.append(i > 0 ? ", " : " ");
      out.append(string_literal(node.clobbers[i]));
    }
  }
  --brackets_;
  out.append(");");
  out.end_line();
}

void Printer::raw(const Statement& tree, const RawStatement& node) {
  std::vector<std::string> lines = split_lines(node.text);
  const auto is_blank = [](const std::string& line) {
    return line.find_first_not_of(" \t") == std::string::npos;
  };
  while (!lines.empty() && is_blank(lines.front())) {
    lines.erase(lines.begin());
  }
  while (!lines.empty() && is_blank(lines.back())) {
    lines.pop_back();
  }
  std::size_t common = std::string::npos;
  for (const std::string& line : lines) {
    if (!is_blank(line) && line[0] != '#') {
      common = std::min(common, line.find_first_not_of(' '));
    }
  }
  for (const std::string& line : lines) {
    if (is_blank(line)) {
      out.blank_line();
    } else if (line[0] == '#') {
      directive(tree, line);
    } else {
      begin(tree);
      out.append(std::string_view(line).substr(std::min(common, line.size())));
      out.end_line();
    }
  }
}

void Printer::preprocessor_if(const Statement& tree, const PreprocessorIf& node) {
  bool is_first = true;
  for (const PreprocessorBranch& branch : node.branches) {
    std::string line = is_first ? "#if" : "#elif";
    if (is_first && branch.test != PreprocessorTest::if_) {
      line += branch.test == PreprocessorTest::ifdef ? "def" : "ndef";
    }
    line += ' ';
    if (!is_first && branch.test != PreprocessorTest::if_) {
      line += branch.test == PreprocessorTest::ifdef ? "defined(" : "!defined(";
      line += branch.condition + ")";
    } else {
      line += branch.condition;
    }
    directive(tree, line);
    statements(branch.body);
    is_first = false;
  }
  if (node.else_body) {
    directive(tree, "#else");
    statements(*node.else_body);
  }
  directive(tree, "#endif");
}

void Printer::define(const Statement& tree, const Define& node) {
  std::string head = "#define " + node.name;
  if (node.parameters) {
    head += '(';
    for (std::size_t i = 0; i < node.parameters->size(); ++i) {
      head.append(i > 0 ? ", " : "").append((*node.parameters)[i]);
    }
    head += ')';
  }
  const std::vector<std::string> lines = split_lines(node.value);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out.begin_line_at(0, tree.where());
    out.append(i == 0 ? head : "");
    out.append(i == 0 && !lines[0].empty() ? " " : "");
    out.append(lines[i]);
    out.append(i + 1 < lines.size() ? " \\" : "");
    out.end_line();
  }
}

}  // namespace rtcg::cgen
