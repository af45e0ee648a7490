#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// One of the loops that an iname is cut into.
struct SlicingFactor {
  /// Iterations; 0 for the outermost one, which takes what the others leave. Lengths that do not
  /// divide the iname's are padded to whole iterations, and statements of those beyond its end are
  /// left out by conditions.
  std::int64_t length = 0;
  InameTag axis{};
  friend bool operator==(const SlicingFactor&, const SlicingFactor&) = default;
};

/// What an iname is cut into, from the outermost loop to the innermost.
struct InameSlicing {
  std::string iname{};
  std::vector<SlicingFactor> factors{};
  friend bool operator==(const InameSlicing&, const InameSlicing&) = default;
};

/// One of the inames that a flat index is made of.
struct FusedIname {
  std::string iname{};
  /// Neighbours along the iname that stay together, a divisor of its length; 1: none.
  std::int64_t tile = 1;
  friend bool operator==(const FusedIname&, const FusedIname&) = default;
};

/// One flat index in place of several, which tiles may cross: the last of them varies fastest.
/// Those with tiles count tiles first, and within the tiles then: `e*4 f*8` goes through 8 of f for
/// each of 4 of e before the next tile along f.
struct InameFusion {
  std::string name{};
  std::vector<FusedIname> parts{};
  friend bool operator==(const InameFusion&, const InameFusion&) = default;
};

/// An array that is copied before it is read: by a block to shared memory, or by each thread to
/// registers.
struct FetchPlan {
  std::string array{};
  /// The first axis varies fastest in shared memory.
  bool is_transposed = false;
  /// Unused elements after each row of shared memory.
  std::int64_t padding = 0;
  /// What the items of one thread, and its inner loops, read: each element once.
  bool in_registers = false;
  /// Rows of shared memory have their elements in different orders, instead of unused elements
  /// after them, see swizzle_bank_conflicts().
  bool is_swizzled = false;
  /// Elements that are read at once, 2 or 4, see add_prefetch(); 0: one by one, but 16 bytes where
  /// copies run ahead and both sides are contiguous.
  std::int64_t vector_width = 0;
  /// Buffers of this array's tile, see pipeline(); 0: as many as the slicing has of all. All
  /// prefetched tiles have equally many, because asynchronous copies complete in order.
  std::int64_t stages = 0;
  /// Loops that are swept, by the names that the cuts give them; empty: those within a block, or
  /// within a thread for registers, that the group's reads mention, of `group` 0 those of the
  /// first. Loops around the statements that are not cut are swept only if they are named.
  std::vector<std::string> swept{};
  /// Of the array's reads only those whose indices differ by constants alone, `fetch a#2`: groups
  /// are counted from 1 on, those that mention the most inames first, then in the order of the
  /// kernel. 0: all reads that mention every loop that is swept.
  std::int64_t group = 0;
  /// A loop that a block marches along, see MarchPlan: each of its iterations fills a plane of what
  /// the block reads, as far as it moves along the loop and is in no queue. Two stages fill it one
  /// iteration ahead.
  std::string at{};
  friend bool operator==(const FetchPlan&, const FetchPlan&) = default;
};

/// A loop whose iterations a block, or a thread, runs one after the other: so many from the first
/// on, then the next block so many more. It is not cut otherwise; its axis is that of the blocks.
struct MarchPlan {
  std::string iname{};
  std::int64_t length = 0;
  /// Iterations that the compiler is asked to write out, `march i*64 unr*3`: registers that rotate
  /// are moved once for all of them. 0: it decides.
  std::int64_t unrolled = 0;
  friend bool operator==(const MarchPlan&, const MarchPlan&) = default;
};

/// What a march reads again in its next iterations, and keeps until then, see queue_reads().
struct QueuePlan {
  std::string array{};
  /// Elements of a thread, or planes of a block. Those beyond what the reads need are filled ahead.
  std::int64_t length = 0;
  bool in_shared_memory = false;
  /// The march; empty where there is one.
  std::string along{};
  friend bool operator==(const QueuePlan&, const QueuePlan&) = default;
};

