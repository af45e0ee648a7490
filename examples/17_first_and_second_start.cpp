// Lesson 17: first and second start. Compiling takes a tenth of a second or more, and a program
// that generates code would do it at every start. The compile cache keeps binaries on disk by the
// content of what they were made from; a hit starts no compiler.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "examples/lesson.h"
#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/host_compiler.h"

namespace rt = rtcg::runtime;

namespace {

rt::CompileRequest request_for(int factor) {
  rt::CompileRequest request;
  request.source = {"double scaled(double x) { return FACTOR*x; }\n", {}};
  request.options.defines = {{"FACTOR", std::to_string(factor)}};
  request.program_name = "scaled";
  return request;
}

/// What a program does at its start: a cache object of its own on the folder, and two programs.
void start(const char* name, const std::string& folder) {
  rt::CompileCache cache({.folder = folder});
  for (const int factor : {2, 3}) {
    const rt::CompiledProgram program =
        rt::compile_cached(rt::HostCompiler::instance(), request_for(factor), cache);
    std::printf("%s, factor %d: %s\n", name, factor,
                program.from_cache ? "from the cache" : "compiled");
  }
  const rt::CacheStatistics statistics = cache.statistics();
  std::printf("  hits %d, misses %d, bad entries %d; %d entries on disk\n",
              static_cast<int>(statistics.hits), static_cast<int>(statistics.misses),
              static_cast<int>(statistics.bad_entries), static_cast<int>(statistics.entries));
}

}  // namespace

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](const rt::Device&) {
    std::string folder = (std::filesystem::temp_directory_path() / "rtcg_lesson_XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) {
      std::printf("no folder for temporary files\n");
      return false;
    }
    start("first start", folder);
    start("second start", folder);

    // Why is something compiled again? Another macro is another content. The cache compares with
    // the nearest entry.
    rt::CompileCache cache({.folder = folder});
    const std::string why = cache.why_missed(rt::HostCompiler::instance(), request_for(4));
    const std::size_t begin = why.find("'defines'");
    std::printf("factor 4 is not stored: %s\n",
                why.substr(begin, why.find(", stored") - begin).c_str());

    // A damaged entry is found, removed and compiled again.
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      if (file.is_regular_file() && file.file_size() > 4096) {
        std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary)
            .seekp(2048)
            .write("damage", 6);
      }
    }
    start("third start, with damaged files", folder);
    std::filesystem::remove_all(folder);
    return true;
  });
}
