#include "tools/command.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "rtcg/cgen/support/close_names.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/symbolic/parse_expr.h"

namespace rtcg::tools {

namespace {

/// The number, if `text` is a finite one.
std::optional<double> finite_number(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0' && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string why_not_positive(const std::string& text) {
  const std::optional<double> number = finite_number(text);
  return number && *number > 0 ? "" : fmt::format("'{}' is not a number above 0", text);
}

std::string why_negative(const std::string& text) {
  const std::optional<double> number = finite_number(text);
  return number && *number >= 0 ? "" : fmt::format("'{}' is not a number from 0 on", text);
}

bool is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

namespace {

/// The number of bytes of the UTF-8 character at the front of `text`; 0: not a character, or a
/// control character.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return first >= 0x20 && first != 0x7f ? 1 : 0;
  }
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) {
      return 0;
    }
  }
  const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool is_too_large = first == 0xf4 && byte(1) >= 0x90;
  const bool is_control = first == 0xc2 && byte(1) < 0xa0;
  return is_overlong || is_surrogate || is_too_large || is_control ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text, bool keeps_lines) {
  std::string result;
  while (!text.empty()) {
    const bool is_kept = keeps_lines && (text.front() == '\n' || text.front() == '\t');
    const std::size_t bytes = is_kept ? 1 : character_bytes(text);
    if (bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return result;
}

void write_results(const std::string& path, std::string_view bytes, const std::string& code) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  bool is_written = file != nullptr;
  int problem = errno;
  if (file != nullptr) {
    is_written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    is_written = std::fflush(file) == 0 && is_written;
    problem = is_written ? 0 : errno;
    if (std::fclose(file) != 0 && is_written) {
      is_written = false;
      problem = errno;
    }
    std::error_code ignored;
    if (!is_written && std::filesystem::is_regular_file(path, ignored)) {
      std::filesystem::remove(path, ignored);
    }
  }
  if (!is_written) {
    throw InvalidInput(code, fmt::format("cannot write '{}': {}", path, std::strerror(problem)));
  }
}

namespace {
bool has_colors() {
  const char* unwanted = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  return is_terminal() && (unwanted == nullptr || *unwanted == '\0') &&
         (kind == nullptr || std::string_view(kind) != "dumb");
}
}  // namespace

loopy::Target parse_target(const std::string& text) {
  return text == "cuda"     ? loopy::Target::cuda
         : text == "opencl" ? loopy::Target::opencl
                            : loopy::Target::host;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      line += i + 1 < rows[r].size() ? fmt::format("{:<{}}  ", rows[r][i], widths[i]) : rows[r][i];
    }
    text += r == 0 && has_colors() ? "\x1b[1m" + line + "\x1b[0m\n" : line + "\n";
  }
  return text;
}

std::string counted(std::size_t count, const std::string& noun) {
  if (count == 1) {
    return "1 " + noun;
  }
  const bool ends_in_y = noun.ends_with("y");
  return fmt::format("{} {}{}", count, ends_in_y ? noun.substr(0, noun.size() - 1) : noun,
                     ends_in_y ? "ies" : "s");
}

std::string human_bytes(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

unsigned long long parse_bytes(const std::string& text) {
  unsigned long long number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, number);
  unsigned shift = 0;
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  if (unit.ends_with("iB")) {
    unit.remove_suffix(2);
  }
  static constexpr std::string_view units = "KMGT";
  const bool has_unit = unit.size() == 1 && units.find(unit[0]) != std::string_view::npos;
  if (has_unit) {
    shift = 10 * (static_cast<unsigned>(units.find(unit[0])) + 1);
  }
  if (status != std::errc() || (!unit.empty() && !has_unit) || number >> (63 - shift) != 0) {
    throw InvalidInput(
        "tools.rtcg.bad_size",
        fmt::format("'{}' is not a size: write bytes, or a number with K, M, G or T", text));
  }
  return number << shift;
}

