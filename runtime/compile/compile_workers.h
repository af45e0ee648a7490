#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "rtcg/runtime/compile/compiler.h"

namespace rtcg::runtime {

/// Which texts are compiled by worker processes.
enum class WorkerUse {
  never,    ///< threads of this process compile all
  headers,  ///< those with an #include
  always,   ///< the default of the tuner: threads wait for each other in NVRTC's front end
};

/// Processes that compile CUDA C++ through NVRTC: several of them read texts at once, which the
/// threads of one process do not, and each can be ended in the middle of a compile.
///
/// A worker is the program `rtcg compile-worker`, started when it is first needed and kept until
/// the object is destroyed. Any thread may call any member.
class CompileWorkers {
 public:
  struct Options {
    /// Program and arguments; empty: that of find_program_of_workers().
    std::vector<std::string> command{};
    /// Most processes at a time; more compiles wait.
    int count = 1;
    /// For one compile.
    std::chrono::milliseconds time_limit{120'000};
  };

  explicit CompileWorkers(Options options);
  ~CompileWorkers();
  CompileWorkers(const CompileWorkers&) = delete;
  CompileWorkers& operator=(const CompileWorkers&) = delete;

  /// Empty if a worker answers (one is started if there is none), otherwise the reason.
  [[nodiscard]] std::string why_unavailable();

  /// Compiles in a worker, without a cache. A worker that dies is replaced and asked again once.
  ///
  /// @param stop  ends the compile at once: its worker is killed
  /// @throws Unsupported  runtime.compile_workers.unavailable
  /// @throws DeviceError  runtime.compile_workers.died, runtime.compile_workers.no_answer,
  ///                      runtime.compile_workers.stopped
  /// @throws  what Nvrtc::compile throws
  [[nodiscard]] CompiledProgram compile(const CompileRequest& request, std::stop_token stop = {});

  /// The reason if one was needed and none answered; starts no worker.
  [[nodiscard]] std::string why_given_up() const;
  /// How many processes there are now.
  [[nodiscard]] int running() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// `rtcg`: RTCG_WORKER, otherwise next to the running program, in `../bin` from there, or in PATH.
/// Empty: not found.
[[nodiscard]] std::string find_program_of_workers();

/// @throws DeviceError  runtime.compile_workers.stopped
[[noreturn]] void throw_stopped(const CompileRequest& request);

/// A compiler that leaves part of its work to worker processes. It has the keys of the compiler
/// that it replaces, so both share a cache.
class WorkerCompiler : public Compiler {
 public:
  /// @param inner    has to outlive this object, as has `workers`
  /// @param workers  null: all is compiled here
  /// @param stop     ends compiles in workers and those of the host's compiler; none begins after
  ///                 it
  WorkerCompiler(Compiler& inner, CompileWorkers* workers, WorkerUse use, std::stop_token stop)
      : inner_(inner), workers_(workers), use_(use), stop_(std::move(stop)) {}

  [[nodiscard]] std::string identity(const CompileRequest& request) override;
  [[nodiscard]] std::vector<std::string> system_include_dirs(
      const CompileRequest& request) override;
  /// @throws DeviceError  runtime.compile_workers.stopped; what the inner compiler and
  ///                      CompileWorkers::compile throw
  [[nodiscard]] CompiledProgram compile(const CompileRequest& request) override;

 private:
  [[nodiscard]] bool is_for_workers(const CompileRequest& request);

  Compiler& inner_;
  CompileWorkers* workers_;
  WorkerUse use_;
  std::stop_token stop_;
};

/// Ends this process when the other end of the socket is closed: the worker must end if its program
/// is killed during a compile.
void exit_when_closed(int socket);

/// The loop of a worker: compiles the requests from descriptor `socket` until it is closed. Returns
/// 0 then, and 1 if there was no reader from the beginning.
[[nodiscard]] int serve_compiles(int socket, Compiler& compiler);

}  // namespace rtcg::runtime
