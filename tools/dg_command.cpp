// rtcg dg: solves an equation by discontinuous Galerkin methods, and shows the solution.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/distribute.h"
#include "rtcg/distributed/group/run_ranks.h"
#include "rtcg/distributed/mpi/run_mpi.h"
#include "rtcg/distributed/nccl/nccl_group.h"
#include "tools/dg_options.h"
#include "tools/ending.h"
#include "tools/json.h"
#include "tools/progress_line.h"

namespace rtcg::tools {
namespace {

std::atomic<int> caught_signal = 0;  // set by a signal handler, so it cannot be a member

constexpr int signals_that_stop[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

// The first signal lets the run save its state; the second one, of any kind, has its default
// effect.
void catch_signals() {
  for (const int each : signals_that_stop) {
    const auto before = std::signal(each, [](int number) {
      if (is_same_request()) {
        return;
      }
      if (caught_signal != 0) {
        std::signal(number, SIG_DFL);
        std::raise(number);
        return;
      }
      caught_signal = number;
      if (number == SIGPIPE) {  // its reader has ended: further output is lost
        std::signal(SIGPIPE, SIG_IGN);
      }
    });
    if ((each == SIGHUP || each == SIGPIPE) && before == SIG_IGN) {  // as nohup asks for
      std::signal(each, SIG_IGN);
    }
  }
}

std::string progress_text(const dg::Progress& progress) {
  // what counts comes first: narrow terminals cut the rest off
  return fmt::format("t = {:.4g} of {:.4g}, {:.0f} s left, {} steps, energy {:.6g}", progress.time,
                     progress.end, progress.seconds_left, progress.steps, progress.energy);
}

class DgRun {
 public:
  /// @param group  none: one rank solves on the whole mesh
  explicit DgRun(const DgOptions& given, const std::optional<distributed::Group>& group = {})
      : DgRun(given, group, dg_mesh(given)) {}

  /// @returns whether it reached its end and was not stopped
  bool run() {
    const bool is_on_host = solver_.options().device.info().id.kind == runtime::BackendKind::host;
    if (given_.is_tuning && (is_on_host || given_.strategy != "fused")) {
      std::fputs(
          "rtcg: there is nothing to tune: only fused kernels on a GPU have several shapes\n",
          stderr);
    }
    if (given_.resume.empty()) {
      solver_.set_state(state_at(problem_, *on_, 0));
    } else {
      solver_.load_checkpoint(given_.resume);
    }
    begin_time_ = solver_.time();
    if (begin_time_ > given_.until && is_first()) {
      std::fprintf(stderr,
                   "rtcg: the checkpoint is of t = %.6g, after --until %.6g: no step is left\n",
                   begin_time_, given_.until);
    }
    begin_steps_ = solver_.steps();
    energy_before_ = solver_.energy();
    check_steps();
    if (given_.every > 0 && given_.resume.empty()) {
      files_.write(*on_, solver_.state(), 0, 0);
    }
    catch_signals();
    while (solver_.time() < given_.until) {
      if (!run_to_next_output()) {
        save_what_there_is();
        return false;
      }
    }
    progress_.clear();
    if (given_.every <= 0) {
      files_.write(*on_, solver_.state(), solver_.time(), std::nullopt);
    }
    // of all ranks, so that all compute them
    energy_ = solver_.energy();
    error_ = problem_.is_exact ? error() : 0;
    if (is_first()) {
      given_.output.as_json ? print_json() : print_text();
      warn_of_growth();
    }
    return true;
  }

 private:
  DgRun(const DgOptions& given, const std::optional<distributed::Group>& group,
        const dg::Mesh& mesh)
      : given_(given),
        on_(group ? dg::distribute(mesh, given.order, *group)
                  : std::make_shared<const dg::Discretization>(dg::discretize(mesh, given.order))),
        problem_(dg_problem(given, mesh)),
        files_(given, problem_.system.fields, mesh),
        solver_(problem_.system, on_, dg::data_of_rank(problem_.data, *on_),
                options_of(given, group)) {}

  static dg::SolverOptions options_of(const DgOptions& given,
                                      const std::optional<distributed::Group>& group) {
    dg::SolverOptions options = dg_solver_options(given);
    if (group) {
      options.device = group->device();
    }
    return options;
  }
  [[nodiscard]] bool is_first() const { return !on_->group || on_->group->is_first(); }
  [[nodiscard]] std::size_t element_count() const {
    return on_->part ? on_->part->whole_elements : on_->element_count();
  }
  [[nodiscard]] std::string device_text() const {
    const std::string name = solver_.options().device.info().name;
    const int ranks = on_->group ? on_->group->size() : 1;
    return ranks == 1
               ? name
               : fmt::format("{} ranks ({}{}), the first on {}", ranks, on_->group->transport(),
                             who_waits() == "hosts" ? "" : fmt::format(", {} wait", who_waits()),
                             name);
  }
  [[nodiscard]] std::string_view who_waits() const { return to_string(solver_.waiting()); }

  // A file a step is the most that makes sense; any number of them would fit into less.
  void check_steps() const {
    if (solver_.time() >= given_.until) {
      return;
    }
    const double step = solver_.time_step();
    if (given_.every > 0 && given_.every < step && given_.every < given_.until) {
      throw InvalidInput("tools.dg.bad_every",
                         fmt::format("--every {} is less than a time step, which is {:.3g} long",
                                     given_.every, step));
    }
    const double steps = (given_.until - solver_.time()) / step;
    if (!(steps <= static_cast<double>(given_.most_steps))) {
      throw InvalidInput(
          "tools.dg.too_many_steps",
          fmt::format(
              "from t = {:.6g} to --until {:.6g} the run takes {:.3g} steps of {:.3g}, more "
              "than {}: end it earlier, look at the smallest element, or allow more by "
              "--most-steps",
              solver_.time(), given_.until, steps, step, given_.most_steps));
    }
  }

  // The place of the next output in the series, counted so that a resumed run finds the same.
  bool run_to_next_output() {
    const int number = given_.every > 0
                           ? static_cast<int>(std::floor(solver_.time() / given_.every + 1e-9)) + 1
                           : 0;
    const double end =
        given_.every > 0 ? std::min(given_.until, number * given_.every) : given_.until;
    dg::RunOptions options;
    options.report_seconds = 1;
    if (is_first()) {
      options.report = [this](const dg::Progress& progress) {
        progress_.show(progress_text(progress));
      };
    }
    options.most_steps = given_.most_steps;
    options.is_stopped = [] { return caught_signal != 0; };
    const auto begin = std::chrono::steady_clock::now();
    const bool is_there = solver_.run_until(end, options);
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (is_there && given_.every > 0) {
      files_.write(*on_, solver_.state(), solver_.time(), number);
    }
    if (is_there && !given_.checkpoint.empty()) {
      solver_.save_checkpoint(given_.checkpoint);
    }
    return is_there;
  }

  void save_what_there_is() {
    const std::string path =
        given_.checkpoint.empty() ? given_.equation + ".checkpoint" : given_.checkpoint;
    solver_.save_checkpoint(path);
    progress_.clear();
    if (is_first()) {
      std::fprintf(
          stderr, "rtcg: stopped at t = %.6g after %s; --resume %s continues\n", solver_.time(),
          counted(static_cast<std::size_t>(solver_.steps()), "step").c_str(), path.c_str());
      std::fflush(nullptr);
    }
  }

  [[nodiscard]] double unknowns() const {
    return static_cast<double>(problem_.system.fields.size() * element_count() * on_->node_count());
  }
  [[nodiscard]] long long steps_done() const { return solver_.steps() - begin_steps_; }
  // Unknowns that a stage processes per second, in 10^9.
  [[nodiscard]] double speed() const {
    return seconds_ > 0 ? 5e-9 * unknowns() * static_cast<double>(steps_done()) / seconds_ : 0;
  }
  [[nodiscard]] double error() const {
    return dg::l2_distance(*on_, solver_.state(), state_at(problem_, *on_, solver_.time()));
  }

  // No shipped equation gains energy, except Euler's, whose energy is not a sum of squares.
  void warn_of_growth() const {
    const double growth = energy_ / energy_before_;
    if (growth > 2 && given_.equation != "euler") {
      std::fprintf(stderr,
                   "rtcg: the energy grew by a factor of %.3g, so the run is unstable: a smaller "
                   "--cfl helps\n",
                   growth);
    }
  }

  void print_json() const {
    nlohmann::ordered_json json = {{"equation", given_.equation},
                                   {"device", solver_.options().device.info().name},
                                   {"ranks", on_->group ? on_->group->size() : 1},
                                   {"waiting", who_waits()},
                                   {"dtype", given_.dtype},
                                   {"order", given_.order},
                                   {"elements", element_count()},
                                   {"unknowns", static_cast<long long>(unknowns())},
                                   {"begin", begin_time_},
                                   {"time", solver_.time()},
                                   {"steps", steps_done()},
                                   {"energy_before", energy_before_},
                                   {"energy", energy_},
                                   {"seconds", seconds_},
                                   {"gdofs", speed()}};
    if (problem_.is_exact) {
      json["error"] = error_;
    }
    json["files"] = files_.written();
    tools::print_json(json);
  }

  void print_text() const {
    std::printf("%s on %s of order %d, %.4g unknowns in %s on %s\n", given_.equation.c_str(),
                counted(element_count(), "element").c_str(), given_.order, unknowns(),
                given_.dtype.c_str(), device_text().c_str());
    std::printf("t = %.6g to %.6g, %s in %.3g s: %.3g GDOF/s\n", begin_time_, solver_.time(),
                counted(static_cast<std::size_t>(steps_done()), "step").c_str(), seconds_, speed());
    std::printf("energy %.10g, before %.10g\n", energy_, energy_before_);
    if (problem_.is_exact) {
      std::printf("error %.6e\n", error_);
    }
    for (const std::string& path : files_.written()) {
      std::printf("wrote %s\n", path.c_str());
    }
  }

  const DgOptions& given_;
  ProgressLine progress_;
  std::shared_ptr<const dg::Discretization> on_;
  dg::Problem problem_;
  DgFiles files_;
  dg::Solver solver_;
  double begin_time_ = 0;
  long long begin_steps_ = 0;
  double energy_before_ = 0;
  double energy_ = 0;
  double error_ = 0;
  double seconds_ = 0;
};

// Ends as a program does that gets the signal.
[[noreturn]] void end_by_signal() {
  std::signal(caught_signal, SIG_DFL);
  std::raise(caught_signal);
  std::_Exit(128 + caught_signal);
}

// ---- ranks --------------------------------------------------------------------------------------

std::vector<runtime::Device> devices_of_ranks(const DgOptions& given) {
  return given.devices.empty()
             ? std::vector<runtime::Device>(static_cast<std::size_t>(given.ranks), dg_device(given))
             : distributed::devices_of(given.devices);
}

distributed::Waiting waiting_of_ranks(const DgOptions& given) {
  return distributed::parse_waiting(given.waiting).value();
}

void run(const DgOptions& given) {
  // whether it was not stopped
  const auto solve = [&](const std::optional<distributed::Group>& group) {
    if (given.equation == "poisson") {
      run_poisson(given, group);
      return true;
    }
    return DgRun(given, group).run();
  };
  bool has_ended = true;
  const distributed::GroupOptions options{.timeout_seconds = given.rank_timeout,
                                          .waiting = waiting_of_ranks(given)};
  if (given.is_mpi) {
    distributed::MpiOptions mpi{.group = options};
    if (given.device != "best") {
      mpi.device = dg_device(given);
    }
    distributed::run_mpi(
        [&](const distributed::Group& group) {
          has_ended = solve(distributed::with_nccl_if_found(group));
        },
        mpi);
  } else if (given.ranks > 1 || !given.devices.empty()) {
    distributed::run_ranks(
        devices_of_ranks(given),
        [&](const distributed::Group& group) {
          if (!solve(group) && group.is_first()) {
            has_ended = false;
          }
        },
        options);
  } else {
    has_ended = solve(std::nullopt);
  }
  if (!has_ended) {
    end_by_signal();
  }
}

// ---- which options an equation uses -------------------------------------------------------------

// Options that mean nothing to an equation.
std::vector<std::string> unused_options(const std::string& equation) {
  if (equation == "poisson") {
    return {"--until",    "--cfl",        "--flux",   "--start",     "--every",
            "--boundary", "--checkpoint", "--resume", "--most-steps"};
  }
  std::vector<std::string> unused = {"--method", "--preconditioner", "--contrast"};
  if (equation == "burgers" || equation == "euler") {
    unused.emplace_back("--flux");  // theirs is Lax-Friedrichs
  }
  return unused;
}

// An option of the call that would change nothing is refused, since its author expects something.
void check_options(const CLI::App& command, const DgOptions& given) {
  const std::vector<std::string> unused = unused_options(given.equation);
  std::vector<std::string> idle;
  std::vector<std::string> used;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (!name.starts_with("--") || name == "--help") {
      continue;
    }
    if (std::find(unused.begin(), unused.end(), name) == unused.end()) {
      used.push_back(name);
    } else if (option->count() > 0) {
      idle.push_back(name);
    }
  }
  if (!idle.empty()) {
    throw InvalidInput("tools.dg.unused_option",
                       fmt::format("'{}' does not use {}: its options are {}", given.equation,
                                   fmt::join(idle, ", "), fmt::join(used, ", ")));
  }
  if (!given.picture.empty() && !given.picture.ends_with(".png") &&
      !given.picture.ends_with(".PNG")) {
    throw InvalidInput("tools.dg.bad_picture",
                       fmt::format("'{}' does not end in .png, and pictures are PNG files: "
                                   "write --picture u.png",
                                   given.picture));
  }
  const auto needs = [&](const char* name, bool is_there, const char* what) {
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option != nullptr && option->count() > 0 && !is_there) {
      throw InvalidInput("tools.dg.unused_option",
                         fmt::format("{} has no effect without {}", name, what));
    }
  };
  const bool has_ranks = given.is_mpi || given.ranks > 1 || !given.devices.empty();
  if (int{given.is_mpi} + int{given.ranks > 1} + int{!given.devices.empty()} > 1 ||
      (!given.devices.empty() && given.device != "best")) {
    throw InvalidInput("tools.dg.bad_ranks",
                       "--mpi, --devices and --ranks each say what the ranks are: give one of "
                       "them, and --device with --ranks or --mpi only");
  }
  needs("--rank-timeout", has_ranks, "--devices, --ranks or --mpi");
  needs("--waiting", has_ranks, "--devices, --ranks or --mpi");
  needs("--split-singles", given.dtype == "f32", "--dtype f32");
  needs("--straight", !given.vtu.empty(), "--vtu");
  needs("--field", !given.picture.empty(), "--picture");
  needs("--slice", !given.picture.empty(), "--picture");
  needs("--every", !given.vtu.empty() || !given.picture.empty() || !given.checkpoint.empty(),
        "--vtu, --picture or --checkpoint");
  needs("--vertices-only", !given.mesh.empty() && !is_box(given), "an MSH file for a mesh");
  needs("--dimension", given.mesh.empty() || is_box(given), "a box for a mesh");
  needs("--perturb", given.mesh.empty() || is_box(given), "a box for a mesh");
}

// ---- options ------------------------------------------------------------------------------------

std::vector<std::string> equations() {
  std::vector<std::string> names = dg::problem_names();
  names.emplace_back("poisson");
  return names;
}

void add_method_options(CLI::App& command, DgOptions& given) {
  command
      .add_option("--device,-d", given.device,
                  "host, opencl:0, cuda:0, or best: a GPU if there is one")
      ->capture_default_str();
  command.add_option("--dtype", given.dtype, "Precision of the state and all computations")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  command.add_option("--until,-T", given.until, "End time")
      ->check(why_negative)
      ->capture_default_str();
  command.add_option("--cfl", given.cfl, "Factor of the time step; 1 is stable")
      ->check(why_not_positive)
      ->capture_default_str();
  command
      .add_option("--strategy", given.strategy,
                  "Kernels per stage: one (fused), two, or four (split)")
      ->check(CLI::IsMember({"fused", "two", "split"}))
      ->capture_default_str();
  command.add_flag("--split-singles", given.split_singles,
                   "With f32: multiply on tensor cores, each number as two of tf32");
  command.add_option("--flux", given.flux, "Numerical flux of linear equations")
      ->check(CLI::IsMember({"upwind", "central"}))
      ->capture_default_str();
  command.add_option("--method", given.method, "poisson: interior penalty or local DG")
      ->check(CLI::IsMember({"ip", "ldg"}))
      ->capture_default_str();
  command
      .add_option("--preconditioner", given.preconditioner,
                  "poisson: preconditioner of conjugate gradients")
      ->check(CLI::IsMember({"none", "block-jacobi"}))
      ->capture_default_str();
  command.add_option("--dimension", given.dimension, "Dimension of box:N: 1, 2 or 3")
      ->check(CLI::Range(1, 3));
  command.add_option("--perturb", given.perturbation, "Move inner vertices of a box, in cells")
      ->capture_default_str();
  command.add_option("--picture,-p", given.picture, "PNG file to draw");
  command.add_flag("--json", given.output.as_json, "Print JSON");
}

void add_run_options(CLI::App& command, DgOptions& given) {
  command.add_option("MESH", given.mesh, "box:16, box:16x8x8, or an MSH file")
      ->default_str("box:8");
  command.add_option("--order,-N", given.order, "Order of the polynomials: 1 to 9")
      ->check(CLI::Range(1, dg::highest_order))
      ->capture_default_str();
  command.add_option("--start", given.start, "Initial state; default: exact on boxes")
      ->check(CLI::IsMember({"exact", "pulse"}));
  command
      .add_option("--boundary,-b", given.boundaries,
                  "TAG=CONDITION, such as +x=absorbing; see below")
      ->allow_extra_args(false);
  command.add_option("--contrast", given.contrast, "poisson: diffusion of every third element")
      ->check(why_not_positive)
      ->capture_default_str();
  command
      .add_option("--ordering", given.ordering,
                  "Order of elements: neighbours close together, or as given")
      ->check(CLI::IsMember({"curve", "metis", "given"}))
      ->capture_default_str();
  command.add_flag("--tune", given.is_tuning, "Find the fastest kernel first, and remember it");
  command.add_option("--budget", given.tune_seconds, "Seconds after which --tune ends")
      ->check(why_not_positive)
      ->capture_default_str();
  command.add_option("--log", given.tune_log,
                     "File of the times that --tune measured: it continues there");
  command.add_option("--wisdom", given.wisdom, "File of tuned kernels");
  command.add_option("--most-steps", given.most_steps, "Refuse a run of more steps")
      ->check(why_not_positive)
      ->capture_default_str();
  command.add_flag("--vertices-only", given.has_vertices_only,
                   "Use only the vertices of curved elements of an MSH file");
  command.add_option("--every,-e", given.every, "Time between files; default: at the end only")
      ->check(why_not_positive);
  command.add_option("--vtu", given.vtu, "Folder for VTU files and a series for ParaView");
  command.add_flag("--straight", given.has_straight_cells,
                   "Write straight VTU cells, which every program reads");
  command.add_option("--field", given.field, "Field of pictures, such as ez");
  command.add_option("--slice", given.slice, "Plane of pictures: z=0.5");
  command.add_option("--devices", given.devices,
                     "Solve on several devices, each with a rank: cuda:0,cuda:1");
  command.add_option("--ranks", given.ranks, "Solve by that many ranks on one device")
      ->check(why_not_positive)
      ->capture_default_str();
  command.add_flag("--mpi", given.is_mpi, "Solve by the ranks that mpirun started");
  command
      .add_option("--rank-timeout", given.rank_timeout, "Seconds that a rank waits for another one")
      ->check(why_not_positive)
      ->capture_default_str();
  command
      .add_option("--waiting", given.waiting,
                  "Who waits for messages of ranks: hosts; devices or kernels, if devices reach "
                  "each other; or the fastest, which is measured and remembered")
      ->check(CLI::IsMember({"hosts", "devices", "kernels", "measured"}))
      ->capture_default_str();
  command.add_option("--checkpoint,-c", given.checkpoint,
                     "Save the run to this file; Ctrl-C saves it in any case");
  command.add_option("--resume,-r", given.resume, "Continue from a checkpoint");
}

std::string about_conditions() {
  std::string text =
      "Boundary conditions; a tag without --boundary has the first one;\n"
      "boxes have the tags -x, +x, -y, ..., MSH files their physical groups:\n";
  for (const std::string& name : dg::problem_names()) {
    text += fmt::format("  {:<12}{}\n", name, fmt::join(dg::problem_conditions(name), ", "));
  }
  return text;
}

}  // namespace

