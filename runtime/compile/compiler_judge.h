#pragma once
// Internal header: it is not installed.

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace rtcg::runtime {

/// Whether a compiler makes right code, found by running a small program whose results are known
/// exactly (self_test.h): once for each compiler, kept in a folder.
///
/// Compilers do get right text wrong: gcc 12 with -O3 for processors with AVX2 computes tiles whose
/// last rows are missing wrongly, PoCL 5 pipelined tiles. Any thread may call any member; several
/// that ask for one compiler wait for one test.
class CompilerJudge {
 public:
  /// The result of one run of the test.
  struct Trial {
    enum class Result {
      right,
      wrong,    ///< `what` is the error
      unknown,  ///< it could not be compiled or run; later use of the compiler will show why
    };
    Result result = Result::unknown;
    std::string what{};
  };
  struct Verdict {
    std::vector<std::string> flags{};  ///< that make it right; mostly none
    std::string why_refused{};         ///< what is wrong with all flags; empty: it may be used
  };
  /// Compiles with these flags added, and runs.
  using Run = std::function<Trial(const std::vector<std::string>& flags)>;

  /// @param folder  verdicts are kept there between processes; empty: they are not
  explicit CompilerJudge(std::string folder) : folder_(std::move(folder)) {}

  /// The verdict on the compiler `identity`: without flags if it is correct, otherwise with the
  /// first of `mends` that makes it correct.
  ///
  /// @param identity  compiler, version, its flags, the machine: all that decides the code that
  ///                  it makes
  /// @cost  the first time one run for each attempt; then one small file a process
  [[nodiscard]] Verdict judge(const std::string& identity,
                              const std::vector<std::vector<std::string>>& mends, const Run& run);

  /// Whether RTCG_TRUST_COMPILER is on: then no compiler is judged.
  ///
  /// @throws InvalidInput  runtime.environment.not_a_switch
  [[nodiscard]] static bool is_switched_off();

 private:
  std::string folder_;
  std::mutex mutex_;  // held during a test: those who ask for the same compiler wait for it
  std::map<std::string, Verdict> known_;
};

}  // namespace rtcg::runtime
