#include "rtcg/dg/operators/stage_runner.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/halo.h"
#include "rtcg/dg/operators/peer_stores.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/interprocess.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::dg::detail {
namespace {

using runtime::Buffer;
using runtime::BufferRef;

loopy::Kernel sliced_operators(const KernelShape& shape, const cgen::Type& real) {
  loopy::Kernel kernel = operators_kernel(shape, real);
  kernel = loopy::split_iname(std::move(kernel), "c", 4, {.outer_tag = "g.0", .inner_tag = "l.1"});
  return loopy::tag_inames(std::move(kernel), "i: l.0");
}

}  // namespace

struct StageRunner::Impl {
  using KernelLaunch = StageProgram::KernelLaunch;

  Impl(const System& system, const Discretization& on, const SystemData& data,
       runtime::Device device_, const cgen::Type& real_, const std::optional<FusedShape>& fused_,
       std::shared_ptr<Halo> halo_)
      : device(device_),
        stream(device_),
        real(real_),
        evaluators(evaluators_of(system, on.mesh)),
        shape(shape_of(evaluators, on)),
        elements(static_cast<std::int32_t>(on.element_count())),
        // whole fours: ranges of elements then begin at addresses that prefetches take
        interior(
            static_cast<std::int32_t>((on.part ? on.part->interior : on.element_count()) / 4 * 4)),
        data_of_system(data),
        derivatives(volume_operators(system, on.element)),
        lift(surface_operator(system, on.element)) {
    if (!fused_) {
      operators.emplace(sliced_operators(shape, real), device);
    }
    definitions = system.definitions;
    program = compile(fused_);
    allocate(on);
    make_ready(*program);
    halo = std::move(halo_);
    if (halo) {
      halo->drop();
    } else if (on.part && !on.part->neighbours.empty()) {
      halo = std::make_shared<Halo>(shape, real, on, device);
    }
  }

  [[nodiscard]] std::shared_ptr<StageProgram> compile(const std::optional<FusedShape>& wanted,
                                                      GhostPlace ghosts = GhostPlace::state) const {
    const KernelWriter writer(evaluators, shape, real, definitions, ghosts);
    const StageKernels kernels =
        wanted ? fused_kernel(writer, derivatives, lift, *wanted) : split_kernels(writer);
    const cgen::Dialect dialect = loopy::dialect_of(device);
    const SourceText text = cgen::print_module(kernels.module, dialect);
    cgen::verify_module(kernels.module, dialect, [&] { return text.text; });
    const runtime::Program compiled =
        runtime::Program::compile(device, text, {}, kernels.module.name);
    auto result = std::make_shared<StageProgram>(StageProgram{wanted, text});
    for (const StageLaunch& each : kernels.launches) {
      if (const KernelPlan* plan = std::get_if<KernelPlan>(&each)) {
        result->launches.emplace_back(KernelLaunch{*plan, compiled.kernel(plan->name)});
      } else {
        result->launches.emplace_back(ApplyOperators{});
      }
    }
    for (const runtime::KernelResources& each : compiled.resources()) {
      const bool is_first = each.name == kernels.plans().front().name;
      result->resources = is_first ? each : result->resources;
    }
    return result;
  }

  // The memory that this program alone needs.
  void make_ready(StageProgram& of) {
    if (of.fused && !of.operators) {
      of.operators.emplace(device,
                           as_reals(operators_table(derivatives, lift, *of.fused, real), real));
      of.fused->updates_apart ? add_zeros("rhs", state_numbers) : add_state("next");
      stream.synchronize();  // it may run on another one
    }
  }

  std::shared_ptr<const Buffer<std::byte>> add_memory(const std::string& name,
                                                      Buffer<std::byte> bytes) {
    return memory.emplace(name, std::make_shared<const Buffer<std::byte>>(std::move(bytes)))
        .first->second;
  }
  [[nodiscard]] const Buffer<std::byte>& at(const std::string& name) const {
    return *memory.at(name);
  }

