#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Campaigns: random inputs in numbers, each from its seed. An input has to be served or refused
// with an error of ours; all else is a finding.

namespace rtcg::campaigns {

/// What one case draws from; equal seeds give equal cases on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  template <class Items>
  const auto& of(const Items& items) {
    return items[below(items.size())];
  }

 private:
  std::mt19937_64 engine_;
};

/// Thrown by a case whose result is wrong though nothing was refused.
class Finding : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Serves an input, or throws an rtcg::Error other than InternalError; all else is a finding. It
/// gives how many runs the case had, since a kernel is run at several sizes; a function that
/// returns nothing has one.
class Serve {
 public:
  template <class Function>
  requires std::is_invocable_v<Function, const std::string&>
  // NOLINTNEXTLINE(google-explicit-constructor): kinds list functions
  Serve(Function function) {
    if constexpr (std::is_void_v<std::invoke_result_t<Function, const std::string&>>) {
      serve_ = [function](const std::string& input) -> std::uint64_t {
        function(input);
        return 1;
      };
    } else {
      serve_ = function;
    }
  }
  std::uint64_t operator()(const std::string& input) const { return serve_(input); }

 private:
  std::function<std::uint64_t(const std::string&)> serve_;
};

/// One kind of campaign. Cases run in child processes, so they may do to their process what they
/// like.
struct Kind {
  std::string name;
  std::string about;
  /// The input of a case, by which a finding is reported.
  std::function<std::string(Draw&)> make;
  Serve run;
  /// A case that takes longer is a finding.
  double case_seconds = 10;
  /// Address space of a process that runs cases; 0: as much as there is.
  std::size_t memory_mib = 4096;
  /// What a reader of a finding wants to know of its input and the input does not say; may be
  /// empty.
  std::function<std::string(const std::string& input)> story{};
};

/// What became of an input.
struct Outcome {
  std::uint64_t runs = 0;
  bool is_finding = false;
  std::string code;  ///< of a refusal
  std::string what;
};
[[nodiscard]] Outcome outcome_of(const Kind& kind, const std::string& input);

struct CampaignOptions {
  std::uint64_t seed = 1;
  std::uint64_t count = 1000;
  double seconds = 0;  ///< ends then, whatever is left; 0: not before all are done
  int jobs = 1;
};

/// Runs the cases 0 ... count - 1 and prints findings and counts.
/// @returns  how many cases were findings
[[nodiscard]] std::uint64_t run_campaign(const Kind& kind, const CampaignOptions& options);

/// The input of case `number`.
[[nodiscard]] std::string input_of(const Kind& kind, std::uint64_t seed, std::uint64_t number);

/// Runs one case in this process, prints its input, its story and what becomes of it.
/// @returns  whether it is a finding
[[nodiscard]] bool run_one(const Kind& kind, std::uint64_t seed, std::uint64_t number);

/// Words for the options of a run that the kinds need.
struct Places {
  std::string rtcg;    ///< the command line, for `options`
  std::string folder;  ///< of this run's own, for files
};

/// A new folder in memory where there is one; the caches of this process go there.
/// @throws std::runtime_error
[[nodiscard]] Places make_places();
[[nodiscard]] std::vector<Kind> all_kinds(const Places& places);

[[nodiscard]] std::vector<Kind> text_kinds();
[[nodiscard]] std::vector<Kind> file_kinds(const Places& places);
[[nodiscard]] Kind options_kind(const Places& places);
[[nodiscard]] Kind kernels_kind();
[[nodiscard]] Kind algorithms_kind();
[[nodiscard]] Kind gallery_kind();
[[nodiscard]] Kind held_out_kind();

/// The kernel files of `examples/kernels` and of the pages of transformations.
[[nodiscard]] const std::vector<std::string>& kernel_file_seeds();
/// Files as they were when the program was built; made by CMake.
[[nodiscard]] std::vector<std::string_view> embedded_files();
/// The same of `examples/gallery`.
[[nodiscard]] std::vector<std::string_view> embedded_gallery();

}  // namespace rtcg::campaigns