/// An array whose rows are copied once for all nests that read them along the loops that are cut,
/// see keep_row(): into registers of each thread, or into shared memory.
struct KeepPlan {
  std::string array{};
  bool in_shared_memory = false;
  /// Neighbours that are read at once into registers, as many as the innermost loops along the row
  /// take; 0: one by one.
  std::int64_t vector_width = 0;
  /// The loops along the row; empty: all that are cut within a block and along which it is read.
  /// Nests that read the array in other loops have copies of their own, or none.
  std::vector<std::string> over{};
  friend bool operator==(const KeepPlan&, const KeepPlan&) = default;
};

/// An array whose results a block collects in shared memory, and writes with neighbouring threads
/// on neighbours, see buffer_array().
struct BufferPlan {
  std::string array{};
  /// Unused elements after each row of shared memory.
  std::int64_t padding = 0;
  friend bool operator==(const BufferPlan&, const BufferPlan&) = default;
};

/// An array that each block updates in copies of its own, which it adds to the array in the end,
/// see privatize_updates().
struct PrivatePlan {
  std::string array{};
  std::int64_t copies = 1;  ///< of a block
  friend bool operator==(const PrivatePlan&, const PrivatePlan&) = default;
};

/// The layout of an argument in memory if it is not as the kernel describes it. The caller of the
/// kernel lays the array out, see layout_copy().
struct LayoutPlan {
  std::string array{};
  /// The axes from the slowest varying to the fastest; empty: as described, C order where an axis
  /// is cut.
  std::vector<std::size_t> order{};
  /// An axis that is cut into pieces of so many elements, which are contiguous for each place
  /// along the other axes; 0: none is.
  std::int64_t piece = 0;
  std::size_t cut_axis = 0;
  /// Elements left free after each row.
  std::int64_t padding = 0;
  friend bool operator==(const LayoutPlan&, const LayoutPlan&) = default;
};

/// A value that is computed once for all that use it, into an array in global memory, or once in
/// each iteration of the loops that it depends on, see store_value().
struct StorePlan {
  std::string array{};                ///< the new name
  std::vector<std::string> inames{};  ///< that the value depends on: the axes of the array
  bool in_loops = false;              ///< a temporary in these loops, `once s[i]`
  friend bool operator==(const StorePlan&, const StorePlan&) = default;
};

/// A loop whose iterations are taken apart by their remainder, see split_phases(): `y*2` has the
/// loops y_step and y_phase.
struct PhasePlan {
  std::string iname{};
  std::int64_t count = 0;
  friend bool operator==(const PhasePlan&, const PhasePlan&) = default;
};

