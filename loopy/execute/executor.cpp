#include "rtcg/loopy/execute/executor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/structural_hash.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/execute/check_disjoint_writes.h"
#include "rtcg/loopy/execute/host_schedule.h"
#include "rtcg/loopy/execute/launch_arguments.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/runtime/compile/compiler.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/compile/known_texts.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/memory_pool.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::loopy {
namespace {

/// A program with one width of indices, loaded.
struct Variant {
  GeneratedProgram generated;
  std::vector<CallParameter> parameters;
  std::vector<std::array<IntegerFormula, 3>> grids;  // of each launch
  std::vector<runtime::Kernel> kernels;              // of each launch
  HostSchedule schedule;
  std::vector<runtime::KernelResources> resources;
  std::uint64_t hash = 0;            // of the binary
  std::uint64_t blocks_at_once = 0;  // of a cooperative launch

  [[nodiscard]] bool is_cooperative() const { return generated.launches.front().is_cooperative; }
};

/// Of the binaries and of the launches: their number and shapes.
std::uint64_t hash_of(const std::vector<runtime::Program>& programs,
                      const GeneratedProgram& generated) {
  StructuralHash hash;
  for (const runtime::Program& program : programs) {
    const auto& binary = program.compiled().binary;
    hash.add({reinterpret_cast<const char*>(binary.data()), binary.size()});
  }
  hash.add(plan_text(generated.launches, call_text));
  for (const LaunchPlan& launch : generated.launches) {
    for (const std::int64_t each : launch.block) {
      hash.add(static_cast<std::uint64_t>(each));
    }
    for (const Expr& each : launch.grid) {
      hash.add(to_string(each));
    }
  }
  return hash.value();
}

/// RTCG_MOST_STATEMENTS, or `otherwise` where that is not set; 20K is 20480.
std::int64_t most_statements_from_environment(std::int64_t otherwise) {
  const auto given = runtime::environment_bytes("RTCG_MOST_STATEMENTS");
  return given ? static_cast<std::int64_t>(std::min<std::uint64_t>(*given, INT64_MAX)) : otherwise;
}

/// Of a temporary in global memory; at least 1.
std::size_t bytes_of(const CallParameter& temporary, const LaunchArguments& checked) {
  return std::max<std::size_t>(
      1,
      checked.count_of(temporary) * static_cast<std::size_t>(size_bytes(temporary.parameter.type)));
}

/// Temporaries that are 0 before and after each run, of each stream its own: runs on several
/// streams may overlap. Any thread may ask.
class ZeroTemporaries {
 public:
  explicit ZeroTemporaries(runtime::Device device) : device_(device) {}

  runtime::DeviceAddress of(runtime::StreamRef stream, const std::string& name, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    // a handle names another stream only once all work of the first one is done
    const std::pair<void*, std::string> key(stream.native_handle(), name);
    const auto found = buffers_.find(key);
    if (found != buffers_.end() && found->second.size_bytes() >= bytes) {
      return found->second.address();
    }
    return buffers_.insert_or_assign(key, zeros(device_, stream, bytes)).first->second.address();
  }

  [[nodiscard]] static runtime::Buffer<std::byte> zeros(runtime::Device device,
                                                        runtime::StreamRef stream,
                                                        std::size_t bytes) {
    runtime::Buffer<std::byte> buffer(device, bytes);
    runtime::fill(stream, buffer, std::byte{0});
    return buffer;
  }

 private:
  const runtime::Device device_;
  std::mutex mutex_;
  std::map<std::pair<void*, std::string>, runtime::Buffer<std::byte>> buffers_;
};

/// The shared memory that the launch adds to the kernel's static one.
void add_dynamic_bytes(const LaunchPlan& plan, std::vector<runtime::KernelResources>& resources) {
  for (runtime::KernelResources& each : resources) {
    if (each.name == plan.kernel_name && plan.dynamic_shared_bytes != 0) {
      each.shared_bytes =
          each.shared_bytes.value_or(0) + static_cast<std::size_t>(plan.dynamic_shared_bytes);
    }
  }
}

/// Of each launch.
std::vector<runtime::LaunchShape> shapes_of(const Variant& variant,
                                            const LaunchArguments& checked) {
  std::vector<runtime::LaunchShape> shapes;
  shapes.reserve(variant.grids.size());
  for (std::size_t i = 0; i < variant.grids.size(); ++i) {
    const LaunchPlan& plan = variant.generated.launches[i];
    std::array<std::uint64_t, 3> grid = {1, 1, 1};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto blocks = variant.grids[i][axis].evaluate(checked.integers());
      if (!blocks) {
        throw InvalidInput("loopy.executor.size_overflow",
                           fmt::format("the grid of kernel '{}' is too large: {} is beyond 64 bits",
                                       plan.kernel_name, to_string(plan.grid[axis])));
      }
      grid[axis] = static_cast<std::uint64_t>(std::max<std::int64_t>(*blocks, 0));
    }
    const auto block = [&](std::size_t axis) {
      return static_cast<std::uint64_t>(plan.block[axis]);
    };
    shapes.push_back({{grid[0], grid[1], grid[2]},
                      {block(0), block(1), block(2)},
                      static_cast<std::size_t>(plan.dynamic_shared_bytes),
                      plan.is_cooperative});
  }
  return shapes;
}

