#include "rtcg/dg/operators/solver.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/checkpoint.h"
#include "rtcg/dg/operators/choose_waiting.h"
#include "rtcg/dg/operators/default_fused_shape.h"
#include "rtcg/dg/operators/max_wave_speed.h"
#include "rtcg/dg/operators/rank_exchange.h"
#include "rtcg/dg/operators/step_queue.h"
#include "rtcg/dg/operators/tune_stages.h"
#include "rtcg/distributed/group/rounds.h"
#include "rtcg/loopy/tune/tune.h"

namespace rtcg::dg {
namespace {

// LSERK4(5) of Carpenter and Kennedy: residual = a residual + dt rhs; state += b residual.
constexpr std::array<double, 5> stage_a = {
    0.0, -567301805773.0 / 1357537059087.0, -2404267990393.0 / 2016746695238.0,
    -3550918686646.0 / 2091501179385.0, -1275806237668.0 / 842570457699.0};
constexpr std::array<double, 5> stage_b = {
    1432997174477.0 / 9575080441755.0, 5161836677717.0 / 13612068292357.0,
    1720146321549.0 / 2090206949498.0, 3134564353537.0 / 4481467310338.0,
    2277821191437.0 / 14882151754819.0};
constexpr std::array<double, 5> stage_c = {
    0.0, 1432997174477.0 / 9575080441755.0, 2526269341429.0 / 6820363962896.0,
    2006345519317.0 / 3224310063776.0, 2802321613138.0 / 2924317926251.0};

// Steps from one look at the speeds to the next, where these change: a wave runs through a part of
// an element in this time. Euler's equations of order 4 in f64 on one core of an AMD EPYC (host,
// 2026-11) take 1 % longer with a look every four steps than with none.
constexpr long long steps_between_speeds = 4;

}  // namespace

struct Solver::Impl {
  Impl(System system_, std::shared_ptr<const Discretization> on_, SystemData data_,
       const SolverOptions& options_)
      : system(std::move(system_)),
        on(std::move(on_)),
        data(std::move(data_)),
        options(options_),
        group(on && on->group ? *on->group : distributed::Group(options.device)) {
    if (on == nullptr || detail::whole_element_count(*on) == 0) {
      throw InvalidInput("dg.solver.no_discretization",
                         fmt::format("'{}' is to be solved on {}: give what discretize makes of a "
                                     "mesh",
                                     system.name, on == nullptr ? "nothing" : "no elements"));
    }
    check_system(system, *on, data);
    if (!(options.courant > 0) || !std::isfinite(options.courant)) {
      throw InvalidInput(
          "dg.solver.courant",
          fmt::format("the factor of the time step is {}, it must be a number above 0",
                      options.courant));
    }
    if (on->group && on->group->device() != options.device) {
      throw InvalidInput(
          "dg.solver.other_device",
          fmt::format("the solver of rank {} is to run on {}, but the device of the rank is {}: "
                      "give SolverOptions the device of the group",
                      on->group->rank(), options.device.info().name,
                      on->group->device().info().name));
    }
    if (options.tune && group.size() > 1) {
      throw Unsupported("dg.solver.tune_ranks",
                        fmt::format("{} ranks are to search for the fastest kernel: tune on one "
                                    "rank, what it finds is remembered and used by all",
                                    group.size()));
    }
    real = options.precision == Precision::single ? cgen::f32 : cgen::f64;
    data_with_ghosts = detail::with_materials_of_ghosts(data, *on);
    has_changing_speed = detail::has_changing_speed(system, data);
    has_nodal_speed = detail::has_nodal_speed(system);
    make_runner();  // whose state is zero
  }

