#include "rtcg/dg/operators/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/mesh/hash_bytes.h"
#include "rtcg/dg/operators/rank_exchange.h"
#include "rtcg/dg/operators/system_evaluators.h"

namespace rtcg::dg::detail {
namespace {

constexpr std::string_view format_head = "rtcg dg checkpoint 3: ";

void add_number(StructuralHash& hash, double value) {
  hash.add(std::bit_cast<std::uint64_t>(value));
}

// Trees share parts, so that each is hashed once.
class FluxHash {
 public:
  std::uint64_t of(const FluxExpr& expr) {
    const auto known = known_.find(&expr.node());
    if (known != known_.end()) {
      return known->second;
    }
    const FluxNode& node = expr.node();
    StructuralHash hash;
    hash.add(static_cast<std::uint64_t>(node.kind)).add(static_cast<std::uint64_t>(node.index));
    hash.add(node.name);
    add_number(hash, node.value);
    for (const FluxExpr& operand : node.operands) {
      hash.add(of(operand));
    }
    known_.emplace(&node, hash.value());
    return hash.value();
  }
  void add(StructuralHash& hash, const FluxVector& vector) {
    hash.add(vector.count());
    for (const FluxExpr& component : vector.components()) {
      hash.add(of(component));
    }
  }

 private:
  std::unordered_map<const FluxNode*, std::uint64_t> known_;
};

std::uint64_t hash_of_fluxes(const System& system) {
  FluxHash fluxes;
  StructuralHash hash;
  hash.add(static_cast<std::uint64_t>(system.form)).add(system.definitions);
  for (const FluxVector& flux : system.flux) {
    fluxes.add(hash, flux);
  }
  for (const FluxVector* vector : {&system.surface, &system.scale, &system.source}) {
    fluxes.add(hash, *vector);
  }
  return hash.add(fluxes.of(system.speed)).value();
}

std::uint64_t hash_of_conditions(const System& system) {
  FluxHash fluxes;
  StructuralHash hash;
  for (const auto& [tag, state] : system.boundaries) {
    hash.add(tag);
    fluxes.add(hash, state);
  }
  return hash.value();
}

// What a system reads of one kind, by name.
std::set<std::string> names_read(const System& system, const Discretization& on, FluxKind kind) {
  const SystemEvaluators evaluators = evaluators_of(system, on.mesh);
  std::vector<Evaluators> all = evaluators.boundaries;
  all.insert(all.end(), {evaluators.flux, evaluators.inside, one_sided(system.scale),
                         one_sided(system.source), one_sided({system.speed})});
  std::set<std::string> names;
  for (const Evaluators& each : all) {
    for (const FluxRead& read : reads(each)) {
      if (read.kind == kind) {
        names.insert(read.name);
      }
    }
  }
  return names;
}

std::uint64_t hash_of_parameters(const System& system, const Discretization& on,
                                 const SystemData& data) {
  StructuralHash hash;
  for (const std::string& name : names_read(system, on, FluxKind::parameter)) {
    hash.add(name);
    const auto signal = data.signals.find(name);
    for (const double time : {0.0, 0.37, 1.0, 2.5}) {
      add_number(hash, signal != data.signals.end() ? signal->second(time)
                       : name == "time"             ? 0
                                                    : data.parameters.find(name)->second);
    }
  }
  return hash.value();
}

std::uint64_t hash_of_materials(const System& system, const Discretization& on,
                                const SystemData& data) {
  StructuralHash hash;
  for (const std::string& name : names_read(system, on, FluxKind::material)) {
    const std::span<const std::byte> own = distributed::bytes_of(data.materials.find(name)->second);
    const std::vector<std::byte> values =
        gather_elements(on, {own.begin(), own.end()}, sizeof(double));
    hash.add(name);
    add_bytes(hash, values.data(), values.size());
  }
  return hash.value();
}

std::vector<Point> boundary_points(const Discretization& on) {
  if (on.part) {
    return on.part->whole_boundary;
  }
  std::vector<Point> points;
  for (const BoundaryFace& face : on.mesh.boundary_faces) {
    points.push_back(on.mesh.vertices[static_cast<std::size_t>(face.vertices[0])]);
  }
  return points;
}

// At the vertices of boundary faces.
std::uint64_t hash_of_boundary_values(const System& system, const Discretization& on,
                                      const SystemData& data) {
  StructuralHash hash;
  for (const std::string& name : names_read(system, on, FluxKind::boundary_value)) {
    hash.add(name);
    for (const Point& point : boundary_points(on)) {
      for (const double value : data.boundary_values.find(name)->second(point)) {
        add_number(hash, value);
      }
    }
  }
  return hash.value();
}

std::vector<std::string> pieces_of(const std::string& head) {
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 2) {
    end = head.find(", ", begin);
    pieces.push_back(head.substr(begin, end - begin));
  }
  return pieces;
}

std::string differences(const std::string& found, const std::string& wanted) {
  const std::vector<std::string> theirs = pieces_of(found.substr(0, 2000));
  const std::vector<std::string> ours = pieces_of(wanted);
  std::string text;
  for (std::size_t i = 0; theirs.size() == ours.size() && i < ours.size(); ++i) {
    if (theirs[i] != ours[i]) {
      text += fmt::format("{}it has '{}', this run has '{}'", text.empty() ? "" : "; ", theirs[i],
                          ours[i]);
    }
  }
  return text.empty() ? fmt::format("'{}', not '{}'", found.substr(0, 2000), wanted) : text;
}

std::string numbers_line(const Checkpoint& checkpoint) {
  return fmt::format("{:a} {} {:a} {:a} {:a} {} {}", checkpoint.time, checkpoint.steps,
                     checkpoint.plan.end, checkpoint.plan.courant, checkpoint.plan.time_step,
                     checkpoint.plan.steps_left, checkpoint.plan.steps_to_speeds);
}

std::uint64_t checksum(const std::string& head, const std::string& numbers,
                       const std::vector<std::byte>& state) {
  StructuralHash hash;
  hash.add(head).add(numbers);
  add_bytes(hash, state.data(), state.size());
  return hash.value();
}

bool is_possible(const Checkpoint& checkpoint) {
  const RunPlan& plan = checkpoint.plan;
  return std::isfinite(checkpoint.time) && checkpoint.steps >= 0 && std::isfinite(plan.end) &&
         plan.steps_left >= 0 && plan.steps_to_speeds >= 0 &&
         (plan.steps_left == 0 || (std::isfinite(plan.time_step) && plan.time_step > 0));
}

}  // namespace

