#include <algorithm>
#include <cctype>
#include <charconv>

#include "rtcg/runtime/compile/nvrtc.h"

namespace rtcg::runtime {
namespace {

// The number before `unit` in `line`: "16 bytes spill stores" -> 16.
std::optional<std::size_t> number_before(std::string_view line, std::string_view unit) {
  std::size_t end = line.find(unit);
  if (end == line.npos) {
    return std::nullopt;
  }
  while (end > 0 && line[end - 1] == ' ') {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0) {
    --begin;
  }
  std::size_t number = 0;
  const auto [last, problem] = std::from_chars(line.data() + begin, line.data() + end, number);
  return problem == std::errc() && begin < end ? std::optional(number) : std::nullopt;
}

std::string between(std::string_view line, std::string_view before, std::string_view after) {
  const std::size_t begin = line.find(before);
  if (begin == line.npos) {
    return {};
  }
  const std::string_view rest = line.substr(begin + before.size());
  return std::string(rest.substr(0, after.empty() ? rest.npos : rest.find(after)));
}

// `Used 10 registers, used 1 barriers, 4096 bytes smem, 372 bytes cmem[0], 8 bytes cmem[2]`
void read_used(std::string_view line, KernelResources& kernel) {
  kernel.registers = static_cast<int>(number_before(line, "registers").value_or(0));
  kernel.shared_bytes = number_before(line, "bytes smem").value_or(0);
  std::size_t constant_bytes = 0;
  constexpr std::string_view unit = "bytes cmem[";
  for (std::size_t at = line.find(unit); at != line.npos; at = line.find(unit)) {
    constant_bytes += number_before(line, unit).value_or(0);
    line.remove_prefix(at + unit.size());
  }
  kernel.constant_bytes = constant_bytes;
}

void read_line(std::string_view line, std::string& properties_of,
               std::vector<KernelResources>& kernels) {
  if (line.find("Compiling entry function '") != line.npos) {
    kernels.push_back({});
    kernels.back().name = between(line, "Compiling entry function '", "'");
  } else if (line.find("Function properties for ") != line.npos) {
    properties_of = between(line, "Function properties for ", "");
  } else if (kernels.empty()) {
    return;
  } else if (line.find("bytes stack frame") != line.npos && properties_of == kernels.back().name) {
    kernels.back().stack_bytes = number_before(line, "bytes stack frame");
    kernels.back().spill_store_bytes = number_before(line, "bytes spill stores");
    kernels.back().spill_load_bytes = number_before(line, "bytes spill loads");
  } else if (line.find(": Used ") != line.npos) {
    read_used(line, kernels.back());
  }
}

}  // namespace

std::vector<KernelResources> parse_ptxas_log(std::string_view log) {
  std::vector<KernelResources> kernels;
  std::string properties_of;  // device functions that are not inlined have properties too
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    read_line(log.substr(0, end), properties_of, kernels);
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return kernels;
}

}  // namespace rtcg::runtime
