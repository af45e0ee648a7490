#include "rtcg/arrays/sparse/best_format.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/runs.h"
#include "rtcg/arrays/sort/histogram.h"
#include "rtcg/arrays/sort/sort.h"
#include "rtcg/arrays/sparse/cusparse.h"
#include "rtcg/arrays/sparse/packets.h"
#include "rtcg/arrays/sparse/row_sharing.h"
#include "rtcg/arrays/sparse/triplets.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/runtime/observe/timer.h"

namespace rtcg::arrays {
namespace {

/// More numbers for each entry are not worth their reads.
constexpr double most_of_candidates = 1.5;

struct Candidate {
  FormatChoice choice;
  double stored = 1;  ///< numbers for each entry
  double bytes = 0;   ///< of matrix and indices that a product reads, for each entry
};

/// The formats that suit a matrix, csr first.
std::vector<Candidate> candidates_of(const AnySparseMatrix& a) {
  const runtime::StreamRef stream = current_stream();
  const auto entries = static_cast<double>(a.entries());
  const std::int64_t rows = a.rows();
  const auto number = static_cast<double>(size_bytes(a.dtype()));
  constexpr double index = 4;
  std::vector<Candidate> result = {
      {{}, 1, number + index + index * static_cast<double>(rows) / entries}};
  constexpr double short_index = 2;
  const FormatOptions plain;
  if (const auto packets = detail::fitting_packets(a, plain.packet)) {
    const double of_bases = index * packets->windows / plain.packet;
    // how much short rows gain depends on the device: a candidate for measurements alone
    const bool has_long_rows = !stream.device().info().is_cpu &&
                               detail::row_sharing(stream, a) == detail::RowSharing::planned;
    result.push_back({{SparseFormat::packets, plain},
                      1,
                      result[0].bytes + (has_long_rows ? short_index - index + of_bases : index)});
  }
  const auto add = [&](SparseFormat format, const FormatOptions& options, double stored_numbers,
                       double index_bytes) {
    const double stored = stored_numbers / entries;
    if (stored <= most_of_candidates) {
      result.push_back({{format, options}, stored, stored * (number + index_bytes)});
    }
  };
  const AnyArray row = detail::rows_of_entries(a);
  const Expression distance = cast(a.column(), DType::i64) - row + (rows - 1);
  const AnyArray of_diagonals = bincount(distance, {.length = rows + a.columns() - 1});
  const auto diagonals = sum(cast(of_diagonals != 0, DType::i64)).item<std::int64_t>();
  add(SparseFormat::dia, {}, static_cast<double>(diagonals) * static_cast<double>(rows), 0);
  for (const int block : {8, 6, 5, 4, 3, 2}) {
    if (rows % block == 0 && a.columns() % block == 0) {
      const Expression key = cast(floor_divide(row, block), DType::i64) * (a.columns() / block) +
                             floor_divide(a.column(), block);
      const std::int64_t blocks = unique(sort(key)).count.item();
      add(SparseFormat::bsr, {.block = block}, static_cast<double>(blocks * block * block),
          index / (block * block));
    }
  }
  const std::int64_t longest = a.known_rows().longest(stream, a.first()).value();
  add(SparseFormat::ell, {}, static_cast<double>(longest) * static_cast<double>(rows), index);
  const FormatOptions sliced;
  const std::int64_t slices = ceil_divide(rows, std::int64_t{sliced.slice});
  const AnyArray lengths =
      pad(a.first()(Slice{1, rows + 1}) - Expression(a.first()(Slice{0, rows})), {0},
          {slices * sliced.slice - rows});
  const AnyArray of_slices = max(lengths.reshape(slices, sliced.slice), over(1));
  const auto in_slices = sum(of_slices).item<std::int64_t>() * sliced.slice;
  add(SparseFormat::sell, sliced, static_cast<double>(in_slices), index);
  const FormatOptions sorted{.window = 16 * sliced.slice};
  if (static_cast<double>(in_slices) > 1.1 * entries) {
    // how much sorting saves is known when it is done: a candidate for measurements alone
    result.push_back({{SparseFormat::sell, sorted}, 1, number + 2 * index});
  }
  return result;
}

/// Tells matrices apart that need other formats.
using MatrixClass = std::tuple<const runtime::Backend*, DType, std::int64_t, std::int64_t,
                               std::int64_t, std::vector<std::tuple<SparseFormat, int, int>>>;

MatrixClass class_of(const AnySparseMatrix& a, const std::vector<Candidate>& candidates) {
  const auto size = [](std::int64_t number) {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(number)));
  };
  std::vector<std::tuple<SparseFormat, int, int>> fits;
  for (const Candidate& each : candidates) {
    fits.emplace_back(each.choice.format, each.choice.options.block,
                      static_cast<int>(10 * each.stored));
  }
  const std::int64_t longest = a.known_rows().longest(current_stream(), a.first()).value();
  return {&a.device().backend(), a.dtype(), size(a.rows()), size(a.entries()), size(longest), fits};
}