std::string checkpoint_head(const System& system, const Discretization& on, const SystemData& data,
                            const cgen::Type& real) {
  std::string name = system.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return fmt::format(
      "{}'{}' with {}, order {}, {} elements, mesh {:016x}, fluxes {:016x}, boundary conditions "
      "{:016x}, parameters {:016x}, materials {:016x}, boundary values {:016x}, {}",
      format_head, name, fmt::join(system.fields, " "), on.element.order, whole_element_count(on),
      on.part ? on.part->whole_fingerprint : fingerprint(on.mesh), hash_of_fluxes(system),
      hash_of_conditions(system), hash_of_parameters(system, on, data),
      hash_of_materials(system, on, data), hash_of_boundary_values(system, on, data),
      real == cgen::f32 ? "f32" : "f64");
}

void write_checkpoint(const std::string& path, const std::string& head,
                      const Checkpoint& checkpoint) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream file(unfinished, std::ios::binary);
  const std::string numbers = numbers_line(checkpoint);
  file << head << '\n'
       << numbers << '\n'
       << fmt::format("checksum {:016x}\n", checksum(head, numbers, checkpoint.state));
  file.write(reinterpret_cast<const char*>(checkpoint.state.data()),
             static_cast<std::streamsize>(checkpoint.state.size()));
  file.close();
  if (!file || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    std::remove(unfinished.c_str());
    throw InvalidInput("dg.checkpoint.unwritable",
                       fmt::format("the checkpoint '{}' cannot be written", path));
  }
}

Checkpoint read_checkpoint(const std::string& path, const std::string& head,
                           std::size_t state_bytes) {
  const auto unreadable = [&](const char* what) {
    return InvalidInput("dg.checkpoint.unreadable",
                        fmt::format("the checkpoint '{}' {}", path, what));
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw unreadable("cannot be opened");
  }
  std::string found;
  std::string numbers;
  if (!std::getline(file, found) || found.rfind("rtcg dg checkpoint", 0) != 0) {
    throw unreadable("is none");
  }
  if (!found.starts_with(format_head)) {
    throw InvalidInput(
        "dg.checkpoint.old_format",
        fmt::format("the checkpoint '{}' is of another format than 3, without materials, boundary "
                    "conditions and fluxes: run again from the beginning",
                    path));
  }
  if (found != head) {
    throw InvalidInput(
        "dg.checkpoint.mismatch",
        fmt::format("the checkpoint '{}' is of another run: {}", path, differences(found, head)));
  }
  Checkpoint checkpoint;
  std::string sum;
  if (!std::getline(file, numbers) || !std::getline(file, sum) ||
      std::sscanf(numbers.c_str(), "%la %lld %la %la %la %lld %lld", &checkpoint.time,
                  &checkpoint.steps, &checkpoint.plan.end, &checkpoint.plan.courant,
                  &checkpoint.plan.time_step, &checkpoint.plan.steps_left,
                  &checkpoint.plan.steps_to_speeds) != 7) {
    throw unreadable("is torn");
  }
  const std::string rest{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto* bytes = reinterpret_cast<const std::byte*>(rest.data());
  checkpoint.state.assign(bytes, bytes + rest.size());
  if (checkpoint.state.size() != state_bytes) {
    throw unreadable("is torn");
  }
  if (sum != fmt::format("checksum {:016x}", checksum(head, numbers, checkpoint.state))) {
    throw unreadable("has another checksum than its bytes: it was changed since it was written");
  }
  if (!is_possible(checkpoint)) {
    throw unreadable("has a time or a step that no run has");
  }
  return checkpoint;
}

}  // namespace rtcg::dg::detail
