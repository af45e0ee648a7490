#include "rtcg/arrays/sort/radix_blocks.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/snippet.h"
#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/arrays/scan/words.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/support/gpu_limits.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;
using cgen::Intrinsic;

constexpr int radix_warps = radix_threads / warp_size;

Expr int_of(int value) {
  return cgen::literal(value, cgen::i32);
}
Expr u32_of(std::uint32_t value) {
  return cgen::literal(value, cgen::u32);
}

cgen::Type word_type(int bytes) {
  switch (bytes) {
    case 1:
      return cgen::u8;
    case 2:
      return cgen::u16;
    case 4:
      return cgen::u32;
    default:
      return cgen::u64;
  }
}

/// The code of a block that puts a tile of keys in the order of a digit.
class TileCode {
 public:
  explicit TileCode(const RadixBlocks& blocks)
      : blocks_(blocks),
        key_type_(word_type(static_cast<int>(size_bytes(blocks.key)))),
        value_type_(word_type(blocks.value_bytes)),
        has_values_(blocks.value_bytes != 0) {
    keys_ = pointer(cgen::const_(key_type_), "keys");
    sorted_keys_ = pointer(key_type_, "sorted_keys");
    if (has_values_) {
      values_ = pointer(cgen::const_(value_type_), "values");
      sorted_values_ = pointer(value_type_, "sorted_values");
    }
  }

  cgen::Module pass() {
    const cgen::Type count_type = blocks_.is_wide ? cgen::i64 : cgen::i32;
    const cgen::Type word = blocks_.is_wide ? cgen::u64 : cgen::u32;
    const Expr counts = pointer(cgen::const_(count_type), "counts_of_digits");
    const Expr published = pointer(cgen::volatile_(word), "published");
    const Expr cleared = pointer(word, "cleared");
    const Expr drawn = pointer(cgen::u32, "drawn");
    const Expr count = signature_.add(cgen::i64, "count");
    shift_ = signature_.add(cgen::i32, "shift");
    mask_ = signature_.add(cgen::i32, "mask");
    declare_places();

    const Expr first_of_digit = shared_part(count_type, "first_of_digit", radix_digits);
    const Expr tile_number = shared_part(cgen::u32, "tile_number", 1);
    body_ << if_(equal(thread_, int_of(0)),
                 assign(tile_number[int_of(0)],
                        call(Intrinsic::atomic_add, {address_of(drawn[int_of(0)]), u32_of(1)})));
    clear_counts(body_);
    body_ << cgen::barrier();
    const Expr tile = constant(cgen::i64, "tile", cast(cgen::i64, tile_number[int_of(0)]));
    const Expr first =
        constant(cgen::i64, "first", tile * cgen::literal(blocks_.tile(), cgen::i64));
    const Expr rest = count - first;
    valid_ = constant(cgen::i32, "valid",
                      select(rest < cgen::literal(blocks_.tile(), cgen::i64), cast(cgen::i32, rest),
                             int_of(static_cast<int>(blocks_.tile()))));
    load_keys(body_, first);
    count_keys(body_);
    const Expr total = sum_of_warps(body_);

    // published early: later tiles wait for it
    const int status_bit = blocks_.is_wide ? 62 : 30;
    const auto status = [&](int number) {
      return cast(word, int_of(number)) << int_of(status_bit);
    };
    const Expr own = constant(cgen::i64, "own", tile * int_of(radix_digits) + thread_);
    // kept in shared memory: registers are scarce while keys are ranked
    BlockBuilder first_tile;
    first_tile << assign(first_of_digit[thread_], lower_digits(first_tile, counts, count_type));
    first_tile << assign(published[own], status(2) | cast(word, first_of_digit[thread_] + total));
    body_ << if_(equal(tile, cgen::literal(0, cgen::i64)), first_tile)
                 .else_(assign(published[own], status(1) | cast(word, total)));
    body_ << assign(cleared[own], cgen::literal(0, word));
    const Expr start = scan_digits(body_, total);
    order_keys(body_);
    if (has_values_) {  // in the registers that the keys have left, while the block looks back
      load_values(body_, first);
    }

    const Expr before = body_.add(cgen::declare(word, "keys_before", cgen::literal(0, word)));
    BlockBuilder back;
    const Expr other = back.add(cgen::declare(cgen::i64, "other", own - int_of(radix_digits)));
    const Expr found = back.add(cgen::declare(word, "found"));
    BlockBuilder step;
    step << cgen::do_while_(Expr(assign(found, published[other])),
                            equal(found >> int_of(status_bit), cgen::literal(0, word)));
    step << add_assign(before, found & (status(1) - cgen::literal(1, word)));
    step << cgen::subtract_assign(other, int_of(radix_digits));
    back << cgen::do_while_(step, equal(found >> int_of(status_bit), cgen::literal(1, word)));
    back << assign(published[own], status(2) | (before + cast(word, total)));
    body_ << if_(tile > cgen::literal(0, cgen::i64), back)
                 .else_(assign(before, cast(word, first_of_digit[thread_])));
    body_ << assign(first_of_digit[thread_], cast(count_type, before) - cast(count_type, start));
    body_ << cgen::barrier();

    // neighbours of a digit are neighbours in memory
    const Expr places =
        has_values_ ? body_.add(cgen::declare(items_of(count_type), "place")) : Expr(0);
    whole_or_part(body_, [&](BlockBuilder& body, bool is_whole) {
      each_item(body, [&](const Expr& k, BlockBuilder& loop) {
        const Expr at = declare_at(loop, k);
        const Expr moved =
            loop.add(cgen::declare(cgen::const_(key_type_), "moved", sorted_keys_in_tile_[at]));
        const Expr place =
            loop.add(cgen::declare(cgen::const_(count_type), "target",
                                   first_of_digit[digit_of(moved)] + cast(count_type, at)));
        if (has_values_) {
          loop << assign(places[k], place);
        }
        put(loop, assign(sorted_keys_[place], moved), at, is_whole);
      });
    });
    if (has_values_) {
      body_ << cgen::barrier();
      put_values(body_);
      body_ << cgen::barrier();
      whole_or_part(body_, [&](BlockBuilder& body, bool is_whole) {
        each_item(body, [&](const Expr& k, BlockBuilder& loop) {
          const Expr at = declare_at(loop, k);
          put(loop, assign(sorted_values_[places[k]], sorted_values_in_tile_[at]), at, is_whole);
        });
      });
    }
    return finish();
  }

