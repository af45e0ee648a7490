#include "rtcg/distributed/arrays/matmul.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/arrays/array_messages.h"
#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::distributed {
namespace {

using arrays::AnyArray;
using arrays::DType;
using arrays::Extents;
using arrays::Slice;
using runtime::StreamRef;

// Of the depth, so that what travels is hidden but for the first panel; and rows of one, so that
// adding the sums of panels takes little of the time.
constexpr std::int64_t most_panels = 8;
constexpr std::int64_t least_rows_of_panel = 512;
constexpr std::int64_t unit_of_panel = 64;  // as tiles of kernels have

void check_factors(const DistributedArray& a, const DistributedArray& b) {
  const std::size_t axes = b.shape().size();
  if (a.shape().size() != 2 || axes < 1 || axes > 2 || a.shape()[1] != b.shape()[0]) {
    throw InvalidInput(
        "distributed.arrays.shape",
        fmt::format("a product over ranks of arrays of shape {} and {}: the first one has two "
                    "axes, the other one as many rows as the first one has columns",
                    to_string(a.shape()), to_string(b.shape())));
  }
  if (a.dtype() != b.dtype() || (a.dtype() != DType::f32 && a.dtype() != DType::f64)) {
    throw InvalidInput("distributed.arrays.dtype",
                       fmt::format("a product over ranks of {} and {}: both are f32, or both f64, "
                                   "convert the elements before",
                                   name(a.dtype()), name(b.dtype())));
  }
}

/// How the depth is cut, for any number of ranks.
struct Panels {
  explicit Panels(std::int64_t depth_)
      : depth(depth_),
        rows((std::max(least_rows_of_panel, (depth + most_panels - 1) / most_panels) +
              unit_of_panel - 1) /
             unit_of_panel * unit_of_panel) {}

  [[nodiscard]] std::int64_t count() const { return (depth + rows - 1) / rows; }
  [[nodiscard]] Slice of(std::int64_t panel) const {
    return {panel * rows, std::min(depth, (panel + 1) * rows)};
  }

  std::int64_t depth;
  std::int64_t rows;
};

/// Brings the panels of b to all ranks that have rows of a, on a stream of its own. Each rank makes
/// the same calls.
class Travel {
 public:
  Travel(const DistributedArray& b, const Blocks& rows_of_a, const Panels& panels, StreamRef stream)
      : group_(b.group()),
        rows_of_a_(rows_of_a),
        rows_(b.blocks()),
        panels_(panels),
        stream_(stream),
        columns_(arrays::element_count(b.shape()) / panels.depth),
        local_(b.local().reshape({rows_.count(group_.rank()), columns_})),
        own_(detail::bytes_of_places(local_, 0, rows_.count(group_.rank()), stream)),
        travels_(group_.device()) {
    if (has_rows(group_.rank()) && rows_.count(group_.rank()) < panels.depth) {
      for (std::optional<AnyArray>& each : received_) {
        each.emplace(b.dtype(), Extents{panels.rows, columns_}, stream);
      }
    }
    follow(travels_, stream);
  }
  Travel(const Travel&) = delete;
  Travel& operator=(const Travel&) = delete;
  // What has been allocated for `stream` may go when this returns.
  ~Travel() {
    try {
      follow(stream_, travels_);
    } catch (const Error&) {
      // the stream is broken, and says so at its next use
      static_cast<void>(travels_);
    }
  }

  /// Begins to bring a panel. Work that the stream has so far is the last one to use the panel
  /// before the one before it.
  void begin(std::int64_t panel) {
    follow(travels_, stream_);
    const int rank = group_.rank();
    const std::size_t of_row = static_cast<std::size_t>(columns_) * size_bytes(local_.dtype());
    const auto bytes_of = [&](std::int64_t rows) {
      return static_cast<std::size_t>(rows) * of_row;
    };
    const Slice all = panels_.of(panel);
    detail::Messages messages;
    for (int other = 0; other < group_.size(); ++other) {
      const auto [mine, my_end] = part(all, rank);
      if (receives(other, all) && mine < my_end) {
        messages.send(other,
                      own_.subrange(bytes_of(mine - rows_.begin(rank)), bytes_of(my_end - mine)));
      }
      const auto [theirs, their_end] = part(all, other);
      if (receives(rank, all) && theirs < their_end) {
        const AnyArray& buffer = *received_[static_cast<std::size_t>(panel % 2)];
        messages.receive(other, {buffer.device(), buffer.address() + bytes_of(theirs - *all.begin),
                                 bytes_of(their_end - theirs)});
      }
    }
    messages.exchange(group_, travels_, "matmul");
    travels_.record(arrived_[static_cast<std::size_t>(panel % 2)]);
  }

  /// The rows of a panel, for later work of the stream. @pre  begin(panel); this rank has rows of a
  [[nodiscard]] AnyArray rows(std::int64_t panel) const {
    const Slice all = panels_.of(panel);
    const std::int64_t first = rows_.begin(group_.rank());
    if (!receives(group_.rank(), all)) {
      return local_(Slice{*all.begin - first, *all.end - first});
    }
    stream_.wait(arrived_[static_cast<std::size_t>(panel % 2)]);
    return (*received_[static_cast<std::size_t>(panel % 2)])(Slice{0, *all.end - *all.begin});
  }