namespace {

[[noreturn]] void refuse_value(const std::string& problem) {
  throw InvalidInput("tools.rtcg.bad_value", problem + "; write --set n=1000");
}

/// A decimal number, in C's form or as `1e3`.
double parse_real(const std::string& name, const std::string& text) {
  const char* first = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  double value = 0;
  const auto [stop, problem] = std::from_chars(first, end, value);
  if (problem == std::errc::result_out_of_range) {
    refuse_value(
        fmt::format("the value '{}' of '{}' does not fit into an f64", printable(text), name));
  }
  if (problem != std::errc() || stop != end || !std::isfinite(value)) {
    refuse_value(fmt::format("the value '{}' of '{}' is not a finite decimal number",
                             printable(text), name));
  }
  return value;
}

/// The integer, if `text` is one: 1e3 is one too.
std::optional<std::int64_t> parse_whole(const std::string& name, const std::string& text,
                                        double value) {
  constexpr double limit = 9223372036854775808.0;  // 2^63
  const char* first = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  const auto [stop, problem] = std::from_chars(first, end, whole);
  const bool has_digits_only = stop == end;
  if (has_digits_only && problem == std::errc()) {
    return whole;
  }
  if (value != std::floor(value)) {
    return std::nullopt;
  }
  if (value < -limit || value >= limit) {
    if (has_digits_only) {
      refuse_value(fmt::format("the value '{}' of '{}' does not fit into an i64", text, name));
    }
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

void parse_scalars(const std::vector<std::string>& items,
                   std::map<std::string, std::int64_t, std::less<>>& integers,
                   std::map<std::string, double>& reals) {
  for (const std::string& item : items) {
    const std::size_t equal = item.find('=');
    const std::string name = printable(item.substr(0, equal));
    if (equal == std::string::npos) {
      refuse_value(fmt::format("'{}' has no '='", name));
    }
    const std::string text = item.substr(equal + 1);
    if (name.empty() || text.empty()) {
      refuse_value(fmt::format("'{}' has no {}", printable(item), name.empty() ? "name" : "value"));
    }
    const double real = parse_real(name, text);
    if (!reals.emplace(name, real).second && reals[name] != real) {
      refuse_value(fmt::format("'{}' is set to {} and to {}", name, reals[name], real));
    }
    if (const auto whole = parse_whole(name, text, real)) {
      integers[name] = *whole;
    }
  }
}

std::vector<std::string> with_sizes(const loopy::KernelFile& file, std::vector<std::string> values,
                                    bool is_small) {
  if (is_small && file.small_sizes.empty()) {
    throw InvalidInput("tools.rtcg.no_small_sizes",
                       fmt::format("'{}' has no section 'small' for --small", file.path));
  }
  for (const auto& size : is_small ? file.small_sizes : file.sizes) {
    const bool is_given = std::any_of(values.begin(), values.end(), [&](const std::string& each) {
      return each.substr(0, each.find('=')) == size.first;
    });
    if (!is_given) {
      values.push_back(fmt::format("{}={}", size.first, size.second));
    }
  }
  return values;
}

void add_type_option(CLI::App& command, std::string& type) {
  command.add_option(
      "--type", type,
      "Type of arrays and scalars without one, instead of the file's section 'type': "
      "f64");
}

void add_small_flag(CLI::App& command, bool& is_small) {
  command.add_flag("--small", is_small, "Use the sizes of the file's section 'small'");
}

loopy::KernelFile kernel_file(const std::string& path, const std::string& type) {
  loopy::KernelFile file = loopy::read_kernel_file(path);
  if (type.empty()) {
    return file;
  }
  const std::optional<cgen::Type> parsed = loopy::parse_scalar_type(type);
  if (!parsed) {
    throw InvalidInput("tools.rtcg.bad_type",
                       fmt::format("'{}' is not a type: write f32, f64, i32, ...", type));
  }
  if (!file.options.default_type) {
    throw InvalidInput(
        "tools.rtcg.bad_type",
        fmt::format("'{}' has no section 'type' that --type could replace", file.path));
  }
  file.options.default_type = parsed;
  for (loopy::KernelFile& callee : file.callees) {
    if (callee.options.default_type) {
      callee.options.default_type = parsed;
    }
  }
  return file;
}

namespace {

/// The folder share/rtcg of this program.
std::filesystem::path share_folder() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "share/rtcg";
}

/// The installed kernel files by name: those of `kernels` and of the folders of `gallery`.
std::map<std::string, std::filesystem::path> installed_kernels() {
  std::error_code ignored;
  std::vector<std::filesystem::path> folders = {share_folder() / "kernels"};
  for (const auto& entry :
       std::filesystem::directory_iterator(share_folder() / "gallery", ignored)) {
    folders.push_back(entry.path());
  }
  std::map<std::string, std::filesystem::path> files;
  for (const std::filesystem::path& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      files.emplace(entry.path().stem().string(), entry.path());
    }
  }
  return files;
}

/// `: did you mean 'matmul'?`, or nothing if no installed kernel has a name like `word`.
std::string similar_kernel(const std::string& word,
                           const std::map<std::string, std::filesystem::path>& installed) {
  std::vector<std::string> names;
  for (const auto& entry : installed) {
    names.push_back(entry.first);
  }
  const std::vector<std::string> close = close_names(word, names);
  return close.empty() ? "" : fmt::format(": did you mean '{}'?", close.front());
}

}  // namespace

std::string kernel_file_path(const std::string& word) {
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored) || word.find_first_of("/.") != std::string::npos) {
    return word;
  }
  const std::map<std::string, std::filesystem::path> installed = installed_kernels();
  const auto found = installed.find(word);
  if (found == installed.end()) {
    throw InvalidInput(
        "tools.rtcg.unknown_kernel",
        fmt::format(
            "'{}' is neither a file nor a kernel of rtcg{}; the kernels are in '{}' and '{}'",
            printable(word), similar_kernel(word, installed), (share_folder() / "kernels").string(),
            (share_folder() / "gallery").string()));
  }
  if (std::filesystem::exists(word + ".loopy", ignored)) {
    throw InvalidInput("tools.rtcg.two_kernel_files",
                       fmt::format("'{}' can be './{}.loopy' and '{}': write one of the two paths",
                                   word, word, found->second.string()));
  }
  return found->second.string();
}