/// One way to run a kernel, as data: how each iname is mapped to grid, block, lanes and loops, what
/// is kept in shared memory, and the layouts of arrays that the tuner may choose.
///
/// As text:
///     i: g.1 l.1*16 ilp*4; j: g.0 l.0*16 vec*4; k: for for*8; fetch a transposed pad 4; fetch b;
///     stages 3; swizzle 8
///     k: g.0 for*16 l.0*256; atomic k
///     k: g.0 for*16 l.0*256; last k
///     i: g.0 l.0*256 vec*4; look_back i
///     i: g.0 l.0*256 unr*4 vec*4; exchange i
///     i: g.1 l.1*16; j: g.0 l.0*16; k: for for*16; fetch a transposed xor; fetch b vec 4
///     i: g.1 l.1*16; j: g.0 l.0*16; k: for for*16; fetch a stages 3; fetch b over k_1
///     x: g.0 l.0*64 ilp*4; fetch image registers
///     i: g.1 l.1*16; j: g.0 l.0*16; k: for for*16; fetch a#1; fetch a#2 transposed
///     i: g.0 l.0*128; layout a order 1,0 pad 4; layout u split 0 by 32
///     i: for for*8; k: for for*16; order k_0,i_0,i_1,k_1
///     i: g.0 l.1*4; j: unr l.0*32; k: unr l.0*32; keep x
///     i: g.0; j: unr l.0*256 unr*4; k: unr l.0*256 vec*4; keep x vec 4
///     i: g.0 l.0*64; p: g.0 l.0*128; launch before p
///     i: g.0 for*8 unr*4 l.0*256; private count block copies 32
///     i: g.0; j,k: g.1 for*8 l.0*256; place mean global
///     k: g.0 l.0*32; j: g.1 l.1*8; i: g.2; march i*64; queue u 3; fetch u at i
///     k: g.0 l.0*32; j: g.1 l.1*8; i: g.2; march i*64; queue u 4 shared
///     k: g.0 l.0*32; j: g.1 l.1*8; i: g.2; march i*64 unr*3; queue u 3; queue u 3 shared
///     i: g.0; j,l: for l.0*256; online j,k
///     e: g.0; i: ilp; j: l.1; k: l.0; place along_x shared
///     fuse ab = a b; fuse k = e*4 f*8; c: g.0 l.0*64; ab: g.1 ilp*8; k: for for*32; fetch A
///     apart; j: g.0 l.0*128; i: g.1 for*64; i_q: g.0; j_q: for l.0*128; launch before i_q
///     i: g.0 l.0*256 vec*4; walk 1056
///     store s[i,j]; i_s: g.1 l.1*16; j_s: g.0 l.0*16; i: g.0; j,l: for l.0*256; launch before i
///     once top[i]; i: g.0; a: for l.0*256; j: for l.0*256; keep x shared
///     inline t; q: g.0 l.0*32; p: g.1 l.1*8; place t_subst shared
///     together e,c; e: g.0 l.1*8; f: for l.0*4; i: for l.0*4; place flux shared
///     phases y*2; y_step: g.0 l.0*64; y_phase: g.1
/// Rows along which each thread goes one after the other, in tiles that the block copies:
///     i: g.0 l.0*32; j: for unr_hint*32; fetch a pad 1; buffer b pad 1
/// Inames that are cut alike may be written together: `i: g.0; j,k: for l.0*256; keep x shared`.
struct Slicing {
  /// Statements that share inames with earlier ones, but need not, have inames of their own: `j_c`
  /// for the `j` of a nest that first writes `c`. The other words are about the kernel after this.
  bool is_apart = false;
  /// Values in arrays or temporaries of their own, one after the other. The other words are about
  /// the kernel after this, but for is_apart, and for global_values before arrays.
  std::vector<StorePlan> stores{};
  /// Temporaries whose values are computed where they are used, by a rule `t_subst` in place of
  /// `t`, see assignment_to_subst(). After is_apart, before the other words, which are about the
  /// kernel after this.
  std::vector<std::string> inlines{};
  /// Loops of several nests that become one, under the first name of each list, see
  /// rename_inames(). After is_apart and inlines, before the other words, which are about the
  /// kernel after this.
  std::vector<std::vector<std::string>> together{};
  /// Loops in steps and phases, one after the other. After is_apart, inlines and together, before
  /// the other words, which are about the kernel after this.
  std::vector<PhasePlan> phases{};
  /// Before all else but stores, which names the new inames.
  std::vector<InameFusion> fusions{};
  std::vector<InameSlicing> inames{};
  std::vector<FetchPlan> fetches{};
  std::vector<KeepPlan> keeps{};
  std::vector<BufferPlan> buffers{};
  std::vector<PrivatePlan> privates{};
  std::vector<MarchPlan> marches{};
  std::vector<QueuePlan> queues{};
  /// Buffers of what is fetched along the loop of a reduction: more than one lets the copies run
  /// ahead, see pipeline().
  std::int64_t stages = 1;
  /// Blocks along g.1 that come before the next along g.0, see swizzle(); 0: as the hardware has
  /// it.
  std::int64_t swizzle_rows = 0;
  /// Blocks that run all iterations along g.0, see walk_grid(); 0: each has a block of its own.
  std::int64_t walking_blocks = 0;
  /// Reductions over an axis of the grid whose blocks add to the result by atomic functions, see
  /// reduce_over_grid(); those of others are added up by a second launch.
  std::vector<std::string> atomic_reductions{};
  /// Those whose parts the last block adds up.
  std::vector<std::string> last_block_reductions{};
  /// Loops of scans on an axis of the grid whose blocks look back, see scan_over_grid(); those of
  /// others take three launches.
  std::vector<std::string> look_back{};
  /// Inames whose threads along l.0 have several consecutive values: neighbouring threads load and
  /// store neighbouring elements, see exchange_items().
  std::vector<std::string> exchanges{};
  /// Inames: the statements within each of them, and those that share loops with these, begin a
  /// launch of their own, see add_barrier().
  std::vector<std::string> launches{};
  /// Temporaries that have an element for each iteration of the loops around them, in global
  /// memory: later launches read them.
  std::vector<std::string> global_values{};
  /// Rules whose values a block computes once, in shared memory, for all points of its loops that
  /// use them, see precompute(); and arrays that one nest writes and another one reads, of which a
  /// block keeps its part there, see hold_array().
  std::vector<std::string> shared_values{};
  /// Inames of reductions that run in one pass although later ones use the results of earlier ones,
  /// see fuse_reductions(): those of one list are united under the first name, and each list is one
  /// loop of all of the reductions. The other words are about the kernel after this.
  std::vector<std::vector<std::string>> online{};
  /// Of arguments with another layout than described.
  std::vector<LayoutPlan> layouts{};
  /// Loops from the outermost to the innermost, by the names that the cuts give them; empty: as
  /// the scheduler has them, see prioritize_loops(). A stream leaves it so.
  std::vector<std::string> loop_order{};
  friend bool operator==(const Slicing&, const Slicing&) = default;
};

