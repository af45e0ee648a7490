#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/loopy/codegen/host_plan.h"
#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/kernel/target.h"

namespace rtcg::loopy {

/// The language that the target's text is printed in.
[[nodiscard]] cgen::Dialect dialect_of(Target target);

struct GenerateOptions {
  /// Type of inames and of indices into arrays, i32 or i64. i32 is right as long as no array has
  /// more than 2^31 - 1 elements; the executor chooses by the arrays it gets.
  cgen::Type index_type = cgen::i32;
  /// Shared memory that a block may have; on the host it has what it asks for. In CUDA arrays of a
  /// fixed size have 48 KiB on all devices: larger ones become parts of one array whose size the
  /// launch gives, and which may have up to 227 KiB on newer devices.
  std::int64_t most_shared_bytes = 227 * 1024;
  /// Statements that the text of a kernel may have, each copy for an unrolled loop or a lane
  /// counted: what is longer is refused. Compilers need minutes for tens of thousands of them.
  std::int64_t most_statements = 20000;
  /// Writes the statement's text before its code.
  bool statement_comments = false;
  /// Writes the transformations that led here at the head of the text.
  bool recipe_comment = true;
  /// Where a loop or a statement of several lanes tests the end of its tile again and again, one
  /// test decides between a version for whole tiles, without these tests, and one with them.
  bool test_whole_tiles = true;
  /// Whether a kernel whose launches are joined becomes one launch, on targets that have that.
  bool joins_launches = true;
};

/// A parameter of all kernels of the program, in order: the arguments, then the temporaries in
/// global memory.
struct KernelParameter {
  std::string name;
  cgen::Type type;  ///< of an element, for an array
  bool is_array = false;
  bool is_written = false;
  /// What the address of the first element must be a multiple of: more than the element's own where
  /// vectors are read or written.
  int align_bytes = 1;
  /// For a temporary in global memory, how many elements the launching program provides; nothing
  /// for arguments.
  std::optional<Expr> temporary_count{};
  /// For a temporary: the elements are 0 before the first launch. Every launch leaves them so.
  bool starts_at_zero = false;
  /// For a temporary: blocks read what other blocks of the same launch write.
  bool is_passed_between_blocks = false;
};

/// One kernel of the program, and the launch that runs it.
struct LaunchPlan {
  std::string kernel_name;
  /// Loops of the host around the launch, outermost first. The kernel gets their inames, which are
  /// of the type of indices, after the parameters that all kernels have.
  std::vector<HostLoop> host_loops{};
  /// Blocks along each axis, in terms of scalar parameters; at least 0.
  std::array<Expr, 3> grid = {1, 1, 1};
  /// Threads along each axis. On the host 1: the kernel loops over them itself.
  std::array<std::int64_t, 3> block = {1, 1, 1};
  std::int64_t shared_bytes = 0;  ///< of a block
  /// What of them the launch has to ask for: all or nothing.
  std::int64_t dynamic_shared_bytes = 0;
  /// Whether its blocks wait for each other: all of them have to be on the device at once.
  bool is_cooperative = false;
};

/// C for a kernel, and how to run it.
struct GeneratedProgram {
  cgen::Module module;
  /// The kernel of each launch and what it calls as a program of its own, without comments ahead:
  /// equal launches of two programs have equal ones. Empty where there is one launch, and where
  /// kernels may share variables of the user's C text.
  std::vector<cgen::Module> modules_of_launches{};
  Target target = Target::host;
  std::vector<KernelParameter> parameters;
  /// Type of inames and of indices.
  cgen::Type index_type = cgen::i32;
  /// To be run one after the other, in the host's loops: by for_each_launch.
  std::vector<LaunchPlan> launches;
};

/// The program for a kernel: preprocesses, schedules, places barriers and guards.
///
/// Deterministic: equal kernels give equal trees. Statements run for exactly the points of their
/// domains; those that only compute private values may run for lanes outside them. Names that the
/// target's language reserves are others in the text; parameters and launches have the kernel's.
/// @throws InvalidInput  what preprocess, build_loop_tree and insert_barriers throw;
///         loopy.generate.unbounded, loopy.generate.block_not_constant,
///         loopy.generate.too_many_copies, loopy.generate.too_many_threads,
///         loopy.generate.too_many_statements, loopy.generate.temporary_too_long,
///         loopy.generate.too_much_shared_memory, loopy.generate.temporary_across_launches,
///         loopy.generate.reserved_name, loopy.generate.call_form, loopy.generate.call_split,
///         loopy.generate.host_loop_bounds, loopy.generate.joined_blocks
/// @throws Unsupported   loopy.generate.axis_start, loopy.generate.function_target,
///         loopy.generate.stored_type, loopy.generate.joined_scan
/// @throws InternalError  the program is wrong (cgen/check/verify_module.h): the message has the
///         recipe and a kernel file, for a report
[[nodiscard]] GeneratedProgram generate(const Kernel& kernel, Target target,
                                        const GenerateOptions& options = {});

/// The text of the program in the target's language.
[[nodiscard]] std::string generate_text(const Kernel& kernel, Target target,
                                        const GenerateOptions& options = {});

}  // namespace rtcg::loopy
