#pragma once

#include <cstdint>
#include <type_traits>

#include "rtcg/distributed/group/group.h"

// Collectives on memory of the ranks' devices, in the order of a stream of each rank's device.
//
// All ranks call with the same counts, type, operation and root. Every result is made of the same
// exchanges and the same sums on any transport, so it has the same bits.
//
// @throws  as Group::exchange; InvalidInput  distributed.collectives.count: memory whose length
// does
//          not fit

namespace rtcg::distributed {

template <class T>
concept ReducedNumber = std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;

namespace detail {
enum class NumberKind { f32, f64, i32, i64 };
template <ReducedNumber T>
[[nodiscard]] constexpr NumberKind number_kind() {
  return std::is_same_v<T, float>          ? NumberKind::f32
         : std::is_same_v<T, double>       ? NumberKind::f64
         : std::is_same_v<T, std::int32_t> ? NumberKind::i32
                                           : NumberKind::i64;
}
void all_reduce(const Group& group, runtime::StreamRef stream, runtime::BufferRef<std::byte> values,
                NumberKind kind, Operation operation);
void broadcast(const Group& group, runtime::StreamRef stream, runtime::BufferRef<std::byte> values,
               int root);
void gather(const Group& group, runtime::StreamRef stream, runtime::BufferRef<const std::byte> mine,
            runtime::BufferRef<std::byte> all, int root);
void scatter(const Group& group, runtime::StreamRef stream, runtime::BufferRef<const std::byte> all,
             runtime::BufferRef<std::byte> mine, int root);
void all_gather(const Group& group, runtime::StreamRef stream,
                runtime::BufferRef<const std::byte> mine, runtime::BufferRef<std::byte> all);
void all_to_all(const Group& group, runtime::StreamRef stream,
                runtime::BufferRef<const std::byte> sent, runtime::BufferRef<std::byte> received);
}  // namespace detail

/// Combines the values of all ranks, element by element, in place: pairs of neighbouring ranks
/// first, then pairs of these results, and so on.
///
/// @cost  for arrays of up to 32 KB one launch where devices wait for each other, otherwise one
///        exchange and one launch; for others each rank combines a part of them, and two exchanges
///        move twice the array
template <ReducedNumber T>
void all_reduce(const Group& group, runtime::StreamRef stream, runtime::BufferRef<T> values,
                Operation operation) {
  detail::all_reduce(group, stream, values.template as<std::byte>(), detail::number_kind<T>(),
                     operation);
}
template <ReducedNumber T>
void all_reduce(const Group& group, runtime::StreamRef stream, const runtime::Buffer<T>& values,
                Operation operation) {
  all_reduce(group, stream, values.ref(), operation);
}

/// The values of `root`, on all ranks.
template <class T>
void broadcast(const Group& group, runtime::StreamRef stream, runtime::BufferRef<T> values,
               int root = 0) {
  detail::broadcast(group, stream, values.template as<std::byte>(), root);
}

/// The values of all ranks on `root`, by rank. `all` is used there alone.
template <class T>
void gather(const Group& group, runtime::StreamRef stream,
            std::type_identity_t<runtime::BufferRef<const T>> mine, runtime::BufferRef<T> all,
            int root = 0) {
  detail::gather(group, stream, mine.template as<const std::byte>(), all.template as<std::byte>(),
                 root);
}

/// Part r of the values of `root` on rank r. `all` is used on `root` alone.
template <class T>
void scatter(const Group& group, runtime::StreamRef stream,
             std::type_identity_t<runtime::BufferRef<const T>> all, runtime::BufferRef<T> mine,
             int root = 0) {
  detail::scatter(group, stream, all.template as<const std::byte>(), mine.template as<std::byte>(),
                  root);
}

/// The values of all ranks on each, by rank.
template <class T>
void all_gather(const Group& group, runtime::StreamRef stream,
                std::type_identity_t<runtime::BufferRef<const T>> mine, runtime::BufferRef<T> all) {
  detail::all_gather(group, stream, mine.template as<const std::byte>(),
                     all.template as<std::byte>());
}

/// Part r of what a rank sends goes to rank r; part r of what it receives is from rank r.
template <class T>
void all_to_all(const Group& group, runtime::StreamRef stream,
                std::type_identity_t<runtime::BufferRef<const T>> sent,
                runtime::BufferRef<T> received) {
  detail::all_to_all(group, stream, sent.template as<const std::byte>(),
                     received.template as<std::byte>());
}

}  // namespace rtcg::distributed
