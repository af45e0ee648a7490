#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/slice/slicing.h"

// The parts of recipe_of(): steps for loops and launches (slicing_loops.cpp), and for copies of
// what statements read (slicing_copies.cpp). All append to `steps`.
//
// `expanded` is the kernel without its rules.

namespace rtcg::loopy::detail {

/// What joins the domains of loops that end where others say, and takes constant factors out of
/// sums, before any slicing.
[[nodiscard]] std::vector<RecipeStep> preparing_steps(const Kernel& kernel);
/// What a cut calls its loops, from the outermost on: `i_0`, `i_1`.
[[nodiscard]] std::string part_name(const std::string& iname, std::size_t number);
/// Whether a loop is cut within a block, so that rows along it can be kept.
[[nodiscard]] bool is_along_row(const InameSlicing& sliced);
/// A slicing and the steps before it.
struct RenamedSlicing {
  std::vector<RecipeStep> steps{};
  Slicing slicing{};
};
/// Where the kernel has names that cuts make, `j_0` beside `j`: the inames that are cut get others.
/// @throws InvalidInput  loopy.recipe_of.ambiguous_loop: a word names a loop that is both
[[nodiscard]] std::optional<RenamedSlicing> with_free_part_names(const Kernel& kernel,
                                                                 const Slicing& slicing);
/// `[i, j]` as recipes have it.
[[nodiscard]] std::string list_of(const std::vector<std::string>& items);
/// Null where the slicing has none.
[[nodiscard]] const InameSlicing* find_sliced(const Slicing& slicing, const std::string& iname);
[[nodiscard]] const MarchPlan* find_march(const Slicing& slicing, const std::string& iname);
/// @throws InvalidInput  loopy.recipe_of.bad_march
[[noreturn]] void throw_bad_march(const Slicing& slicing, const std::string& reason);

/// Cuts one iname.
void add_splits(const InameSlicing& sliced, std::vector<RecipeStep>& steps);
/// What lets warps compute sums over the loops tagged mma on their tensor cores: the last step of
/// their reductions.
void add_tensor_cores(const InameSlicing& sliced, std::vector<RecipeStep>& steps);
/// Lets blocks begin with the loop's first value, each with as many iterations as the march has.
/// @throws InvalidInput  loopy.recipe_of.bad_march
void add_march(const Kernel& kernel, const Slicing& slicing, const MarchPlan& march,
               std::vector<RecipeStep>& steps);
/// Lets blocks and threads share the reduction over an iname that has been split.
/// @throws InvalidInput  loopy.recipe_of.nothing_to_share
void add_sharing(const Kernel& expanded, const Slicing& slicing, const InameSlicing& each,
                 std::vector<RecipeStep>& steps);
/// Lets threads share the loop of a reduction whose bounds differ by thread, `k <= i`: tiles are
/// filled in it for all of them.
void add_shared_bounds(const Kernel& expanded, const Slicing& slicing, const InameSlicing& reduced,
                       const NameSet& all_reduced, std::vector<RecipeStep>& steps);
/// The barrier of a launch before the nest of an iname: between its statements and those before, as
/// far as the last barrier.
/// @throws InvalidInput  loopy.recipe_of.no_launch
[[nodiscard]] RecipeStep launch_step(const Kernel& expanded, const Slicing& slicing,
                                     const std::string& iname);
/// A temporary in global memory, with an element for each iteration of the loops around all that
/// touch it.
/// @throws InvalidInput  loopy.recipe_of.unknown_temporary
void add_global_value(const Kernel& expanded, const std::string& value,
                      std::vector<RecipeStep>& steps);

/// Shared memory for the values of rules, those that others call first, and for what a block has of
/// arrays that nests hand on.
/// @param kernel  with the rules
/// @throws InvalidInput  loopy.recipe_of.unknown_rule, loopy.recipe_of.nothing_to_hold
void add_shared_values(const Kernel& kernel, const Kernel& expanded, const Slicing& slicing,
                       std::vector<RecipeStep>& steps);

/// Rows that are kept, private copies of what is updated, queues, tiles and their pipelines.
/// @param kernel   with the rules by which tiles are fetched
/// @param reduced  the inames of all reductions
/// @throws InvalidInput  loopy.recipe_of.unknown_array, loopy.recipe_of.unknown_group,
///                       loopy.recipe_of.unknown_sweep, loopy.recipe_of.nothing_to_keep,
///                       loopy.recipe_of.nothing_to_pipeline, loopy.recipe_of.unequal_stages,
///                       loopy.recipe_of.bad_march
void add_copies(const Kernel& kernel, const Kernel& expanded, const Slicing& slicing,
                const NameSet& reduced, std::vector<RecipeStep>& steps);

}  // namespace rtcg::loopy::detail
