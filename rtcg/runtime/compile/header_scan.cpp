#include "rtcg/runtime/compile/header_scan.h"

#include <cctype>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unordered_map>

#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/compile/header_memo.h"

namespace rtcg::runtime {
namespace {

std::string_view skip_blanks(std::string_view text) {
  while (!text.empty()) {
    if (text[0] == ' ' || text[0] == '\t') {
      text.remove_prefix(1);
    } else if (text.substr(0, 2) == "/*" && text.find("*/", 2) != text.npos) {
      text.remove_prefix(text.find("*/", 2) + 2);
    } else if (text.substr(0, 2) == "\\\n") {
      text.remove_prefix(2);
    } else {
      break;
    }
  }
  return text;
}

// Reads `"name"` or `<name>`.
std::optional<IncludeName> read_name(std::string_view text) {
  text = skip_blanks(text);
  if (text.empty() || (text[0] != '"' && text[0] != '<')) {
    return std::nullopt;
  }
  const std::size_t end = text.find(text[0] == '"' ? '"' : '>', 1);
  if (end == text.npos || end > text.find('\n')) {
    return std::nullopt;
  }
  return IncludeName{std::string(text.substr(1, end - 1)), text[0] == '"'};
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.substr(0, word.size()) == word &&
         (text.size() == word.size() ||
          (std::isalnum(static_cast<unsigned char>(text[word.size()])) == 0 &&
           text[word.size()] != '_'));
}

void scan_directive(std::string_view text, ScannedHeader& scanned) {
  text = skip_blanks(text);
  for (std::string_view word : {"include_next", "include", "import", "embed"}) {
    if (!starts_with_word(text, word)) {
      continue;
    }
    if (auto found = read_name(text.substr(word.size())); found && word != "embed") {
      scanned.includes.push_back(*found);
    } else {
      scanned.why_uncachable = "it has an #" + std::string(word) + " whose file cannot be read off";
    }
    return;
  }
}

void scan_has_include(std::string_view text, ScannedHeader& scanned) {
  constexpr std::string_view word = "__has_include";
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    std::string_view rest = skip_blanks(text.substr(at + word.size()));
    if (!rest.empty() && rest[0] == '(') {
      if (auto found = read_name(rest.substr(1))) {
        scanned.includes.push_back(*found);
      }
    }
  }
}

// True when the line that starts at `line` has a `#` first: then `rest` is what follows it.
bool is_directive(std::string_view line, std::string_view& rest) {
  line = skip_blanks(line);
  if (line.substr(0, 2) == "%:") {
    rest = line.substr(2);
    return true;
  }
  if (line.empty() || line[0] != '#') {
    return false;
  }
  rest = line.substr(1);
  return true;
}

ScannedHeader scan_text(std::string_view text) {
  ScannedHeader scanned;
  scanned.digest = sha256(text);
  for (std::string_view word : {"__DATE__", "__TIME__", "__TIMESTAMP__", ".incbin"}) {
    if (text.find(word) != text.npos) {
      scanned.why_uncachable = "it uses " + std::string(word);
    }
  }
  for (std::size_t begin = 0; begin < text.size();) {
    std::string_view rest;
    if (is_directive(text.substr(begin), rest)) {
      scan_directive(rest, scanned);
    }
    const std::size_t end = text.find('\n', begin);
    if (end == text.npos) {
      break;
    }
    begin = end + 1;
  }
  scan_has_include(text, scanned);
  return scanned;
}

// What an #include stands for.
struct Target {
  std::string path;  // of a file, or the name of a header in memory
  bool is_memory = false;
  bool is_system = false;
  std::optional<FileStamp> stamp;
};

class Scan {
 public:
  Scan(const CompileRequest& request, const std::vector<std::string>& system_dirs)
      : request_(request), system_dirs_(system_dirs) {
    for (const auto& [name, text] : request.options.headers) {
      memory_.emplace(name, &text);
    }
    const auto& flags = request.options.flags;
    for (std::size_t i = 0; i < flags.size(); ++i) {
      read_flag(flags[i], i + 1 < flags.size() ? flags[i + 1] : std::string());
    }
    user_dirs_.insert(user_dirs_.begin(), request.options.include_dirs.begin(),
                      request.options.include_dirs.end());
  }

  HeaderScan run() {
    const ScannedHeader source = scan_text(request_.source.text);
    note_problem("the source", source.why_uncachable);
    enqueue(forced_, {}, false);
    // All headers in memory count, reached or not: they are the request's own text, and how one of
    // them names another is each compiler's own rule.
    for (const auto& header : request_.options.headers) {
      enqueue({IncludeName{header.first, false}}, {}, false);
    }
    enqueue(source.includes, {}, false);
    while (!queue_.empty()) {
      const auto [target, index] = queue_.front();
      queue_.pop_front();
      visit(target, index);
    }
    return std::move(result_);
  }

