// rtcg compile-worker: compiles for a program that uses rtcg; users do not call it.
#include <csignal>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/compile_workers.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "tools/command.h"

namespace rtcg::tools {

void add_compile_worker_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "compile-worker", "Compile CUDA C++ received over a socket (started by programs)");
  command->group("");  // not in the list
  command->callback([] {
    // the program that started it decides when it ends
    std::signal(SIGINT, SIG_IGN);
    runtime::exit_when_closed(STDIN_FILENO);
    if (runtime::serve_compiles(STDIN_FILENO, runtime::Nvrtc::instance()) != 0) {
      throw InvalidInput(
          "tools.compile_worker.no_program",
          "'rtcg compile-worker' is started by programs that use rtcg, with a socket "
          "as its standard input; users call 'rtcg compile'");
    }
  });
}

}  // namespace rtcg::tools
