#include "rtcg/distributed/arrays/distributed_matrix.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/arrays/sparse/row_sharing.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/arrays/array_messages.h"
#include "rtcg/distributed/arrays/reductions.h"
#include "rtcg/distributed/group/rounds.h"

namespace rtcg::distributed {
namespace {

using arrays::AnyArray;
using arrays::Extents;
using arrays::Slice;

// Elements that another rank sends or gets: [begin, end) of the list of all of them.
struct Section {
  int rank;
  std::int64_t begin;
  std::int64_t end;
};

// Some rows of a matrix, as one of their own.
struct RowRange {
  std::int64_t begin;
  std::int64_t end;
  arrays::AnySparseMatrix rows;
};

RowRange range_of(const arrays::AnySparseMatrix& all, std::int64_t begin, std::int64_t end) {
  return {begin, end,
          arrays::AnySparseMatrix(
              arrays::AnySparseMatrix::Parts{.format = arrays::SparseFormat::csr,
                                             .rows = end - begin,
                                             .columns = all.columns(),
                                             .entries = all.entries(),
                                             .first = all.first()(Slice{begin, end + 1}),
                                             .column = all.column(),
                                             .value = all.value()})};
}

void sort_and_unify(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

std::int64_t place_in(const std::vector<std::int64_t>& sorted, std::int64_t value) {
  return std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
}

void check_triplets(const Blocks& blocks, int rank, std::span<const std::int64_t> row,
                    std::span<const std::int64_t> column) {
  if (blocks.grains() < blocks.ranks()) {
    throw InvalidInput("distributed.matrix.too_small",
                       fmt::format("{} rows for {} ranks: each has to have one at least",
                                   blocks.length(), blocks.ranks()));
  }
  for (const std::int64_t each : row) {
    if (each < blocks.begin(rank) || each >= blocks.end(rank)) {
      throw InvalidInput("distributed.matrix.foreign_row",
                         fmt::format("rank {} gives an entry of row {}: its rows are {} to {}, as "
                                     "Blocks says",
                                     rank, each, blocks.begin(rank), blocks.end(rank) - 1));
    }
  }
  for (const std::int64_t each : column) {
    if (each < 0 || each >= blocks.length()) {
      throw InvalidInput("distributed.matrix.bad_column",
                         fmt::format("an entry of column {}: there are {}, counted from 0", each,
                                     blocks.length()));
    }
  }
}

}  // namespace

namespace {

// The longest run of rows without fetched elements, [begin, end).
std::pair<std::int64_t, std::int64_t> inner_rows(std::int64_t rows,
                                                 const std::vector<std::int32_t>& row,
                                                 const std::vector<std::int32_t>& column,
                                                 std::int64_t first_own) {
  std::vector<bool> is_outer(static_cast<std::size_t>(rows), false);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (column[i] < first_own || column[i] >= first_own + rows) {
      is_outer[static_cast<std::size_t>(row[i])] = true;
    }
  }
  std::pair<std::int64_t, std::int64_t> longest = {0, 0};
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i <= rows; ++i) {
    if (i == rows || is_outer[static_cast<std::size_t>(i)]) {
      if (i - begin > longest.second - longest.first) {
        longest = {begin, i};
      }
      begin = i + 1;
    }
  }
  return longest;
}

// By a thread for each row: multiply() would choose how threads share rows by the rows that there
// are, and round another way on another number of ranks.
void multiply_rows(runtime::StreamRef stream, const arrays::AnySparseMatrix& rows,
                   const AnyArray& x, const AnyArray& y) {
  arrays::detail::evaluate_in_kernel(stream, arrays::detail::product_by_rows(rows, x), y);
}

}  // namespace

struct DistributedMatrix::State {
  Group group;
  Blocks blocks;
  arrays::AnySparseMatrix rows;
  std::int64_t before = 0;  // fetched elements in front of the block's own
  std::int64_t own = 0;
  std::int64_t fetched = 0;
  std::vector<Section> sent{};      // of sent_places
  std::vector<Section> received{};  // of the vector that rows are multiplied with
  std::optional<AnyArray> sent_places{};
  AnyArray needed;  // that vector
  std::optional<AnyArray> message{};
  // Where devices wait for each other: rounds with all ranks that elements go to or come from, and
  // the rows in three parts. The rows of the second part need own elements alone.
  std::optional<Rounds> rounds{};
  std::vector<int> partners{};
  std::vector<RowRange> ranges{};
};

