#include "rtcg/arrays/sort/radix_sort.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/known_executors.h"
#include "rtcg/arrays/kernels/loop_call.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/arrays/scan/words.h"
#include "rtcg/arrays/sort/radix_blocks.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::arrays::detail {
namespace {

/// `digit(x, shift, mask)` of a key's bits.
std::string digit_function(const RadixKeys& what) {
  const std::string word(name(*word_of(what.dtype)));
  return fmt::format(
      "order_of_bits(x: {0}): {0} {{ {1} }}\n"
      "digit(x: {0}, shift: i32, mask: i32): i32 {{ return (int)(order_of_bits(x) >> shift) & "
      "mask; "
      "}}",
      word, order_of_bits(what.dtype, what.is_descending));
}

DType count_type(std::int64_t count) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return count < most ? DType::i32 : DType::i64;
}

// Runs of keys, one after the other in a thread each: for processors.

/// Counts the digits of each run, or moves its keys.
loopy::Kernel run_kernel(const RadixKeys& what, DType value, DType count, bool moves,
                         bool has_values) {
  loopy::KernelOptions options;
  options.name = moves ? "move_by_digit" : "count_digits";
  options.functions = digit_function(what);
  options.sequential_dependencies = true;
  options.assumptions = "n >= 1 and runs >= 1";
  const std::string word(name(*word_of(what.dtype)));
  options.arguments = fmt::format("x: {0}[n]; first: i64[runs + 1]; counts: {1}[{2}, runs]; ", word,
                                  name(count), radix_digits) +
                      (moves ? fmt::format("y: {}[n]; ", word) : "") +
                      (has_values ? fmt::format("v, w: {}[n]; ", name(value)) : "") +
                      fmt::format("n: {}; runs, shift, mask: i32", name(count));
  const std::string statements = fmt::format(
      "<{0}> found[{1}]\n"
      "for r\n"
      "  <> begin = first[r]\n"
      "  <> stop = first[r + 1]\n"
      "  found[a] = {2}\n"
      "  for j\n"
      "    <i32> d = digit(x[j], shift, mask)\n"
      "{3}"
      "    found[d] = found[d] + 1\n"
      "  end\n"
      "{4}"
      "end",
      name(count), radix_digits, moves ? "counts[a, r]" : "0",
      moves ? std::string("    y[found[d]] = x[j] {disjoint}\n") +
                  (has_values ? "    w[found[d]] = v[j] {disjoint}\n" : "")
            : std::string(),
      moves ? "" : "  counts[b, r] = found[b]\n");
  const std::string domains = fmt::format(
                                  "{{[r]: 0 <= r < runs}} {{[j]: begin <= j < stop}} {{[a]: "
                                  "0 <= a < {0}}} ",
                                  radix_digits) +
                              (moves ? "" : fmt::format("{{[b]: 0 <= b < {}}}", radix_digits));
  return loopy::tag_inames(loopy::make_kernel(domains, statements, options), "r:g.0");
}

/// The kernel on a device, made once.
const loopy::Executor& run_executor(const RadixKeys& what, DType value, DType count, bool moves,
                                    bool has_values, runtime::Device device) {
  using Key = std::tuple<DType, bool, DType, DType, bool, bool>;
  static auto& known = *new KnownExecutors<Key>;
  return known.of(device, {what.dtype, what.is_descending, value, count, moves, has_values},
                  [&] { return run_kernel(what, value, count, moves, has_values); });
}

/// Where runs begin, and the end of the last.
AnyArray run_bounds(std::int64_t count) {
  constexpr std::int64_t least = 4096;
  constexpr std::int64_t most_runs = 256;
  const std::int64_t runs = std::clamp<std::int64_t>(count / least, 1, most_runs);
  const std::int64_t length = ceil_divide(count, runs);
  return evaluate(minimum(indices({ceil_divide(count, length) + 1}) * length, count));
}

RadixPairs empty_like(const RadixPairs& pairs, runtime::StreamRef stream) {
  RadixPairs result{AnyArray(pairs.keys.dtype(), pairs.keys.shape(), stream), {}};
  if (pairs.values) {
    result.values.emplace(pairs.values->dtype(), pairs.values->shape(), stream);
  }
  return result;
}

/// `move(pass, from, to)` for each pass, from one set of arrays to another; the given ones stay.
template <class Move>
RadixPairs in_passes(const RadixPairs& given, int passes, runtime::StreamRef stream,
                     const Move& move) {
  RadixPairs from = given;
  RadixPairs to = empty_like(given, stream);
  for (int pass = 0; pass < passes; ++pass) {
    move(pass, from, to);
    if (pass + 1 < passes) {
      RadixPairs next = pass == 0 ? empty_like(given, stream) : from;
      from = std::exchange(to, std::move(next));
    }
  }
  return to;
}

