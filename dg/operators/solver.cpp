#include "rtcg/dg/operators/solver.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/checkpoint.h"
#include "rtcg/dg/operators/default_fused_shape.h"
#include "rtcg/dg/operators/max_wave_speed.h"
#include "rtcg/dg/operators/step_queue.h"
#include "rtcg/dg/operators/tune_stages.h"
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
      : system(std::move(system_)), on(std::move(on_)), data(std::move(data_)), options(options_) {
    if (on == nullptr || on->element_count() == 0) {
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
    real = options.precision == Precision::single ? cgen::f32 : cgen::f64;
    has_changing_speed = detail::has_changing_speed(system, data);
    has_nodal_speed = detail::has_nodal_speed(system);
    make_runner();  // whose state is zero
  }

  void make_runner() {
    std::optional<detail::FusedShape> fused;
    std::string key;
    const loopy::Wisdom wisdom(options.wisdom_path);
    const bool is_host = options.device.info().id.kind == runtime::BackendKind::host;
    if (options.strategy != Strategy::split) {
      const detail::SystemEvaluators evaluators = detail::evaluators_of(system, on->mesh);
      const detail::KernelShape shape = detail::shape_of(evaluators, *on);
      key = detail::key_of({evaluators, shape, real, system.definitions}) +
            (options.split_singles ? ", split singles" : "");
      const bool is_apart = options.strategy == Strategy::two_kernels;
      const auto known =
          is_host || is_apart ? std::nullopt : detail::known_shape(key, options.device, wisdom);
      const runtime::DeviceInfo& info = options.device.info();
      fused = known
                  ? known
                  : detail::fitted(
                        shape, real,
                        detail::default_fused_shape(shape, real, info, options.split_singles),
                        std::max(info.shared_bytes_per_block, info.shared_bytes_per_block_opt_in));
      is_known = known.has_value() || is_apart;
      if (fused && is_apart) {
        fused->updates_apart = true;
      }
    }
    make_runner(fused);
    if (options.tune && fused && !is_host && !is_known) {
      tune(*fused, key, wisdom);
    }
  }

  void make_runner(const std::optional<detail::FusedShape>& fused) {
    runner = std::make_shared<detail::StageRunner>(system, *on, data, options.device, real, fused);
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
    // a cache's folder that cannot be written does not spoil what was found
    if (!options.wisdom_path.empty() || wisdom.why_unwritable().empty()) {
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
    runner->write_state(detail::as_reals(detail::to_device_order(state), real));
    time = new_time;
    steps = 0;
    plan = {};
  }

  [[nodiscard]] State downloaded(const std::vector<std::byte>& bytes) const {
    return detail::from_device_order(detail::from_reals(bytes, real), system.fields.size(), *on);
  }
  [[nodiscard]] State state() const { return downloaded(runner->read_state()); }

  // Where it is another at each node, the device looks for it, by a kernel made at the first call.
  [[nodiscard]] double fastest_wave() {
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
    const double fastest = fastest_wave();
    const double length =
        options.courant * smallest_size(on->factors) / (fastest * (order + 1) * (order + 1));
    if (!(length > 0) || !std::isfinite(length)) {
      throw InvalidInput(
          "dg.solver.bad_speed",
          fmt::format("the speed of the fastest wave of '{}' is {} at time {}, which gives a time "
                      "step of {}: it must be a number above 0, such as max(abs(u), 0.01)",
                      system.name, fastest, time, length));
    }
    return length;
  }

  void check_finite(const State& at) const {
    for (std::size_t element = 0; element < at.elements; ++element) {
      for (std::size_t field = 0; field < at.fields; ++field) {
        for (std::size_t node = 0; node < at.nodes; ++node) {
          if (!std::isfinite(at.at(field, element, node))) {
            throw InvalidInput(
                "dg.solver.not_finite",
                fmt::format("'{}' is {} in {} at time {} after {} steps: a smaller time "
                            "step may help",
                            system.fields[field], at.at(field, element, node),
                            element_name(on->mesh, element), time, steps));
          }
        }
      }
    }
  }

  void step(double length) {
    if (!std::isfinite(length) || !(time + length > time)) {
      throw InvalidInput("dg.solver.bad_step",
                         fmt::format("a step of {} at time {} leads to {}: it must be finite and "
                                     "large enough to change the time",
                                     length, time, time + length));
    }
    queue.make_room();
    std::vector<detail::Stage> stages;
    for (std::size_t stage = 0; stage < stage_a.size(); ++stage) {
      stages.push_back({stage_a[stage], stage_b[stage], time + stage_c[stage] * length});
    }
    runner->step(stages, length);
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
    if (run.report) {
      run.report(
          {time, plan.end, steps, plan.time_step, dg::energy(system, *on, data, now, time), seconds,
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
      const bool is_stopped = run.is_stopped && plan.steps_left > 0 && run.is_stopped();
      if (plan.steps_left == 0 || is_stopped ||
          (run.report_every > 0 && done % run.report_every == 0) ||
          (run.report_seconds > 0 && since(last_report) >= wait)) {
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
  cgen::Type real = cgen::f64;
  double time = 0;
  long long steps = 0;
  detail::RunPlan plan;
  bool is_known = false;  ///< whether the kernel's shape was remembered
  std::shared_ptr<detail::StageRunner> runner;
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
  detail::write_checkpoint(path, impl_->checkpoint_head(),
                           {impl_->time, impl_->steps, impl_->plan, impl_->runner->read_state()});
}

void Solver::load_checkpoint(const std::string& path) {
  const detail::Checkpoint checkpoint = detail::read_checkpoint(
      path, impl_->checkpoint_head(),
      impl_->system.fields.size() * impl_->on->element_count() * impl_->on->node_count() *
          (impl_->options.precision == Precision::single ? 4 : 8));
  impl_->runner->write_state(checkpoint.state);
  impl_->time = checkpoint.time;
  impl_->steps = checkpoint.steps;
  impl_->plan = checkpoint.plan;
}

std::string Solver::kernel_text() const {
  return impl_->runner->text();
}
void Solver::synchronize() const {
  impl_->runner->stream().synchronize();
}

}  // namespace rtcg::dg
