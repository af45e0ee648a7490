#include "tools/command.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::tools {

namespace {

/// The number that `text` is, if it is a finite one.
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
    text += r == 0 && is_terminal() ? "\x1b[1m" + line + "\x1b[0m\n" : line + "\n";
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
        fmt::format("'{}' is no size: write bytes, or a number with K, M, G or T", text));
  }
  return number << shift;
}

void parse_scalars(const std::vector<std::string>& items,
                   std::map<std::string, std::int64_t, std::less<>>& integers,
                   std::map<std::string, double>& reals) {
  for (const std::string& item : items) {
    const std::size_t equal = item.find('=');
    const std::string text = equal == std::string::npos ? "" : item.substr(equal + 1);
    const std::string name = item.substr(0, equal);
    char* integer_end = nullptr;
    char* real_end = nullptr;
    errno = 0;
    const long long integer = std::strtoll(text.c_str(), &integer_end, 10);
    if (!text.empty() && *integer_end == '\0' && errno == ERANGE) {
      throw InvalidInput("tools.rtcg.bad_value",
                         fmt::format("'{}' is beyond 64 bits: integers go to 2^63 - 1", item));
    }
    const double real = std::strtod(text.c_str(), &real_end);
    if (text.empty() || *real_end != '\0') {
      throw InvalidInput("tools.rtcg.bad_value",
                         fmt::format("'{}' sets nothing: write --set n=1000", item));
    }
    reals[name] = real;
    if (*integer_end == '\0') {
      integers[name] = integer;
    }
  }
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

}  // namespace rtcg::tools