RadixPairs sort_runs(runtime::StreamRef stream, const RadixPairs& given, const RadixKeys& what) {
  const std::int64_t count = given.keys.count();
  const AnyArray first = run_bounds(count);
  const std::int64_t runs = first.count() - 1;
  const DType number = count_type(count);
  const bool has_values = given.values.has_value();
  const DType value = has_values ? given.values->dtype() : DType::u8;
  const runtime::Device device = stream.device();
  const loopy::Executor& counting = run_executor(what, DType::u8, number, false, false, device);
  const loopy::Executor& moving = run_executor(what, value, number, true, has_values, device);
  return in_passes(
      given, what.passes(), stream, [&](int pass, const RadixPairs& from, const RadixPairs& to) {
        const auto arguments = [&](const AnyArray& table) {
          return std::vector<loopy::NamedArgument>{loop_argument("x", from.keys, stream),
                                                   loop_argument("first", first, stream),
                                                   loop_argument("counts", table, stream),
                                                   loopy::arg("n", count),
                                                   loopy::arg("runs", runs),
                                                   loopy::arg("shift", what.shift(pass)),
                                                   loopy::arg("mask", what.mask(pass))};
        };
        const AnyArray counts(number, {radix_digits * runs}, stream);
        counting(stream, arguments(counts));
        const AnyArray begins = cumulative_sum(counts, {.is_exclusive = true, .dtype = number});
        std::vector<loopy::NamedArgument> all = arguments(begins);
        all.push_back(loop_argument("y", to.keys, stream));
        if (has_values) {
          all.push_back(loop_argument("v", *from.values, stream));
          all.push_back(loop_argument("w", *to.values, stream));
        }
        moving(stream, all);
      });
}

// Blocks of CUDA.

const LoopCall& digit_counting(const RadixKeys& what, DType count) {
  using Key = std::tuple<DType, bool, int, int, DType>;
  static auto& made = *new MadeOnce<Key, LoopCall>;
  return made.of({what.dtype, what.is_descending, what.begin_bit, what.end_bit, count},
                 [&] { return digit_counts(what, count); });
}

bool has_blocks(runtime::StreamRef stream) {
  return stream.device().info().id.kind == runtime::BackendKind::cuda;
}

constexpr int most_items_of_row = 32;
constexpr std::int64_t longest_row = std::int64_t{radix_threads} * most_items_of_row;

void add_arrays(runtime::ArgumentPack& pack, runtime::StreamRef stream, const RadixPairs& from,
                const RadixPairs& to) {
  pack.add(from.keys.address_on(stream));
  pack.add(to.keys.address_on(stream));
  if (from.values) {
    pack.add(from.values->address_on(stream));
    pack.add(to.values->address_on(stream));
  }
}

RadixBlocks blocks_for(const RadixPairs& pairs, const RadixKeys& what) {
  return {what.dtype, what.is_descending,
          pairs.values ? static_cast<int>(size_bytes(pairs.values->dtype())) : 0,
          count_type(pairs.keys.count()) == DType::i64};
}

void launch(const runtime::Kernel& kernel, runtime::StreamRef stream, const RadixBlocks& blocks,
            std::int64_t count, const runtime::ArgumentPack& pack) {
  kernel.launch(stream,
                {static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(radix_threads),
                 blocks.shared_bytes()},
                pack);
}

RadixPairs sort_tiles(runtime::StreamRef stream, const RadixPairs& given, const RadixKeys& what) {
  const std::int64_t count = given.keys.count();
  constexpr std::int64_t enough_blocks = 256;  // for all multiprocessors of a GPU
  RadixBlocks blocks = blocks_for(given, what);
  blocks.items = blocks.most_items();
  while (blocks.items > 3 && ceil_divide(count, blocks.tile()) < enough_blocks) {
    blocks.items /= 2;
  }
  const std::int64_t tiles = ceil_divide(count, blocks.tile());
  const DType number = count_type(count);
  const int passes = what.passes();
  // drawn tiles, counts of all passes, and two rooms for what tiles publish, which passes take in
  // turns: each clears the next one's
  constexpr std::int64_t drawn_words = 64;
  const std::int64_t count_words = radix_digits * passes;
  const std::int64_t room = tiles * radix_digits;
  const AnyArray memory(blocks.is_wide ? DType::u64 : DType::u32,
                        {drawn_words + count_words + 2 * room}, stream);
  runtime::fill(stream,
                memory(Slice{0, drawn_words + count_words + room})
                    .reinterpret(DType::u32)
                    .buffer_on<std::uint32_t>(stream),
                0U);
  const AnyArray counts = memory(Slice{drawn_words, drawn_words + count_words})
                              .reinterpret(number)
                              .reshape(passes, std::int64_t{radix_digits});
  digit_counting(what, number).run(stream, {{"x", given.keys}, {"counts", counts}}, {{"n", count}});
  const runtime::Kernel& kernel = kernel_of_text(stream.device(), blocks.name("radix_pass").c_str(),
                                                 [&] { return make_radix_pass(blocks); });
  const std::size_t word_bytes = size_bytes(memory.dtype());
  const auto word = [&](std::int64_t place) {
    return memory.address_on(stream) + static_cast<std::uint64_t>(place) * word_bytes;
  };
  return in_passes(given, passes, stream,
                   [&](int pass, const RadixPairs& from, const RadixPairs& to) {
                     runtime::ArgumentPack pack;
                     add_arrays(pack, stream, from, to);
                     pack.add(word(drawn_words + radix_digits * pass));
                     pack.add(word(drawn_words + count_words + (pass % 2) * room));
                     pack.add(word(drawn_words + count_words + (1 - pass % 2) * room));
                     pack.add(word(pass));
                     pack.add(count);
                     pack.add(static_cast<std::int32_t>(what.shift(pass)));
                     pack.add(static_cast<std::int32_t>(what.mask(pass)));
                     launch(kernel, stream, blocks, tiles, pack);
                   });
}