  // Memory for another state with ghosts, zeros at first.
  void add_state(const std::string& name) { add_zeros(name, state_numbers + ghost_numbers); }
  // Where there is none of that name yet.
  void add_zeros(const std::string& name, std::size_t numbers) {
    if (!memory.contains(name)) {
      const auto place = add_memory(name, Buffer<std::byte>(device, numbers * real_bytes()));
      runtime::fill(stream, *place, std::byte{0});
    }
  }

  void add_matrix(const std::string& name, const std::vector<double>& values) {
    add_memory(name, Buffer<std::byte>(device, as_reals(values, real)));
  }

  void allocate(const Discretization& on) {
    std::set<std::string> wanted;
    for (const auto& each : program->launches) {
      if (const KernelLaunch* launch = std::get_if<KernelLaunch>(&each)) {
        for (const KernelArgument& argument : launch->plan.arguments) {
          wanted.insert(argument.name);
        }
      }
    }
    for (auto& [name, bytes] : make_tables(wanted, shape, evaluators, on, data_of_system, real)) {
      add_memory(name, Buffer<std::byte>(device, bytes));
    }
    const auto numbers_of_element = static_cast<std::size_t>(shape.fields * shape.nodes);
    state_numbers = on.element_count() * numbers_of_element;
    ghost_numbers = (on.part ? on.part->ghosts : 0) * numbers_of_element;
    add_state("state");
    add_zeros("residual", state_numbers);
    if (program->fused) {
      return;
    }
    add_zeros("rhs", state_numbers);
    add_zeros("volume_fluxes", state_numbers * static_cast<std::size_t>(shape.dimension));
    add_zeros("surface_fluxes",
              on.element_count() * static_cast<std::size_t>(shape.fields * shape.lifted()));
    for (std::size_t axis = 0; axis < derivatives.size(); ++axis) {
      add_matrix(std::string("d_") + "rst"[axis], derivatives[axis].values);
    }
    add_matrix("lift", lift.values);
  }

  [[nodiscard]] std::size_t real_bytes() const { return real == cgen::f32 ? 4 : 8; }

  void add_real(runtime::ArgumentPack& pack, double value) const {
    if (real == cgen::f32) {
      pack.add(static_cast<float>(value));
    } else {
      pack.add(value);
    }
  }

  using Numbers = std::map<std::string, double, std::less<>>;

  // Elements from `begin` to before `end`.
  struct Range {
    std::int32_t begin;
    std::int32_t end;
  };
  [[nodiscard]] Range all() const { return {0, elements}; }

  [[nodiscard]] BufferRef<const std::byte> array_of(const StageProgram& of,
                                                    const std::string& name) const {
    if (of.operators && name == "operators") {
      return *of.operators;
    }
    if (peers) {
      if (const auto found = peers->argument(name, at("next").address())) {
        return *found;
      }
    }
    return at(name);
  }

  void launch(const StageProgram& of, const KernelLaunch& wanted, runtime::StreamRef on,
              const Numbers& numbers, const Range& range) {
    const KernelPlan& plan = wanted.plan;
    runtime::ArgumentPack pack;
    for (const auto& [name, kind] : plan.arguments) {
      switch (kind) {
        case ArgumentKind::element_count:

          pack.add(name == "first_element"  ? range.begin
                   : name == "elements"     ? range.end
                   : name == "first_at_rim" ? interior
                   : name == "neighbours"   ? peers->neighbours()
                   : name == "copies"       ? peers->copies()
                                            : elements);
          break;
        case ArgumentKind::number:
          add_real(pack, numbers.at(name));
          break;
        case ArgumentKind::array:
          pack.add(array_of(of, name));
          break;
      }
    }
    const auto items =
        static_cast<std::uint64_t>(plan.items_per_element * (range.end - range.begin));
    const auto per_block = static_cast<std::uint64_t>(plan.items_per_block);
    runtime::LaunchShape launch_shape{(items + per_block - 1) / per_block,
                                      static_cast<std::uint64_t>(plan.threads_per_block),
                                      plan.shared_bytes};
    if (device.info().id.kind == runtime::BackendKind::opencl && plan.shared_bytes > 0) {
      // the array is the last parameter there
      pack.add(std::exchange(launch_shape.shared_bytes, std::size_t{0}));
    }
    wanted.kernel.launch(on, launch_shape, pack);
  }