runtime::StreamRef DistributedMatrix::stream_of(const Group& group) {
  return arrays::current_stream(group.device().default_stream());
}

DistributedMatrix::Columns DistributedMatrix::find_columns(const Group& group, std::int64_t size,
                                                           std::span<const std::int64_t> row,
                                                           std::span<const std::int64_t> column) {
  Columns result{Blocks(size, group.size())};
  const Blocks& blocks = result.blocks;
  check_triplets(blocks, group.rank(), row, column);
  const std::int64_t begin = blocks.begin(group.rank());
  const std::int64_t end = blocks.end(group.rank());
  for (const std::int64_t each : column) {
    if (each < begin) {
      result.before.push_back(each);
    } else if (each >= end) {
      result.after.push_back(each);
    }
  }
  sort_and_unify(result.before);
  sort_and_unify(result.after);
  result.own_count = end - begin;
  const auto first_own = static_cast<std::int64_t>(result.before.size());
  for (const std::int64_t each : row) {
    result.own_row.push_back(static_cast<std::int32_t>(each - begin));
  }
  // in the order of the whole's columns, which decides on that of sums
  for (const std::int64_t each : column) {
    const std::int64_t number = each < begin ? place_in(result.before, each)
                                : each < end
                                    ? first_own + each - begin
                                    : first_own + result.own_count + place_in(result.after, each);
    result.own_column.push_back(static_cast<std::int32_t>(number));
  }
  return result;
}

DistributedMatrix::DistributedMatrix(const Group& group, const Columns& columns,
                                     const arrays::AnySparseMatrix& rows) {
  const runtime::StreamRef stream = stream_of(group);
  const Blocks& blocks = columns.blocks;
  const int rank = group.rank();
  auto state = std::make_shared<State>(
      State{.group = group,
            .blocks = blocks,
            .rows = rows,
            .before = static_cast<std::int64_t>(columns.before.size()),
            .own = columns.own_count,
            .needed = arrays::zeros(rows.dtype(), Extents{columns.count()}, stream)});
  state->fetched = columns.count() - columns.own_count;
  std::vector<std::int64_t> wanted = columns.before;
  wanted.insert(wanted.end(), columns.after.begin(), columns.after.end());
  // from each rank a section of what is fetched
  for (std::size_t i = 0; i < wanted.size();) {
    const int owner = blocks.rank_of(wanted[i]);
    const std::size_t begin = i;
    while (i < wanted.size() && wanted[i] < blocks.end(owner)) {
      ++i;
    }
    const std::int64_t shift = owner > rank ? state->own : 0;
    state->received.push_back(
        {owner, static_cast<std::int64_t>(begin) + shift, static_cast<std::int64_t>(i) + shift});
  }
  // what the others want of this one
  const auto all_wanted = group.all_gather(bytes_of(wanted));
  std::vector<std::int64_t> places;
  for (int other = 0; other < group.size(); ++other) {
    const auto begin = static_cast<std::int64_t>(places.size());
    for (const std::int64_t each :
         values_of<std::int64_t>(all_wanted[static_cast<std::size_t>(other)])) {
      if (blocks.rank_of(each) == rank) {
        places.push_back(each - blocks.begin(rank));
      }
    }
    if (static_cast<std::int64_t>(places.size()) > begin) {
      state->sent.push_back({other, begin, static_cast<std::int64_t>(places.size())});
    }
  }
  if (!places.empty()) {
    state->sent_places.emplace(arrays::Array<std::int64_t>(places, stream).any());
    state->message.emplace(rows.dtype(), state->sent_places->shape(), stream);
  }
  open_rounds(*state, columns);
  state_ = std::move(state);
}

void DistributedMatrix::open_rounds(State& state, const Columns& columns) {
  const std::size_t bytes = arrays::size_bytes(state.rows.dtype());
  std::map<int, Partner> partners;
  for (const Section& each : state.sent) {
    partners[each.rank].sent_bytes = static_cast<std::size_t>(each.end - each.begin) * bytes;
  }
  for (const Section& each : state.received) {
    partners[each.rank].received_bytes = static_cast<std::size_t>(each.end - each.begin) * bytes;
  }
  std::vector<Partner> all;
  for (auto& [rank, partner] : partners) {
    partner.rank = rank;
    all.push_back(partner);
    state.partners.push_back(rank);
  }
  state.rounds = distributed::open_rounds(state.group, all, "product");
  if (!state.rounds || state.rows.entries() == 0) {
    return;
  }
  const auto [begin, end] =
      inner_rows(state.own, columns.own_row, columns.own_column, state.before);
  for (const auto& [first, last] :
       {std::pair{std::int64_t{0}, begin}, std::pair{begin, end}, std::pair{end, state.own}}) {
    state.ranges.push_back(range_of(state.rows, first, last));
  }
}

