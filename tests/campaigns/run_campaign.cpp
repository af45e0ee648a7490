#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <new>
#include <poll.h>
#include <set>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "tests/campaigns/campaign.h"

namespace rtcg::campaigns {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

/// SplitMix64: neighbouring numbers give unlike seeds.
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + number;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\0'; }, ' ');
  return text.substr(0, 3000);
}

/// What a process that runs cases tells of itself; in memory that it shares with its parent.
struct Slot {
  std::atomic<std::uint64_t> number{0};   ///< of the case at hand
  std::atomic<std::int64_t> since_ms{0};  ///< when it began
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> runs{0};  ///< of accepted cases
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> found{0};
  std::atomic<bool> is_done{false};
};

volatile std::sig_atomic_t stop_signal = 0;
void note_signal(int signal) {
  stop_signal = signal;
}

void write_record(int pipe, const std::string& record) {
  // at most PIPE_BUF bytes, so that records of several processes stay apart
  const std::string line = record.substr(0, 3500) + "\n";
  [[maybe_unused]] const auto written = ::write(pipe, line.data(), line.size());
}

[[noreturn]] void run_cases(const Kind& kind, const CampaignOptions& options, std::uint64_t first,
                            Slot& slot, int pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  if (kind.memory_mib > 0) {
    const rlimit limit{kind.memory_mib << 20, kind.memory_mib << 20};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::map<std::string, std::uint64_t> codes;
  const auto tell_codes = [&] {
    for (const auto& [code, count] : codes) {
      write_record(pipe, fmt::format("C {} {}", count, code));
    }
    codes.clear();
  };
  for (std::uint64_t number = first; number < options.count;
       number += static_cast<std::uint64_t>(options.jobs)) {
    slot.number = number;
    slot.since_ms = now_ms();
    const Outcome outcome = outcome_of(kind, input_of(kind, options.seed, number));
    if (outcome.is_finding) {
      ++slot.found;
      write_record(pipe, fmt::format("F {} {}", number, outcome.what));
    } else if (outcome.code.empty()) {
      ++slot.accepted;
      slot.runs += outcome.runs;
    } else {
      ++slot.refused;
      ++codes[outcome.code];
    }
    if (codes.size() > 200) {
      tell_codes();
    }
  }
  tell_codes();
  slot.is_done = true;
  ::_exit(0);
}

/// The shape of a finding: its text without numbers and names in quotes.
std::string signature_of(const std::string& what) {
  std::string result;
  bool is_quoted = false;
  for (const char c : what.substr(0, 150)) {
    is_quoted = c == '\'' ? !is_quoted : is_quoted;
    if (!is_quoted && (c < '0' || c > '9')) {
      result += c;
    }
  }
  return result;
}

std::string with_story(const Kind& kind, const std::string& input) {
  return kind.story ? input + kind.story(input) : input;
}

class Campaign {
 public:
  Campaign(const Kind& kind, const CampaignOptions& options) : kind_(kind), options_(options) {
    const std::size_t bytes = sizeof(Slot) * static_cast<std::size_t>(options.jobs);
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || ::pipe2(pipe_, O_CLOEXEC) != 0) {
      throw std::runtime_error("no memory or pipe to run a campaign");
    }
    ::fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
    slots_ = static_cast<Slot*>(memory);
    for (int job = 0; job < options.jobs; ++job) {
      new (slots_ + job) Slot;
    }
  }

  std::uint64_t run() {
    const std::int64_t begin = now_ms();
    std::int64_t told = begin;
    children_.assign(static_cast<std::size_t>(options_.jobs), -1);
    for (int job = 0; job < options_.jobs; ++job) {
      start(job, static_cast<std::uint64_t>(job));
    }
    while (count_children() > 0) {
      pollfd wait{pipe_[0], POLLIN, 0};
      ::poll(&wait, 1, 50);
      read_records();
      look_after_children();
      const std::int64_t now = now_ms();
      const double elapsed = static_cast<double>(now - begin) / 1000;
      if (stop_signal != 0 || (options_.seconds > 0 && elapsed > options_.seconds)) {
        is_cut_ = true;
        stop_all();
      }
      if (now - told > 2000) {
        told = now;
        std::fprintf(stderr, "%s: %llu of %llu cases, %llu findings, %.0f s\n", kind_.name.c_str(),
                     cases(), static_cast<unsigned long long>(options_.count),
                     static_cast<unsigned long long>(findings()), elapsed);
      }
    }
    read_records();
    print_summary(static_cast<double>(now_ms() - begin) / 1000);
    return findings();
  }

 private:
  void start(int job, std::uint64_t first) {
    slots_[job].number = first;
    slots_[job].since_ms = now_ms();
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      run_cases(kind_, options_, first, slots_[job], pipe_[1]);
    }
    children_[static_cast<std::size_t>(job)] = child;
  }

  [[nodiscard]] int count_children() const {
    return static_cast<int>(
        std::count_if(children_.begin(), children_.end(), [](pid_t each) { return each > 0; }));
  }

  void look_after_children() {
    for (int job = 0; job < options_.jobs; ++job) {
      pid_t& child = children_[static_cast<std::size_t>(job)];
      if (child <= 0) {
        continue;
      }
      Slot& slot = slots_[job];
      int status = 0;
      const bool is_over = ::waitpid(child, &status, WNOHANG) == child;
      const bool is_late =
          !is_over && static_cast<double>(now_ms() - slot.since_ms) > 1000 * kind_.case_seconds;
      if (is_late) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
      }
      if (!is_over && !is_late) {
        continue;
      }
      child = -1;
      if (slot.is_done) {
        continue;
      }
      ++lost_;
      report(slot.number,
             is_late ? fmt::format("hangs: more than {} s", kind_.case_seconds)
             : WIFSIGNALED(status)
                 ? fmt::format("crash: {}", ::strsignal(WTERMSIG(status)))
                 : fmt::format("ends the process with status {}", WEXITSTATUS(status)));
      const std::uint64_t next = slot.number + static_cast<std::uint64_t>(options_.jobs);
      if (next < options_.count) {
        start(job, next);
      }
    }
  }

  void stop_all() {
    for (pid_t& child : children_) {
      if (child > 0) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        child = -1;
      }
    }
  }

  void read_records() {
    char bytes[65536];
    for (ssize_t count = 0; (count = ::read(pipe_[0], bytes, sizeof bytes)) > 0;) {
      unread_.append(bytes, static_cast<std::size_t>(count));
    }
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = unread_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const std::string record = unread_.substr(begin, end - begin);
      char* rest = nullptr;
      const std::uint64_t number = std::strtoull(record.c_str() + 1, &rest, 10);
      if (record[0] == 'F') {
        report(number, rest + 1);
      } else {
        codes_[rest + 1] += number;
      }
    }
    unread_.erase(0, begin);
  }

  void report(std::uint64_t number, const std::string& what) {
    std::uint64_t& times = signatures_[signature_of(what)];
    if (++times > 3) {
      return;  // counted, and told once more in the summary
    }
    std::string input = with_story(kind_, input_of(kind_, options_.seed, number));
    if (input.size() > 2000) {
      input = input.substr(0, 2000) + "...";
    }
    std::printf("FINDING %s --seed %llu --only %llu: %s\n%s\n\n", kind_.name.c_str(),
                static_cast<unsigned long long>(options_.seed),
                static_cast<unsigned long long>(number), what.c_str(), input.c_str());
    std::fflush(stdout);
  }

  template <class Member>
  std::uint64_t sum(Member member) const {
    std::uint64_t total = 0;
    for (int job = 0; job < options_.jobs; ++job) {
      total += slots_[job].*member;
    }
    return total;
  }
  [[nodiscard]] std::uint64_t findings() const { return sum(&Slot::found) + lost_; }
  [[nodiscard]] unsigned long long cases() const {
    return sum(&Slot::accepted) + sum(&Slot::refused) + findings();
  }

  void print_summary(double seconds) {
    std::printf(
        "%s: %llu cases of seed %llu in %.1f s (%.0f a second): %llu served in %llu runs, "
        "%llu refused, %llu findings%s\n",
        kind_.name.c_str(), cases(), static_cast<unsigned long long>(options_.seed), seconds,
        static_cast<double>(cases()) / std::max(seconds, 1e-3),
        static_cast<unsigned long long>(sum(&Slot::accepted)),
        static_cast<unsigned long long>(sum(&Slot::runs)),
        static_cast<unsigned long long>(sum(&Slot::refused)),
        static_cast<unsigned long long>(findings()), is_cut_ ? " (cut short)" : "");
    for (const auto& [signature, times] : signatures_) {
      std::printf("  %llu x %s\n", static_cast<unsigned long long>(times),
                  signature.substr(0, 160).c_str());
    }
    if (std::getenv("RTCG_CAMPAIGN_CODES") != nullptr) {
      for (const auto& [code, times] : codes_) {
        std::printf("  %8llu %s\n", static_cast<unsigned long long>(times), code.c_str());
      }
    }
    std::fflush(stdout);
  }

  const Kind& kind_;
  const CampaignOptions& options_;
  Slot* slots_ = nullptr;
  int pipe_[2] = {-1, -1};
  std::vector<pid_t> children_;
  std::string unread_;
  std::map<std::string, std::uint64_t> codes_;
  std::map<std::string, std::uint64_t> signatures_;
  std::uint64_t lost_ = 0;  // cases whose process ended
  bool is_cut_ = false;
};

}  // namespace