  cgen::Module rows() {
    const Expr length = signature_.add(cgen::i32, "length");
    const Expr begin_bit = signature_.add(cgen::i32, "begin_bit");
    const Expr end_bit = signature_.add(cgen::i32, "end_bit");
    declare_places();
    valid_ = length;
    const Expr first =
        constant(cgen::i64, "first", cast(cgen::i64, cgen::block_idx_x) * cast(cgen::i64, length));
    load_keys(body_, first);
    if (has_values_) {
      load_values(body_, first);
    }
    BlockBuilder pass;
    const Expr shift = cgen::variable("shift", cgen::i32);
    shift_ = shift;
    const Expr bits = end_bit - shift;
    mask_ = pass.add(cgen::declare(
        cgen::const_(cgen::i32), "mask",
        (int_of(1) << select(bits < int_of(radix_bits), bits, int_of(radix_bits))) - int_of(1)));
    clear_counts(pass);
    pass << cgen::barrier();
    count_keys(pass);
    scan_digits(pass, sum_of_warps(pass));
    order_keys(pass);
    pass << cgen::barrier();
    read_back(pass, key_, sorted_keys_in_tile_);
    if (has_values_) {
      pass << cgen::barrier();
      put_values(pass);
      pass << cgen::barrier();
      read_back(pass, value_, sorted_values_in_tile_);
    }
    pass << cgen::barrier();
    body_ << cgen::counted_loop(cgen::i32, "shift", begin_bit, end_bit, pass,
                                {.step = int_of(radix_bits)});
    store(body_, key_, sorted_keys_, first);
    if (has_values_) {
      store(body_, value_, sorted_values_, first);
    }
    return finish();
  }

