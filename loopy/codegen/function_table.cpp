#include "rtcg/loopy/codegen/function_table.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/print/print_module.h"

namespace rtcg::loopy {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::set<std::string> declared_names(const cgen::Statement& body) {
  std::set<std::string> names;
  cgen::walk(body, {.type = {}, .expr = {}, .statement = [&](const cgen::Statement& each) {
                      if (const auto* variable = get_if<cgen::Declaration>(each)) {
                        names.insert(variable->name);
                      }
                      return true;
                    }});
  return names;
}

FunctionTable::FunctionTable(const Kernel& kernel, cgen::Dialect dialect)
    : dialect_(dialect), kernel_(kernel) {}

NameGenerator& FunctionTable::names() {
  if (!names_) {
    names_ = make_name_generator(kernel_);
    names_->reserve(kernel_.name);
    for (const std::string_view word : cgen::reserved_words(dialect_)) {
      names_->reserve(word);
    }
  }
  return *names_;
}

std::string FunctionTable::add(cgen::Function function) {
  const std::string wanted = function.name;
  function.name = std::string("f");
  const std::string form = form_of(function);
  const auto known = std::find_if(known_.begin(), known_.end(),
                                  [&](const auto& each) { return each.first == form; });
  if (known != known_.end()) {
    return known->second;
  }
  function.name = names().reserve(wanted) ? wanted : names().make(wanted);
  known_.emplace_back(form, function.name);
  std::string name = function.name;
  definitions_.emplace_back(std::move(function));
  return name;
}

/// The text with parameters and variables numbered in the order of their first use.
std::string FunctionTable::form_of(const cgen::Function& function) const {
  std::map<std::string, std::string, std::less<>> own;
  for (const cgen::Parameter& parameter : function.parameters) {
    own.emplace(parameter.name, "");
  }
  for (const std::string& name : declared_names(*function.body)) {
    own.emplace(name, "");
  }
  const std::string text =
      cgen::print_module(cgen::Module{"", {cgen::Statement(function)}}, dialect_).text;
  std::string form;
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    if (!is_letter(text[begin])) {
      // lines break where names make them long
      if (text[begin] != ' ' && text[begin] != '\n') {
        form += text[begin];
      }
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < text.size() && is_letter(text[end])) {
      ++end;
    }
    const std::string word = text.substr(begin, end - begin);
    if (const auto found = own.find(word); found != own.end()) {
      if (found->second.empty()) {
        found->second = fmt::format("${}", count++);
      }
      form += found->second;
    } else {
      form += word;
    }
    form += ' ';
    begin = end;
  }
  return form;
}

}  // namespace rtcg::loopy
