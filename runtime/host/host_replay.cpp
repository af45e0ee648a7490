// A launch of the host as a program of its own.

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/runtime/compile/compile_words.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/host/host_backend.h"

namespace rtcg::runtime {
namespace {

/// `  rtcg_image image_t = {...};`, and the pointer that the kernel takes.
std::string declare_image(const CapturedLaunch& launch, const CapturedArgument& argument) {
  const CapturedAccess& access = *argument.access;
  const CapturedMemory& memory = launch.memories[access.memory];
  const ImageShape& shape = *memory.image;
  const ImageShape own = shape.level(access.level);
  std::size_t before_bytes = 0;
  for (int level = 0; level < access.level; ++level) {
    before_bytes += shape.level(level).size_bytes();
  }
  const std::size_t row_bytes = own.length(0) * own.texel_bytes();
  return fmt::format(
      "  const rtcg_image image_{0} = {{memory_{1} + {2}, {{{3}, {4}, {5}}}, {6}, {7}, {8}, {9}, "
      "{10}, {11}, {12}, {13}, {14}}};\n"
      "  const rtcg_image *argument_{0} = &image_{0}; /* {15} */\n",
      argument.name, memory.name, before_bytes, own.length(0), own.length(1), own.length(2),
      row_bytes, row_bytes * own.length(1), static_cast<int>(shape.kind), shape.channels,
      static_cast<int>(access.options.address), access.options.filter == FilterMode::linear ? 1 : 0,
      access.options.is_normalised ? 1 : 0, shape.levels,
      access.options.level_filter == FilterMode::linear ? 1 : 0,
      access.is_surface ? "rtcg_surface" : "rtcg_texture");
}

std::string program_text(const CapturedLaunch& launch) {
  const bool has_images =
      std::any_of(launch.arguments.begin(), launch.arguments.end(),
                  [](const CapturedArgument& each) { return each.access.has_value(); });
  std::string text =
      has_images ? detail::replay_head(launch, "", {"rtcg/host_kernel.h", "rtcg/host_image.h"})
                 : detail::replay_head(launch, "", {"rtcg/host_kernel.h"});
  text += fmt::format("\nRTCG_KERNEL void {}(const rtcg_launch *launch, void *const *arguments);\n",
                      launch.kernel);
  for (const CapturedMemory& memory : launch.memories) {
    if (!memory.variable.empty()) {
      text += fmt::format("RTCG_EXTERN unsigned char {}[];\n", memory.variable);
    }
  }
  text += "\nint main(void) {\n";
  std::vector<std::string> fetched;
  for (const CapturedMemory& memory : launch.memories) {
    fetched.push_back("memory_" + memory.name);
    text += fmt::format("  unsigned char *const memory_{0} = read_array(\"{0}.npy\", {1});\n",
                        memory.name, memory.size_bytes);
    if (!memory.variable.empty()) {
      fetched.back() = memory.variable;
      text +=
          fmt::format("  if (memcmp({0}, memory_{1}, {2}) != 0) memcpy({0}, memory_{1}, {2});\n",
                      memory.variable, memory.name, memory.size_bytes);
    }
  }
  std::string addresses;
  for (const CapturedArgument& argument : launch.arguments) {
    text += argument.access ? declare_image(launch, argument)
                            : detail::declare_argument(launch, argument, "void *const");
    addresses +=
        fmt::format("{}(void *){}", addresses.empty() ? "" : ", ", detail::address_of(argument));
  }
  const LaunchShape& shape = launch.shape;
  text += fmt::format("  void *arguments[] = {{{}}};\n", addresses.empty() ? "NULL" : addresses);
  text += fmt::format(
      "  const rtcg_launch launch = {{{{{}, {}, {}}}, {{{}, {}, {}}}, {}}};\n\n"
      "  {}(&launch, arguments);\n\n",
      shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y, shape.block.z,
      shape.shared_bytes, launch.kernel);
  return text + detail::replay_end(launch, fetched);
}

}  // namespace

ReplayProgram HostBackend::replay(const CapturedLaunch& launch) {
  const CompileRequest& request = *launch.text;
  const std::string suffix = request.options.language == HostLanguage::c ? ".c" : ".cpp";
  ReplayProgram program;
  program.files = detail::replay_headers(request, compiler().system_include_dirs(request));
  program.files.emplace_back("include/rtcg/host_kernel.h", host_kernel_header());
  program.files.emplace_back("include/rtcg/host_image.h", host_image_header());
  program.files.emplace_back("kernel" + suffix, request.source.text);
  program.files.emplace_back("replay" + suffix, program_text(launch));
  std::vector<std::string> libraries;
  std::vector<std::string> compile = host_compile_words(request, libraries);
  std::vector<std::string> link(compile.begin(), compile.begin() + 1);
  compile.emplace_back("-Iinclude");
  if (const std::string_view forced = forced_host_header(request); !forced.empty()) {
    program.files.emplace_back("include/rtcg/tiny_c.h", forced);
    compile.insert(compile.end(), {"-include", "include/rtcg/tiny_c.h"});
  } else {
    link.emplace_back("-fopenmp");
  }
  compile.insert(compile.end(), {"-c", "kernel" + suffix, "-o", "kernel.o"});
  link.insert(link.end(), {"-Iinclude", "replay" + suffix, "kernel.o", "-o", "replay"});
  link.insert(link.end(), libraries.begin(), libraries.end());
  program.commands = {detail::shell_line(compile), detail::shell_line(link), "./replay"};
  return program;
}

}  // namespace rtcg::runtime