 private:
  Expr pointer(const cgen::Type& element, const char* name) {
    return signature_.add_pointer(cgen::in_space(cgen::AddressSpace::global, element), name);
  }
  Expr constant(const cgen::Type& type, const char* name, const Expr& value) {
    return body_.add(cgen::declare(cgen::const_(type), name, value));
  }
  /// The next part of the block's memory, aligned as its elements want it.
  Expr shared_part(const cgen::Type& element, const char* name, int length) {
    const cgen::Type pointer = cgen::pointer_to(element);
    const auto element_bytes =
        static_cast<std::size_t>(cgen::size_bytes(*cgen::scalar_kind(element)));
    shared_bytes_ += (element_bytes - shared_bytes_ % element_bytes) % element_bytes;
    const Expr part = body_.add(cgen::declare(
        cgen::const_(pointer), name,
        cast(pointer, shared_bytes_ == 0 ? memory_ : memory_ + static_cast<int>(shared_bytes_))));
    shared_bytes_ += static_cast<std::size_t>(length) * element_bytes;
    return part;
  }
  [[nodiscard]] cgen::Type items_of(const cgen::Type& type) const {
    return cgen::array_of(type, int_of(blocks_.items));
  }
  /// A loop over the items of a thread, of which nothing is left in the machine code.
  void each_item(BlockBuilder& body,
                 const std::function<void(const Expr&, BlockBuilder&)>& fill) const {
    body << cgen::for_(cgen::i32, "k", int_of(0), int_of(blocks_.items), fill, {.unroll = 0});
  }
  /// The place in the tile of an item when a warp holds neighbours.
  [[nodiscard]] Expr place_of(const Expr& k) const { return begin_ + k * int_of(warp_size); }

  void declare_places() {
    thread_ = constant(cgen::i32, "thread", cast(cgen::i32, cgen::thread_idx_x));
    lane_ = constant(cgen::i32, "lane", thread_ % int_of(warp_size));
    warp_ = constant(cgen::i32, "warp", thread_ / int_of(warp_size));
    begin_ = constant(cgen::i32, "begin", warp_ * int_of(warp_size * blocks_.items) + lane_);
    // keys and values take turns in the first part
    memory_ = body_.add(cgen::dynamic_shared_array(cgen::u8, "memory"));
    if (has_values_) {
      sorted_values_in_tile_ = shared_part(value_type_, "values_in_tile", 0);
    }
    sorted_keys_in_tile_ = shared_part(key_type_, "keys_in_tile", 0);
    shared_bytes_ = blocks_.tile_bytes();
    counts_ = shared_part(cgen::i32, "counts", radix_warps * radix_digits);
    warp_totals_ = shared_part(cgen::i32, "warp_totals", radix_warps);
    shift_again_ = shared_part(cgen::i32, "shift_again", 1);
    key_ = body_.add(cgen::declare(items_of(key_type_), "key"));
    if (has_values_) {
      place_in_tile_ = body_.add(cgen::declare(items_of(cgen::i16), "place_in_tile"));
      value_ = body_.add(cgen::declare(items_of(value_type_), "value"));
    }
  }

  /// The code for a tile with all of its keys, and for one with fewer.
  void whole_or_part(BlockBuilder& body,
                     const std::function<void(BlockBuilder&, bool is_whole)>& fill) const {
    BlockBuilder whole;
    BlockBuilder part;
    fill(whole, true);
    fill(part, false);
    body << if_(equal(valid_, int_of(static_cast<int>(blocks_.tile()))), whole).else_(part);
  }
  [[nodiscard]] Expr declare_at(BlockBuilder& loop, const Expr& k) const {
    return loop.add(
        cgen::declare(cgen::const_(cgen::i32), "at", k * int_of(radix_threads) + thread_));
  }
  void put(BlockBuilder& loop, const Expr& assignment, const Expr& at, bool is_whole) const {
    if (is_whole) {
      loop << assignment;
    } else {
      loop << if_(at < valid_, assignment);
    }
  }