std::string input_of(const Kind& kind, std::uint64_t seed, std::uint64_t number) {
  Draw draw(seed_of(seed, number));
  return kind.make(draw);
}

Outcome outcome_of(const Kind& kind, const std::string& input) {
  try {
    return {kind.run(input), false, "", ""};
  } catch (const InternalError& error) {
    return {0, true, "", one_line(error.what())};
  } catch (const Error& error) {
    return {0, error.code().empty(), error.code(), one_line(error.what())};
  } catch (const Finding& error) {
    return {0, true, "", one_line(error.what())};
  } catch (const std::exception& error) {
    return {0, true, "", one_line(fmt::format("an exception without a code: {}", error.what()))};
  } catch (...) {
    return {0, true, "", "an exception that is none of std"};
  }
}

std::uint64_t run_campaign(const Kind& kind, const CampaignOptions& options) {
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
  const std::uint64_t findings = Campaign(kind, options).run();
  if (stop_signal != 0) {
    std::signal(stop_signal, SIG_DFL);
    std::raise(stop_signal);
  }
  return findings;
}

bool run_one(const Kind& kind, std::uint64_t seed, std::uint64_t number) {
  const std::string input = input_of(kind, seed, number);
  const std::string story = with_story(kind, input);
  std::fwrite(story.data(), 1, story.size(), stdout);
  std::fflush(stdout);
  const Outcome outcome = outcome_of(kind, input);
  std::printf("\n%s: %s\n",
              outcome.is_finding     ? "FINDING"
              : outcome.code.empty() ? "served"
                                     : "refused",
              outcome.what.c_str());
  return outcome.is_finding;
}

}  // namespace rtcg::campaigns