struct KnownFormats {
  std::mutex mutex{};
  std::map<MatrixClass, FormatChoice> choices{};
};
KnownFormats& known_formats() {
  static auto& known = *new KnownFormats;
  return known;
}

double seconds_of_product(const AnySparseMatrix& a) {
  const runtime::StreamRef stream = current_stream();
  const AnyArray x = ones(a.dtype(), {a.columns()});
  const AnyArray y = zeros(a.dtype(), {a.rows()});
  multiply_into(a, x, y);  // compiles
  constexpr int repetitions = 10;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round) {
    best = std::min(best, runtime::time_ms(
                              stream, [&] { multiply_into(a, x, y); }, repetitions));
  }
  return best / 1000;
}

/// The matrix in a format, unless too much would be stored.
std::optional<AnySparseMatrix> in_format(const AnySparseMatrix& a, const FormatChoice& choice) {
  try {
    return a.in_format(choice.format, choice.options).by(choice.way);
  } catch (const InvalidInput& error) {
    if (error.code() != "arrays.sparse.padding") {
      throw;
    }
    return std::nullopt;
  }
}

FormatChoice measured(const AnySparseMatrix& a, std::vector<Candidate> candidates) {
  if (a.device().info().id.kind == runtime::BackendKind::cuda && !is_integer(a.dtype()) &&
      detail::CusparseApi::find() != nullptr) {
    candidates.push_back({{.way = SparseWay::library}});
  }
  FormatChoice best;
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& each : candidates) {
    const std::optional<AnySparseMatrix> stored = in_format(a, each.choice);
    if (!stored) {
      continue;
    }
    const double seconds = seconds_of_product(*stored);
    if (seconds < least) {
      least = seconds;
      best = each.choice;
    }
  }
  return best;
}

void remember(const MatrixClass& which, const FormatChoice& choice) {
  const std::lock_guard lock(known_formats().mutex);
  known_formats().choices[which] = choice;
}

}  // namespace

FormatChoice best_format(const AnySparseMatrix& given, const FormatSearch& search) {
  const StreamScope scope(current_stream(given.value().stream()));
  const AnySparseMatrix a = given.in_format(SparseFormat::csr);
  if (a.entries() == 0) {
    return {};
  }
  const std::vector<Candidate> candidates = candidates_of(a);
  const MatrixClass which = class_of(a, candidates);
  {
    const std::lock_guard lock(known_formats().mutex);
    if (const auto found = known_formats().choices.find(which);
        found != known_formats().choices.end()) {
      return found->second;
    }
  }
  if (search.measures) {
    const FormatChoice choice = measured(a, candidates);
    remember(which, choice);
    return choice;
  }
  const auto best = std::min_element(
      candidates.begin(), candidates.end(),
      [](const Candidate& one, const Candidate& other) { return one.bytes < other.bytes; });
  return best->choice;
}

void remember_format(const AnySparseMatrix& given, const FormatChoice& choice) {
  const StreamScope scope(current_stream(given.value().stream()));
  const AnySparseMatrix a = given.in_format(SparseFormat::csr);
  if (a.entries() != 0) {
    remember(class_of(a, candidates_of(a)), choice);
  }
}

}  // namespace rtcg::arrays
