#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/dg/equations/problem.h"
#include "rtcg/dg/operators/solver.h"
#include "rtcg/distributed/group/group.h"
#include "tools/command.h"

// What `rtcg dg` and `rtcg dg convergence` share: the options of the command, and what they mean.

namespace rtcg::tools {

struct DgOptions {
  std::string equation;
  std::string mesh;
  int dimension = 0;  ///< of `box:N`; 0: as usual for the equation
  double perturbation = 0;
  std::string ordering = "curve";
  int order = 3;
  std::string device = "best";
  std::string devices;       ///< of ranks as threads; empty: `ranks` on `device`
  int ranks = 1;             ///< as threads
  bool is_mpi = false;       ///< ranks are processes
  double rank_timeout = 60;  ///< seconds
  std::string waiting = "measured";
  std::string dtype = "f64";
  std::string flux = "upwind";
  std::string method = "ip";            ///< of Poisson's equation
  std::string preconditioner = "none";  ///< of Poisson's equation
  double contrast = 1;                  ///< of Poisson's equation
  std::string start;
  std::vector<std::string> boundaries;  ///< TAG=CONDITION
  double until = 1;
  long long most_steps = 10'000'000;
  bool has_vertices_only = false;
  double cfl = 1;
  double every = 0;
  std::string strategy = "fused";
  bool is_tuning = false;
  bool split_singles = false;
  std::string wisdom;
  double tune_seconds = 60;
  std::string tune_log;
  std::string vtu;
  bool has_straight_cells = false;
  std::string picture;
  std::string field;
  std::string slice;
  std::string checkpoint;
  std::string resume;
  std::string orders = "1:4";     ///< of `convergence`
  std::string meshes = "4,8,16";  ///< of `convergence`
  Output output;
};

/// The mesh of MESH: a box, `box:16`, `box:16x8x8`, or the name of an MSH file.
///
/// @throws InvalidInput  tools.dg.bad_mesh, and what read_gmsh and make_box_mesh throw
[[nodiscard]] dg::Mesh dg_mesh(const DgOptions& given);
[[nodiscard]] bool is_box(const DgOptions& given);

/// @throws InvalidInput  tools.dg.bad_boundary, and what make_problem throws
[[nodiscard]] dg::Problem dg_problem(const DgOptions& given, const dg::Mesh& mesh);

/// The device that `--device` means.
[[nodiscard]] runtime::Device dg_device(const DgOptions& given);
[[nodiscard]] dg::SolverOptions dg_solver_options(const DgOptions& given);

/// The numbers of `1:4` or `1,2,8`, all positive.
///
/// @throws InvalidInput  tools.dg.bad_list
[[nodiscard]] std::vector<int> list_of_numbers(const std::string& text);

/// State of one time on a discretisation.
[[nodiscard]] dg::State state_at(const dg::Problem& problem, const dg::Discretization& on,
                                 double time);

/// Makes the folder of a file that is written after a run, before it.
///
/// @throws InvalidInput  tools.dg.unwritable_folder
void check_folder(const std::filesystem::path& file);

/// Fields and their files: VTU series, pictures.
class DgFiles {
 public:
  /// Finds out before the run what could not be written after it.
  ///
  /// @throws InvalidInput  tools.dg.unknown_field, tools.dg.bad_slice, tools.dg.unwritable_folder
  DgFiles(const DgOptions& given, std::vector<std::string> fields, const dg::Mesh& mesh);

  /// All ranks call it. Each writes its VTU file; the first one writes the series, and pictures of
  /// the whole mesh.
  ///
  /// @param number  of the state in a series; none: there is one only
  void write(const dg::Discretization& on, const dg::State& state, double time,
             std::optional<int> number);
  [[nodiscard]] const std::vector<std::string>& written() const noexcept { return written_; }

 private:
  void write_vtu(const dg::Discretization& on, const dg::State& state, double time, int number);
  void write_picture(const dg::Discretization& part, const dg::State& own, double time,
                     std::optional<int> number);

  const DgOptions& given_;
  std::vector<std::string> fields_;
  std::size_t field_ = 0;  ///< of pictures
  std::size_t axis_ = 2;
  std::optional<double> position_;
  std::map<int, double> times_;  ///< of the VTU files of this run and of those before, by number
  std::vector<std::string> written_;
};

/// Solves Poisson's equation: `rtcg dg poisson`. All ranks call it.
///
/// @param group  none: one rank solves on the whole mesh
void run_poisson(const DgOptions& given, const std::optional<distributed::Group>& group);
/// `rtcg dg scaling`.
void add_dg_scaling_command(CLI::App& dg);
/// `rtcg dg convergence`: errors on several meshes and their order.
void run_convergence(const DgOptions& given);

}  // namespace rtcg::tools