const Group& DistributedMatrix::group() const noexcept {
  return state_->group;
}
const Blocks& DistributedMatrix::blocks() const noexcept {
  return state_->blocks;
}
arrays::DType DistributedMatrix::dtype() const noexcept {
  return state_->rows.dtype();
}
const arrays::AnySparseMatrix& DistributedMatrix::local() const noexcept {
  return state_->rows;
}
std::int64_t DistributedMatrix::fetched() const noexcept {
  return state_->fetched;
}

AnyArray DistributedMatrix::diagonal() const {
  const arrays::AnySparseMatrix rows = state_->rows.in_format(arrays::SparseFormat::csr);
  const AnyArray column =
      arrays::Expression(rows.column()) - static_cast<std::int32_t>(state_->before);
  return arrays::AnySparseMatrix(rows.rows(), rows.first(), column, rows.value()).diagonal();
}

void DistributedMatrix::multiply_into(runtime::StreamRef stream, const AnyArray& x,
                                      const AnyArray& y) const {
  const arrays::StreamScope scope(stream);
  const State& state = *state_;
  if (state.message) {
    state.message->assign(arrays::take(x, *state.sent_places, 0));
  }
  if (state.rounds) {
    multiply_in_rounds(stream, x, y);
    return;
  }
  detail::Messages messages;
  for (const Section& each : state.sent) {
    messages.send(each.rank, detail::bytes_of_places(*state.message, each.begin, each.end, stream));
  }
  for (const Section& each : state.received) {
    messages.receive(each.rank,
                     detail::bytes_of_places(state.needed, each.begin, each.end, stream));
  }
  state.needed(Slice{state.before, state.before + state.own}).assign(x);
  messages.exchange(state.group, stream, "product");
  if (state.rows.entries() == 0) {
    y.assign(0);
    return;
  }
  multiply_rows(stream, state.rows, state.needed, y);
}

// Rows that need own elements alone are multiplied while the others' elements travel.
void DistributedMatrix::multiply_in_rounds(runtime::StreamRef stream, const AnyArray& x,
                                           const AnyArray& y) const {
  const State& state = *state_;
  const auto partner_of = [&](const Section& each) {
    return static_cast<std::size_t>(
        std::lower_bound(state.partners.begin(), state.partners.end(), each.rank) -
        state.partners.begin());
  };
  const auto multiply = [&](const RowRange& range) {
    if (range.begin < range.end) {
      multiply_rows(stream, range.rows, state.needed, y(Slice{range.begin, range.end}));
    }
  };
  for (const Section& each : state.sent) {
    state.rounds->write(stream, partner_of(each),
                        detail::bytes_of_places(*state.message, each.begin, each.end, stream));
  }
  state.rounds->send(stream);
  state.needed(Slice{state.before, state.before + state.own}).assign(x);
  if (!state.ranges.empty()) {
    multiply(state.ranges[1]);
  }
  state.rounds->receive(stream);
  for (const Section& each : state.received) {
    state.rounds->read(stream, partner_of(each),
                       detail::bytes_of_places(state.needed, each.begin, each.end, stream));
  }
  if (state.ranges.empty()) {
    y.assign(0);
    return;
  }
  multiply(state.ranges[0]);
  multiply(state.ranges[2]);
}

arrays::LinearOperator DistributedMatrix::linear_operator() const {
  return {state_->own, dtype(),
          [self = *this](runtime::StreamRef stream, const AnyArray& x, const AnyArray& y) {
            self.multiply_into(stream, x, y);
          }};
}

arrays::Solution conjugate_gradients(const DistributedMatrix& a, const DistributedArray& b,
                                     arrays::SolveOptions options) {
  if (b.shape() != Extents{a.blocks().length()} || b.dtype() != a.dtype()) {
    throw InvalidInput(
        "distributed.matrix.shape",
        fmt::format("a right-hand side of {} of shape {} for a matrix of {} with {} "
                    "rows: give a vector of as many elements of that type",
                    name(b.dtype()), to_string(b.shape()), name(a.dtype()), a.blocks().length()));
  }
  if (!options.product) {
    options.product = inner_product(a.group(), a.blocks());
  }
  return arrays::conjugate_gradients(a.linear_operator(), b.local(), options);
}

}  // namespace rtcg::distributed