  void apply_operators(runtime::StreamRef on, const Range& range) {
    std::vector<loopy::NamedArgument> arguments;
    // of the range, of memory that has so many numbers for each element
    const auto part = [&](BufferRef<std::byte> bytes, int numbers) {
      const std::size_t of_element = static_cast<std::size_t>(numbers) * real_bytes();
      return bytes.subrange(static_cast<std::size_t>(range.begin) * of_element,
                            static_cast<std::size_t>(range.end - range.begin) * of_element);
    };
    const auto add = [&](const std::string& name, BufferRef<std::byte> bytes) {
      if (real == cgen::f32) {
        arguments.push_back(loopy::arg(name, bytes.as<float>()));
      } else {
        arguments.push_back(loopy::arg(name, bytes.as<double>()));
      }
    };
    arguments.push_back(loopy::arg("columns", (range.end - range.begin) * shape.fields));
    add("rhs", part(at("rhs"), shape.fields * shape.nodes));
    add("fluxes", part(at("surface_fluxes"), shape.fields * shape.lifted()));
    add("lift", at("lift"));
    for (int axis = 0; axis < shape.dimension; ++axis) {
      const std::string letter(1, "rst"[axis]);
      const std::size_t bytes = state_numbers * real_bytes();
      add("g_" + letter,
          part(at("volume_fluxes").subrange(static_cast<std::size_t>(axis) * bytes, bytes),
               shape.fields * shape.nodes));
      add("d_" + letter, at("d_" + letter));
    }
    (*operators)(on, arguments);
  }

  [[nodiscard]] Numbers numbers_of(const Stage& stage, double time_step) const {
    Numbers numbers;
    for (const auto& [name, value] : parameters_at(data_of_system, stage.time)) {
      numbers["parameter_" + name] = value;
    }
    numbers["a"] = stage.a;
    numbers["b"] = stage.b;
    numbers["time_step"] = time_step;
    return numbers;
  }

  // The launches of a stage from `first` to before `last`, on some elements.
  void run(StageProgram& of, runtime::StreamRef on, const Numbers& numbers, const Range& range,
           std::size_t first, std::size_t last) {
    if (range.begin == range.end) {
      return;
    }
    for (std::size_t i = first; i < last; ++i) {
      if (const KernelLaunch* kernel = std::get_if<KernelLaunch>(&of.launches[i])) {
        launch(of, *kernel, on, numbers, range);
      } else {
        apply_operators(on, range);
      }
    }
  }
  void run(StageProgram& of, runtime::StreamRef on, const Numbers& numbers) {
    run(of, on, numbers, all(), 0, of.launches.size());
  }

  [[nodiscard]] bool swaps_states() const {
    return program->fused && !program->fused->updates_apart;
  }

  // Kernels that read neighbours: elements without remote faces first, while ghosts are on their
  // way; the others run at the same time on the halo's stream, or after them if hosts wait for the
  // ghosts: until then much of the first ones is done.
  void run_beside_halo(const Numbers& numbers, std::size_t launches) {
    if (!halo->overlaps()) {
      run(*program, stream, numbers, {0, interior}, 0, launches);
      halo->receive(stream);
      halo->lead(stream);
      run(*program, stream, numbers, {interior, elements}, 0, launches);
      return;
    }
    halo->receive(stream);
    halo->follow(stream);
    run(*program, stream, numbers, {0, interior}, 0, launches);
    run(*program, halo->own(stream), numbers, {interior, elements}, 0, launches);
    halo->lead(stream);
  }

  // Blocks without elements at the rim need no kernel that waits.
  void run_by_peers(const Numbers& numbers) {
    const std::int32_t of_block = peer_program->fused->elements;
    const std::int32_t apart = rim ? interior / of_block * of_block : 0;
    if (apart == 0) {
      run(*peer_program, stream, numbers);
      return;
    }
    if (device.info().id.kind == runtime::BackendKind::host) {
      // graphs of the host have the work of one stream
      run(*program, stream, numbers, {0, apart}, 0, 1);
      run(*peer_program, stream, numbers, {apart, elements}, 0, 1);
      return;
    }
    stream.record(rim->free);
    rim->stream.wait(rim->free);
    run(*peer_program, rim->stream, numbers, {apart, elements}, 0, 1);
    run(*program, stream, numbers, {0, apart}, 0, 1);
    rim->stream.record(rim->done);
    stream.wait(rim->done);
  }