  void make_runner() {
    std::optional<detail::FusedShape> fused;
    const loopy::Wisdom wisdom(options.wisdom_path);
    const bool is_host = options.device.info().id.kind == runtime::BackendKind::host;
    const detail::SystemEvaluators evaluators = detail::evaluators_of(system, on->mesh);
    const detail::KernelShape shape = detail::shape_of(evaluators, *on);
    const std::string key = detail::key_of({evaluators, shape, real, system.definitions}) +
                            (options.split_singles ? ", split singles" : "");
    if (options.strategy != Strategy::split) {
      const bool is_apart = options.strategy == Strategy::two_kernels;
      const auto known =
          is_host || is_apart ? std::nullopt : detail::known_shape(key, options.device, wisdom);
      const runtime::DeviceInfo& info = options.device.info();
      fused = known
                  ? known
                  : detail::fitted(
                        shape, real,
                        detail::spread_over(
                            shape, info,
                            detail::default_fused_shape(shape, real, info, options.split_singles),
                            on->element_count()),
                        std::max(info.shared_bytes_per_block, info.shared_bytes_per_block_opt_in));
      is_known = known.has_value() || is_apart;
      if (fused && is_apart) {
        fused->updates_apart = true;
      }
      fused = shape_of_all(fused);
    }
    make_runner(fused);
    if (options.tune && fused && !is_host && !is_known) {
      tune(*fused, key, wisdom);
    }
    waiting = distributed::waiting_of(group);
    if (waiting == distributed::Waiting::measured) {
      waiting = detail::choose_waiting(
          *runner, *on, stages_of_step(1),
          fmt::format("{}, {}", key, fused ? to_string(*fused) : "split"), wisdom, is_kept(wisdom));
    } else if (waiting == distributed::Waiting::kernels) {
      if (!detail::can_wait_in_kernels(*runner, *on, group)) {
        waiting = distributed::has_rounds(group) ? distributed::Waiting::devices
                                                 : distributed::Waiting::hosts;
      }
      runner->wait_by(waiting, *on);
      runner->clear_state();
      runner->clear_residual(runner->stream());
    }
  }

  // a cache's folder that cannot be written does not spoil what was found
  [[nodiscard]] bool is_kept(const loopy::Wisdom& wisdom) const {
    return !options.wisdom_path.empty() || wisdom.why_unwritable().empty();
  }

  // The first rank's, on ranks with the same kind of device: another one rounds differently.
  [[nodiscard]] std::optional<detail::FusedShape> shape_of_all(
      const std::optional<detail::FusedShape>& own) const {
    if (group.size() == 1) {
      return own;
    }
    const runtime::DeviceInfo& info = options.device.info();
    const std::string device = fmt::format("{}, {}", info.name, info.target);
    const std::string first_device = group.broadcast(device);
    const std::string first = group.broadcast(own ? to_string(*own) : std::string());
    if (device != first_device) {
      return own;
    }
    return first.empty() ? std::nullopt : detail::parse_fused_shape(first);
  }

  void make_runner(const std::optional<detail::FusedShape>& fused) {
    runner = std::make_shared<detail::StageRunner>(system, *on, data_with_ghosts, options.device,
                                                   real, fused, runner ? runner->halo() : nullptr);
  }

  void tune(const detail::FusedShape& first, const std::string& key, const loopy::Wisdom& wisdom) {
    std::vector<detail::FusedShape> shapes = {first};
    for (const detail::FusedShape& each : detail::fused_candidates(
             runner->shape(), real, options.device.info(), options.split_singles)) {
      shapes.push_back(each);
    }
    runner->write_test_state();
    const loopy::SearchResult found = detail::time_shapes(runner, shapes, key, options.search);
    if (loopy::is_work_left()) {
      make_runner(first);  // the arrays of the other one may be in use
    }
    runner->clear_state();
    if (found.tried.empty() || !found.tried[0].refusal.empty()) {
      return;
    }
    runner->reshape(*detail::parse_fused_shape(found.tried[0].words));
    if (is_kept(wisdom)) {
      detail::remember_shape(key, options.device, found.tried[0], wisdom);
    }
  }

  void set_state(const State& state, double new_time) {
    if (state.fields != system.fields.size() || state.elements != on->element_count() ||
        state.nodes != on->node_count() ||
        state.values.size() != state.fields * state.elements * state.nodes) {
      throw InvalidInput(
          "dg.solver.state_shape",
          fmt::format(
              "the state has {} fields on {} elements of {} nodes in {} values, '{}' has {} "
              "on {} of {}",
              state.fields, state.elements, state.nodes, state.values.size(), system.name,
              system.fields.size(), on->element_count(), on->node_count()));
    }
    if (!std::isfinite(new_time)) {
      throw InvalidInput(
          "dg.solver.bad_time",
          fmt::format("a state at the time {} was given: it must be finite", new_time));
    }
    runner->write_state(detail::to_device_order(state, real));
    time = new_time;
    steps = 0;
    plan = {};
  }

