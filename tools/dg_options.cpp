#include "tools/dg_options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/mesh/partition.h"
#include "rtcg/dg/mesh/read_gmsh.h"
#include "rtcg/dg/operators/distribute.h"
#include "rtcg/dg/output/write_file.h"
#include "rtcg/dg/output/write_vtu.h"
#include "tools/draw/picture.h"

namespace rtcg::tools {
namespace {

constexpr std::string_view box_prefix = "box:";

// A positive number at the beginning of a text, which loses it; 0: there is none.
int take_number(std::string_view& text) {
  int number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || number <= 0) {
    return 0;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::array<int, 3> cells_of(const DgOptions& given) {
  std::array<int, 3> cells{};
  std::string_view text = std::string_view(given.mesh).substr(box_prefix.size());
  std::size_t count = 0;
  bool is_fine = true;
  while (is_fine && count < 3) {
    cells[count] = take_number(text);
    is_fine = cells[count] > 0;
    ++count;
    if (!text.starts_with("x")) {
      break;
    }
    text.remove_prefix(1);
  }
  if (!is_fine || !text.empty()) {
    throw InvalidInput(
        "tools.dg.bad_mesh",
        fmt::format("'{}' is not a box: write box:16, box:16x8 or box:16x8x8", given.mesh));
  }
  const int dimension = given.dimension > 0           ? given.dimension
                        : given.equation == "poisson" ? 2
                                                      : dg::problem_box(given.equation).dimension;
  for (int axis = 1; count == 1 && axis < std::min(dimension, 3); ++axis) {
    cells[static_cast<std::size_t>(axis)] = cells[0];
  }
  return cells;
}

dg::Mesh box_of(const DgOptions& given) {
  dg::BoxOptions box;
  if (given.equation == "poisson") {
    box.cells = cells_of(given);
    box.dimension = box.cells[2] > 0 ? 3 : box.cells[1] > 0 ? 2 : 1;
  } else {
    box = dg::problem_box(given.equation, cells_of(given));
  }
  box.perturbation = given.perturbation;
  return dg::make_box_mesh(box);
}

dg::ProblemStart start_of(const DgOptions& given) {
  const bool is_exact = given.start.empty() ? is_box(given) : given.start == "exact";
  return is_exact ? dg::ProblemStart::exact : dg::ProblemStart::pulse;
}

}  // namespace

bool is_box(const DgOptions& given) {
  return given.mesh.starts_with(box_prefix);
}

dg::Mesh dg_mesh(const DgOptions& given) {
  const bool is_file = !is_box(given);
  if (is_file && !std::filesystem::exists(given.mesh)) {
    throw InvalidInput(
        "tools.dg.bad_mesh",
        fmt::format("'{}' is neither a box, such as box:16, nor a file of Gmsh", given.mesh));
  }
  dg::Mesh mesh = is_file ? dg::read_gmsh(given.mesh, {.vertices_only = given.has_vertices_only})
                          : box_of(given);
  return given.ordering == "curve"   ? dg::ordered_along_curve(std::move(mesh))
         : given.ordering == "metis" ? dg::ordered_by_metis(std::move(mesh))
                                     : mesh;
}

dg::Problem dg_problem(const DgOptions& given, const dg::Mesh& mesh) {
  dg::ProblemOptions options;
  options.alpha = given.flux == "upwind" ? 1 : 0;
  options.start = start_of(given);
  for (const std::string& item : given.boundaries) {
    const std::size_t equal = item.find('=');
    if (equal == std::string::npos || equal == 0) {
      throw InvalidInput(
          "tools.dg.bad_boundary",
          fmt::format("'{}' is not a boundary condition: write --boundary wall=pec", item));
    }
    const auto [place, is_new] =
        options.conditions.emplace(item.substr(0, equal), item.substr(equal + 1));
    if (!is_new) {
      throw InvalidInput("tools.dg.bad_boundary",
                         fmt::format("the boundary '{}' has two conditions, '{}' and '{}'",
                                     place->first, place->second, item.substr(equal + 1)));
    }
  }
  return dg::make_problem(given.equation, mesh, options);
}

runtime::Device dg_device(const DgOptions& given) {
  // without a GPU the host: what a CPU does through OpenCL it does faster as C
  return given.device != "best" ? runtime::Device::find(given.device)
         : runtime::why_no_devices(runtime::BackendKind::cuda).empty()
             ? runtime::Device::find("cuda:0")
             : runtime::Device::host();
}

dg::SolverOptions dg_solver_options(const DgOptions& given) {
  dg::SolverOptions options;
  options.device = dg_device(given);
  options.precision = given.dtype == "f32" ? dg::Precision::single : dg::Precision::double_;
  options.strategy = given.strategy == "split" ? dg::Strategy::split
                     : given.strategy == "two" ? dg::Strategy::two_kernels
                                               : dg::Strategy::automatic;
  options.tune = given.is_tuning;
  options.search.budget_seconds = given.tune_seconds;
  options.search.log = given.tune_log;
  options.split_singles = given.split_singles;
  options.wisdom_path = given.wisdom;
  options.courant = given.cfl;
  return options;
}

std::vector<int> list_of_numbers(const std::string& text) {
  std::string_view rest = text;
  std::vector<int> numbers = {take_number(rest)};
  while (numbers.back() > 0 && !rest.empty()) {
    const char between = rest.front();
    rest.remove_prefix(1);
    const int next = take_number(rest);
    if (between == ':' && numbers.size() == 1 && next >= numbers[0]) {
      for (int number = numbers[0] + 1; number <= next; ++number) {
        numbers.push_back(number);
      }
      break;
    }
    numbers.push_back(between == ',' ? next : 0);
  }
  if (numbers.back() == 0 || !rest.empty()) {
    throw InvalidInput("tools.dg.bad_list",
                       fmt::format("'{}' is not a list of numbers: write 1:4 or 4,8,16", text));
  }
  return numbers;
}

dg::State state_at(const dg::Problem& problem, const dg::Discretization& on, double time) {
  return dg::interpolate(on, problem.system.fields.size(),
                         [&](const dg::Point& x) { return problem.state(x, time); });
}

// ---- files --------------------------------------------------------------------------------------

namespace {

void check_is_inside(const dg::Mesh& mesh, std::size_t axis, double position,
                     const std::string& slice) {
  if (mesh.dimension < 3) {
    throw InvalidInput("tools.dg.bad_slice",
                       fmt::format("'{}' is a plane through a domain of three dimensions, this one "
                                   "has {}: all of it is drawn without --slice",
                                   slice, mesh.dimension));
  }
  const auto [low, high] = std::minmax_element(
      mesh.vertices.begin(), mesh.vertices.end(),
      [axis](const dg::Point& a, const dg::Point& b) { return a[axis] < b[axis]; });
  if (!((*low)[axis] <= position && position <= (*high)[axis])) {
    throw InvalidInput("tools.dg.bad_slice",
                       fmt::format("'{}' is outside the domain, which extends from {} to {}", slice,
                                   (*low)[axis], (*high)[axis]));
  }
}

}  // namespace

void check_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code status;
  std::filesystem::create_directories(folder, status);
  if (status || ::access(folder.c_str(), W_OK) != 0) {
    throw InvalidInput("tools.dg.unwritable_folder",
                       fmt::format("no file can be written to the folder '{}'", folder.string()));
  }
}

DgFiles::DgFiles(const DgOptions& given, std::vector<std::string> fields, const dg::Mesh& mesh)
    : given_(given), fields_(std::move(fields)) {
  if (!given.field.empty()) {
    const auto place = std::find(fields_.begin(), fields_.end(), given.field);
    if (place == fields_.end()) {
      throw InvalidInput("tools.dg.unknown_field",
                         fmt::format("there is no field '{}': the fields are {}", given.field,
                                     fmt::join(fields_, ", ")));
    }
    field_ = static_cast<std::size_t>(place - fields_.begin());
  } else if (given.equation == "maxwell" && start_of(given) == dg::ProblemStart::pulse) {
    field_ = 2;  // the pulse is of E along z; of the cavity's mode that is 0 in the middle
  }
  if (!given.slice.empty()) {
    const std::string& text = given.slice;
    char* end = nullptr;
    const bool is_axis = text.size() > 2 && text[0] >= 'x' && text[0] <= 'z' && text[1] == '=';
    position_ = is_axis ? std::strtod(text.c_str() + 2, &end) : 0;
    if (!is_axis || *end != '\0') {
      throw InvalidInput("tools.dg.bad_slice",
                         fmt::format("'{}' is not a plane: write --slice z=0.5", text));
    }
    axis_ = static_cast<std::size_t>(text[0] - 'x');
    check_is_inside(mesh, axis_, *position_, text);
  }
  for (const std::string& file :
       {given.vtu.empty() ? "" : given.vtu + "/x.vtu", given.picture, given.checkpoint}) {
    if (!file.empty()) {
      check_folder(file);
    }
  }
}

void DgFiles::write(const dg::Discretization& on, const dg::State& state, double time,
                    std::optional<int> number) {
  if (!given_.vtu.empty()) {
    write_vtu(on, state, time, number.value_or(0));
  }
  if (!given_.picture.empty()) {
    write_picture(on, state, time, number);
  }
}

void DgFiles::write_vtu(const dg::Discretization& on, const dg::State& state, double time,
                        int number) {
  // ex, ey, ez are one vector e
  std::vector<dg::NodalField> fields;
  const std::size_t points = state.elements * state.nodes;
  for (std::size_t i = 0; i < state.fields;) {
    const std::string& name = fields_[i];
    std::size_t count = 1;
    const std::string stem = name.substr(0, name.size() - 1);
    while (!stem.empty() && name.back() == 'x' && i + count < state.fields &&
           fields_[i + count] == stem + "xyz"[count]) {
      ++count;
    }
    const auto first = state.values.begin() + static_cast<std::ptrdiff_t>(i * points);
    fields.push_back({count == 1           ? name
                      : stem.back() == '_' ? stem.substr(0, stem.size() - 1)
                                           : stem,
                      count,
                      {first, first + static_cast<std::ptrdiff_t>(count * points)}});
    i += count;
  }
  const bool has_ranks = on.group && on.group->size() > 1;
  const auto file_of = [&](int each) {
    return fmt::format("{}_{:04}.{}", given_.equation, each, has_ranks ? "pvtu" : "vtu");
  };
  const std::string folder = given_.vtu + (given_.vtu.ends_with("/") ? "" : "/");
  dg::VtuOptions options;
  options.high_order = !given_.has_straight_cells;
  options.single_precision = given_.dtype == "f32";
  if (!has_ranks) {
    dg::write_vtu(folder + file_of(number), on.mesh, on.element, fields, {}, options);
  } else {
    const auto piece_of = [&](std::size_t rank) {
      return fmt::format("{}_{:04}_rank{}.vtu", given_.equation, number, rank);
    };
    const std::byte has_elements{on.element_count() > 0};
    if (on.element_count() > 0) {
      dg::write_vtu(folder + piece_of(static_cast<std::size_t>(on.group->rank())), on.mesh,
                    on.element, fields, {}, options);
    }
    const auto ranks = on.group->gather(std::span<const std::byte, 1>(&has_elements, 1));
    if (!on.group->is_first()) {
      return;
    }
    std::vector<std::string> pieces;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank][0] != std::byte{0}) {
        pieces.push_back(piece_of(rank));
      }
    }
    dg::write_pvtu(folder + file_of(number), pieces, fields, {}, options);
  }
  times_[number] = time;
  if (given_.every > 0) {
    // those of a run that this one goes on with
    for (int before = 0; before < number; ++before) {
      if (!times_.contains(before) && std::filesystem::exists(folder + file_of(before))) {
        times_[before] = before * given_.every;
      }
    }
  }
  std::vector<dg::PvdStep> steps;
  for (const auto& [each, when] : times_) {
    steps.push_back({when, file_of(each)});
  }
  const std::string series = folder + given_.equation + ".pvd";
  dg::write_pvd(series, steps);
  if (std::find(written_.begin(), written_.end(), series) == written_.end()) {
    written_.push_back(series);
  }
  written_.push_back(folder + file_of(number));
}

