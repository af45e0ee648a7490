#include "rtcg/distributed/arrays/grains.h"

#include <algorithm>

#include <fmt/format.h>

namespace rtcg::distributed::detail {
namespace {

constexpr std::int64_t most_threads = 256;   // that share a grain
constexpr std::int64_t least_of_block = 32;  // elements of a grain that a block takes

}  // namespace

GrainTexts::GrainTexts(std::int64_t grain)
    : domain(fmt::format("{{[c, h]: 0 <= c and 0 <= h < {0} and {0}*c + h < n}}", grain)),
      place(fmt::format("{}*c + h", grain)),
      count(fmt::format("(n + {})//{}", grain - 1, grain)),
      recipe(
          grain < least_of_block
              ? fmt::format("split_iname(c, {}, outer_tag=g.0, inner_tag=l.0)\n", most_threads / 2)
              : fmt::format("tag_inames(c:g.0)\nsplit_iname(h, {}, inner_tag=l.0)\n",
                            std::min(grain, most_threads))) {}

void exchange_values_of_grains(const Group& group, const Blocks& blocks, runtime::StreamRef stream,
                               const arrays::AnyArray& all, const std::string& what) {
  const auto values_of = [&](int rank) {
    return bytes_of_places(all, blocks.first_grain(rank),
                           blocks.first_grain(rank) + blocks.grain_count(rank), stream);
  };
  Messages messages;
  for (int other = 0; other < group.size(); ++other) {
    if (other != group.rank()) {
      messages.send(other, values_of(group.rank()));
      messages.receive(other, values_of(other));
    }
  }
  messages.exchange(group, stream, what);
}

}  // namespace rtcg::distributed::detail
