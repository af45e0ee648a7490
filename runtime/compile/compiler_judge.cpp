#include "rtcg/runtime/compile/compiler_judge.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "rtcg/runtime/compile/cache_key.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::runtime {
namespace {

using Mends = std::vector<std::vector<std::string>>;

// The last digit is the version of this format.
constexpr std::string_view verdict_magic = "rtcgver1";

std::string joined_flags(const std::vector<std::string>& flags) {
  return fmt::format("{}", fmt::join(flags, " "));
}

// A file of three lines: the format, the compiler, and `flags ...` or `refused ...`.
std::string write_verdict(const std::string& identity, const CompilerJudge::Verdict& verdict) {
  return fmt::format("{}\n{}\n{}\n", verdict_magic, identity,
                     verdict.why_refused.empty() ? "flags " + joined_flags(verdict.flags)
                                                 : "refused " + verdict.why_refused);
}

// Only flags that would be tried are believed.
std::optional<CompilerJudge::Verdict> read_verdict(const std::string& text,
                                                   const std::string& identity,
                                                   const Mends& mends) {
  std::istringstream lines(text);
  std::string magic;
  std::string compiler;
  std::string found;
  std::getline(lines, magic);
  std::getline(lines, compiler);
  std::getline(lines, found);
  if (magic != verdict_magic || compiler != identity) {
    return std::nullopt;
  }
  if (constexpr std::string_view refused = "refused ";
      found.size() > refused.size() && found.rfind(refused, 0) == 0) {
    return CompilerJudge::Verdict{{}, found.substr(refused.size())};
  }
  if (found == "flags ") {
    return CompilerJudge::Verdict{};
  }
  const auto mend = std::find_if(mends.begin(), mends.end(), [&](const auto& flags) {
    return found == "flags " + joined_flags(flags);
  });
  return mend == mends.end() ? std::nullopt : std::optional(CompilerJudge::Verdict{*mend, {}});
}

// Nothing: unknown.
std::optional<CompilerJudge::Verdict> find_by_running(const Mends& mends,
                                                      const CompilerJudge::Run& run) {
  using Result = CompilerJudge::Trial::Result;
  const CompilerJudge::Trial plain = run({});
  if (plain.result != Result::wrong) {
    return plain.result == Result::right ? std::optional(CompilerJudge::Verdict{}) : std::nullopt;
  }
  for (const std::vector<std::string>& flags : mends) {
    if (run(flags).result == Result::right) {
      return CompilerJudge::Verdict{flags, {}};
    }
  }
  return CompilerJudge::Verdict{{}, plain.what};
}

}  // namespace

CompilerJudge::Verdict CompilerJudge::judge(const std::string& identity, const Mends& mends,
                                            const Run& run) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(identity);
  if (known != known_.end()) {
    return known->second;
  }
  const std::string path = folder_.empty() ? std::string()
                                           : fmt::format("{}/{}.verdict", folder_,
                                                         to_hex(sha256(identity)).substr(0, 32));
  std::optional<Verdict> verdict;
  if (const auto text = path.empty() ? std::nullopt : read_file(path)) {
    verdict = read_verdict(*text, identity, mends);
  }
  if (!verdict) {
    verdict = find_by_running(mends, run);
    if (verdict && !path.empty() && make_private_folder(folder_).empty()) {
      // where it cannot be written, the next process runs the test again
      static_cast<void>(write_file_atomically(path, write_verdict(identity, *verdict)));
    }
  }
  return known_[identity] = verdict.value_or(Verdict{});
}

bool CompilerJudge::is_switched_off() {
  return environment_switch("RTCG_TRUST_COMPILER");
}

}  // namespace rtcg::runtime