  [[nodiscard]] State downloaded(const std::vector<std::byte>& bytes) const {
    return detail::from_device_order(bytes, real, system.fields.size(), *on);
  }
  [[nodiscard]] State state() const { return downloaded(runner->read_state()); }

  // Where it is another at each node, the device looks for it, by a kernel made at the first call.
  [[nodiscard]] double fastest_wave() {
    if (on->element_count() == 0) {
      return 0;
    }
    if (!has_nodal_speed) {
      return largest_speed(system, *on, data, State(), time);
    }
    if (!speed) {
      speed.emplace(system, *on, data, options.device, real);
    }
    const std::vector<double> speeds =
        speed->speeds(runner->stream(), runner->state_memory(), parameters_at(data, time));
    for (std::size_t element = 0; element < speeds.size(); ++element) {
      detail::check_speed(system, on->mesh, element, speeds[element], time);
    }
    return *std::max_element(speeds.begin(), speeds.end());
  }

  [[nodiscard]] double time_step() {
    const double order = on->element.order;
    const double fastest = group.all_reduce(fastest_wave(), distributed::Operation::max);
    const double smallest =
        group.all_reduce(on->element_count() == 0 ? HUGE_VAL : smallest_size(on->factors),
                         distributed::Operation::min);
    const double length = options.courant * smallest / (fastest * (order + 1) * (order + 1));
    if (!(length > 0) || !std::isfinite(length)) {
      throw InvalidInput(
          "dg.solver.bad_speed",
          fmt::format("the speed of the fastest wave of '{}' is {} at time {}, which gives a time "
                      "step of {}: it must be a number above 0, such as max(abs(u), 0.01)",
                      system.name, fastest, time, length));
    }
    return length;
  }

  // The first element, in the order of the whole mesh, of all ranks.
  void check_finite(const State& at) const {
    std::string problem;
    std::int64_t place = std::numeric_limits<std::int64_t>::max();
    for (std::size_t element = 0; element < at.elements; ++element) {
      const std::int64_t here =
          on->part ? on->part->places[element] : static_cast<std::int64_t>(element);
      if (here > place) {
        continue;
      }
      for (std::size_t i = 0; i < at.fields * at.nodes; ++i) {
        const std::size_t field = i / at.nodes;
        const double value = at.at(field, element, i % at.nodes);
        if (!std::isfinite(value)) {
          place = here;
          problem = fmt::format(
              "'{}' is {} in {} at time {} after {} steps: a smaller time step "
              "may help",
              system.fields[field], value, element_name(on->mesh, element), time, steps);
          break;
        }
      }
    }
    const std::int64_t first = group.all_reduce(place, distributed::Operation::min);
    if (first == std::numeric_limits<std::int64_t>::max()) {
      return;
    }
    const bool is_here = first == place;
    const std::int64_t rank =
        group.all_reduce(std::int64_t{is_here ? group.rank() : -1}, distributed::Operation::max);
    throw InvalidInput("dg.solver.not_finite", group.broadcast(problem, static_cast<int>(rank)));
  }

  [[nodiscard]] std::vector<detail::Stage> stages_of_step(double length) const {
    std::vector<detail::Stage> stages;
    for (std::size_t stage = 0; stage < stage_a.size(); ++stage) {
      stages.push_back({stage_a[stage], stage_b[stage], time + stage_c[stage] * length});
    }
    return stages;
  }

  void step(double length) {
    if (!std::isfinite(length) || !(time + length > time)) {
      throw InvalidInput("dg.solver.bad_step",
                         fmt::format("a step of {} at time {} leads to {}: it must be finite and "
                                     "large enough to change the time",
                                     length, time, time + length));
    }
    queue.make_room();
    runner->step(stages_of_step(length), length);
    queue.note(runner->stream());
    time += length;
    ++steps;
  }