RadixPairs sort_rows(runtime::StreamRef stream, const RadixPairs& given, const RadixKeys& what,
                     std::int64_t rows, std::int64_t length) {
  RadixBlocks blocks = blocks_for(given, what);
  blocks.items = 1;
  while (blocks.tile() < length) {
    blocks.items *= 2;
  }
  const RadixPairs to = empty_like(given, stream);
  runtime::ArgumentPack pack;
  add_arrays(pack, stream, given, to);
  pack.add(static_cast<std::int32_t>(length));
  pack.add(static_cast<std::int32_t>(what.begin_bit));
  pack.add(static_cast<std::int32_t>(what.end_bit));
  launch(kernel_of_text(stream.device(), blocks.name("row_sort").c_str(),
                        [&] { return make_row_sort(blocks); }),
         stream, blocks, rows, pack);
  return to;
}

}  // namespace

loopy::Kernel digit_counts(const RadixKeys& what, DType count) {
  loopy::KernelOptions options;
  options.name = "digit_counts";
  options.functions = digit_function(what);
  options.assumptions = "n >= 1";
  options.arguments =
      fmt::format("x: {0}[n]; counts: {1}[{2}, {3}]; n: {1}", name(*word_of(what.dtype)),
                  name(count), what.passes(), radix_digits);
  std::string statements;
  for (int pass = 0; pass < what.passes(); ++pass) {
    statements += fmt::format("counts[{}, digit(x[i], {}, {})] += 1 {{atomic}}\n", pass,
                              what.shift(pass), what.mask(pass));
  }
  return loopy::make_kernel("{[i]: 0 <= i < n}", statements, options);
}

RadixPairs radix_sort(runtime::StreamRef stream, const AnyArray& keys,
                      const std::optional<AnyArray>& values, const RadixKeys& what) {
  const StreamScope scope(stream);
  const RadixPairs given{
      keys.reinterpret(*word_of(keys.dtype())),
      values ? std::optional(values->reinterpret(*word_of(values->dtype()))) : std::nullopt};
  const std::int64_t count = keys.count();
  RadixPairs sorted = what.passes() == 0 || count < 2
                          ? RadixPairs{given.keys.copy(),
                                       values ? std::optional(given.values->copy()) : std::nullopt}
                      : !has_blocks(stream)  ? sort_runs(stream, given, what)
                      : count <= longest_row ? sort_rows(stream, given, what, 1, count)
                                             : sort_tiles(stream, given, what);
  sorted.keys = sorted.keys.reinterpret(keys.dtype());
  if (values) {
    sorted.values = sorted.values->reinterpret(values->dtype());
  }
  return sorted;
}

std::optional<RadixPairs> sort_short_rows(runtime::StreamRef stream, const AnyArray& keys,
                                          const std::optional<AnyArray>& values,
                                          const RadixKeys& what) {
  const std::int64_t length = keys.shape()[1];
  if (!has_blocks(stream) || length > longest_row || keys.count() == 0) {
    return std::nullopt;
  }
  const RadixPairs given{
      keys.reinterpret(*word_of(keys.dtype())),
      values ? std::optional(values->reinterpret(*word_of(values->dtype()))) : std::nullopt};
  RadixPairs sorted = sort_rows(stream, given, what, keys.shape()[0], length);
  sorted.keys = sorted.keys.reinterpret(keys.dtype());
  if (values) {
    sorted.values = sorted.values->reinterpret(values->dtype());
  }
  return sorted;
}

}  // namespace rtcg::arrays::detail