 private:
  static void follow(StreamRef later, StreamRef earlier) {
    const runtime::Event event = earlier.record({.with_timing = false});
    later.wait(event);
  }
  [[nodiscard]] bool has_rows(int rank) const { return rows_of_a_.count(rank) > 0; }
  /// Whether it needs a panel that it does not have itself.
  [[nodiscard]] bool receives(int rank, const Slice& panel) const {
    const auto [begin, end] = part(panel, rank);
    return has_rows(rank) && end - begin < *panel.end - *panel.begin;
  }
  /// The rows of a panel that a rank has.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> part(const Slice& panel, int rank) const {
    return {std::max(*panel.begin, rows_.begin(rank)), std::min(*panel.end, rows_.end(rank))};
  }

  Group group_;
  Blocks rows_of_a_;
  Blocks rows_;  ///< of b
  Panels panels_;
  StreamRef stream_;
  std::int64_t columns_;
  AnyArray local_;
  runtime::BufferRef<std::byte> own_;                ///< the same
  std::array<std::optional<AnyArray>, 2> received_;  ///< panels in turns
  runtime::Stream travels_;
  std::array<runtime::Event, 2> arrived_ = {
      runtime::Event(travels_.device(), {.with_timing = false}),
      runtime::Event(travels_.device(), {.with_timing = false})};
};

/// One slicing for all rows of a, which decides on the order of sums. The first rank's, on ranks
/// with the same kind of device.
arrays::MatmulOptions options_of_all(const Group& group, DType dtype,
                                     const arrays::MatmulSizes& sizes,
                                     arrays::MatmulOptions options) {
  if (options.slicing || options.method == arrays::MatmulMethod::cublas) {
    return options;
  }
  options.method = arrays::MatmulMethod::engine;
  std::string slicing = plan_matmul(dtype, sizes, group.device(), options).slicing;
  const runtime::DeviceInfo& info = group.device().info();
  const std::string kind = fmt::format("{}, {}: ", info.name, info.target);
  const std::string first = group.broadcast(kind + slicing);
  if (first.starts_with(kind)) {
    slicing = first.substr(kind.size());
  }
  options.slicing = loopy::parse_slicing(slicing);
  return options;
}

// Rows that a kernel computes alike, without conditions: compilers contract products and sums to
// fma otherwise in the others.
std::int64_t rows_of_tile(const arrays::MatmulOptions& options) {
  std::int64_t rows = 1;
  if (options.slicing) {
    for (const loopy::InameSlicing& each : options.slicing->inames) {
      for (const loopy::SlicingFactor& factor : each.factors) {
        rows *= each.iname == "i" ? std::max<std::int64_t>(factor.length, 1) : 1;
      }
    }
  }
  return rows;
}

/// Columns of a rank's rows, with rows of zeros after them up to whole tiles.
AnyArray whole_tiles(const AnyArray& a, const Slice& columns, std::int64_t tile) {
  const AnyArray part = a(arrays::whole, columns);
  const std::int64_t rows = part.shape()[0];
  if (rows % tile == 0) {
    return part;
  }
  AnyArray result =
      arrays::zeros(a.dtype(), Extents{(rows + tile - 1) / tile * tile, part.shape()[1]});
  result(Slice{0, rows}).assign(part);
  return result;
}

}  // namespace

DistributedArray matmul(const DistributedArray& a, const DistributedArray& b,
                        const arrays::MatmulOptions& options) {
  check_factors(a, b);
  const Group& group = a.group();
  const StreamRef stream = arrays::current_stream(a.local().stream());
  const arrays::StreamScope scope(stream);
  const std::int64_t rows = a.shape()[0];
  const Panels panels(a.shape()[1]);
  Extents shape = b.shape();
  shape[0] = rows;
  DistributedArray result(group, a.dtype(), shape);
  if (arrays::element_count(shape) == 0) {
    return result;
  }
  if (panels.depth == 0) {
    result.assign(0);
    return result;
  }
  const std::int64_t columns = arrays::element_count(shape) / rows;
  const std::int64_t own_rows = a.blocks().count(group.rank());
  const arrays::MatmulOptions of_all = options_of_all(
      group, a.dtype(), {rows, columns, std::min(panels.rows, panels.depth)}, options);
  const std::int64_t tile = rows_of_tile(of_all);
  const AnyArray sums = result.local().reshape({own_rows, columns});
  Travel travel(b, a.blocks(), panels, stream);
  travel.begin(0);
  for (std::int64_t panel = 0; panel < panels.count(); ++panel) {
    if (panel + 1 < panels.count()) {
      travel.begin(panel + 1);
    }
    if (own_rows > 0) {
      const AnyArray product = arrays::matmul(whole_tiles(a.local(), panels.of(panel), tile),
                                              travel.rows(panel), of_all)(Slice{0, own_rows});
      panel == 0 ? sums.assign(product) : sums.assign(arrays::Expression(sums) + product);
    }
  }
  return result;
}

}  // namespace rtcg::distributed
