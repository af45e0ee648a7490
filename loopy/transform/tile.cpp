#include "rtcg/loopy/transform/tile.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/pad_bank_conflicts.h"
#include "rtcg/loopy/transform/precompute.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy {
namespace {

bool is_reduced(const Kernel& kernel, const std::string& iname) {
  return std::any_of(
      kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& each) {
        return each.within_inames.count(iname) == 0 && reduction_inames(each).count(iname) != 0;
      });
}

std::optional<Refusal> find_refusal_of_iname(const Kernel& kernel, const std::string& iname) {
  if (!is_iname(kernel, iname)) {
    return Refusal{"loopy.tile.unknown_iname", unknown_iname_text(kernel, iname)};
  }
  if (const InameTag tag = tag_of(kernel, iname); tag.kind != AxisKind::sequential) {
    return Refusal{"loopy.tile.tagged_already",
                   fmt::format("'{}' is tagged {} already", iname, to_string(tag))};
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal_of_lengths(const std::vector<TiledIname>& inames,
                                               const TileOptions& options) {
  if (inames.empty() || inames.size() > 3) {
    return Refusal{"loopy.tile.bad_length",
                   fmt::format("a tile has one to three inames, not {}", inames.size())};
  }
  std::int64_t threads = 1;
  for (const TiledIname& each : inames) {
    if (each.threads < 1 || each.threads > most_threads_of_block || each.lanes < 1) {
      return Refusal{"loopy.tile.bad_length",
                     fmt::format("a tile cannot have {} threads and {} lanes along '{}'",
                                 each.threads, each.lanes, each.iname)};
    }
    threads *= each.threads;
  }
  if (threads > most_threads_of_block) {
    return Refusal{"loopy.tile.bad_length",
                   fmt::format("a tile of {} threads does not fit into a block, of at most {}",
                               threads, most_threads_of_block)};
  }
  for (const auto& [iname, length] : options.reductions) {
    if (length < 1) {
      return Refusal{"loopy.tile.bad_length",
                     fmt::format("a tile cannot have {} iterations of '{}'", length, iname)};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const std::vector<TiledIname>& inames,
                                    const TileOptions& options) {
  if (std::optional<Refusal> refusal = find_refusal_of_lengths(inames, options)) {
    return refusal;
  }
  for (const TiledIname& each : inames) {
    if (std::optional<Refusal> refusal = find_refusal_of_iname(kernel, each.iname)) {
      return refusal;
    }
    if (is_reduced(kernel, each.iname)) {
      return Refusal{"loopy.tile.is_reduced",
                     fmt::format("'{}' is reduced over: blocks would share a result; list it in "
                                 "reductions",
                                 each.iname)};
    }
  }
  for (const auto& [iname, length] : options.reductions) {
    if (std::optional<Refusal> refusal = find_refusal_of_iname(kernel, iname)) {
      return refusal;
    }
  }
  for (const std::string& array : options.fetch.value_or(std::vector<std::string>{})) {
    const Argument* argument = find_argument(kernel, array);
    if (argument == nullptr || !argument->is_array || is_overwritten(kernel, array)) {
      return Refusal{"loopy.tile.unknown_array",
                     fmt::format("'{}' is not an array argument that kernel '{}' only reads", array,
                                 kernel.name)};
    }
  }
  return std::nullopt;
}

/// One read of an array, in terms of the parts of inames within a block.
struct Read {
  std::vector<Expr> indices;
  std::vector<std::string> swept{};  ///< in the order of the tile
};

class Tiler {
 public:
  Tiler(Kernel kernel, const TileOptions& options)
      : kernel_(std::move(kernel)), options_(options) {}

  Kernel run(const std::vector<TiledIname>& inames) {
    for (std::size_t i = 0; i < inames.size(); ++i) {
      split(inames[i], inames.size() - 1 - i);
    }
    for (const auto& [iname, length] : options_.reductions) {
      const std::string inner = new_name(iname, "_inner");
      kernel_ = split_iname(std::move(kernel_), iname, length, {.inner_name = inner});
      within_block_.push_back(inner);
    }
    const std::size_t old_temporaries = kernel_.temporaries.size();
    fetch_arrays();
    if (options_.pad && kernel_.temporaries.size() > old_temporaries) {
      pad(old_temporaries);
    }
    return std::move(kernel_);
  }

 private:
  [[nodiscard]] std::string new_name(const std::string& iname, const char* suffix) const {
    return make_name_generator(kernel_).make(iname + suffix);
  }

  void split(const TiledIname& tiled, std::size_t axis) {
    const std::string grid = fmt::format("g.{}", axis);
    const std::string block = fmt::format("l.{}", axis);
    const std::string inner = new_name(tiled.iname, "_inner");
    if (tiled.lanes == 1) {
      kernel_ = split_iname(std::move(kernel_), tiled.iname, tiled.threads,
                            {.inner_name = inner, .outer_tag = grid, .inner_tag = block});
    } else {
      const std::string lane = new_name(tiled.iname, "_lane");
      const std::string both = new_name(tiled.iname, "_in_tile");
      kernel_ = split_iname(std::move(kernel_), tiled.iname, tiled.threads * tiled.lanes,
                            {.inner_name = both, .outer_tag = grid});
      kernel_ = split_iname(
          std::move(kernel_), both, tiled.threads,
          {.outer_name = lane, .inner_name = inner, .outer_tag = "ilp", .inner_tag = block});
      within_block_.push_back(lane);
    }
    within_block_.push_back(inner);
    threads_.push_back(inner);
  }

  void fetch_arrays() {
    std::vector<std::string> arrays;
    if (options_.fetch) {
      arrays = *options_.fetch;
    } else {
      for (const Argument& argument : kernel_.arguments) {
        if (argument.is_array && !is_overwritten(kernel_, argument.name) && is_reused(argument)) {
          arrays.push_back(argument.name);
        }
      }
    }
    for (const std::string& array : arrays) {
      fetch(array);
    }
  }

  /// The different reads of the array; those with more swept inames come first.
  [[nodiscard]] std::vector<Read> reads_of(const std::string& array) const {
    std::vector<Read> reads;
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      if (access.array != array || access.is_write || access.is_linear) {
        continue;
      }
      Read read{access.indices};
      NameSet mentioned;
      for (const Expr& index : access.indices) {
        mentioned.merge(free_names(index));
      }
      for (const std::string& iname : within_block_) {
        if (mentioned.count(iname) != 0) {
          read.swept.push_back(iname);
        }
      }
      const bool is_new = std::none_of(reads.begin(), reads.end(), [&](const Read& other) {
        return other.indices == read.indices;
      });
      if (is_new) {
        reads.push_back(std::move(read));
      }
    }
    std::stable_sort(reads.begin(), reads.end(), [](const Read& left, const Read& right) {
      return left.swept.size() > right.swept.size();
    });
    return reads;
  }

  /// Whether a copy in shared memory saves reads, or makes them contiguous.
  [[nodiscard]] bool is_reused(const Argument& argument) const {
    const std::vector<Read> reads = reads_of(argument.name);
    if (reads.empty() || reads.front().swept.empty() || loops_outside_block(reads)) {
      return false;
    }
    if (reads.size() > 1) {
      return true;
    }
    const auto is_swept = [&](const std::string& iname) {
      const std::vector<std::string>& swept = reads.front().swept;
      return std::find(swept.begin(), swept.end(), iname) != swept.end();
    };
    return !std::all_of(threads_.begin(), threads_.end(), is_swept) ||
           (is_swept(threads_.back()) && !is_contiguous(argument, reads.front()));
  }

  /// Whether a read depends on a reduction that is not cut into pieces: it would be fetched one by
  /// one.
  [[nodiscard]] bool loops_outside_block(const std::vector<Read>& reads) const {
    return std::any_of(reads.begin(), reads.end(), [&](const Read& read) {
      return std::any_of(read.indices.begin(), read.indices.end(), [&](const Expr& index) {
        const NameSet names = free_names(index);
        return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          const bool is_inside =
              std::find(within_block_.begin(), within_block_.end(), name) != within_block_.end();
          return !is_inside && is_reduced(kernel_, name) && !is_outer_part(name);
        });
      });
    });
  }
  [[nodiscard]] bool is_outer_part(const std::string& iname) const {
    // of a split: its domain has the inner part, too
    const Domain* home = find_home_domain(kernel_, iname);
    return std::any_of(home->inames.begin(), home->inames.end(), [&](const std::string& other) {
      return std::find(within_block_.begin(), within_block_.end(), other) != within_block_.end();
    });
  }

  /// Whether neighbouring threads read neighbouring elements.
  [[nodiscard]] bool is_contiguous(const Argument& argument, const Read& read) const {
    const std::vector<Expr> strides = argument.strides_elements.empty()
                                          ? c_order_strides(argument.shape)
                                          : argument.strides_elements;
    for (std::size_t axis = 0; axis < read.indices.size(); ++axis) {
      const auto index = to_affine(read.indices[axis]);
      const std::int64_t coefficient = index ? index->coefficient(threads_.back()) : 1;
      if (coefficient != 0 && (as_integer(strides[axis]) != 1 || coefficient != 1)) {
        return false;
      }
    }
    return true;
  }

  void fetch(const std::string& array) {
    for (std::vector<Read> reads = reads_of(array); !reads.empty(); reads = reads_of(array)) {
      const std::vector<std::string> sweep = reads.front().swept;
      if (sweep.empty()) {
        require_asked_for(array, sweep);
        return;
      }
      if (!try_fetch(array, sweep)) {
        // no box holds all of its reads: one for each
        const auto same_sweep = [&](const Read& read) { return read.swept == sweep; };
        for (const Read& read : reads) {
          if (same_sweep(read) && !try_fetch(to_string(access(array, read.indices)), sweep)) {
            require_asked_for(array, sweep);
            return;
          }
        }
      }
    }
  }

  bool try_fetch(const std::string& what, const std::vector<std::string>& sweep) {
    if (why_not([&] { return add_prefetch(kernel_, what, sweep); })) {
      return false;
    }
    kernel_ = add_prefetch(std::move(kernel_), what, sweep);
    return true;
  }

  /// An array that was asked for and cannot be fetched is refused, in the words of add_prefetch.
  void require_asked_for(const std::string& array, const std::vector<std::string>& sweep) {
    const bool is_fetched = std::any_of(
        kernel_.instructions.begin(), kernel_.instructions.end(), [&](const Instruction& each) {
          return each.is_fill && read_variables(kernel_, each).count(array) != 0;
        });
    if (options_.fetch && !is_fetched) {
      kernel_ = add_prefetch(std::move(kernel_), array, sweep.empty() ? within_block_ : sweep);
    }
  }

  void pad(std::size_t first_new) {
    for (std::size_t i = first_new; i < kernel_.temporaries.size(); ++i) {
      const std::vector<std::string> name = {kernel_.temporaries[i].name};
      if (!why_not([&] { return pad_bank_conflicts(kernel_, name); })) {
        kernel_ = pad_bank_conflicts(std::move(kernel_), name);
      }
    }
  }

  Kernel kernel_;
  const TileOptions& options_;
  std::vector<std::string> within_block_;  // parts of inames that a block runs through
  std::vector<std::string> threads_;       // those that are axes of the block, l.0 last
};

std::string text_of(const TiledIname& tiled) {
  return tiled.lanes == 1 ? fmt::format("{}:{}", tiled.iname, tiled.threads)
                          : fmt::format("{}:{}*{}", tiled.iname, tiled.threads, tiled.lanes);
}

}  // namespace

