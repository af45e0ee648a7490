// rtcg reduce: the smallest kernel file that fails as a given one does.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <poll.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "tools/command.h"
#include "tools/reduce_text.h"

namespace rtcg::tools {
namespace {

using loopy::Kernel;
using Clock = std::chrono::steady_clock;

struct ReduceWords {
  std::string file;
  std::string code;
  bool check = false;
  std::string target = "cuda";
  std::string device = "host";
  std::vector<std::string> values;
  double budget_seconds = 60;
  double case_seconds = 10;
};

/// How a file fails: what a smaller one has to do as well.
struct Failure {
  std::string kind;  ///< a code, `wrong`, or how its process ended; empty: it does not fail
  std::string message{};
};

volatile std::sig_atomic_t stop_signal = 0;

void note_stop_signal(int signal) {
  stop_signal = signal;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw InvalidInput("loopy.read_kernel_file.unreadable",
                       fmt::format("the kernel file '{}' cannot be read", path));
  }
  return text.str();
}

/// Serves a file as `show` does, and with --check as `run --check` does.
Failure serve(const std::string& text, const ReduceWords& words) {
  try {
    const loopy::KernelFile file = loopy::parse_kernel_file(text, words.file);
    const Kernel described = loopy::described_kernel(file);
    const Kernel transformed = loopy::transformed_kernel(file, described);
    static_cast<void>(loopy::checked_kernel(transformed));
    static_cast<void>(loopy::generate_text(transformed, parse_target(words.target)));
    if (!words.check) {
      return {};
    }
    loopy::CompareOptions options;
    loopy::IntegerValues values;
    parse_scalars(words.values, values, options.reals);
    const runtime::Device device =
        words.device == "best" ? runtime::Device::best() : runtime::Device::find(words.device);
    const loopy::ComparisonReport report =
        loopy::compare_with_reference(transformed, described, values, device, options);
    if (!report.is_equal) {
      return {"wrong",
              fmt::format("{}[{}] = {}, but the kernel as described gives {}", report.worst.array,
                          report.worst.index, report.worst.left, report.worst.right)};
    }
    return {};
  } catch (const Error& error) {
    return {error.code(), error.message()};
  } catch (const std::exception& error) {
    return {"exception", error.what()};
  }
}

std::string first_lines(const std::string& text) {
  return text.substr(0, std::min<std::size_t>(text.find('\n'), 2000));
}

/// The same in a separate process, which may crash, hang, or use all memory that it is allowed.
Failure serve_apart(const std::string& text, const ReduceWords& words) {
  int ends[2];
  if (::pipe(ends) != 0) {
    throw DeviceError("tools.reduce.no_process", "a file cannot be tried in a separate process",
                      "pipe", std::strerror(errno));
  }
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t child = ::fork();
  if (child < 0) {
    throw DeviceError("tools.reduce.no_process", "a file cannot be tried in a separate process",
                      "fork", std::strerror(errno));
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGFPE, SIG_DFL);  // said once for the whole file is enough
    std::signal(SIGILL, SIG_DFL);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::close(ends[0]);
    const Failure failure = serve(text, words);
    const std::string line = failure.kind + "\n" + first_lines(failure.message);
    [[maybe_unused]] const auto written = ::write(ends[1], line.data(), line.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string answer;
  bool is_late = false;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(words.case_seconds));
  while (true) {
    pollfd wait{ends[0], POLLIN, 0};
    const int ready = ::poll(&wait, 1, 20);
    char bytes[4096];
    const ssize_t count = ready > 0 ? ::read(ends[0], bytes, sizeof bytes) : -1;
    if (count == 0) {
      break;
    }
    if (count > 0) {
      answer.append(bytes, static_cast<std::size_t>(count));
    }
    is_late = Clock::now() > end;
    if (is_late || stop_signal != 0) {
      break;
    }
  }
  ::close(ends[0]);
  ::kill(-child, SIGKILL);  // with the compiler that it may have started
  int status = 0;
  if (is_late || stop_signal != 0) {
    ::kill(child, SIGKILL);
  }
  ::waitpid(child, &status, 0);
  if (stop_signal != 0) {
    return {};
  }
  if (is_late) {
    return {"hang", fmt::format("takes more than {} s", words.case_seconds)};
  }
  const std::size_t split = answer.find('\n');
  if (split == std::string::npos) {
    const bool is_signal = WIFSIGNALED(status);
    return {"crash", is_signal ? ::strsignal(WTERMSIG(status))
                               : fmt::format("ends with status {}", WEXITSTATUS(status))};
  }
  return {answer.substr(0, split), answer.substr(split + 1)};
}

std::string comment_of(const Failure& failure, const ReduceWords& words) {
  std::string text = fmt::format("# fails with {}", failure.kind);
  if (words.check) {
    text += fmt::format(" on {}", words.device);
  }
  for (const std::string& value : words.values) {
    text += " --set " + value;
  }
  std::string message = first_lines(failure.message);
  std::replace_if(
      message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < 32; },
      ' ');
  return text + ": " + message + "\n";
}