/// The arguments of one launch: those of all, then the inames of the loops around it.
runtime::ArgumentPack with_inames(const runtime::ArgumentPack& pack, const LaunchPlan& plan,
                                  const cgen::Type& index_type) {
  runtime::ArgumentPack result = pack;
  for (std::size_t i = 0; i < plan.host_loops.size(); ++i) {
    index_type == cgen::i64 ? result.add(std::int64_t{0}) : result.add(std::int32_t{0});
  }
  return result;
}

/// Sets the inames in arguments that with_inames made.
void set_inames(const runtime::ArgumentPack& pack, const std::vector<std::int64_t>& inames,
                bool is_wide) {
  void* const* place = pack.view().values.data() + (pack.count() - inames.size());
  for (const std::int64_t each : inames) {
    if (is_wide) {
      std::memcpy(*place++, &each, sizeof(each));
    } else {
      const auto narrow = static_cast<std::int32_t>(each);
      std::memcpy(*place++, &narrow, sizeof(narrow));
    }
  }
}

/// One call of a program, ready to be made.
struct ReadyCall {
  const Variant& variant;
  std::vector<runtime::LaunchShape> shapes;  // of each launch
  IntegerList integers;                      // if the host runs loops around launches
  runtime::ArgumentPack pack;

  /// @param stride  of the outermost loops of the host
  void run(runtime::StreamRef stream, std::int64_t stride = 1) const {
    if (!variant.schedule.has_loops()) {
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        variant.kernels[i].launch(stream, shapes[i], pack);
      }
      return;
    }
    const std::vector<LaunchPlan>& plans = variant.generated.launches;
    const bool is_wide = variant.generated.index_type == cgen::i64;
    std::vector<runtime::ArgumentPack> packs;  // of this run alone: several may be under way
    packs.reserve(plans.size());
    for (const LaunchPlan& plan : plans) {
      packs.push_back(with_inames(pack, plan, variant.generated.index_type));
    }
    variant.schedule.run(integers, stride,
                         [&](std::size_t i, const std::vector<std::int64_t>& inames) {
                           set_inames(packs[i], inames, is_wide);
                           variant.kernels[i].launch(stream, shapes[i], packs[i]);
                         });
  }
};

ReadyCall ready_call(const Variant& variant, const LaunchArguments& checked,
                     const std::vector<runtime::DeviceAddress>& temporaries) {
  return {variant, shapes_of(variant, checked),
          variant.schedule.has_loops() ? checked.integers() : IntegerList{},
          checked.pack(variant.parameters, temporaries)};
}

}  // namespace

namespace {

/// The slowest axis first: that of the layers, if there are some.
std::vector<std::int64_t> lengths_of(const runtime::ImageShape& shape) {
  std::vector<std::int64_t> lengths;
  if (shape.layers != 0) {
    lengths.push_back(static_cast<std::int64_t>(shape.layers));
  }
  for (int axis = shape.dimensions(); axis-- > 0;) {
    lengths.push_back(static_cast<std::int64_t>(shape.length(axis)));
  }
  return lengths;
}

}  // namespace

NamedArgument arg(std::string name, const runtime::Texture& texture) {
  return {std::move(name), NamedArgument::Image{texture.device(), texture.ref(), texture.shape(),
                                                texture.options(), lengths_of(texture.shape())}};
}

NamedArgument arg(std::string name, const runtime::Surface& surface) {
  return {std::move(name),
          NamedArgument::Image{
              surface.device(), surface.ref(), surface.shape(), {}, lengths_of(surface.shape())}};
}

struct Executor::State {
  State(Kernel made, runtime::Device on)
      : kernel(std::move(made)), device(on), rules(kernel, on), zeros(on) {}

  const Variant& variant(bool is_wide) { return variant(is_wide, device.backend().compiler()); }

  const Variant& variant(bool is_wide, runtime::Compiler& compiler, bool is_joined) {
    const std::lock_guard lock(mutex);
    std::optional<Variant>& slot = variants[(is_wide ? 1 : 0) + (is_joined ? 2 : 0)];
    if (!slot) {
      slot = make(is_wide, compiler, is_joined);
    }
    return *slot;
  }
  const Variant& variant(bool is_wide, runtime::Compiler& compiler) {
    return variant(is_wide, compiler, joins_launches);
  }

