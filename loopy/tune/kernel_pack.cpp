#include "rtcg/loopy/tune/kernel_pack.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/base64.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/text_hash.h"
#include "rtcg/loopy/tune/append_line.h"
#include "rtcg/loopy/tune/json_line.h"
#include "rtcg/loopy/tune/machine_figures.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/compile/nvrtc.h"

namespace rtcg::loopy {
namespace {

constexpr int pack_schema = 1;

std::string hash_of(std::string_view text) {
  return fmt::format("{:016x}", text_hash(text));
}

std::string_view bytes_of(const std::vector<std::byte>& binary) {
  return {reinterpret_cast<const char*>(binary.data()), binary.size()};
}

/// What the processor's instructions are, so that a binary is not run by one that lacks some.
const std::string& processor() {
  static const std::string hash = [] {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) {
        return hash_of(line);
      }
    }
    return std::string("unknown");
  }();
  return hash;
}

struct Packed {
  WisdomEntry entry;
  std::string text_hash;
  runtime::CompiledProgram program;
};

std::string to_line(const Packed& packed) {
  nlohmann::ordered_json json = {{"schema", pack_schema},
                                 {"kernel", packed.entry.kernel},
                                 {"device", packed.entry.device},
                                 {"architecture", packed.entry.architecture},
                                 {"parameters", nlohmann::ordered_json::object()},
                                 {"slicing", packed.entry.decision},
                                 {"us", packed.entry.microseconds},
                                 {"text", packed.text_hash},
                                 {"resources", nlohmann::ordered_json::array()},
                                 {"binary_hash", hash_of(bytes_of(packed.program.binary))},
                                 {"binary", to_base64(bytes_of(packed.program.binary))}};
  for (const auto& [name, value] : packed.entry.parameters) {
    json["parameters"][name] = value;
  }
  for (const runtime::KernelResources& each : packed.program.resources) {
    json["resources"].push_back({{"name", each.name},
                                 {"registers", each.registers.value_or(0)},
                                 {"shared_bytes", each.shared_bytes.value_or(0)}});
  }
  return json_line(json);
}

std::optional<Packed> parse_line(const std::string& line) {
  const std::optional<nlohmann::json> found = parse_json_line(line, pack_schema);
  if (!found) {
    return std::nullopt;
  }
  const nlohmann::json& json = *found;
  try {
    Packed packed{{json.at("kernel"),
                   json.at("device"),
                   json.at("architecture"),
                   {},
                   json.at("slicing"),
                   json.at("us").get<double>()},
                  json.at("text"),
                  {}};
    for (const auto& [name, value] : json.at("parameters").items()) {
      if (!value.is_number_integer()) {
        return std::nullopt;
      }
      packed.entry.parameters[name] = value.get<std::int64_t>();
    }
    auto binary = from_base64(json.at("binary").get<std::string>());
    if (!binary || hash_of(*binary) != json.at("binary_hash").get<std::string>()) {
      return std::nullopt;
    }
    packed.program.binary.resize(binary->size());
    std::copy(binary->begin(), binary->end(),
              reinterpret_cast<char*>(packed.program.binary.data()));
    packed.program.target = packed.entry.architecture;
    packed.program.kind = is_cuda_architecture(packed.entry.architecture)
                              ? runtime::OutputKind::cubin
                              : runtime::OutputKind::host_shared_object;
    for (const auto& each : json.at("resources")) {
      runtime::KernelResources resources;
      resources.name = each.at("name");
      resources.registers = each.at("registers").get<int>();
      resources.shared_bytes = each.at("shared_bytes").get<std::size_t>();
      packed.program.resources.push_back(resources);
    }
    return packed;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::vector<Packed> read_lines(const std::string& path) {
  runtime::check_is_trusted(path, "a pack of compiled kernels");
  std::vector<Packed> result;
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    if (auto packed = parse_line(line)) {
      result.push_back(std::move(*packed));
    }
  }
  return result;
}

}  // namespace

void KernelPack::check() const {
  check_is_appendable(path_);
}

void KernelPack::add(const Kernel& kernel, const std::string& architecture,
                     const IntegerValues& parameters, const Slicing& slicing,
                     double microseconds) const {
  if (!is_cuda_architecture(architecture) && architecture != "host") {
    throw Unsupported("loopy.kernel_pack.architecture",
                      fmt::format("binaries are packed for 'host' and for 'sm_90' and its likes, "
                                  "not for '{}'",
                                  architecture));
  }
  check();
  const Kernel tuned = tuned_kernel(kernel, parameters, slicing);
  runtime::CompileRequest request;
  request.kind = is_cuda_architecture(architecture) ? runtime::OutputKind::cubin
                                                    : runtime::OutputKind::host_shared_object;
  request.source.text =
      generate_text(tuned, is_cuda_architecture(architecture) ? Target::cuda : Target::host);
  request.target = architecture;
  request.program_name = kernel.name;
  runtime::Compiler& compiler = is_cuda_architecture(architecture)
                                    ? static_cast<runtime::Compiler&>(runtime::Nvrtc::instance())
                                    : runtime::HostCompiler::instance();
  const Packed packed{{kernel_key(kernel), is_cuda_architecture(architecture) ? "" : processor(),
                       architecture, parameters, to_string(slicing), microseconds},
                      hash_of(request.source.text),
                      runtime::compile_cached(compiler, request)};
  if (const std::string problem = append_line(path_, to_line(packed)); !problem.empty()) {
    throw InvalidInput("loopy.kernel_pack.unwritable",
                       fmt::format("cannot append to '{}': {}", path_, problem));
  }
}

std::optional<PackedKernel> KernelPack::find(const Kernel& kernel, runtime::Device device,
                                             const IntegerValues& parameters,
                                             const std::vector<std::string>& free_layouts) const {
  const std::string key = kernel_key(kernel);
  std::vector<Packed> fitting = read_lines(path_);
  std::erase_if(fitting, [&](const Packed& each) {
    return each.entry.kernel != key || each.entry.architecture != device.info().target ||
           each.entry.parameters != parameters ||
           !lays_out_only(each.entry.decision, free_layouts) ||
           (!is_cuda_architecture(each.entry.architecture) && each.entry.device != processor());
  });
  std::stable_sort(fitting.begin(), fitting.end(), [](const Packed& a, const Packed& b) {
    return a.entry.microseconds < b.entry.microseconds;
  });
  for (Packed& each : fitting) {
    const Kernel tuned = tuned_kernel(kernel, parameters, parse_slicing(each.entry.decision));
    if (hash_of(generate_text(tuned, target_of(device))) == each.text_hash) {
      return PackedKernel{Executor(tuned, device, std::move(each.program)), each.entry.decision};
    }
  }
  return std::nullopt;
}

std::vector<WisdomEntry> KernelPack::entries() const {
  std::vector<WisdomEntry> result;
  for (const Packed& each : read_lines(path_)) {
    result.push_back(each.entry);
  }
  return result;
}

}  // namespace rtcg::loopy