  void run_right_hand_side(const Numbers& numbers) {
    if (peers) {
      peers->run(stream, [&] { run_by_peers(numbers); });
    } else if (halo) {
      run_beside_halo(numbers, program->launches.size());
    } else {
      run(*program, stream, numbers);
    }
  }

  void run_stage(const Numbers& numbers) {
    const std::size_t launches = program->launches.size();
    if (peers) {
      peers->run(stream, [&] { run_by_peers(numbers); });
    } else if (!halo) {
      run(*program, stream, numbers);
    } else if (swaps_states()) {
      run_beside_halo(numbers, launches);
      halo->overlaps() ? halo->send(stream, at("next").ref())
                       : halo->start(stream, at("next").ref());
    } else {
      // the last kernel updates the state in place: it waits for all that reads neighbours
      run_beside_halo(numbers, launches - 1);
      run(*program, stream, numbers, {interior, elements}, launches - 1, launches);
      halo->start(stream, at("state").ref());
      run(*program, stream, numbers, {0, interior}, launches - 1, launches);
    }
    if (swaps_states()) {
      std::swap(memory.at("state"), memory.at("next"));
    }
  }

  // So that other processes can write it.
  void make_shareable(const std::string& name) {
    std::shared_ptr<const Buffer<std::byte>>& place = memory.at(name);
    if (!runtime::is_shareable(place->ref())) {
      Buffer<std::byte> other(runtime::shareable_memory(device, place->size_bytes()));
      runtime::copy_on_device(stream, place->ref(), other.ref());
      stream.synchronize();
      place = std::make_shared<const Buffer<std::byte>>(std::move(other));
    }
  }

  void make_peers(const Discretization& on) {
    require_internal(swaps_states(), "stages of one kernel");
    if (!peer_program) {
      peer_program = compile(program->fused, GhostPlace::peers);
      make_ready(*peer_program);
    }
    if (distributed::stores_between_processes(*on.group)) {
      make_shareable("state");
      make_shareable("next");
    }
    peers = PeerStores::make(shape, real, on, device, interior,
                             {memory.at("state"), memory.at("next")});
  }

  bool wait_by(distributed::Waiting waiting, const Discretization& on, RimLaunch rim_launch) {
    stream.synchronize();
    repeated = {};  // its graphs use messages of the halo
    halo.reset();
    peers.reset();
    rim.reset();
    if (waiting == distributed::Waiting::kernels && rim_launch == RimLaunch::apart) {
      rim.emplace(device);
    }
    const bool has_neighbours = on.part && !on.part->neighbours.empty();
    if (waiting == distributed::Waiting::kernels) {
      if (has_neighbours) {
        make_peers(on);
      }
      const bool is_able = peers || !has_neighbours;
      if (on.group &&
          on.group->all_reduce(std::int64_t{is_able}, distributed::Operation::min) == 0) {
        peers.reset();
        waiting = distributed::Waiting::devices;
      }
    }
    if (peers) {
      peers->announce(stream, at("state").ref());
    } else if (has_neighbours) {
      halo = std::make_shared<Halo>(shape, real, on, device, waiting);
    }
    return waiting == distributed::Waiting::kernels;
  }

  using GraphKey = std::pair<runtime::DeviceAddress, int>;

