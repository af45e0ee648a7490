// The command line `rtcg`. Exit codes: 0 done, 1 refused or failed, 2 the call's words are off.
#include <cstdio>
#include <exception>
#include <new>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "tools/command.h"

int main(int count, char** arguments) {
  CLI::App app("Run-time code generation for GPUs and CPUs");
  app.name("rtcg");
  app.set_version_flag("--version", "rtcg 0.1.0");
  app.require_subcommand(1);
  rtcg::tools::add_devices_command(app);
  rtcg::tools::add_compile_command(app);
  rtcg::tools::add_cache_command(app);
  rtcg::tools::add_kernel_commands(app);
  rtcg::tools::add_tune_commands(app);
  rtcg::tools::add_flux_command(app);
  rtcg::tools::add_dg_command(app);
  try {
    app.parse(count, arguments);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const rtcg::Error& error) {
    std::fprintf(stderr, "rtcg: %s\n", error.what());
    return 1;
  } catch (const std::bad_alloc&) {
    std::fputs("rtcg: there is not enough memory on the host: choose smaller sizes\n", stderr);
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rtcg: %s\n", error.what());
    return 1;
  }
}
