#include "rtcg/runtime/compile/environment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <pwd.h>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The power of 1024 of a unit.
std::optional<int> power_of(std::string unit) {
  if (unit.empty() || unit == "b") {
    return 0;
  }
  const std::size_t power = std::string_view("kmgt").find(unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) {
    return std::nullopt;
  }
  return static_cast<int>(power) + 1;
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool environment_switch(const char* name) {
  const std::string value = in_lower_case(environment(name));
  constexpr std::array<std::string_view, 4> on = {"1", "true", "yes", "on"};
  constexpr std::array<std::string_view, 5> off = {"", "0", "false", "no", "off"};
  if (std::find(on.begin(), on.end(), value) != on.end()) {
    return true;
  }
  if (std::find(off.begin(), off.end(), value) != off.end()) {
    return false;
  }
  throw InvalidInput("runtime.environment.not_a_switch",
                     fmt::format("the variable {} is '{}': write 1, true, yes or on, or 0, false, "
                                 "no or off",
                                 name, environment(name)));
}

std::optional<std::uint64_t> environment_bytes(const char* name) {
  const std::string given = environment(name);
  if (given.empty()) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(given.data(), given.data() + given.size(), number);
  std::string unit(end, given.data() + given.size() - end);
  unit.erase(std::remove(unit.begin(), unit.end(), ' '), unit.end());
  const std::optional<int> power = power_of(in_lower_case(unit));
  const bool fits = power && number <= std::numeric_limits<std::uint64_t>::max() >> (10 * *power);
  if (problem != std::errc() || !fits) {
    throw InvalidInput("runtime.environment.not_a_size",
                       fmt::format("the variable {} is '{}': write a count of bytes below 2^64, "
                                   "such as 1000000, 512M or 2G",
                                   name, given));
  }
  return number << (10 * *power);
}

std::optional<double> environment_seconds(const char* name) {
  const std::string given = environment(name);
  if (given.empty()) {
    return std::nullopt;
  }
  double seconds = 0;
  const char* const end = given.data() + given.size();
  const auto [stopped, problem] = std::from_chars(given.data(), end, seconds);
  if (problem != std::errc() || stopped != end || !std::isfinite(seconds) || seconds <= 0) {
    throw InvalidInput("runtime.environment.not_a_time",
                       fmt::format("the variable {} is '{}': write a number of seconds above 0, "
                                   "such as 300",
                                   name, given));
  }
  return seconds;
}

std::string home_folder() {
  if (std::string home = environment("HOME"); !home.empty()) {
    return home;
  }
  const passwd* user = ::getpwuid(::geteuid());
  return user == nullptr || user->pw_dir == nullptr ? std::string() : std::string(user->pw_dir);
}

std::string temporary_root() {
  std::string given = environment("TMPDIR");
  return given.empty() ? "/tmp" : given;
}

}  // namespace rtcg::runtime