Kernel tile(Kernel kernel, const std::vector<TiledIname>& inames, const TileOptions& options) {
  throw_if_refused(find_refusal(expand_subst(kernel), inames, options));
  const RecordedStep step(kernel);
  kernel = Tiler(expand_subst(std::move(kernel)), options).run(inames);
  std::vector<std::string> tiles;
  for (const TiledIname& each : inames) {
    tiles.push_back(text_of(each));
  }
  std::vector<std::string> reductions;
  for (const auto& [iname, length] : options.reductions) {
    reductions.push_back(fmt::format("{}:{}", iname, length));
  }
  step.record(kernel, "tile", {list_text(tiles)},
              {{"reductions", reductions.empty() ? "" : list_text(reductions)},
               {"fetch", options.fetch ? list_text(*options.fetch) : ""},
               {"pad", options.pad ? "" : "no"}});
  return kernel;
}

TiledIname parse_tiled_iname(std::string_view text) {
  const auto number = [&](std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      throw InvalidInput(
          "loopy.tile.syntax",
          fmt::format("'{}' is not a tile of an iname: write i:16 for 16 threads, or "
                      "i:16*4 for 16 threads of 4 lanes",
                      text));
    }
    return value;
  };
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::size_t star = text.find('*', colon);
  TiledIname tiled;
  tiled.iname = std::string(text.substr(0, colon));
  const std::string_view lengths = text.substr(std::min(colon + 1, text.size()));
  if (star == std::string_view::npos) {
    tiled.threads = number(lengths);
  } else {
    tiled.threads = number(lengths.substr(0, star - colon - 1));
    tiled.lanes = number(text.substr(star + 1));
  }
  return tiled;
}

}  // namespace rtcg::loopy
