#include "rtcg/loopy/codegen/kernel_function.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/analyze/vector_access.h"

namespace rtcg::loopy {
namespace {

/// Elements from the first to the last one of an array.
Expr length_of(const Temporary& temporary) {
  Expr length = 1;
  for (std::size_t axis = 0; axis < temporary.shape.size(); ++axis) {
    length = temporary.strides_elements.empty()
                 ? length * temporary.shape[axis]
                 : length + (temporary.shape[axis] - 1) * temporary.strides_elements[axis];
  }
  return simplify_index(length);
}

/// Registers for threads of blocks that look back with one value, by the bytes of the arrays, whose
/// elements are registers, that they read afterwards. Such blocks wait for others, so that a
/// multiprocessor needs many of them. On an H200 (2026-11-29) sums along 2^28 elements took 0.87 of
/// the time in f32, 24 of a thread; in f64, where both words of a value are read at once, 0.97 with
/// 48 in place of 64 registers, 16 of a thread, and 0.95 with 72 in place of 80, 24 of a thread.
/// Blocks that have done with their arrays are those of selections: written by hand, those with 32
/// registers took 0.89 of the time of those with 40, in larger blocks.
struct RegisterBound {
  std::int64_t array_bytes;
  int registers;
};
constexpr RegisterBound register_bounds[] = {{96, 40}, {128, 48}, {192, 72}};
constexpr int registers_without_arrays = 32;
/// For blocks that have done with their arrays and look back with two values: sums of runs took
/// 0.75 of the time (2^28 elements, H200, 2026-11-29) of those without a bound.
constexpr int registers_of_pairs = 64;
// CUDA Programming Guide, Compute Capabilities 7.5 to 12.0
constexpr std::int64_t registers_of_multiprocessor = 65536;
constexpr std::int64_t most_resident_blocks = 16;

/// What the statements of the launch read that run after `first`.
NameSet read_after(const LaunchFacts& launch, const Instruction& first) {
  NameSet after = {first.id};
  NameSet read;
  for (std::size_t before = 0; before != after.size();) {
    before = after.size();
    for (const std::size_t each : launch.statements) {
      const Instruction& instruction = launch.kernel.instructions[each];
      if (std::any_of(instruction.depends_on.begin(), instruction.depends_on.end(),
                      [&](const std::string& id) { return after.count(id) != 0; })) {
        after.insert(instruction.id);
        read.merge(read_variables(launch.kernel, instruction));
      }
    }
  }
  return read;
}

/// Blocks that a multiprocessor should have room for; 0 for launches that are not bounded.
int least_resident_blocks(const LaunchFacts& launch, std::int64_t threads) {
  const auto blocks_of = [&](int registers) {
    return static_cast<int>(
        std::min(registers_of_multiprocessor / (registers * threads), most_resident_blocks));
  };
  NameSet written;
  NameSet read;
  std::size_t values = 0;
  for (const std::size_t each : launch.statements) {
    const Instruction& instruction = launch.kernel.instructions[each];
    const LookBack* look_back = get_if<LookBack>(instruction);
    if (look_back != nullptr && look_back->step != LookBack::Step::publishes) {
      values += look_back->values.size();
      read = read_after(launch, instruction);
    }
    written.merge(written_variables(instruction));
  }
  if (values != 1 && values != 2) {
    return 0;
  }
  bool has_arrays = false;
  std::int64_t array_bytes = 0;
  for (const Temporary& each : launch.kernel.temporaries) {
    const auto length = as_integer(length_of(each));
    if (written.count(each.name) != 0 && each.address_space == AddressSpace::private_ &&
        each.type && !each.shape.empty() && length) {
      has_arrays = true;
      array_bytes += read.count(each.name) != 0 ? *length * size_bytes(*each.type) : 0;
    }
  }
  if (values == 2) {
    return has_arrays && array_bytes == 0 ? blocks_of(registers_of_pairs) : 0;
  }
  const auto* bound =
      std::find_if(std::begin(register_bounds), std::end(register_bounds),
                   [&](const RegisterBound& each) { return array_bytes <= each.array_bytes; });
  if (bound == std::end(register_bounds)) {
    return 0;
  }
  const int registers =
      has_arrays && array_bytes == 0 ? registers_without_arrays : bound->registers;
  return blocks_of(registers);
}

bool copies_ahead(const LaunchFacts& launch) {
  return std::any_of(launch.statements.begin(), launch.statements.end(), [&](std::size_t each) {
    const Assignment* assignment = get_if<Assignment>(launch.kernel.instructions[each]);
    return assignment != nullptr && assignment->is_async_copy;
  });
}

/// Registers that a thread may have where a multiprocessor holds so many blocks: each of its four
/// schedulers has 512 for each lane of its warps, and gives them by eights.
std::int64_t registers_of_resident(std::int64_t blocks, std::int64_t threads) {
  constexpr std::int64_t schedulers = 4;
  constexpr std::int64_t registers_of_scheduler = 512;
  const std::int64_t warps = ceil_divide(threads, std::int64_t{32});
  return registers_of_scheduler / ceil_divide(blocks * warps, schedulers) / 8 * 8;
}

/// Two, where a multiprocessor has room for two large blocks that copy tiles ahead, and not for
/// three; otherwise 0. Without the bound, the compiler keeps the places of all copies in as many
/// registers as a block that is alone may have, and nothing is computed while it waits.
/// On an H200 (2026-11-29) products with blocks of 256 threads, 64 sums each, took 0.87 to 1.05 of
/// the time, 0.96 on average; smaller blocks gained nothing.
int resident_blocks_of_tiles(std::int64_t private_bytes, std::int64_t shared_bytes,
                             std::int64_t threads) {
  constexpr std::int64_t most_registers = 128;            // of those who gain
  constexpr std::int64_t most_shared_bytes = 228 * 1024;  // of a multiprocessor
  constexpr std::int64_t reserved_bytes = 1024;
  const std::int64_t sums = private_bytes / 4;
  const std::int64_t registers = sums + sums / 5 + 40;  // operands and some places
  const auto has_room = [&](std::int64_t blocks) {
    return registers_of_resident(blocks, threads) >= registers &&
           blocks * (shared_bytes + reserved_bytes) <= most_shared_bytes;
  };
  return registers_of_resident(2, threads) <= most_registers && has_room(2) && !has_room(3) ? 2 : 0;
}

/// Arrays that the launch writes and reads. Where threads wait for each other, they may read what
/// others have written.
NameSet written_and_read(const LaunchFacts& launch) {
  NameSet written;
  NameSet read;
  for (const std::size_t statement : launch.statements) {
    const Instruction& instruction = launch.kernel.instructions[statement];
    written.merge(written_variables(instruction));
    read.merge(read_variables(launch.kernel, instruction));
  }
  std::erase_if(written, [&](const std::string& name) { return read.count(name) == 0; });
  return written;
}

/// @param passed_on  arrays in which threads of a block read what others write
std::vector<cgen::Parameter> c_parameters(const Kernel& kernel,
                                          const std::vector<KernelParameter>& parameters,
                                          const NameSet& passed_on) {
  std::vector<cgen::Parameter> result;
  result.reserve(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const KernelParameter& parameter = parameters[i];
    if (!parameter.is_array) {
      result.push_back({cgen::const_(parameter.type), parameter.name});
      continue;
    }
    if (const Argument* image = find_image(kernel, parameter.name)) {
      result.push_back({image_type(kernel, *image), parameter.name});
      continue;
    }
    const bool is_constant = i < kernel.arguments.size() &&  // which come first
                             kernel.arguments[i].address_space == AddressSpace::constant;
    cgen::Type element = parameter.is_written ? parameter.type : cgen::const_(parameter.type);
    element = cgen::in_space(
        is_constant ? cgen::AddressSpace::constant : cgen::AddressSpace::global, element);
    // `restrict` would allow compilers to read what others write before the fence or barrier
    const bool is_seen_twice = parameter.is_passed_between_blocks ||
                               passed_on.count(parameter.name) != 0 ||
                               may_be_another(kernel, parameter.name);
    result.push_back(
        {is_seen_twice ? cgen::pointer_to(element) : cgen::restrict_pointer_to(element),
         parameter.name});
  }
  return result;
}

void check_shared_memory(const LaunchFacts& launch, const BlockMemory& memory) {
  if (!launch.rules.has_threads || memory.bytes <= launch.options.most_shared_bytes) {
    return;
  }
  std::vector<std::string> arrays;
  for (const auto& [name, bytes] : memory.arrays) {
    arrays.push_back(fmt::format("'{}' has {}", name, bytes));
  }
  throw InvalidInput("loopy.generate.too_much_shared_memory",
                     fmt::format("a block of kernel '{}' needs {} bytes of shared memory and may "
                                 "have {}: {}; use shorter tiles, or fetch fewer arrays",
                                 launch.kernel.name, memory.bytes, launch.options.most_shared_bytes,
                                 fmt::join(arrays, ", ")));
}

/// Blocks that are launched along an axis of the grid.
Expr blocks_of(const Kernel& kernel, const HardwareAxis& axis) {
  const auto walking = kernel.walking_blocks.find(axis.number);
  if (walking == kernel.walking_blocks.end()) {
    return axis.extent;
  }
  const auto all = as_integer(axis.extent);
  const auto most = as_integer(walking->second);
  return all && most ? Expr(std::min(*all, *most)) : call("min", {axis.extent, walking->second});
}

}  // namespace

std::vector<KernelParameter> kernel_parameters(const Kernel& kernel, const TargetRules& rules) {
  const std::map<std::string, int> alignments =
      rules.has_vectors ? vector_alignments(kernel) : std::map<std::string, int>{};
  std::unordered_set<std::string_view> written;
  for (const Instruction& instruction : kernel.instructions) {
    for_each_target(instruction, [&](const Expr& target) { written.insert(target_name(target)); });
    if (const RawCode* raw = get_if<RawCode>(instruction)) {
      written.insert(raw->writes.begin(), raw->writes.end());
    }
  }
  std::vector<KernelParameter> parameters;
  for (const Argument& argument : kernel.arguments) {
    parameters.push_back(
        {argument.name, *argument.type, argument.is_array, written.count(argument.name) != 0});
    if (const auto found = alignments.find(argument.name); found != alignments.end()) {
      parameters.back().align_bytes = found->second;
    }
  }
  for (const Temporary& temporary : kernel.temporaries) {
    if (temporary.address_space == AddressSpace::global && written.count(temporary.name) != 0) {
      parameters.push_back({temporary.name, *temporary.type, true, true});
      parameters.back().temporary_count = length_of(temporary);
    }
  }
  return parameters;
}

LaunchPlan launch_plan(const LaunchFacts& launch, std::string name, const BlockMemory& memory) {
  check_shared_memory(launch, memory);
  LaunchPlan plan;
  plan.kernel_name = std::move(name);
  plan.host_loops = launch.axes.host_loops;
  plan.shared_bytes = memory.bytes;
  plan.dynamic_shared_bytes = memory.is_dynamic ? memory.bytes : 0;
  for (const HardwareAxis& axis : launch.axes.axes) {
    const auto number = static_cast<std::size_t>(axis.number);
    if (axis.kind == AxisKind::grid) {
      plan.grid[number] = blocks_of(launch.kernel, axis);
    } else if (launch.rules.has_threads) {
      plan.block[number] = *as_integer(axis.extent);
    }
  }
  const std::int64_t threads = plan.block[0] * plan.block[1] * plan.block[2];
  if (threads > most_threads_of_block) {
    throw InvalidInput(
        "loopy.generate.too_many_threads",
        fmt::format("a block would have {}x{}x{} = {} threads, and no device takes "
                    "more than {}: use shorter axes, or ilp for a part of them",
                    plan.block[0], plan.block[1], plan.block[2], threads, most_threads_of_block));
  }
  return plan;
}

bool may_be_another(const Kernel& kernel, const std::string& name) {
  const auto relates = [&](const Argument& each) {
    return std::any_of(each.may_be.begin(), each.may_be.end(), [&](const std::string& other) {
      return each.name == name ? find_argument(kernel, other) != nullptr : other == name;
    });
  };
  for (const Argument& each : kernel.arguments) {
    if (!each.may_be.empty() && relates(each)) {  // hardly any argument may be another
      return true;
    }
  }
  return false;
}

cgen::Statement kernel_function(const LaunchFacts& launch, const LaunchPlan& plan,
                                const std::vector<KernelParameter>& parameters, KernelBody body,
                                bool has_barriers) {
  cgen::Function function;
  function.result = cgen::void_type;
  function.name = plan.kernel_name;
  // C text of users may have barriers of its own; blocks that look back wait for others
  const bool may_wait =
      std::any_of(launch.statements.begin(), launch.statements.end(), [&](std::size_t each) {
        const Instruction& instruction = launch.kernel.instructions[each];
        return is<RawCode>(instruction) || is<LookBack>(instruction);
      });
  const bool do_threads_wait = (has_barriers || may_wait) && launch.rules.has_threads;
  function.parameters = c_parameters(launch.kernel, parameters,
                                     do_threads_wait ? written_and_read(launch) : NameSet{});
  for (const HostLoop& loop : plan.host_loops) {
    function.parameters.push_back({cgen::const_(launch.options.index_type), loop.iname});
  }
  function.body = cgen::Block{std::move(body.statements)};
  function.specifiers.is_kernel = true;
  function.specifiers.is_extern_c = launch.rules.has_extern_c;
  if (launch.rules.has_launch_bounds) {
    const std::int64_t threads = plan.block[0] * plan.block[1] * plan.block[2];
    const int resident = copies_ahead(launch) ? resident_blocks_of_tiles(body.private_bytes,
                                                                         plan.shared_bytes, threads)
                                              : least_resident_blocks(launch, threads);
    function.launch_bounds = cgen::LaunchBounds{static_cast<int>(threads), resident};
  }
  if (launch.rules.has_work_group_size) {
    function.required_work_group_size = {static_cast<int>(plan.block[0]),
                                         static_cast<int>(plan.block[1]),
                                         static_cast<int>(plan.block[2])};
  }
  return function;
}

}  // namespace rtcg::loopy