void add_dg_command(CLI::App& app) {
  const auto given = std::make_shared<DgOptions>();
  CLI::App* command =
      app.add_subcommand("dg", "Solve an equation by discontinuous Galerkin methods");
  command->add_option("EQUATION", given->equation, "Equation to solve")
      ->check(CLI::IsMember(equations()));
  add_run_options(*command, *given);
  add_method_options(*command, *given);
  command->footer(about_conditions());
  CLI::App* convergence =
      command->add_subcommand("convergence", "Print errors on a series of meshes");
  convergence->add_option("EQUATION", given->equation, "Equation to solve, as for `rtcg dg`")
      ->required()
      ->check(CLI::IsMember(equations()));
  convergence->add_option("--orders", given->orders, "Orders of the polynomials: 1:4 or 1,3")
      ->capture_default_str();
  convergence->add_option("--meshes", given->meshes, "Cells along an axis")->capture_default_str();
  add_method_options(*convergence, *given);
  convergence->callback([given, convergence] {
    check_options(*convergence, *given);
    run_convergence(*given);
  });
  add_dg_scaling_command(*command);
  command->callback([given, command] {
    if (!command->get_subcommands().empty()) {
      return;
    }
    if (given->equation.empty()) {
      throw CLI::RequiredError("EQUATION");
    }
    if (given->mesh.empty()) {
      given->mesh = "box:8";
    }
    check_options(*command, *given);
    run(*given);
  });
}

}  // namespace rtcg::tools