void DgFiles::write_picture(const dg::Discretization& part, const dg::State& own, double time,
                            std::optional<int> number) {
  const dg::State state = dg::gathered_state(part, own);
  if (part.group && !part.group->is_first()) {
    return;
  }
  const dg::Discretization whole =
      part.part ? dg::discretize(dg_mesh(given_), given_.order) : dg::Discretization();
  const dg::Discretization& on = part.part ? whole : part;
  SliceOptions options;
  options.field = field_;
  options.axis = axis_;
  options.position = position_;
  options.title = fmt::format("{}: {}", given_.equation, fields_[field_]);
  if (given_.equation != "poisson") {
    options.title += fmt::format(" at t = {:.4g}", time);
  }
  if (on.mesh.dimension == 3) {
    options.title += position_ ? fmt::format(", {} = {:.4g}", "xyz"[axis_], *position_)
                               : fmt::format(", middle of {}", "xyz"[axis_]);
  }
  options.title += fmt::format(", order {}, {} elements", on.element.order, on.element_count());
  std::string path = given_.picture;
  if (number) {
    const std::size_t dot = path.find_last_of('.');
    path.insert(dot == std::string::npos ? path.size() : dot, fmt::format("_{:04}", *number));
  }
  dg::write_file(path, encode_png(draw_slice(on, state, options)));
  written_.push_back(path);
}

}  // namespace rtcg::tools
