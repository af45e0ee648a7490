// The command line `rtcg`. Exit codes: 0 done, 1 refused or failed, 2 the call's words are off.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "tools/command.h"

namespace {

/// What to say of a word that stands where a command is due and is none; empty where there is none.
std::string about_unknown_command(const CLI::App& app, int count, char** arguments) {
  const CLI::App* at = &app;
  for (int i = 1; i < count && at->get_require_subcommand_min() > 0; ++i) {
    const std::string word = arguments[i];
    const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
    const auto next = std::find_if(commands.begin(), commands.end(),
                                   [&](const CLI::App* each) { return each->get_name() == word; });
    if (next != commands.end()) {
      at = *next;
      continue;
    }
    if (word.starts_with("-")) {
      continue;
    }
    std::vector<std::string> names;
    for (const CLI::App* each : commands) {
      if (!each->get_group().empty()) {
        names.push_back(each->get_name());
      }
    }
    return fmt::format("there is no command '{}': the commands are {}", word,
                       fmt::join(names, ", "));
  }
  return "";
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Run-time code generation for GPUs and CPUs");
  app.name("rtcg");
  app.set_version_flag("--version", "rtcg 0.1.0");
  app.require_subcommand(1);
  rtcg::tools::add_devices_command(app);
  rtcg::tools::add_compile_command(app);
  rtcg::tools::add_compile_worker_command(app);
  rtcg::tools::add_cache_command(app);
  rtcg::tools::add_kernel_commands(app);
  rtcg::tools::add_tune_commands(app);
  rtcg::tools::add_reduce_command(app);
  rtcg::tools::add_flux_command(app);
  rtcg::tools::add_dg_command(app);
  try {
    app.parse(count, arguments);
    return 0;
  } catch (const CLI::ParseError& error) {
    const std::string unknown = about_unknown_command(app, count, arguments);
    if (error.get_exit_code() != 0 && !unknown.empty()) {
      std::fprintf(stderr, "rtcg: %s\n", unknown.c_str());
      return 2;
    }
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