  void run_step(const std::vector<Stage>& stages, double time_step) {
    std::vector<Numbers> key;
    for (const Stage& stage : stages) {
      key.push_back(numbers_of(stage, time_step));
    }
    const auto run_all = [&] {
      for (const Numbers& numbers : key) {
        run_stage(numbers);
      }
    };
    if (key != repeated.key) {
      repeated = {key, {}};
      run_all();
      return;
    }
    if (device.info().id.kind == runtime::BackendKind::opencl ||
        (halo && !halo->can_be_captured())) {
      run_all();  // no graph has what hosts wait for
      return;
    }
    if (halo) {
      halo->prepare_launch(stream);
    }
    // A step of an odd number of stages leaves the state in the other memory: there are two graphs.
    // Those of ranks use their messages' memory in turns as well.
    const GraphKey place = {at("state").address(), halo ? halo->phase() : 0};
    auto known = repeated.graphs.find(place);
    if (known == repeated.graphs.end()) {
      known = repeated.graphs.emplace(place, graph_of(run_all)).first;  // swaps the states
    } else if (swaps_states() && stages.size() % 2 == 1) {
      std::swap(memory.at("state"), memory.at("next"));
    }
    const auto launch_graph = [&] { known->second.launch(stream); };
    if (peers) {
      peers->replay(stream, static_cast<int>(stages.size()), launch_graph);
    } else if (halo) {
      halo->replay(static_cast<int>(stages.size()), at("state").ref(), launch_graph);
    } else {
      launch_graph();
    }
    ++replayed;
  }

  template <class Work>
  [[nodiscard]] runtime::Graph graph_of(const Work& work) {
    return runtime::capture(stream, [&] {
      if (halo) {
        halo->begin_capture(stream);
      }
      if (peers) {
        peers->begin_capture();
      }
      work();
      if (peers) {
        peers->end_capture();
      }
      if (halo) {
        halo->end_capture(stream);
      }
    });
  }

  runtime::Device device;
  runtime::Stream stream;
  cgen::Type real;
  SystemEvaluators evaluators;
  KernelShape shape;
  std::int32_t elements;
  std::int32_t interior;  // the first ones, without neighbours on other ranks
  SystemData data_of_system;
  std::vector<Matrix> derivatives;
  Matrix lift;
  std::size_t state_numbers = 0;
  std::size_t ghost_numbers = 0;
  std::string definitions;
  std::optional<loopy::Executor> operators;  // of split kernels
  std::shared_ptr<StageProgram> program;
  std::map<std::string, std::shared_ptr<const Buffer<std::byte>>> memory;  // neighbours may read it
  std::shared_ptr<StageProgram> peer_program;  // the same with stores to neighbours
  std::shared_ptr<Halo> halo;                  // null: no neighbours, or peers
  /// For blocks with elements at the rim, if they are a launch of their own: it begins first.
  struct Rim {
    explicit Rim(runtime::Device device)
        : stream(device, {.priority = std::numeric_limits<int>::min()}),
          free(device, {.with_timing = false}),
          done(device, {.with_timing = false}) {}
    runtime::Stream stream;
    runtime::Event free;  ///< the stage before is done
    runtime::Event done;
  };
  std::optional<Rim> rim;
  std::unique_ptr<PeerStores> peers;
  /// The latest step, and graphs of it by where the state is before and the phase of the halo.
  struct Repeated {
    std::vector<Numbers> key;
    std::map<GraphKey, runtime::Graph> graphs;
  };
  Repeated repeated;
  long long replayed = 0;
};

StageRunner::StageRunner(const System& system, const Discretization& on, const SystemData& data,
                         runtime::Device device, const cgen::Type& real,
                         const std::optional<FusedShape>& fused, std::shared_ptr<Halo> halo)
    : impl_(std::make_unique<Impl>(system, on, data, device, real, fused, std::move(halo))) {}
StageRunner::~StageRunner() = default;

void StageRunner::stage(double a, double b, double time_step, double time) {
  impl_->run_stage(impl_->numbers_of({a, b, time}, time_step));
}

void StageRunner::step(const std::vector<Stage>& stages, double time_step) {
  impl_->run_step(stages, time_step);
}

long long StageRunner::replayed_steps() const {
  return impl_->replayed;
}

void StageRunner::right_hand_side(double time) {
  impl_->run_right_hand_side(impl_->numbers_of({0, 0, time}, 1));
}

