// The command line in child processes: whatever the words, it ends in time, by itself, with a
// reason.
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <regex>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "tests/campaigns/campaign.h"
#include "tests/campaigns/mutate.h"
#include "tests/dg/mesh/write_gmsh.h"

namespace rtcg::campaigns {
namespace {

/// The words of a call, one a line.
std::string lines(std::initializer_list<const char*> words) {
  std::string text;
  for (const char* word : words) {
    text += std::string(word) + "\n";
  }
  return text;
}

std::vector<std::string> calls() {
  return {
      lines({"show", "matmul.loopy", "--target", "opencl"}),
      lines({"show", "axpy.loopy", "--stage", "schedule"}),
      lines({"show", "matmul.loopy", "--set", "n=64", "--slicing", "j: g.0 l.0*16; k: for for*8"}),
      lines({"explain", "matmul.loopy", "--set", "n=128"}),
      lines({"explain", "axpy.loopy", "--json"}),
      lines({"explain", "axpy.loopy", "--draw", "tree.dot"}),
      lines({"run", "axpy.loopy", "--set", "n=50", "--set", "a=2.5", "-d", "host", "--check"}),
      lines({"run", "matmul.loopy", "--set", "n=20", "--device", "host", "--repetitions", "2"}),
      lines({"slicings", "axpy.loopy", "--set", "n=64"}),
      lines({"compile", "axpy.c", "--target", "host"}),
      lines({"compile", "-I", ".", "-D", "N=3", "axpy.c", "--json"}),
      lines({"devices", "--json"}),
      lines({"cache", "list"}),
      lines({"cache", "trim", "200M"}),
      lines({"flux", "--fields", "e:3,h:3", "0.5*cross(n, jump(h))"}),
      lines({"flux", "--fields", "u", "--dimension", "2", "n[0]*average(u)", "--target", "host"}),
      lines({"flux", "-f", "u,v:2", "-m", "eps", "-s", "alpha=1", "eps*alpha*jump(u)", "--json"}),
      lines({"dg", "advection", "box:2", "-N", "1", "--until", "0.01", "-d", "host"}),
      lines({"dg", "wave", "square.msh", "-N", "1", "-T", "0.001", "-d", "host", "--json"}),
      lines({"--version"}),
      lines({"tune", "--help"}),
  };
}

struct Ended {
  int status = 0;
  bool is_late = false;
  bool is_stopped = false;  ///< by the SIGTERM that it got
  std::string errors;
};

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    words.push_back(text.substr(begin, end - begin).c_str());  // an argument ends at a zero byte
    begin = end + 1;
  }
  return words;
}

constexpr int longest_ms = 10000;
/// What a command that is told to end has for it: a second, on a busy machine.
constexpr int ending_ms = 3000;

/// A command that is still at work after ten seconds is asked to end, as a user asks it.
Ended run_program(const std::string& program, const std::string& folder,
                  const std::vector<std::string>& words) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, 0);
    ::dup2(nothing, 1);
    ::dup2(pipe_ends[1], 2);
    std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
    for (const std::string& word : words) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    if (::chdir(folder.c_str()) == 0) {
      ::execv(program.c_str(), arguments.data());
    }
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  Ended ended;
  char bytes[4096];
  bool is_asked = false;
  for (int waited_ms = 0; waited_ms < longest_ms + ending_ms;) {
    if (waited_ms >= longest_ms && !is_asked) {
      is_asked = true;
      ::kill(child, SIGTERM);
    }
    pollfd wait{pipe_ends[0], POLLIN, 0};
    const int ready = ::poll(&wait, 1, 50);
    waited_ms += ready == 0 ? 50 : 1;
    if (ready > 0) {
      const ssize_t count = ::read(pipe_ends[0], bytes, sizeof bytes);
      if (count <= 0) {
        break;
      }
      ended.errors.append(bytes, static_cast<std::size_t>(count));
      ended.errors.resize(std::min<std::size_t>(ended.errors.size(), 100000));
    }
  }
  // most are gone already: long waits would be most of the time of a case
  int wait_us = 100;
  for (int waited_us = 0; ::waitpid(child, &ended.status, WNOHANG) == 0; waited_us += wait_us) {
    if (waited_us >= 500000) {  // it closed its errors, or is late
      ended.is_late = true;
      ::kill(-child, SIGKILL);
      ::waitpid(child, &ended.status, 0);
      break;
    }
    wait_us = std::min(2 * wait_us, 10000);
    ::usleep(static_cast<useconds_t>(wait_us));
  }
  ::close(pipe_ends[0]);
  ended.is_stopped = is_asked && WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGTERM;
  ::kill(-child, SIGKILL);  // what it may have left
  return ended;
}

}  // namespace

Kind options_kind(const Places& places) {
  const auto mutator = std::make_shared<Mutator>(calls());
  const std::string folder = places.folder + "/options";
  const auto prepare = [folder] {
    if (::mkdir(folder.c_str(), 0700) != 0) {
      return;
    }
    for (const std::string& seed : kernel_file_seeds()) {
      for (const char* name : {"axpy", "matmul"}) {
        if (seed.find(fmt::format("kernel {}\n", name)) != std::string::npos) {
          std::ofstream(fmt::format("{}/{}.loopy", folder, name)) << seed;
        }
      }
    }
    std::ofstream(folder + "/square.msh") << dg::testing::square_41(dg::testing::GmshMode::text);
    std::ofstream(folder + "/axpy.c") << "void axpy(int n, float *x) { x[0] = n; }\n";
  };
  return {
      "options",
      "words of the command line, mutated, in processes of their own",
      [mutator](Draw& draw) { return mutator->make(draw); },
      [program = places.rtcg, folder, prepare](const std::string& input) {
        prepare();
        if (::access(program.c_str(), X_OK) != 0) {
          throw std::runtime_error(fmt::format("there is no program '{}': give --rtcg", program));
        }
        const Ended ended = run_program(program, folder, split_lines(input));
        if (ended.is_late) {
          throw Finding("the command neither ends within 10 s nor within 3 s of SIGTERM");
        }
        if (ended.is_stopped) {
          return;
        }
        if (WIFSIGNALED(ended.status)) {
          throw Finding(fmt::format("the command dies: {}; {}", ::strsignal(WTERMSIG(ended.status)),
                                    ended.errors));
        }
        const int status = WEXITSTATUS(ended.status);
        static const std::regex code("\\[([a-z_0-9]+(\\.[a-z_0-9]+)+)\\]");
        std::smatch found;
        const bool has_code = std::regex_search(ended.errors, found, code);
        if (status == 1 && has_code) {
          throw InvalidInput(found[1], ended.errors);
        }
        if (status == 2 && !ended.errors.empty()) {
          throw InvalidInput("tools.words", ended.errors);
        }
        if (status != 0) {
          throw Finding(fmt::format("status {} without a code: {}", status, ended.errors));
        }
      },
      20,
      0};
}

}  // namespace rtcg::campaigns
