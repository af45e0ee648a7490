#include "rtcg/runtime/compile/header_scan.h"

#include <cctype>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "rtcg/runtime/compile/byte_buffer.h"
#include "rtcg/runtime/compile/file_stamps.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/compile/header_memo.h"
#include "rtcg/runtime/compile/scan_memo.h"

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
  return IncludeName{text.substr(1, end - 1), text[0] == '"'};
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

// The includes point into `text`.
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

// The same for a text that will be gone.
std::shared_ptr<const ScannedHeader> scan_and_keep(std::string_view text) {
  ScannedHeader scanned = scan_text(text);
  std::string names;
  for (const IncludeName& include : scanned.includes) {
    names += include.name;
  }
  scanned.names = std::make_shared<const std::string>(std::move(names));
  std::size_t begin = 0;
  for (IncludeName& include : scanned.includes) {
    include.name = std::string_view(*scanned.names).substr(begin, include.name.size());
    begin += include.name.size();
  }
  return std::make_shared<const ScannedHeader>(std::move(scanned));
}

// The meaning of an #include.
struct Target {
  std::string path;  // of a file, or the name of a header in memory
  bool is_memory = false;
  bool is_system = false;
  std::optional<FileStamp> stamp;
};

struct Resolution {
  std::optional<Target> target;
  bool is_enqueued = false;
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
      read_flag(flags[i], i + 1 < flags.size() ? std::string_view(flags[i + 1]) : "");
    }
    user_dirs_.insert(user_dirs_.begin(), request.options.include_dirs.begin(),
                      request.options.include_dirs.end());
  }

  HeaderScan run(const std::string& memo_folder) {
    const ScannedHeader source = scan_text(request_.source.text);
    note_problem("the source", source.why_uncachable);
    const bool may_be_known = forced_.empty() && memory_.empty() && !source.includes.empty();
    const ScanMemo memo(may_be_known ? memo_folder : "", question_of(source));
    if (auto known = memo.recall(stamps_)) {
      known->why_uncachable = std::move(result_.why_uncachable);
      return std::move(*known);
    }
    follow(source);
    if (may_be_kept_) {
      memo.keep(result_, answers_);
    }
    return std::move(result_);
  }

 private:
  // The inputs that decide which headers are found, besides the contents of the folders.
  [[nodiscard]] Digest question_of(const ScannedHeader& source) const {
    ByteWriter writer;
    for (const auto* folders : {&user_dirs_, &system_dirs_}) {
      writer.number(folders->size());
      for (const std::string& folder : *folders) {
        writer.text(folder);
      }
    }
    for (const IncludeName& include : source.includes) {
      writer.number(include.is_quoted ? 1 : 0);
      writer.text(include.name);
    }
    return sha256(writer.bytes());
  }

  void follow(const ScannedHeader& source) {
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
      visit(*target, index);
    }
  }

  // Flags that name further folders or files. Those whose effect on the output is not in the
  // request make it uncachable.
  void read_flag(const std::string& flag, std::string_view next) {
    for (std::string_view name : {"-I", "--include-path=", "-isystem", "-iquote", "-idirafter"}) {
      if (flag.rfind(name, 0) == 0) {
        user_dirs_.emplace_back(
            flag.size() > name.size() ? std::string_view(flag).substr(name.size()) : next);
        return;
      }
    }
    for (std::string_view name : {"-include", "--pre-include=", "-imacros", "--pre-include"}) {
      if (flag.rfind(name, 0) == 0) {
        const std::string_view file = std::string_view(flag).substr(name.size());
        forced_.push_back({file.empty() ? next : file, true});
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

  // Most looked-up files do not exist: `path_` keeps its memory from one to the next.
  std::optional<Target> find_file(std::string_view folder, std::string_view name, bool is_system) {
    path_.assign(folder).append("/").append(name);
    auto stamp = stamps_.find(path_);
    answers_.emplace_back(path_, stamp);
    return stamp ? std::optional(Target{path_, false, is_system, stamp}) : std::nullopt;
  }

  // The compiler's own headers name each other again and again: each name is looked for once.
  Resolution& resolve(const IncludeName& include, std::string_view folder, bool from_system) {
    question_.assign(include.is_quoted ? folder : "").append("\n").append(include.name);
    if (const auto known = resolved_.find(question_); known != resolved_.end()) {
      return known->second;
    }
    return resolved_.try_emplace(question_, Resolution{look_for(include, folder, from_system)})
        .first->second;
  }

  std::optional<Target> look_for(const IncludeName& include, std::string_view folder,
                                 bool from_system) {
    const std::string_view name = include.name;
    if (!name.empty() && name[0] == '/') {
      return find_file({}, name.substr(1), from_system);
    }
    if (include.is_quoted && !folder.empty()) {
      if (auto found = find_file(folder, name, from_system)) {
        return found;
      }
    }
    if (memory_.count(name) != 0) {
      return Target{std::string(name), true, false, {}};
    }
    for (const std::string& dir : user_dirs_) {
      if (auto found = find_file(dir, name, false)) {
        return found;
      }
    }
    for (const std::string& dir : system_dirs_) {
      if (auto found = find_file(dir, name, true)) {
        return found;
      }
    }
    return std::nullopt;
  }

  void enqueue(const std::vector<IncludeName>& includes, std::string_view folder,
               bool from_system) {
    for (const IncludeName& include : includes) {
      auto& [target, is_enqueued] = resolve(include, folder, from_system);
      if (!target) {
        // A header that is nowhere: should it appear one day, the key changes.
        if (!from_system && missing_.emplace(include.name).second) {
          result_.headers.push_back({std::string(include.name), {}, {}, false});
          result_.needs_system = true;
        }
        continue;
      }
      result_.needs_system = result_.needs_system || target->is_system;
      if (std::exchange(is_enqueued, true)) {
        continue;
      }
      // several names may refer to one file
      if ((target->is_memory ? seen_in_memory_ : seen_files_).insert(target->path).second) {
        result_.headers.push_back({std::string(include.name),
                                   target->is_memory ? "" : target->path,
                                   {},
                                   target->is_system});
        queue_.emplace_back(&*target, result_.headers.size() - 1);
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
    auto scanned = scan_and_keep(*bytes);
    HeaderMemo::instance().add(target.path, *target.stamp, scanned);
    return scanned;
  }

  void visit(const Target& target, std::size_t index) {
    std::shared_ptr<const ScannedHeader> scanned;
    if (target.is_memory) {
      scanned = scan_and_keep(*memory_.find(target.path)->second);
    } else if (target.is_system) {
      scanned = system_header(target);
    } else {
      may_be_kept_ = false;  // see HeaderMemo: the caller's files are always read
      const auto bytes = read_file(target.path);
      scanned = bytes ? scan_and_keep(*bytes) : nullptr;
    }
    if (scanned == nullptr) {
      may_be_kept_ = false;
      return;  // gone since it was found: the same as not found
    }
    if (!target.is_system) {
      note_problem("the header '" + result_.headers[index].spelling + "'", scanned->why_uncachable);
    }
    result_.headers[index].digest = scanned->digest;
    const std::size_t slash = target.path.rfind('/');
    const bool has_folder = !target.is_memory && slash != std::string::npos;
    const std::string_view folder = std::string_view(target.path).substr(0, has_folder ? slash : 0);
    enqueue(scanned->includes, folder, target.is_system);
  }

  const CompileRequest& request_;
  const std::vector<std::string>& system_dirs_;
  std::map<std::string, const std::string*, std::less<>> memory_;
  std::vector<std::string> user_dirs_;
  std::vector<IncludeName> forced_;
  FileStamps stamps_;
  std::deque<std::pair<const Target*, std::size_t>> queue_;  // into resolved_
  std::unordered_set<std::string_view> seen_in_memory_;      // into resolved_
  std::unordered_set<std::string_view> seen_files_;          // into resolved_
  std::set<std::string> missing_;
  std::unordered_map<std::string, Resolution> resolved_;
  std::vector<FileAnswer> answers_;
  bool may_be_kept_ = true;
  std::string path_;      // the file that is looked up
  std::string question_;  // the key under construction: there are thousands
  HeaderScan result_;
};

}  // namespace

HeaderScan scan_headers(const CompileRequest& request, const std::vector<std::string>& system_dirs,
                        const std::string& memo_folder) {
  return Scan(request, system_dirs).run(memo_folder);
}

}  // namespace rtcg::runtime
