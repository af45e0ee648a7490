// rtcg cache: lists, explains and changes the contents of the compile cache.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime.h"
#include "tools/command.h"
#include "tools/json.h"

namespace rtcg::tools {

namespace {

std::string human_age(double seconds) {
  if (seconds < 120) {
    return fmt::format("{:.0f} s", seconds);
  }
  if (seconds < 7200) {
    return fmt::format("{:.0f} min", seconds / 60);
  }
  return seconds < 172800 ? fmt::format("{:.0f} h", seconds / 3600)
                          : fmt::format("{:.0f} days", seconds / 86400);
}

void list_entries(bool as_json) {
  const runtime::CompileCache& cache = runtime::CompileCache::standard();
  const auto entries = cache.list();
  if (as_json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const runtime::CacheEntryInfo& entry : entries) {
      list.push_back({{"key", entry.key},
                      {"name", entry.program_name},
                      {"kind", std::string(to_string(entry.kind))},
                      {"target", entry.target},
                      {"compiler", entry.compiler},
                      {"size_bytes", entry.size_bytes},
                      {"age_seconds", entry.age_seconds}});
    }
    tools::print_json(list);
    return;
  }
  std::uint64_t bytes = 0;
  std::vector<std::vector<std::string>> rows = {
      {"key", "name", "kind", "target", "size", "last used"}};
  for (const runtime::CacheEntryInfo& entry : entries) {
    bytes += entry.size_bytes;
    rows.push_back({entry.key.substr(0, 12), printable(entry.program_name),
                    std::string(to_string(entry.kind)), entry.target.substr(0, 24),
                    human_bytes(static_cast<double>(entry.size_bytes)),
                    human_age(entry.age_seconds)});
  }
  if (!entries.empty()) {
    std::fputs(table(rows).c_str(), stdout);
  }
  std::printf("%s, %s in %s\n", counted(entries.size(), "entry").c_str(),
              human_bytes(static_cast<double>(bytes)).c_str(), cache.folder().c_str());
  if (!cache.is_enabled()) {
    std::printf("the cache is off: %s\n", cache.why_disabled().c_str());
  }
}

void tell(bool as_json, const char* what, std::size_t count) {
  if (as_json) {
    tools::print_json(nlohmann::ordered_json({{what, count}}));
  } else {
    std::printf("%s: %s\n", what, counted(count, "entry").c_str());
  }
}

}  // namespace

// `why` compiles nothing: it is the compile command's question, asked of the cache.
void add_cache_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("cache", "List and manage the compile cache");
  command->require_subcommand(1);
  const auto as_json = std::make_shared<bool>(false);
  const auto text = std::make_shared<std::string>();
  const auto add = [&](const char* name, const char* help, const char* example) {
    CLI::App* sub = command->add_subcommand(name, help);
    sub->add_flag("--json", *as_json, "Print JSON");
    sub->footer(std::string("Example:\n  rtcg cache ") + example);
    return sub;
  };
  add("list", "List all entries, the last used first", "list --json")->callback([as_json] {
    list_entries(*as_json);
  });
  CLI::App* trim = add("trim", "Remove the least recently used entries", "trim 200M");
  trim->add_option("SIZE", *text, "Size to keep: bytes, or 200M, 1G")->required();
  trim->callback([as_json, text] {
    tell(*as_json, "removed", runtime::CompileCache::standard().trim(parse_bytes(*text)));
  });
  add("clear", "Remove every entry", "clear")->callback([as_json] {
    tell(*as_json, "removed", runtime::CompileCache::standard().clear());
  });
  CLI::App* exporting = add("export", "Write all entries into one file", "export kernels.pack");
  exporting->add_option("FILE", *text, "The file to write")->required();
  exporting->callback([as_json, text] {
    tell(*as_json, "exported", runtime::CompileCache::standard().export_to(*text));
  });
  CLI::App* importing = add("import", "Add the entries of an exported file", "import kernels.pack");
  importing->add_option("FILE", *text, "A file written by `rtcg cache export`")->required();
  importing->callback([as_json, text] {
    tell(*as_json, "imported", runtime::CompileCache::standard().import_from(*text));
  });
  add_cache_why_command(*command);
}

}  // namespace rtcg::tools
