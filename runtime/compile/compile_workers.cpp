#include "rtcg/runtime/compile/compile_workers.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <poll.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/child_process.h"
#include "rtcg/runtime/compile/compile_message.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/compile/worker_process.h"

namespace rtcg::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using Process = std::shared_ptr<WorkerProcess>;

}  // namespace

void throw_stopped(const CompileRequest& request) {
  throw DeviceError(
      "runtime.compile_workers.stopped",
      fmt::format("the compile of '{}' was stopped by its caller", request.program_name), "kill",
      "SIGKILL");
}

std::string find_program_of_workers() {
  if (std::string given = environment("RTCG_WORKER"); !given.empty()) {
    return given;
  }
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    for (const auto& folder : {self.parent_path(), self.parent_path().parent_path() / "bin"}) {
      if (std::string path = find_program((folder / "rtcg").string()); !path.empty()) {
        return path;
      }
    }
  }
  return find_program("rtcg");
}

struct CompileWorkers::State {
  explicit State(Options given) : options(std::move(given)) {
    if (options.command.empty()) {
      if (std::string program = find_program_of_workers(); !program.empty()) {
        options.command = {std::move(program), "compile-worker"};
      }
    }
    options.count = std::max(options.count, 1);
  }

  Options options;
  std::mutex first_start;    // held while finding out whether workers start at all
  mutable std::mutex mutex;  // guards all below; never held while talking to a worker
  std::condition_variable_any is_free;
  std::vector<Process> idle;
  int busy = 0;
  std::string why_not;  // the last one that did not start
  bool has_one_started = false;

  /// A worker that has greeted; null where none does, and `why_not` is set.
  Process start() {
    std::string problem;
    Process process;
    if (options.command.empty()) {
      problem =
          "there is no program 'rtcg' next to this one or in PATH, and RTCG_WORKER is not set";
    } else {
      process = WorkerProcess::start(options.command, problem);
    }
    if (process) {
      constexpr std::chrono::seconds patience{10};
      const Received hello =
          receive_message(process->socket(),
                          Clock::now() + std::min<Clock::duration>(patience, options.time_limit));
      if (hello.how != Reception::whole || hello.message != worker_greeting()) {
        problem =
            fmt::format("'{}' is not a compile worker of this build", options.command.front());
        process.reset();
      }
    }
    const std::lock_guard lock(mutex);
    why_not = std::move(problem);
    has_one_started = has_one_started || process;
    return process;
  }

  /// Waits for a free one. Null if it has to be started.
  Process take(const std::stop_token& stop, const CompileRequest& request) {
    std::unique_lock lock(mutex);
    if (!is_free.wait(lock, stop, [&] { return busy < options.count; })) {
      throw_stopped(request);
    }
    ++busy;
    if (idle.empty()) {
      return nullptr;
    }
    Process process = std::move(idle.back());
    idle.pop_back();
    return process;
  }
  void give_back(Process process) {
    {
      const std::lock_guard lock(mutex);
      --busy;
      if (process) {
        idle.push_back(std::move(process));
      }
    }
    is_free.notify_one();
  }

  Received ask(const Process& process, const std::string& message, const std::stop_token& stop) {
    const std::stop_callback kill_it(stop, [&] { process->kill(); });
    if (!send_message(process->socket(), message)) {
      return {};
    }
    return receive_message(process->socket(), Clock::now() + options.time_limit);
  }

  /// What a worker answers; one that dies is replaced once.
  Received exchange(const std::string& message, const CompileRequest& request,
                    const std::stop_token& stop) {
    Lease lease{*this, take(stop, request)};
    Received answer;
    for (int attempt = 0; attempt < 2 && answer.how == Reception::closed; ++attempt) {
      if (!lease.process && !stop.stop_requested()) {
        lease.process = start();
      }
      if (!lease.process || stop.stop_requested()) {
        break;
      }
      answer = ask(lease.process, message, stop);
      if (answer.how != Reception::whole) {
        lease.process.reset();  // killed: no caller would read a later answer
      }
    }
    return answer;
  }

  /// A worker, or the right to start one.
  struct Lease {
    State& state;
    Process process;
    ~Lease() { state.give_back(std::move(process)); }
  };
};

CompileWorkers::CompileWorkers(Options options)
    : state_(std::make_unique<State>(std::move(options))) {}

CompileWorkers::~CompileWorkers() = default;