/// `store s[i,j]`, `once s[i]`
[[nodiscard]] std::string to_string(const StorePlan& plan);
/// `fuse k = e*4 f*8`
[[nodiscard]] std::string to_string(const InameFusion& fusion);
/// `a`, or `a#2` for its second group of reads.
[[nodiscard]] std::string name_of(const FetchPlan& plan);
/// `queue u 4 shared along i`
[[nodiscard]] std::string to_string(const QueuePlan& plan);
/// `layout a order 1,0 split 0 by 32 pad 4`
[[nodiscard]] std::string to_string(const LayoutPlan& plan);
[[nodiscard]] std::string to_string(const Slicing& slicing);
/// @throws InvalidInput  loopy.parse_slicing.syntax, loopy.iname_tag.unknown
[[nodiscard]] Slicing parse_slicing(std::string_view text);

/// The transformations that a slicing stands for. The loops of iname i are called i_0, i_1, ...
/// from the outermost on; where the kernel has such a name, the recipe renames i first. A fetch
/// that does not name what it sweeps sweeps all loops within a block, or within a thread if it
/// fills registers. Rules that read a fetched array are expanded, but those whose body is one
/// element by indices that are not affine: the tile of such a view has the axes of its arguments.
/// Where fusions make the indices of a fetched array so, it gets one.
///
/// @throws InvalidInput  loopy.recipe_of.unknown_iname, loopy.recipe_of.unknown_array,
///                       loopy.recipe_of.unknown_group, loopy.recipe_of.unknown_sweep,
///                       loopy.recipe_of.unknown_temporary, loopy.recipe_of.unknown_rule,
///                       loopy.recipe_of.nothing_to_hold,
///                       loopy.recipe_of.nothing_to_pipeline,
///                       loopy.recipe_of.unequal_stages,
///                       loopy.recipe_of.nothing_to_share, loopy.recipe_of.nothing_to_keep,
///                       loopy.recipe_of.nothing_to_collect,
///                       loopy.recipe_of.nothing_to_exchange, loopy.exchange_items.no_items,
///                       loopy.recipe_of.no_launch, loopy.recipe_of.bad_layout,
///                       loopy.recipe_of.bad_march, loopy.recipe_of.ambiguous_loop,
///                       loopy.recipe_of.nothing_apart; what split_phases throws
[[nodiscard]] std::vector<RecipeStep> recipe_of(const Kernel& kernel, const Slicing& slicing);

/// @throws InvalidInput  what recipe_of and the transformations throw
[[nodiscard]] Kernel apply(const Kernel& kernel, const Slicing& slicing);

/// Gives an argument the layout of a plan. If an axis is cut, the array gets one more.
///
/// @throws InvalidInput  loopy.recipe_of.unknown_array: no argument that is an array of known
/// shape;
///                       loopy.recipe_of.bad_layout: the axes are others, there are no rows to
///                       pad, or statements know the places of its elements in memory
[[nodiscard]] std::vector<RecipeStep> layout_steps(const Kernel& kernel, const LayoutPlan& plan);
[[nodiscard]] Kernel laid_out(Kernel kernel, const LayoutPlan& plan);
/// Why no plan can change the layout of an array; nothing if one can.
[[nodiscard]] std::optional<std::string> why_not_laid_out(const Kernel& kernel,
                                                          std::string_view array);

}  // namespace rtcg::loopy
