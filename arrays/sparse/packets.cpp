#include "rtcg/arrays/sparse/packets.h"

#include <bit>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/copy_if.h"
#include "rtcg/arrays/scan/runs.h"
#include "rtcg/arrays/sort/search.h"
#include "rtcg/arrays/sort/sort.h"
#include "rtcg/arrays/sparse/triplets.h"
#include "rtcg/cgen/support/integer.h"

namespace rtcg::arrays::detail {
namespace {

constexpr int most_windows = 64;

int log_of(int power) {
  return std::countr_zero(static_cast<unsigned>(power));
}

std::int64_t packet_count(std::int64_t entries, int of_packet) {
  return ceil_divide(entries, std::int64_t{of_packet});
}

/// The packet of each entry.
Expression packet_of_entries(std::int64_t entries, int of_packet) {
  return indices({entries}) >> log_of(of_packet);
}

/// The least and the greatest column of each packet.
struct ColumnRanges {
  AnyArray least;
  AnyArray greatest;
};

ColumnRanges ranges_of(const AnySparseMatrix& csr, int of_packet) {
  const std::int64_t packets = packet_count(csr.entries(), of_packet);
  const AnyArray entry = evaluate(minimum(indices({packets, of_packet}), csr.entries() - 1));
  const AnyArray column = evaluate(take(csr.column(), entry));
  return {evaluate(min(column, over(1))), evaluate(max(column, over(1)))};
}

/// Windows of the columns of packets, packet by packet.
struct Windows {
  AnyArray key;    ///< of each window, ascending: packet*pages + distance from the least / width
  AnyArray begin;  ///< of each packet, and one more: its first window
};

/// Pages of a packet of any matrix with so many columns.
std::int64_t pages_of(const AnySparseMatrix& csr, const ColumnPackets& packets) {
  return csr.columns() / packets.width() + 1;
}

/// @param sorted  packet*columns + distance from the least column of the packet, ascending
Windows windows_of(const AnySparseMatrix& csr, const AnyArray& sorted,
                   const ColumnPackets& packets) {
  const std::int64_t pages = pages_of(csr, packets);
  const AnyArray key = unique(evaluate(floor_divide(sorted, csr.columns()) * pages +
                                       ((sorted % csr.columns()) >> log_of(packets.width()))))
                           .trimmed()
                           .contiguous();
  const std::int64_t count = packet_count(csr.entries(), packets.entries);
  return {key, searchsorted(key, indices({count + 1}) * pages)};
}

AnyArray distances(const AnySparseMatrix& csr, const AnyArray& least, int of_packet) {
  const AnyArray packet = evaluate(packet_of_entries(csr.entries(), of_packet));
  return as_i32(csr.column() - Expression(take(least, packet)));
}

AnyArray sorted_distances(const AnySparseMatrix& csr, const AnyArray& least, int of_packet) {
  return sort(evaluate(packet_of_entries(csr.entries(), of_packet) * csr.columns() +
                       distances(csr, least, of_packet)));
}

}  // namespace

ColumnPackets packets_of(const AnySparseMatrix& a) {
  if (a.format() != SparseFormat::packets) {
    return {};
  }
  const int packet = a.format_options().packet;
  const std::int64_t packets = packet_count(a.entries(), packet);
  return {packet, packets == 0 ? 1 : static_cast<int>(a.base().count() / packets)};
}

std::optional<ColumnPackets> fitting_packets(const AnySparseMatrix& csr, int entries) {
  const ColumnRanges ranges = ranges_of(csr, entries);
  const auto spread = max(ranges.greatest - Expression(ranges.least)).item<std::int32_t>();
  ColumnPackets result{entries, 1};
  if (spread < result.width()) {
    return result;
  }
  const AnyArray sorted = sorted_distances(csr, ranges.least, entries);
  for (result.windows = 2; result.windows <= most_windows; result.windows *= 2) {
    const AnyArray begin = windows_of(csr, sorted, result).begin;
    const std::int64_t packets = begin.count() - 1;
    const auto most = max(begin(Slice{1, packets + 1}) - Expression(begin(Slice{0, packets})))
                          .item<std::int64_t>();
    if (most <= result.windows) {
      return result;
    }
  }
  return std::nullopt;
}

PackedColumns packed_columns(const AnySparseMatrix& csr, const ColumnPackets& packets) {
  const AnyArray least = ranges_of(csr, packets.entries).least;
  const AnyArray distance = distances(csr, least, packets.entries);
  if (packets.windows == 1) {
    return {evaluate(cast(distance, DType::u16)), least};
  }
  const Windows windows = windows_of(csr, sorted_distances(csr, least, packets.entries), packets);
  const std::int64_t pages = pages_of(csr, packets);
  const AnyArray packet = evaluate(packet_of_entries(csr.entries(), packets.entries));
  const AnyArray place =
      searchsorted(windows.key, packet * Expression(pages) + (distance >> log_of(packets.width())));
  const Expression number = place - Expression(take(windows.begin, packet));
  PackedColumns result{
      evaluate(cast(number * packets.width() + (distance & (packets.width() - 1)), DType::u16)),
      zeros(DType::i32, {least.count() * packets.windows})};
  const AnyArray of_window = evaluate(floor_divide(windows.key, pages));
  const AnyArray first = as_i32(((windows.key % pages) << log_of(packets.width())) +
                                Expression(take(least, of_window)));
  put(result.base,
      evaluate(indices({windows.key.count()}) - Expression(take(windows.begin, of_window)) +
               of_window * Expression(packets.windows)),
      first);
  return result;
}

AnyArray whole_columns(const AnySparseMatrix& a) {
  const ColumnPackets packets = packets_of(a);
  const Expression code = cast(a.column(), DType::i32);
  const AnyArray window =
      evaluate(packet_of_entries(a.entries(), packets.entries) * packets.windows +
               (code >> log_of(packets.width())));
  return as_i32(take(a.base(), window) + (code & (packets.width() - 1)));
}

std::string rule_of_columns(const ColumnPackets& packets) {
  if (packets.entries == 0) {
    return "column_of(e) := column[e]\n";
  }
  const int packet = log_of(packets.entries);
  return packets.windows == 1
             ? fmt::format("column_of(e) := base[(e) >> {}] + column[e]\n", packet)
             : fmt::format(
                   "column_of(e) := base[{}*((e) >> {}) + (column[e] >> {})] + "
                   "(column[e] & {})\n",
                   packets.windows, packet, log_of(packets.width()), packets.width() - 1);
}

std::string arguments_of_columns(const ColumnPackets& packets) {
  return packets.entries == 0 ? "column: i32[nz]" : "column: u16[nz]; base: i32[bases]; bases: i32";
}

}  // namespace rtcg::arrays::detail