  /// What comes after the keys is the greatest there is, so that it stays after them.
  void load_keys(BlockBuilder& body, const Expr& first) const {
    whole_or_part(body, [&](BlockBuilder& part, bool is_whole) {
      each_item(part, [&](const Expr& k, BlockBuilder& loop) {
        const Expr key = keys_[first + place_of(k)];
        const Expr last = cgen::literal(last_bits(blocks_.key, blocks_.is_descending), key_type_);
        loop << assign(key_[k], is_whole ? key : select(place_of(k) < valid_, key, last));
      });
    });
  }
  void load_values(BlockBuilder& body, const Expr& first) const {
    each_item(body, [&](const Expr& k, BlockBuilder& loop) {
      loop << if_(place_of(k) < valid_, assign(value_[k], values_[first + place_of(k)]));
    });
  }
  void store(BlockBuilder& body, const Expr& from, const Expr& to, const Expr& first) const {
    each_item(body, [&](const Expr& k, BlockBuilder& loop) {
      loop << if_(place_of(k) < valid_, assign(to[first + place_of(k)], from[k]));
    });
  }

  void clear_counts(BlockBuilder& body) const {
    body << if_(equal(thread_, int_of(0)), assign(shift_again_[int_of(0)], shift_));
    body << cgen::for_(
        cgen::i32, "c", thread_, int_of(radix_warps * radix_digits),
        [&](const Expr& c, BlockBuilder& loop) { loop << assign(counts_[c], int_of(0)); },
        {.step = int_of(radix_threads)});
  }

  [[nodiscard]] Expr digit_of(const Expr& key) const { return digit_of(key, shift_); }
  [[nodiscard]] Expr digit_of(const Expr& key, const Expr& shift) const {
    const Expr ordered = cgen::call("order_of_bits", {key}, key_type_);
    return cast(cgen::i32, ordered >> shift) & mask_;
  }
  [[nodiscard]] Expr count_of(const Expr& warp, const Expr& digit) const {
    return counts_[warp * int_of(radix_digits) + digit];
  }

  /// Of each warp, the keys of each digit.
  void count_keys(BlockBuilder& body) const {
    each_item(body, [&](const Expr& k, BlockBuilder& loop) {
      loop << call(Intrinsic::atomic_add,
                   {address_of(count_of(warp_, digit_of(key_[k]))), int_of(1)});
    });
    body << cgen::barrier();
  }