std::string CompileWorkers::why_unavailable() {
  const std::lock_guard starting(state_->first_start);
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->has_one_started) {
      return {};
    }
    if (!state_->why_not.empty()) {
      return state_->why_not;
    }
  }
  if (Process process = state_->start()) {
    const std::lock_guard lock(state_->mutex);
    state_->idle.push_back(std::move(process));
    return {};
  }
  const std::lock_guard lock(state_->mutex);
  return state_->why_not;
}

CompiledProgram CompileWorkers::compile(const CompileRequest& request, std::stop_token stop) {
  const std::string message = write_request(request);
  const Received answer = state_->exchange(message, request, stop);
  if (answer.how == Reception::whole) {
    return read_answer(answer.message);
  }
  if (stop.stop_requested()) {
    throw_stopped(request);
  }
  if (answer.how == Reception::late) {
    const std::chrono::duration<double> limit = state_->options.time_limit;
    throw DeviceError(
        "runtime.compile_workers.no_answer",
        fmt::format("the worker that compiled '{}' did not answer in {:.1f} s and was "
                    "killed",
                    request.program_name, limit.count()),
        "recv", "timeout");
  }
  if (const std::string why = why_unavailable(); !why.empty()) {
    throw Unsupported(
        "runtime.compile_workers.unavailable",
        fmt::format("no worker process can compile '{}': {}", request.program_name, why));
  }
  throw DeviceError("runtime.compile_workers.died",
                    fmt::format("the worker that compiled '{}' died, and so did the next one",
                                request.program_name),
                    "recv", "end of file");
}

std::string CompileWorkers::why_given_up() const {
  const std::lock_guard lock(state_->mutex);
  return state_->has_one_started ? std::string() : state_->why_not;
}

int CompileWorkers::running() const {
  const std::lock_guard lock(state_->mutex);
  return state_->busy + static_cast<int>(state_->idle.size());
}

// ---- WorkerCompiler ----------------------------------------------------------------------------

std::string WorkerCompiler::identity(const CompileRequest& request) {
  return inner_.identity(request);
}

std::vector<std::string> WorkerCompiler::system_include_dirs(const CompileRequest& request) {
  return inner_.system_include_dirs(request);
}

bool WorkerCompiler::is_for_workers(const CompileRequest& request) {
  const bool is_cuda = request.kind == OutputKind::cubin || request.kind == OutputKind::ptx ||
                       request.kind == OutputKind::lto_ir;
  const bool is_wanted =
      use_ == WorkerUse::always ||
      (use_ == WorkerUse::headers && request.source.text.find("#include") != std::string::npos);
  return workers_ != nullptr && is_cuda && is_wanted && workers_->why_unavailable().empty();
}

CompiledProgram WorkerCompiler::compile(const CompileRequest& request) {
  if (stop_.stop_requested()) {
    throw_stopped(request);
  }
  if (auto* host = dynamic_cast<HostCompiler*>(&inner_)) {
    return host->compile(request, stop_);
  }
  if (!is_for_workers(request)) {
    return inner_.compile(request);
  }
  try {
    return workers_->compile(request, stop_);
  } catch (const InvalidInput& error) {
    // the inner compiler may know what to do for devices newer than NVRTC
    if (error.code() != "runtime.nvrtc.unknown_target") {
      throw;
    }
    return inner_.compile(request);
  }
}

// ---- the worker's side -------------------------------------------------------------------------

namespace {

std::string answer_to(std::string_view message, Compiler& compiler) {
  try {
    return write_answer(compiler.compile(read_request(message)));
  } catch (const Error& error) {
    return write_answer(error);
  } catch (const std::exception& error) {
    return write_answer(InternalError(error.what(), SourceOrigin::current()));
  }
}

}  // namespace

void exit_when_closed(int socket) {
  struct stat status = {};
  if (::fstat(socket, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    return;  // serve_compiles reports that there is no reader
  }
  std::thread([socket] {
    pollfd other_end = {socket, POLLRDHUP, 0};
    while (::poll(&other_end, 1, -1) < 0 && errno == EINTR) {
    }
    ::_exit(0);
  }).detach();
}

int serve_compiles(int socket, Compiler& compiler) {
  if (!send_message(socket, worker_greeting())) {
    return 1;
  }
  for (;;) {
    const Received request = receive_message(socket);
    if (request.how != Reception::whole) {
      return 0;
    }
    if (!send_message(socket, answer_to(request.message, compiler))) {
      return 0;
    }
  }
}

}  // namespace rtcg::runtime
