#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/cgen/support/error.h"

namespace CLI {
class App;
}
namespace rtcg::loopy {
struct Kernel;
struct KernelFile;
enum class Target;
}  // namespace rtcg::loopy

// Functions that the subcommands of `rtcg` share. Each command has its own file.

namespace rtcg::tools {

/// The form of results: JSON with `as_json`, otherwise text.
struct Output {
  bool as_json = false;
};

void add_devices_command(CLI::App& app);
void add_compile_command(CLI::App& app);
/// `rtcg compile-worker`, see CompileWorkers; not in the list of commands.
void add_compile_worker_command(CLI::App& app);
void add_cache_command(CLI::App& app);
/// `rtcg show`, `rtcg run` and `rtcg explain`, which take kernel files.
void add_kernel_commands(CLI::App& app);
/// `rtcg tune` and `rtcg slicings`, which take them, too.
void add_tune_commands(CLI::App& app);
void add_flux_command(CLI::App& app);
/// `rtcg reduce`, which takes kernel files that fail.
void add_reduce_command(CLI::App& app);
/// `rtcg dg` and `rtcg dg convergence`.
void add_dg_command(CLI::App& app);
/// `rtcg cache why FILE`, with the options of `rtcg compile`.
void add_cache_why_command(CLI::App& cache);

/// Text for a terminal: control characters and bytes that are not UTF-8 as `\x1b`; messages, which
/// may have several lines, keep line breaks and tabs.
[[nodiscard]] std::string printable(std::string_view text, bool keeps_lines = false);
/// Writes a file of results; where that fails, no part of it stays.
///
/// @throws InvalidInput  `code`
void write_results(const std::string& path, std::string_view bytes, const std::string& code);

/// The target that --target names: `cuda`, `opencl` or `host`.
[[nodiscard]] loopy::Target parse_target(const std::string& text);

/// Rows with aligned columns, the first row in bold when a terminal reads and NO_COLOR is not set.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows);
/// `1 entry`, `2 entries`, `3 flops`.
[[nodiscard]] std::string counted(std::size_t count, const std::string& noun);
/// `1.5 MiB`.
[[nodiscard]] std::string human_bytes(double bytes);
/// A size in bytes: `200M`, `1G`, `4096`.
///
/// @throws InvalidInput  tools.rtcg.bad_size
[[nodiscard]] unsigned long long parse_bytes(const std::string& text);
/// Values of scalars: `n=1000` or `n=1e3` sets a parameter or a floating-point scalar, `a=2.5` only
/// the latter.
///
/// @throws InvalidInput  tools.rtcg.bad_value
void parse_scalars(const std::vector<std::string>& items,
                   std::map<std::string, std::int64_t, std::less<>>& integers,
                   std::map<std::string, double>& reals);
/// `values`, as parse_scalars takes them, with the sizes that `file` has for other parameters:
/// those of its section `small` if `is_small`.
///
/// @throws InvalidInput  tools.rtcg.no_small_sizes
[[nodiscard]] std::vector<std::string> with_sizes(const loopy::KernelFile& file,
                                                  std::vector<std::string> values, bool is_small);
/// Adds `--type`, which kernel_file takes, and the flag `--small`, which with_sizes takes.
void add_type_option(CLI::App& command, std::string& type);
void add_small_flag(CLI::App& command, bool& is_small);
/// The kernel file at `path` with `type`, if there is one, instead of what its section `type` has.
///
/// @throws InvalidInput  tools.rtcg.bad_type; what read_kernel_file throws
[[nodiscard]] loopy::KernelFile kernel_file(const std::string& path, const std::string& type);
/// Of the argument that kernel_file_path takes.
inline constexpr const char* kernel_file_help =
    "A kernel file (docs/kernel_files.md), or the name of one that comes with rtcg:\n"
    "matmul, softmax, conv_3x3 and the others of docs/gallery.md";
/// The path of a kernel file: `word`, or the file of that name among those installed with rtcg
/// (`matmul`), if there is no file `word`.
///
/// @throws InvalidInput  tools.rtcg.unknown_kernel: there is neither;
///         tools.rtcg.two_kernel_files: there is also a file `word`.loopy
[[nodiscard]] std::string kernel_file_path(const std::string& word);
/// @throws InvalidInput  tools.rtcg.bad_value: a name of `values` is not a scalar of `kernel`
void check_are_scalars(const loopy::Kernel& kernel, const std::map<std::string, double>& values);
/// The message of an error about values that are missing, with the scalars that have none and how
/// to set them; that of another error as it is.
[[nodiscard]] std::string message_with_missing_scalars(
    const loopy::Kernel& kernel, const std::map<std::string, std::int64_t, std::less<>>& integers,
    const Error& error);
/// What `body` gives; errors about missing values say how to set them.
template <class Body>
auto with_missing_scalars(const loopy::Kernel& kernel,
                          const std::map<std::string, std::int64_t, std::less<>>& integers,
                          const Body& body) {
  try {
    return body();
  } catch (const InvalidInput& error) {
    throw InvalidInput(error.code(), message_with_missing_scalars(kernel, integers, error));
  }
}
/// For options that are numbers: what is wrong with `text`, or nothing.
[[nodiscard]] std::string why_not_positive(const std::string& text);
[[nodiscard]] std::string why_negative(const std::string& text);
[[nodiscard]] bool is_terminal();

}  // namespace rtcg::tools