  /// Puts the keys where their digit wants them in the tile, from where those of the warp begin.
  /// Lanes with equal digits find each other by a vote on each bit.
  ///
  /// The shift is read again, and the bits of f64 get a zero that compilers cannot know: otherwise
  /// they keep the digits of all keys that were counted, or their bits in order, for which
  /// registers do not suffice. Those of f32 are faster with few spilled bytes: 2^28 keys take 5.3
  /// ms on an H200, with the zero 5.6.
  void order_keys(BlockBuilder& body) const {
    const Expr shift =
        body.add(cgen::declare(cgen::const_(cgen::i32), "shift_of_ranks", shift_again_[int_of(0)]));
    const bool is_double = blocks_.key == DType::f64;
    const Expr zero = is_double ? body.add(cgen::declare(cgen::const_(key_type_), "zero",
                                                         cast(key_type_, shift - shift_)))
                                : Expr(0);
    each_item(body, [&](const Expr& k, BlockBuilder& loop) {
      const Expr key = is_double ? key_[k] ^ zero : key_[k];
      const Expr digit =
          loop.add(cgen::declare(cgen::const_(cgen::i32), "digit", digit_of(key, shift)));
      const Expr peers = loop.add(cgen::declare(cgen::u32, "peers", u32_of(0xffffffffU)));
      for (int bit = 0; bit < radix_bits; ++bit) {
        // all bits of the word are the bit: one logical instruction drops the lanes that differ
        const Expr shifted = cast(cgen::u32, digit) << int_of(31 - bit);
        const Expr same =
            loop.add(cgen::declare(cgen::const_(cgen::i32), fmt::format("bit_{}", bit),
                                   cast(cgen::i32, shifted) >> int_of(31)));
        const Expr votes =
            loop.add(cgen::declare(cgen::const_(cgen::u32), fmt::format("votes_{}", bit),
                                   call(Intrinsic::warp_ballot, {not_equal(same, int_of(0))})));
        loop << cgen::compound_assign(cgen::BinaryOp::bit_and, peers,
                                      ~(votes ^ cast(cgen::u32, same)));
      }
      const Expr before = loop.add(
          cgen::declare(cgen::const_(cgen::i32), "before",
                        call(Intrinsic::popcount, {peers & ((u32_of(1) << lane_) - u32_of(1))})));
      const Expr known =
          loop.add(cgen::declare(cgen::const_(cgen::i32), "known", count_of(warp_, digit)));
      loop << cgen::barrier(cgen::BarrierScope::warp);
      loop << if_(equal(before, int_of(0)),
                  assign(count_of(warp_, digit), known + call(Intrinsic::popcount, {peers})));
      loop << cgen::barrier(cgen::BarrierScope::warp);
      loop << assign(sorted_keys_in_tile_[known + before], key_[k]);
      if (has_values_) {
        loop << assign(place_in_tile_[k], cast(cgen::i16, known + before));
      }
    });
  }

  /// Of each thread's digit: the counts of the warps become those of the warps before, and their
  /// sum is given.
  [[nodiscard]] Expr sum_of_warps(BlockBuilder& body) const {
    const Expr total = body.add(cgen::declare(cgen::i32, "total", int_of(0)));
    body << cgen::for_(cgen::i32, "w", int_of(0), int_of(radix_warps),
                       [&](const Expr& w, BlockBuilder& loop) {
                         const Expr own = loop.add(cgen::declare(cgen::const_(cgen::i32), "of_warp",
                                                                 count_of(w, thread_)));
                         loop << assign(count_of(w, thread_), total) << add_assign(total, own);
                       },
                       {.unroll = 0});
    return total;
  }

  /// Adds to the value of each lane those of the lanes before, in groups of so many.
  void scan_lanes(BlockBuilder& body, const Expr& value, int lanes) const {
    const cgen::Type type = cgen::type_of(value);
    for (int distance = 1; distance < lanes; distance *= 2) {
      BlockBuilder step;
      const Expr below = step.add(cgen::declare(
          cgen::const_(type), "below", call(Intrinsic::shuffle_up, {value, int_of(distance)})));
      step << add_assign(value, select(lane_ >= int_of(distance), below, cgen::literal(0, type)));
      body << step.block();
    }
  }

  /// How many keys have lower digits than the thread's. Each warp adds up all counts: the other
  /// warps of a block need not come here.
  [[nodiscard]] Expr lower_digits(BlockBuilder& body, const Expr& counts,
                                  const cgen::Type& type) const {
    const Expr of_warps = body.add(cgen::declare(type, "of_warps_below", cgen::literal(0, type)));
    body << cgen::for_(cgen::i32, "w", int_of(0), int_of(radix_warps),
                       [&](const Expr& w, BlockBuilder& loop) {
                         const Expr count = counts[w * int_of(warp_size) + lane_];
                         loop << add_assign(of_warps,
                                            select(w < warp_, count, cgen::literal(0, type)));
                       },
                       {.unroll = 0});
    const Expr own = body.add(cgen::declare(cgen::const_(type), "of_digit", counts[thread_]));
    const Expr of_lanes = body.add(cgen::declare(type, "of_lanes", own));
    scan_lanes(body, of_lanes, warp_size);
    scan_lanes(body, of_warps, warp_size);
    return call(Intrinsic::shuffle, {of_warps, int_of(warp_size - 1)}) + of_lanes - own;
  }