void StageRunner::try_stage(StageProgram& program, runtime::StreamRef stream) {
  impl_->make_ready(program);
  impl_->run(program, stream, impl_->numbers_of({0.5, 0, 0}, 1));
}

std::shared_ptr<StageProgram> StageRunner::compile(const FusedShape& fused) const {
  return impl_->compile(fused);
}

void StageRunner::reshape(const FusedShape& fused) {
  require_internal(impl_->program->fused.has_value(), "split kernels have no shape");
  impl_->stream.synchronize();
  impl_->program = impl_->compile(fused);
  impl_->peer_program = nullptr;
  impl_->repeated = {};
  impl_->make_ready(*impl_->program);
}

bool StageRunner::wait_by(distributed::Waiting waiting, const Discretization& on, RimLaunch rim) {
  return impl_->wait_by(waiting, on, rim);
}

bool StageRunner::can_wait_in_kernels() const {
  return impl_->swaps_states();
}

std::shared_ptr<Halo> StageRunner::halo() const {
  return impl_->halo;
}
const KernelShape& StageRunner::shape() const {
  return impl_->shape;
}
const cgen::Type& StageRunner::real() const {
  return impl_->real;
}
void StageRunner::write_state(const std::vector<std::byte>& bytes) {
  impl_->stream.synchronize();
  impl_->at("state").write(bytes);
  state_written();
}
void StageRunner::state_written() {
  if (impl_->peers) {
    impl_->peers->announce(impl_->stream, impl_->at("state").ref());
  }
  if (impl_->halo) {
    impl_->halo->start(impl_->stream, impl_->at("state").ref());
  }
}
void StageRunner::write_test_state(double factor) {
  constexpr std::size_t elements = 251;
  const auto nodes = static_cast<std::size_t>(impl_->shape.nodes);
  const auto fields = static_cast<std::size_t>(impl_->shape.fields);
  std::vector<double> numbers(std::min(elements * fields * nodes, impl_->state_numbers));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = (i / nodes % fields < 2 ? 1 : factor) *
                 (1 + 0.1 * std::sin(static_cast<double>(i * i % 1009)));
  }
  const std::vector<std::byte> bytes = as_reals(numbers, impl_->real);
  // without the ghosts: other ranks may have no use for such numbers
  impl_->stream.synchronize();
  impl_->at("state").write(bytes);
  const BufferRef<std::byte> state = state_memory();
  for (std::size_t filled = bytes.size(); filled < state.count(); filled *= 2) {
    const std::size_t count = std::min(filled, state.count() - filled);
    runtime::copy_on_device(impl_->stream, state.subrange(0, count), state.subrange(filled, count));
  }
}
void StageRunner::clear_state() {
  if (impl_->halo) {
    impl_->halo->drop();
  }
  runtime::fill(impl_->stream, impl_->at("state"), std::byte{0});
  if (impl_->peers) {
    impl_->peers->announce(impl_->stream, impl_->at("state").ref());
  }
}
void StageRunner::clear_residual(runtime::StreamRef stream) {
  runtime::fill(stream, impl_->at("residual"), std::byte{0});
}
std::vector<std::byte> StageRunner::read_state() const {
  std::vector<std::byte> bytes(impl_->state_numbers * impl_->real_bytes());
  if (!bytes.empty()) {
    runtime::copy_to_host(impl_->stream, state_memory(), bytes);
  }
  impl_->stream.synchronize();
  return bytes;
}
std::vector<std::byte> StageRunner::read_residual() const {
  return impl_->at("residual").to_vector(impl_->stream);
}
runtime::BufferRef<std::byte> StageRunner::state_memory() const {
  return impl_->at("state").subrange(0, impl_->state_numbers * impl_->real_bytes());
}
runtime::BufferRef<std::byte> StageRunner::residual_memory() const {
  return impl_->at("residual").ref();
}
std::string StageRunner::text() const {
  const StageProgram& running = impl_->peers ? *impl_->peer_program : *impl_->program;
  return running.source.text + (impl_->operators ? "\n" + impl_->operators->text() : "");
}
runtime::StreamRef StageRunner::stream() const {
  return impl_->stream;
}

}  // namespace rtcg::dg::detail