  // The steps from here to `end`: those begun, or new ones.
  void make_plan(double end, const RunOptions& run) {
    if (!std::isfinite(end)) {
      throw InvalidInput("dg.solver.end_time",
                         fmt::format("a run until time {} never ends: give a finite time", end));
    }
    if (plan.steps_left > 0 && plan.end == end && plan.courant == options.courant) {
      return;
    }
    plan = {end, options.courant, 0, 0, 0};
    if (end > time) {
      check_finite(state());
      divide_rest(run);
    }
  }

  // Equal steps, as many as the present speeds ask for.
  void divide_rest(const RunOptions& run) {
    const double longest = time_step();
    const double count = std::ceil((plan.end - time) / longest * (1 - 1e-12));
    if (!(count <= static_cast<double>(run.most_steps))) {
      throw InvalidInput(
          "dg.solver.too_many_steps",
          fmt::format("from time {} to {} a run takes {:.4g} steps of {:.4g} each, more than {}: "
                      "shorten it, check the smallest element and the fastest wave, or allow more "
                      "(most_steps, --most-steps)",
                      time, plan.end, count, longest, run.most_steps));
    }
    plan.steps_left = std::max(1LL, static_cast<long long>(count));
    plan.time_step = (plan.end - time) / static_cast<double>(plan.steps_left);
    plan.steps_to_speeds = has_changing_speed ? steps_between_speeds : plan.steps_left;
  }

  void report(const RunOptions& run, double seconds, long long steps_done) const {
    const State now = state();
    check_finite(now);
    // one rank may report alone, all have to sum the energy
    if (group.all_reduce(std::int64_t{run.report ? 1 : 0}, distributed::Operation::max) != 0) {
      const double energy_now = dg::energy(system, *on, data, now, time);
      if (!run.report) {
        return;
      }
      run.report(
          {time, plan.end, steps, plan.time_step, energy_now, seconds,
           seconds / static_cast<double>(steps_done) * static_cast<double>(plan.steps_left)});
    }
  }