  /// Whose indices reach all of the arguments, the loops, and the temporaries in global memory.
  const Variant& variant_for(const LaunchArguments& checked) {
    const Variant& first = variant_for(checked, joins_launches);
    if (!first.generated.launches.empty() && first.is_cooperative() &&
        !is_held_at_once(first, checked)) {
      return variant_for(checked, false);
    }
    return first;
  }

  /// Whether the device has room for all blocks of the launch.
  static bool is_held_at_once(const Variant& variant, const LaunchArguments& checked) {
    const runtime::Extent3 grid = shapes_of(variant, checked).front().grid;
    return grid.x <= variant.blocks_at_once && grid.y <= variant.blocks_at_once &&
           grid.z <= variant.blocks_at_once && grid.x * grid.y <= variant.blocks_at_once &&
           grid.x * grid.y * grid.z <= variant.blocks_at_once;
  }

  const Variant& variant_for(const LaunchArguments& checked, bool is_joined) {
    runtime::Compiler& compiler = device.backend().compiler();
    const Variant& narrow = variant(!checked.fits_32_bits(), compiler, is_joined);
    const bool fits = std::all_of(
        narrow.parameters.begin(), narrow.parameters.end(), [&](const CallParameter& each) {
          return !each.count || static_cast<std::int64_t>(checked.count_of(each)) < most_of_32_bits;
        });
    return fits ? narrow : variant(true, compiler, is_joined);
  }

  void run(runtime::StreamRef stream, const LaunchArguments& checked) {
    const Variant& found = variant_for(checked);
    // in the order of the stream: given back at the end of the call, free after the last launch
    std::vector<runtime::Buffer<std::byte>> temporaries;
    std::vector<runtime::DeviceAddress> addresses;
    for (const CallParameter& each : found.parameters) {
      if (each.parameter.starts_at_zero) {
        addresses.push_back(zeros.of(stream, each.parameter.name, bytes_of(each, checked)));
      } else if (each.count) {
        temporaries.push_back(runtime::MemoryPool::standard(device).allocate<std::byte>(
            stream, bytes_of(each, checked)));
        addresses.push_back(temporaries.back().address());
      }
    }
    ready_call(found, checked, addresses).run(stream);
  }

  Variant make(bool is_wide, runtime::Compiler& compiler, bool is_joined) const {
    GenerateOptions options;
    options.joins_launches = is_joined;
    options.index_type = is_wide ? cgen::i64 : cgen::i32;
    options.most_statements = most_statements_from_environment(options.most_statements);
    const runtime::DeviceInfo& info = device.info();
    const std::size_t bytes =
        std::max(info.shared_bytes_per_block, info.shared_bytes_per_block_opt_in);
    if (bytes > 0) {
      options.most_shared_bytes = static_cast<std::int64_t>(bytes);
    }
    Variant result{generate(kernel, target_of(device), options), {}, {}, {}, {}, {}, 0};
    result.schedule = HostSchedule(result.generated.launches, rules.names());
    result.parameters = call_parameters(result.generated.parameters, rules);
    const auto request = [&](const cgen::Module& module) {
      runtime::CompileRequest made;
      made.kind = device.backend().output_kind();
      made.source = cgen::print_module(module, dialect_of(result.generated.target));
      made.target = device.info().target;
      made.program_name = kernel.name;
      return made;
    };
    const bool is_compiled = binary && !is_wide && is_joined == joins_launches;
    if (is_compiled && runtime::are_launches_captured()) {
      runtime::remember_text(*binary, request(result.generated.module));
    }
    // launch by launch: a tuner has many candidates that differ in one of them
    const bool are_apart = !is_compiled && info.id.kind == runtime::BackendKind::cuda &&
                           !result.generated.modules_of_launches.empty();
    std::vector<std::future<runtime::CompiledProgram>> compiled;
    if (are_apart) {
      for (const cgen::Module& module : result.generated.modules_of_launches) {
        compiled.push_back(std::async(std::launch::async, [&compiler, made = request(module)] {
          return runtime::compile_cached(compiler, made);
        }));
      }
    }
    std::vector<runtime::Program> programs;
    for (auto& each : compiled) {
      programs.push_back(runtime::Program::load(device, each.get()));
    }
    if (!are_apart) {
      programs.push_back(runtime::Program::load(
          device, is_compiled
                      ? *binary
                      : runtime::compile_cached(compiler, request(result.generated.module))));
    }
    for (const runtime::Program& program : programs) {
      const std::vector<runtime::KernelResources> resources = program.resources();
      result.resources.insert(result.resources.end(), resources.begin(), resources.end());
    }
    result.hash = hash_of(programs, result.generated);
    for (std::size_t i = 0; i < result.generated.launches.size(); ++i) {
      const LaunchPlan& launch = result.generated.launches[i];
      result.grids.push_back({rules.formula(launch.grid[0]), rules.formula(launch.grid[1]),
                              rules.formula(launch.grid[2])});
      result.kernels.push_back(programs[are_apart ? i : 0].kernel(launch.kernel_name));
      add_dynamic_bytes(launch, result.resources);
      if (launch.is_cooperative) {
        const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
        result.blocks_at_once =
            static_cast<std::uint64_t>(info.multiprocessors) *
            static_cast<std::uint64_t>(result.kernels.back().blocks_per_multiprocessor(
                static_cast<int>(threads), static_cast<std::size_t>(launch.dynamic_shared_bytes)));
      }
    }
    return result;
  }