  /// Adds to the counts where the thread's digit begins in the tile, and gives that.
  Expr scan_digits(BlockBuilder& body, const Expr& total) const {
    const Expr sum = body.add(cgen::declare(cgen::i32, "sum", total));
    scan_lanes(body, sum, warp_size);
    body << if_(equal(lane_, int_of(warp_size - 1)), assign(warp_totals_[warp_], sum));
    body << cgen::barrier();
    const Expr of_warps =
        body.add(cgen::declare(cgen::i32, "of_warps", warp_totals_[lane_ % int_of(radix_warps)]));
    scan_lanes(body, of_warps, radix_warps);
    const Expr of_warps_before = body.add(
        cgen::declare(cgen::const_(cgen::i32), "of_warps_before",
                      call(Intrinsic::shuffle,
                           {of_warps, select(warp_ > int_of(0), warp_ - int_of(1), int_of(0))})));
    const Expr start = body.add(
        cgen::declare(cgen::const_(cgen::i32), "start",
                      sum - total + select(warp_ > int_of(0), of_warps_before, int_of(0))));
    body << cgen::for_(
        cgen::i32, "w", int_of(0), int_of(radix_warps),
        [&](const Expr& w, BlockBuilder& loop) { loop << add_assign(count_of(w, thread_), start); },
        {.unroll = 0});
    body << cgen::barrier();
    return start;
  }

  void put_values(BlockBuilder& body) const {
    each_item(body, [&](const Expr& k, BlockBuilder& loop) {
      loop << assign(sorted_values_in_tile_[place_in_tile_[k]], value_[k]);
    });
  }
  void read_back(BlockBuilder& body, const Expr& items, const Expr& shared) const {
    each_item(body, [&](const Expr& k, BlockBuilder& loop) {
      loop << assign(items[k],
                     cast(without_qualifiers(cgen::type_of(items[k])), shared[place_of(k)]));
    });
  }

  cgen::Module finish() const {
    const std::string word = c_name(*word_of(blocks_.key));
    const cgen::RawStatement order{
        fmt::format(
            "static __device__ __forceinline__ {0} order_of_bits(const {0} x) {{\n  {1}\n}}", word,
            order_of_bits(blocks_.key, blocks_.is_descending)),
        {"order_of_bits"},
        {}};
    return finish_kernel(cgen::Dialect::cuda, signature_, body_, {cgen::Statement(order)},
                         {radix_threads, blocks_.least_blocks()});
  }

  RadixBlocks blocks_;
  cgen::Type key_type_;
  cgen::Type value_type_;
  bool has_values_;
  KernelSignature signature_{true, 0};
  BlockBuilder body_;
  Expr keys_ = 0, sorted_keys_ = 0, values_ = 0, sorted_values_ = 0;
  Expr shift_ = 0, mask_ = 0, valid_ = 0;
  Expr thread_ = 0, lane_ = 0, warp_ = 0, begin_ = 0;
  Expr sorted_keys_in_tile_ = 0, sorted_values_in_tile_ = 0, counts_ = 0, warp_totals_ = 0;
  Expr key_ = 0, value_ = 0, place_in_tile_ = 0;
  Expr memory_ = 0, shift_again_ = 0;
  std::size_t shared_bytes_ = 0;  ///< of the parts of the memory that were given
};

}  // namespace

std::string RadixBlocks::name(const char* what) const {
  return fmt::format("{}.{}{}.{}.{}{}", what, arrays::name(key), is_descending ? ".down" : "",
                     value_bytes, items, is_wide ? ".wide" : "");
}

cgen::Module make_radix_pass(const RadixBlocks& blocks) {
  return TileCode(blocks).pass();
}

cgen::Module make_row_sort(const RadixBlocks& blocks) {
  return TileCode(blocks).rows();
}

}  // namespace rtcg::arrays::detail