 private:
  // Flags that name further folders or files. Those whose effect on the output cannot be told from
  // the request make it uncachable.
  void read_flag(const std::string& flag, const std::string& next) {
    for (std::string_view name : {"-I", "--include-path=", "-isystem", "-iquote", "-idirafter"}) {
      if (flag.rfind(name, 0) == 0) {
        user_dirs_.push_back(flag.size() > name.size() ? flag.substr(name.size()) : next);
        return;
      }
    }
    for (std::string_view name : {"-include", "--pre-include=", "-imacros", "--pre-include"}) {
      if (flag.rfind(name, 0) == 0) {
        forced_.push_back({flag.size() > name.size() ? flag.substr(name.size()) : next, true});
        return;
      }
    }
    for (std::string_view name :
         {"@", "-fplugin", "-fprofile-use", "-specs", "-B", "--use-pch", "--pch", "-fauto-profile",
          "--options-file", "-wrapper", "--create-pch"}) {
      if (flag.rfind(name, 0) == 0) {
        note_problem("the option '" + flag + "'", "it reads files");
      }
    }
  }

  void note_problem(const std::string& where, const std::string& problem) {
    if (!problem.empty() && result_.why_uncachable.empty()) {
      result_.why_uncachable = where + " cannot be cached: " + problem;
    }
  }

  std::optional<Target> find_file(const std::string& path, bool is_system) const {
    if (auto stamp = file_stamp(path)) {
      return Target{path, false, is_system, stamp};
    }
    return std::nullopt;
  }

  // The compiler's own headers name each other again and again: each name is looked for once.
  std::optional<Target> resolve(const IncludeName& include, const std::string& folder,
                                bool from_system) {
    std::string question = (include.is_quoted ? folder : std::string()) + "\n" + include.name;
    const auto [found, is_new] = resolved_.try_emplace(std::move(question));
    if (is_new) {
      found->second = look_for(include, folder, from_system);
    }
    return found->second;
  }

  std::optional<Target> look_for(const IncludeName& include, const std::string& folder,
                                 bool from_system) const {
    const std::string& name = include.name;
    if (!name.empty() && name[0] == '/') {
      return find_file(name, from_system);
    }
    if (include.is_quoted && !folder.empty()) {
      if (auto found = find_file(folder + "/" + name, from_system)) {
        return found;
      }
    }
    if (memory_.count(name) != 0) {
      return Target{name, true, false, {}};
    }
    for (const std::string& dir : user_dirs_) {
      if (auto found = find_file(dir + "/" + name, false)) {
        return found;
      }
    }
    for (const std::string& dir : system_dirs_) {
      if (auto found = find_file(dir + "/" + name, true)) {
        return found;
      }
    }
    return std::nullopt;
  }

  void enqueue(const std::vector<IncludeName>& includes, const std::string& folder,
               bool from_system) {
    for (const IncludeName& include : includes) {
      const auto target = resolve(include, folder, from_system);
      if (!target) {
        // A header that is nowhere: should it appear one day, the key changes.
        if (!from_system && missing_.insert(include.name).second) {
          result_.headers.push_back({include.name, {}, {}, false});
          result_.needs_system = true;
        }
        continue;
      }
      result_.needs_system = result_.needs_system || target->is_system;
      if (seen_.insert((target->is_memory ? "memory:" : "file:") + target->path).second) {
        result_.headers.push_back(
            {include.name, target->is_memory ? "" : target->path, {}, target->is_system});
        queue_.emplace_back(*target, result_.headers.size() - 1);
      }
    }
  }

  static std::shared_ptr<const ScannedHeader> system_header(const Target& target) {
    if (auto known = HeaderMemo::instance().find(target.path, *target.stamp)) {
      return known;
    }
    const auto bytes = read_file(target.path);
    if (!bytes) {
      return nullptr;
    }
    auto scanned = std::make_shared<const ScannedHeader>(scan_text(*bytes));
    HeaderMemo::instance().add(target.path, *target.stamp, scanned);
    return scanned;
  }

  void visit(const Target& target, std::size_t index) {
    std::shared_ptr<const ScannedHeader> scanned;
    if (target.is_memory) {
      scanned = std::make_shared<const ScannedHeader>(scan_text(*memory_.at(target.path)));
    } else if (target.is_system) {
      scanned = system_header(target);
    } else if (const auto bytes = read_file(target.path)) {
      scanned = std::make_shared<const ScannedHeader>(scan_text(*bytes));
    }
    if (scanned == nullptr) {
      return;  // gone since it was found: the same as not found
    }
    if (!target.is_system) {
      note_problem("the header '" + result_.headers[index].spelling + "'", scanned->why_uncachable);
    }
    result_.headers[index].digest = scanned->digest;
    const std::size_t slash = target.path.rfind('/');
    const std::string folder = target.is_memory || slash == std::string::npos
                                   ? std::string()
                                   : target.path.substr(0, slash);
    enqueue(scanned->includes, folder, target.is_system);
  }

  const CompileRequest& request_;
  const std::vector<std::string>& system_dirs_;
  std::map<std::string, const std::string*> memory_;
  std::vector<std::string> user_dirs_;
  std::vector<IncludeName> forced_;
  std::deque<std::pair<Target, std::size_t>> queue_;
  std::set<std::string> seen_;
  std::set<std::string> missing_;
  std::unordered_map<std::string, std::optional<Target>> resolved_;
  HeaderScan result_;
};

}  // namespace

HeaderScan scan_headers(const CompileRequest& request,
                        const std::vector<std::string>& system_dirs) {
  return Scan(request, system_dirs).run();
}

}  // namespace rtcg::runtime