  const Kernel kernel;
  const runtime::Device device;
  const ArgumentRules rules;
  const bool joins_launches = kernel.joins_launches && device.info().has_cooperative_launch;
  const bool has_disjoint_writes = states_disjoint_writes(kernel);
  std::optional<runtime::CompiledProgram> binary{};  // compiled before
  std::mutex mutex;                                  // of variants
  std::optional<Variant> variants[4];                // wide ones, and with one launch for all
  ZeroTemporaries zeros;
};

Executor::Executor(const Kernel& kernel, runtime::Device device) {
  state_ = std::make_shared<State>(checked_kernel(kernel), device);
}

Executor::Executor(const Kernel& kernel, runtime::Device device, runtime::CompiledProgram binary)
    : Executor(kernel, device) {
  state_->binary = std::move(binary);
}

void Executor::operator()(runtime::StreamRef stream,
                          const std::vector<NamedArgument>& arguments) const {
  const LaunchArguments checked(state_->rules, arguments);
  if (state_->has_disjoint_writes && runtime::is_debug_mode()) {
    check_disjoint_writes(state_->kernel, stream, arguments, checked.named_integers());
  }
  state_->run(stream, checked);
}

void Executor::run_in_order(runtime::StreamRef stream,
                            std::span<const NamedArgument::Value> values) const {
  const LaunchArguments checked(state_->rules, values);
  if (state_->has_disjoint_writes && runtime::is_debug_mode()) {
    std::vector<NamedArgument> arguments;
    for (std::size_t i = 0; i < values.size(); ++i) {
      arguments.push_back({state_->kernel.arguments[i].name, values[i]});
    }
    check_disjoint_writes(state_->kernel, stream, arguments, checked.named_integers());
  }
  state_->run(stream, checked);
}

struct BoundCall::State {
  std::shared_ptr<const void> owner;  // of the program
  std::vector<runtime::Buffer<std::byte>> temporaries;
  ReadyCall call;
};

BoundCall Executor::bind(const std::vector<NamedArgument>& arguments) const {
  const LaunchArguments checked(state_->rules, arguments);
  const Variant& variant = state_->variant_for(checked);
  std::vector<runtime::Buffer<std::byte>> temporaries;
  std::vector<runtime::DeviceAddress> addresses;
  for (const CallParameter& each : variant.parameters) {
    if (each.count) {
      temporaries.emplace_back(state_->device, bytes_of(each, checked));
      if (each.parameter.starts_at_zero) {
        const runtime::Stream stream(state_->device);
        temporaries.back() =
            ZeroTemporaries::zeros(state_->device, stream, bytes_of(each, checked));
        stream.synchronize();
      }
      addresses.push_back(temporaries.back().address());
    }
  }
  return BoundCall(std::make_shared<BoundCall::State>(
      BoundCall::State{state_, std::move(temporaries), ready_call(variant, checked, addresses)}));
}

void BoundCall::operator()(runtime::StreamRef stream) const {
  state_->call.run(stream);
}

std::int64_t BoundCall::host_iterations() const {
  const ReadyCall& call = state_->call;
  return call.variant.schedule.outermost_iterations(call.integers);
}

void BoundCall::run_sample(runtime::StreamRef stream, std::int64_t stride) const {
  state_->call.run(stream, stride);
}

std::vector<runtime::KernelResources> Executor::prepare() const {
  return state_->variant(false).resources;
}

std::vector<runtime::KernelResources> Executor::prepare(runtime::Compiler& compiler) const {
  return state_->variant(false, compiler).resources;
}

std::uint64_t Executor::program_hash() const {
  return state_->variant(false).hash;
}

std::string Executor::text() const {
  return generate_text(state_->kernel, target_of(state_->device));
}

const Kernel& Executor::kernel() const noexcept {
  return state_->kernel;
}

runtime::Device Executor::device() const noexcept {
  return state_->device;
}

}  // namespace rtcg::loopy