void reduce(const ReduceWords& words) {
  std::signal(SIGINT, note_stop_signal);
  std::signal(SIGTERM, note_stop_signal);
  std::string text = read_text(words.file);
  if (!text.empty() && text.back() != '\n') {
    text += '\n';
  }
  Failure failure = serve_apart(text, words);
  const std::string wanted = !words.code.empty() ? words.code
                             : words.check       ? "wrong"
                                                 : failure.kind;
  const bool fails = !failure.kind.empty() && failure.kind == wanted;
  if (stop_signal == 0 && !fails) {
    throw InvalidInput(
        "tools.reduce.does_not_fail",
        fmt::format("'{}' {}: there is nothing to reduce{}", words.file,
                    failure.kind.empty() ? "does not fail" : "fails with " + failure.kind,
                    words.code.empty() && !words.check
                        ? "; --check compares numbers, --target names another language"
                        : fmt::format(", as '{}' is asked for", wanted)));
  }
  const Clock::time_point begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const std::size_t first_bytes = text.size();
  std::size_t smallest_bytes = first_bytes;
  std::size_t tries = 0;
  double told = 0;
  const bool shows_progress = ::isatty(STDERR_FILENO) == 1;
  const auto still_fails = [&](const std::string& candidate) {
    const Failure found = serve_apart(candidate, words);
    ++tries;
    const bool is_same = stop_signal == 0 && found.kind == wanted;
    if (is_same) {
      failure = found;
      smallest_bytes = candidate.size();
    }
    if (shows_progress ? seconds() - told > 0.5 : seconds() - told > 10) {
      told = seconds();
      std::fprintf(stderr, "%s%zu tries, %zu of %zu bytes, %.0f s%s", shows_progress ? "\r" : "",
                   tries, smallest_bytes, first_bytes, told, shows_progress ? "" : "\n");
    }
    return is_same;
  };
  const std::string reduced = reduce_text(
      text, still_fails, [&] { return stop_signal != 0 || seconds() > words.budget_seconds; });
  if (shows_progress && told > 0) {
    std::fputs("\n", stderr);
  }
  if (stop_signal == 0 || tries > 0) {
    std::fputs((comment_of(failure, words) + reduced).c_str(), stdout);
    std::fflush(stdout);
  }
  std::fprintf(stderr, "from %zu to %zu bytes in %zu tries and %.1f s%s\n", first_bytes,
               reduced.size(), tries, seconds(),
               stop_signal != 0                   ? ", stopped"
               : seconds() > words.budget_seconds ? ", where the budget ended"
                                                  : "");
  if (stop_signal != 0) {
    std::signal(stop_signal, SIG_DFL);
    std::raise(stop_signal);
  }
}

}  // namespace

void add_reduce_command(CLI::App& app) {
  const auto words = std::make_shared<ReduceWords>();
  CLI::App* command = app.add_subcommand(
      "reduce",
      "Shrink a kernel file that fails to the smallest one with the same failure: "
      "remove steps,\n"
      "statements, arguments and operands and make numbers smaller. Prints the "
      "file; reports its\n"
      "progress on stderr.\n\n"
      "  rtcg reduce slow.loopy > small.loopy\n"
      "  rtcg reduce refused.loopy --code loopy.check_races.write_race\n"
      "  rtcg reduce wrong.loopy --check --device host --set n=37");
  command->add_option("FILE", words->file, "A kernel file (docs/kernel_files.md)")->required();
  CLI::Option* code = command->add_option(
      "--code", words->code, "Failure is this error code; default: the failure of FILE");
  command->add_flag("--check", words->check, "Failure is wrong numbers")->excludes(code);
  command->add_option("--set", words->values, "Value of a scalar, for --check: n=1000")
      ->allow_extra_args(false);
  command->add_option("-d,--device", words->device, "Device of --check: host, opencl:0, ...")
      ->capture_default_str();
  command->add_option("-t,--target", words->target, "Language of the text")
      ->check(CLI::IsMember({"cuda", "opencl", "host"}))
      ->capture_default_str();
  command->add_option("--budget", words->budget_seconds, "Seconds after which the search ends")
      ->check(why_not_positive)
      ->capture_default_str();
  command
      ->add_option("--case-seconds", words->case_seconds,
                   "Seconds after which a file counts as hanging")
      ->check(why_not_positive)
      ->capture_default_str();
  command->callback([words] { reduce(*words); });
}

}  // namespace rtcg::tools
