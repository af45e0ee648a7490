// The command line `rtcg`. Exit codes: 0 done, 1 refused or failed, 2 the call's words are off.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <regex>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rtcg/cgen/support/close_names.h"
#include "rtcg/cgen/support/error.h"
#include "tools/command.h"
#include "tools/ending.h"

namespace {

/// The message for a word that is in the place of a command and is not one; empty if there is none.
std::string about_unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (const std::string& word : words) {
    if (at->get_require_subcommand_min() == 0) {
      break;
    }
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

/// The command that the words name, as far as they do.
const CLI::App& command_of(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (const std::string& word : words) {
    for (const CLI::App* each : at->get_subcommands([](const CLI::App*) { return true; })) {
      if (each->get_name() == word) {
        at = each;
        break;
      }
    }
  }
  return *at;
}

/// The message about an option that the command does not have; empty if there is none.
std::string about_unknown_option(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App& command = command_of(app, words);
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (name == "--") {
      break;
    }
    if (!name.starts_with("--") || command.get_option_no_throw(name) != nullptr) {
      continue;
    }
    std::vector<std::string> options;
    for (const CLI::Option* each : command.get_options()) {
      for (const std::string& known : each->get_lnames()) {
        options.push_back("--" + known);
      }
    }
    const std::vector<std::string> close = rtcg::close_names(name, options);
    return fmt::format("'rtcg {}' has no option '{}'{}; 'rtcg {} --help' lists its options",
                       command.get_name(), name,
                       close.empty() ? "" : fmt::format(": did you mean '{}'?", close.front()),
                       command.get_name());
  }
  return "";
}

/// `--set k=1 n=4` is `--set k=1 --set n=4`; words that are not settings are left to the command.
std::vector<std::string> with_each_setting(const std::vector<std::string>& words) {
  static const std::regex setting("[A-Za-z_][A-Za-z0-9_]*=.*");
  std::vector<std::string> result;
  bool is_after_setting = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--set" && i + 1 < words.size()) {
      result.push_back(words[i]);
      result.push_back(words[++i]);
      is_after_setting = true;
      continue;
    }
    is_after_setting =
        words[i].starts_with("--set=") || (is_after_setting && std::regex_match(words[i], setting));
    if (is_after_setting && !words[i].starts_with("--set=")) {
      result.emplace_back("--set");
    }
    result.push_back(words[i]);
  }
  return result;
}

/// Options that may be given several times take one value each time, so that they do not take
/// the FILE that follows.
void take_one_value_each(CLI::App& app) {
  for (CLI::Option* each : app.get_options()) {
    if (!each->get_positional() && each->get_allow_extra_args()) {
      each->allow_extra_args(false);
    }
  }
  for (CLI::App* each : app.get_subcommands([](CLI::App*) { return true; })) {
    take_one_value_each(*each);
  }
}

int refuse(const std::string& message, int status) {
  std::fprintf(stderr, "rtcg: %s\n", rtcg::tools::printable(message, true).c_str());
  return status;
}

int run(CLI::App& app, const std::vector<std::string>& words) {
  try {
    std::vector<std::string> reversed = with_each_setting(words);
    std::reverse(reversed.begin(), reversed.end());  // as CLI11 takes them
    app.parse(std::move(reversed));
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);
    }
    for (const std::string& unknown :
         {about_unknown_command(app, words), about_unknown_option(app, words)}) {
      if (!unknown.empty()) {
        return refuse(unknown, 2);
      }
    }
    static_cast<void>(app.exit(error));
    return 2;
  } catch (const rtcg::Error& error) {
    return refuse(error.what(), 1);
  } catch (const std::bad_alloc&) {
    return refuse("there is not enough memory on the host: choose smaller sizes", 1);
  } catch (const std::exception& error) {
    return refuse(error.what(), 1);
  }
}

}  // namespace

int main(int count, char** arguments) {
  rtcg::tools::catch_signals();
  CLI::App app("Run-time code generation for GPUs and CPUs");
  app.name("rtcg");
  app.footer(
      "Examples:\n"
      "  rtcg show matmul.loopy --target cuda\n"
      "  rtcg run matmul.loopy --set n=1000 --check\n"
      "  rtcg tune matmul.loopy --set n=2048 --budget 30s\n"
      "'rtcg COMMAND --help' has more of them.");
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
  take_one_value_each(app);
  const std::vector<std::string> words(arguments + std::min(count, 1), arguments + count);
  return rtcg::tools::end_output(run(app, words));
}