  bool run_until(double end, const RunOptions& run) {
    using Clock = std::chrono::steady_clock;
    const auto since = [](Clock::time_point begin) {
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    const Clock::time_point begin = Clock::now();
    Clock::time_point last_report = begin;
    double wait = run.report_seconds;
    make_plan(end, run);
    for (long long done = 1; plan.steps_left > 0; ++done) {
      if (plan.steps_to_speeds == 0) {
        divide_rest(run);
      }
      step(plan.time_step);
      --plan.steps_left;
      --plan.steps_to_speeds;
      if (plan.steps_left == 0) {
        time = end;
      }
      const bool is_stopped_here = plan.steps_left > 0 && run.is_stopped && run.is_stopped();
      const bool is_report_due = (run.report_every > 0 && done % run.report_every == 0) ||
                                 (run.report_seconds > 0 && since(last_report) >= wait);
      // what one of the ranks wants, all do; a stop more than a report
      const std::int64_t wanted = group.all_reduce(std::int64_t{is_stopped_here ? 2
                                                                : is_report_due ? 1
                                                                                : 0},
                                                   distributed::Operation::max);
      const bool is_stopped = wanted == 2;
      if (plan.steps_left == 0 || wanted > 0) {
        const Clock::time_point report_begin = Clock::now();
        report(run, since(begin), done);
        wait = std::max(run.report_seconds, 10 * since(report_begin));
        last_report = Clock::now();
      }
      if (is_stopped) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::size_t bytes_of_element() const {
    return system.fields.size() * on->node_count() * (real == cgen::f32 ? 4 : 8);
  }

  // The first rank writes the state of the whole mesh, as one rank would.
  void save_checkpoint(const std::string& path) {
    const std::string& of_problem = checkpoint_head();
    const std::vector<std::byte> whole =
        detail::gather_elements(*on, runner->read_state(), bytes_of_element());
    if (group.is_first()) {
      detail::write_checkpoint(path, of_problem, {time, steps, plan, whole});
    }
    group.barrier();  // all find it
  }

  void load_checkpoint(const std::string& path) {
    const std::string& of_problem = checkpoint_head();
    detail::Checkpoint found;
    if (group.is_first()) {
      found = detail::read_checkpoint(path, of_problem,
                                      detail::whole_element_count(*on) * bytes_of_element());
    }
    found.state = detail::scatter_elements(*on, found.state, bytes_of_element());
    struct Numbers {
      double time;
      long long steps;
      detail::RunPlan plan;
    };
    const std::vector<Numbers> numbers = distributed::values_of<Numbers>(
        group.broadcast(distributed::bytes_of<Numbers>({{found.time, found.steps, found.plan}})));
    runner->write_state(found.state);
    time = numbers[0].time;
    steps = numbers[0].steps;
    plan = numbers[0].plan;
  }

  const std::string& checkpoint_head() {
    if (head.empty()) {
      head = detail::checkpoint_head(system, *on, data, real);
    }
    return head;
  }

  System system;
  std::shared_ptr<const Discretization> on;
  SystemData data;
  SolverOptions options;
  distributed::Group group;     ///< one rank alone if the mesh is whole
  SystemData data_with_ghosts;  ///< what kernels read
  cgen::Type real = cgen::f64;
  double time = 0;
  long long steps = 0;
  detail::RunPlan plan;
  bool is_known = false;  ///< whether the kernel's shape was remembered
  std::shared_ptr<detail::StageRunner> runner;
  distributed::Waiting waiting = distributed::Waiting::hosts;  ///< one that `measured` chooses
  detail::StepQueue queue{options.device};
  std::string head;  ///< of checkpoints; made when first asked for
  bool has_changing_speed = false;
  bool has_nodal_speed = false;
  std::optional<detail::MaxWaveSpeed> speed;
};

Solver::Solver(System system, std::shared_ptr<const Discretization> on, SystemData data,
               const SolverOptions& options)
    : impl_(std::make_unique<Impl>(std::move(system), std::move(on), std::move(data), options)) {}
Solver::~Solver() = default;
Solver::Solver(Solver&& other) noexcept = default;
Solver& Solver::operator=(Solver&& other) noexcept = default;

const System& Solver::system() const noexcept {
  return impl_->system;
}
const Discretization& Solver::discretization() const noexcept {
  return *impl_->on;
}
const SystemData& Solver::data() const noexcept {
  return impl_->data;
}
const SolverOptions& Solver::options() const noexcept {
  return impl_->options;
}
void Solver::set_state(const State& state, double time) {
  impl_->set_state(state, time);
}
State Solver::state() const {
  return impl_->state();
}
double Solver::time() const noexcept {
  return impl_->time;
}
long long Solver::steps() const noexcept {
  return impl_->steps;
}
double Solver::time_step() const {
  return impl_->time_step();
}
double Solver::energy() const {
  return dg::energy(impl_->system, *impl_->on, impl_->data, impl_->state(), impl_->time);
}

void Solver::compute_right_hand_side() const {
  impl_->runner->right_hand_side(impl_->time);
}
runtime::BufferRef<std::byte> Solver::device_state() const {
  return impl_->runner->state_memory();
}
runtime::BufferRef<std::byte> Solver::device_right_hand_side() const {
  return impl_->runner->residual_memory();
}
void Solver::state_written() const {
  impl_->runner->state_written();
}
runtime::StreamRef Solver::stream() const {
  return impl_->runner->stream();
}
State Solver::right_hand_side() const {
  compute_right_hand_side();
  return impl_->downloaded(impl_->runner->read_residual());
}

void Solver::step(double time_step) {
  impl_->plan = {};
  impl_->step(time_step);
}

bool Solver::run_until(double end, const RunOptions& options) {
  return impl_->run_until(end, options);
}

void Solver::save_checkpoint(const std::string& path) const {
  impl_->save_checkpoint(path);
}

void Solver::load_checkpoint(const std::string& path) {
  impl_->load_checkpoint(path);
}

distributed::Waiting Solver::waiting() const noexcept {
  return impl_->waiting;
}
std::string Solver::kernel_text() const {
  return impl_->runner->text();
}
void Solver::synchronize() const {
  impl_->runner->stream().synchronize();
}

}  // namespace rtcg::dg