void check_are_scalars(const loopy::Kernel& kernel, const std::map<std::string, double>& values) {
  std::vector<std::string> scalars;
  for (const loopy::Argument& each : kernel.arguments) {
    if (!each.is_array) {
      scalars.push_back(each.name);
    }
  }
  for (const auto& entry : values) {
    const std::string& name = entry.first;
    const double value = entry.second;
    if (std::find(scalars.begin(), scalars.end(), name) == scalars.end()) {
      throw InvalidInput("tools.rtcg.bad_value",
                         fmt::format("kernel '{}' has no scalar '{}' to set: its scalars are {}",
                                     kernel.name, name, fmt::join(scalars, ", ")));
    }
    const auto scalar =
        std::find_if(kernel.arguments.begin(), kernel.arguments.end(),
                     [&](const loopy::Argument& each) { return each.name == name; });
    const std::optional<cgen::ScalarKind> kind =
        scalar->type ? cgen::scalar_kind(*scalar->type) : std::nullopt;
    if (kind && cgen::is_integral(*kind) && value != std::floor(value)) {
      throw InvalidInput(
          "tools.rtcg.bad_value",
          fmt::format("'{}' of kernel '{}' is a whole number, not {}", name, kernel.name, value));
    }
  }
}

std::string message_with_missing_scalars(
    const loopy::Kernel& kernel, const std::map<std::string, std::int64_t, std::less<>>& integers,
    const Error& error) {
  constexpr std::string_view of_missing_values[] = {
      "loopy.argument_data.unknown_length", "loopy.slicings.missing_parameter",
      "loopy.executor.missing_argument", "loopy.interpret.missing_value"};
  std::vector<std::string> missing;
  for (const loopy::Argument& each : kernel.arguments) {
    const auto kind = each.type ? cgen::scalar_kind(*each.type) : std::nullopt;
    const bool is_integer = !kind || cgen::is_integral(*kind);
    if (!each.is_array && is_integer && integers.count(each.name) == 0) {
      missing.push_back(each.name + "=...");
    }
  }
  const bool is_of_missing = std::find(std::begin(of_missing_values), std::end(of_missing_values),
                                       error.code()) != std::end(of_missing_values);
  return !is_of_missing || missing.empty()
             ? error.message()
             : fmt::format("{} (--set {}, or a section 'sizes' in the file)", error.message(),
                           fmt::join(missing, " "));
}

}  // namespace rtcg::tools
