#include "rtcg/arrays/fft/fft_kernel.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/arrays/fft/butterfly.h"
#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/cgen/support/integer.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;

constexpr int most_threads = 256;
constexpr int whole_warp = 32;

Expr int_of(int value) {
  return {value};
}

bool is_number(const Expr& value, std::uint64_t number) {
  const auto* literal = get_if<cgen::IntLiteral>(value);
  return literal != nullptr && literal->magnitude == number;
}
Expr sum(const Expr& a, const Expr& b) {
  return is_number(a, 0) ? b : (is_number(b, 0) ? a : a + b);
}
Expr product(const Expr& a, const Expr& b) {
  return is_number(a, 0) || is_number(b, 1) ? a : (is_number(b, 0) || is_number(a, 1) ? b : a * b);
}
Expr plus(const Expr& value, int more) {
  return sum(value, int_of(more));
}
Expr times(const Expr& value, int factor) {
  return product(value, int_of(factor));
}

bool is_on_host(const FftForm& form) {
  return form.dialect == cgen::Dialect::c;
}

/// After this number of elements of shared memory one is left out: elements that a warp reads or
/// writes in steps of a power of two are then in different banks.
int elements_per_gap(const FftForm& form) {
  return 128 / static_cast<int>(size_bytes(form.dtype));
}

int tile_elements(const FftForm& form) {
  const int elements = form.length() * form.columns;
  return is_on_host(form) ? elements : elements + elements / elements_per_gap(form);
}

/// Arrays of complex numbers. On GPUs they are vectors of two, and one instruction moves both
/// parts; on the host they are numbers that follow each other, and the compiler vectorises over
/// neighbours.
class Memory {
 public:
  Memory(const FftForm& form, const cgen::Type& real)
      : has_vectors_(!is_on_host(form)),
        real_(real),
        element_(has_vectors_ ? cgen::vector_of(real, 2) : real) {}

  [[nodiscard]] const cgen::Type& element() const { return element_; }
  /// A table, which no kernel writes.
  Expr add_table(KernelSignature& signature, const char* name) const {
    return signature.add(
        cgen::restrict_pointer_to(
            cgen::in_space(cgen::AddressSpace::global, cgen::const_(element_))),
        name);
  }
  Expr add_parameter(KernelSignature& signature, const char* name, bool is_written) const {
    return signature.add_pointer(
        cgen::in_space(cgen::AddressSpace::global, is_written ? element_ : cgen::const_(element_)),
        name);
  }
  /// Reads the element into variables whose names begin with `name`.
  ComplexExpr load(const Expr& array, const Expr& place, const std::string& name,
                   BlockBuilder& body, bool is_swapped = false) const {
    Expr first = 0;
    Expr second = 0;
    if (has_vectors_) {
      const Expr both = body.add_constant(element_, name, array[place]);
      first = Expr(cgen::Member{both, "x"});
      second = Expr(cgen::Member{both, "y"});
    } else {
      first =
          body.add_constant(real_, name + (is_swapped ? "_im" : "_re"), array[int_of(2) * place]);
      second = body.add_constant(real_, name + (is_swapped ? "_re" : "_im"),
                                 array[int_of(2) * place + int_of(1)]);
    }
    return is_swapped ? ComplexExpr{second, first} : ComplexExpr{first, second};
  }
  void store(const Expr& array, const Expr& place, const ComplexExpr& value, BlockBuilder& body,
             bool is_swapped = false) const {
    const Expr& first = is_swapped ? value.im : value.re;
    const Expr& second = is_swapped ? value.re : value.im;
    if (has_vectors_) {
      body << assign(array[place], cgen::make_vector(element_, {first, second}));
    } else {
      body << assign(array[int_of(2) * place], first)
           << assign(array[int_of(2) * place + int_of(1)], second);
    }
  }

 private:
  bool has_vectors_;
  cgen::Type real_;
  cgen::Type element_;
};

/// One of the passes of a block: butterflies of `radix` values, of which `stride` interleave.
struct Pass {
  int radix = 1;
  int stride = 1;        ///< the product of the radices before
  int first_factor = 0;  ///< where its factors begin in their table
  bool is_first = false;
  bool is_last = false;
};

class LaunchCode {
 public:
  explicit LaunchCode(const FftForm& form)
      : form_(form),
        length_(form.length()),
        threads_(form.threads()),
        real_(real_of(form.dtype) == DType::f32 ? cgen::f32 : cgen::f64),
        memory_(form, real_),
        signature_(form.is_wide, 0) {
    int stride = 1;
    int factors = 0;
    for (const int radix : form.radices) {
      passes_.push_back({radix, stride, factors, stride == 1, stride * radix == length_});
      factors += stride == 1 ? 0 : stride * (radix - 1);
      stride *= radix;
    }
  }

  cgen::Module make() {
    declare_parameters();
    declare_places();
    for (std::size_t p = 0; p < passes_.size(); ++p) {
      const Pass& pass = passes_[p];
      if (p > 0 && !is_on_host(form_)) {
        body_ << cgen::barrier();
      }
      if (!pass.is_first && !pass.is_last && !is_on_host(form_)) {
        exchange(pass);
        continue;
      }
      const bool along_rows = pass.is_first  ? form_.reads_rows
                              : pass.is_last ? form_.writes_rows
                                             : is_row_major();
      each_unit(along_rows, pass, [&](const Unit& unit, BlockBuilder& body) {
        // on the host passes take turns between two tiles
        run_unit(pass, unit, p % 2, body);
      });
    }
    return finish_kernel(form_.dialect, signature_, body_, {}, {threads_, 0});
  }

 private:
  /// A butterfly of a column: number group * stride + lane.
  struct Unit {
    Expr group = 0;
    Expr lane = 0;
    Expr column = 0;
  };
  /// Where a column is in memory.
  struct Place {
    Expr in = 0;
    Expr out = 0;
    Expr power = 0;  ///< of the root that element 1 is multiplied with
  };
  using Fill = std::function<void(const Unit&, BlockBuilder&)>;

  void declare_parameters() {
    in_ = memory_.add_parameter(signature_, "in", false);
    out_ = memory_.add_parameter(signature_, "out", true);
    if (passes_.size() > 1) {
      factors_ = memory_.add_table(signature_, "factors");
    }
    if (form_.has_twiddles) {
      fine_ = memory_.add_table(signature_, "fine");
      coarse_ = memory_.add_table(signature_, "coarse");
      fine_bits_ = signature_.add(cgen::i32, "fine_bits");
    }
    if (form_.has_tail) {
      columns_ = signature_.add_index_parameter("columns");
    }
    if (!form_.reads_rows) {
      read_step_ = signature_.add_index_parameter("read_step");
    }
    if (!form_.writes_rows) {
      write_step_ = signature_.add_index_parameter("write_step");
    }
    if (form_.has_twiddles && form_.has_inner) {
      inner_ = signature_.add_index_parameter("inner");
    }
    factor_ = signature_.add(real_, "factor");
  }

  [[nodiscard]] Expr index(std::int64_t value) const { return signature_.index(value); }
  [[nodiscard]] Expr as_index(const Expr& value) const {
    const auto* literal = get_if<cgen::IntLiteral>(value);
    return !form_.is_wide       ? value
           : literal != nullptr ? index(static_cast<std::int64_t>(literal->magnitude))
                                : cast(signature_.index_type(), value);
  }

  /// Whether the elements of a column follow each other in a tile; otherwise those of all columns
  /// with one index do.
  [[nodiscard]] bool is_row_major() const { return form_.reads_rows; }

  void declare_places() {
    if (is_on_host(form_)) {
      const std::size_t tiles = std::min<std::size_t>(passes_.size() - 1, 2);
      for (std::size_t t = 0; t < tiles; ++t) {
        const auto tile = [&](const char* part) {
          return body_.add_array(real_, fmt::format("tile{}_{}", t, part), tile_elements(form_));
        };
        tiles_.push_back({tile("re"), tile("im")});
      }
    } else {
      thread_ = body_.add_constant(cgen::i32, "thread", cast(cgen::i32, cgen::thread_idx_x));
      if (passes_.size() > 1) {
        tile_ = body_.add(
            cgen::shared_array(memory_.element(), "tile", {int_of(tile_elements(form_))}));
      }
    }
    first_ = signature_.declare_index(
        "first", cast(signature_.index_type(), cgen::block_idx_x) * index(form_.columns), body_);
    if (form_.is_even) {
      first_place_ = place_of_column(first_, true, true, body_);
    }
  }

  [[nodiscard]] Place place_of_column(const Expr& column, bool reads, bool writes,
                                      BlockBuilder& body) const {
    const auto declare = [&](const char* name, const Expr& value) {
      return signature_.declare_index(name, value, body);
    };
    Place place;
    if (form_.reads_rows) {
      place.in = declare("begin", column * index(length_));
      place.out = place.in;
      return place;
    }
    if (form_.writes_rows && !reads) {
      place.out = declare("begin_out", column * index(length_));
      return place;
    }
    const Expr within = declare("within", column % read_step_);
    const Expr begin = declare("begin", (column - within) * index(length_));
    const Expr part = form_.has_twiddles || (writes && !form_.writes_rows)
                          ? declare("part", within % write_step_)
                          : Expr(0);
    if (reads) {
      place.in = declare("begin_in", begin + within);
      if (form_.has_twiddles) {
        place.power = form_.has_inner ? declare("power", part / inner_) : part;
      }
    }
    if (writes) {
      place.out =
          declare("begin_out", form_.writes_rows ? column * index(length_)
                                                 : begin + (within - part) * index(length_) + part);
    }
    return place;
  }
  [[nodiscard]] Place place_of(const Pass& pass, const Unit& unit, BlockBuilder& body) const {
    const Expr column = as_index(unit.column);
    if (form_.is_even) {
      return {sum(first_place_.in, column),
              sum(first_place_.out, form_.writes_rows ? product(column, index(length_)) : column),
              form_.has_inner ? first_place_.power : sum(first_place_.power, column)};
    }
    Expr number =
        is_number(column, 0) ? first_ : signature_.declare_index("number", first_ + column, body);
    if (form_.has_tail) {
      number = signature_.declare_index(
          "existing", select(number < columns_, number, columns_ - index(1)), body);
    }
    return place_of_column(number, pass.is_first, pass.is_last, body);
  }

  /// Runs the code for each butterfly of a pass in each column.
  ///
  /// @param along_rows  whether neighbouring threads, or iterations, have neighbouring butterflies
  ///                    of a column, otherwise neighbouring columns
  void each_unit(bool along_rows, const Pass& pass, const Fill& fill) {
    if (is_on_host(form_)) {
      each_unit_on_host(along_rows, pass, fill);
      return;
    }
    const int units = length_ / pass.radix * form_.columns;
    BlockBuilder one;
    if (units <= threads_) {
      fill(unit_of(thread_, along_rows, pass, one), one);
      body_ << (units < threads_ ? cgen::Statement(if_(thread_ < int_of(units), one))
                                 : one.block());
      return;
    }
    body_ << cgen::for_(cgen::i32, "unit", thread_, int_of(units),
                        [&](const Expr& unit, BlockBuilder& loop) {
                          fill(unit_of(unit, along_rows, pass, loop), loop);
                        },
                        {.step = int_of(threads_)});
  }
  void each_unit_on_host(bool along_rows, const Pass& pass, const Fill& fill) {
    using Inside = std::function<void(const Expr&, BlockBuilder&)>;
    const auto loop = [](const char* name, int count, BlockBuilder& outer, const Inside& inside) {
      if (count == 1) {
        inside(int_of(0), outer);
      } else {
        outer << cgen::for_(cgen::i32, name, int_of(0), int_of(count), inside);
      }
    };
    const auto columns = [&](BlockBuilder& outer, const Inside& inside) {
      loop("column", form_.columns, outer, inside);
    };
    const auto butterflies = [&](BlockBuilder& outer,
                                 const std::function<void(const Unit&, BlockBuilder&)>& inside) {
      loop("group", length_ / (pass.radix * pass.stride), outer,
           [&](const Expr& group, BlockBuilder& in_group) {
             loop("lane", pass.stride, in_group, [&](const Expr& lane, BlockBuilder& in_lane) {
               inside({group, lane, int_of(0)}, in_lane);
             });
           });
    };
    BlockBuilder loops;
    if (along_rows) {
      columns(loops, [&](const Expr& column, BlockBuilder& in_column) {
        butterflies(in_column, [&](const Unit& unit, BlockBuilder& inner) {
          fill({unit.group, unit.lane, column}, inner);
        });
      });
    } else {
      butterflies(loops, [&](const Unit& unit, BlockBuilder& in_unit) {
        columns(in_unit, [&](const Expr& column, BlockBuilder& inner) {
          fill({unit.group, unit.lane, column}, inner);
        });
      });
    }
    const bool has_loop = form_.columns > 1 || length_ > pass.radix;
    body_ << (has_loop ? loops.group() : loops.block());
  }
  [[nodiscard]] Unit unit_of(const Expr& unit, bool along_rows, const Pass& pass,
                             BlockBuilder& body) const {
    const int butterflies = length_ / pass.radix;
    const auto part = [&](const char* name, const Expr& value) {
      return body.add_constant(cgen::i32, name, value);
    };
    Unit result;
    Expr number = unit;
    if (form_.columns > 1 && butterflies == 1) {
      result.column = unit;
      return result;
    }
    if (form_.columns > 1) {
      const Expr length = int_of(along_rows ? butterflies : form_.columns);
      result.column = part("column", along_rows ? unit / length : unit % length);
      number = part("butterfly", along_rows ? unit % length : unit / length);
    }
    if (pass.is_first) {
      result.group = number;
    } else if (pass.is_last) {
      result.lane = number;
    } else {
      result.group = part("group", number / int_of(pass.stride));
      result.lane = part("lane", number % int_of(pass.stride));
    }
    return result;
  }

  /// The element that a butterfly reads as its value q.
  [[nodiscard]] Expr read_element(const Pass& pass, const Unit& unit, int q) const {
    const Expr number = sum(times(unit.group, pass.stride), unit.lane);
    return plus(number, q * (length_ / pass.radix));
  }
  /// The element that it writes as its result q.
  [[nodiscard]] Expr written_element(const Pass& pass, const Unit& unit, int q) const {
    const Expr number = sum(times(unit.group, pass.stride * pass.radix), unit.lane);
    return plus(number, q * pass.stride);
  }
  [[nodiscard]] Expr tile_place(const Expr& element, const Expr& column) const {
    if (form_.columns == 1) {
      return element;
    }
    return is_row_major() ? sum(times(column, length_), element)
                          : sum(times(element, form_.columns), column);
  }

  void run_unit(const Pass& pass, const Unit& unit, std::size_t tile, BlockBuilder& body) const {
    const Place place = pass.is_first || pass.is_last ? place_of(pass, unit, body) : Place{};
    const std::vector<ComplexExpr> values =
        pass.is_first ? read(pass, unit, place, body) : get(pass, unit, 1 - tile, body);
    const std::vector<ComplexExpr> results = emit_butterfly(values, real_, body);
    if (pass.is_last) {
      write(pass, unit, place, results, body);
    } else {
      put(pass, unit, results, tile, body);
    }
  }

  /// A pass from the tile into the same tile: all threads read before the first one writes.
  void exchange(const Pass& pass) {
    const int units = length_ / pass.radix * form_.columns;
    const bool along_rows = is_row_major();
    if (units == threads_) {
      BlockBuilder all;
      const Unit unit = unit_of(thread_, along_rows, pass, all);
      const std::vector<ComplexExpr> results = emit_butterfly(get(pass, unit, 0, all), real_, all);
      all << cgen::barrier();
      put(pass, unit, results, 0, all);
      body_ << all.block();
      return;
    }
    const int rounds = static_cast<int>(ceil_divide(units, threads_));
    BlockBuilder all;
    const Expr results = all.add_array(memory_.element(), "results", rounds * pass.radix);
    const auto each_round =
        [&](const std::function<void(const Expr&, const Unit&, BlockBuilder&)>& fill) {
          all << cgen::for_(
              cgen::i32, "round", int_of(0), int_of(rounds),
              [&](const Expr& round, BlockBuilder& loop) {
                const Expr number =
                    loop.add_constant(cgen::i32, "unit", round * int_of(threads_) + thread_);
                BlockBuilder inner;
                fill(round, unit_of(number, along_rows, pass, inner), inner);
                loop << (units % threads_ != 0 ? cgen::Statement(if_(number < int_of(units), inner))
                                               : inner.group());
              },
              {.unroll = 0});
        };
    const auto result = [&](const Expr& round, int q) {
      return results[plus(round * int_of(pass.radix), q)];
    };
    each_round([&](const Expr& round, const Unit& unit, BlockBuilder& inner) {
      const std::vector<ComplexExpr> values =
          emit_butterfly(get(pass, unit, 0, inner), real_, inner);
      for (int q = 0; q < pass.radix; ++q) {
        const ComplexExpr& value = values[static_cast<std::size_t>(q)];
        inner << assign(result(round, q),
                        cgen::make_vector(memory_.element(), {value.re, value.im}));
      }
    });
    all << cgen::barrier();
    each_round([&](const Expr& round, const Unit& unit, BlockBuilder& inner) {
      std::vector<ComplexExpr> values;
      for (int q = 0; q < pass.radix; ++q) {
        const Expr both = result(round, q);
        values.push_back({Expr(cgen::Member{both, "x"}), Expr(cgen::Member{both, "y"})});
      }
      put(pass, unit, values, 0, inner);
    });
    body_ << all.block();
  }

  [[nodiscard]] std::vector<ComplexExpr> read(const Pass& pass, const Unit& unit,
                                              const Place& place, BlockBuilder& body) const {
    std::vector<ComplexExpr> values;
    for (int q = 0; q < pass.radix; ++q) {
      const Expr element = as_index(read_element(pass, unit, q));
      const ComplexExpr value = memory_.load(
          in_, sum(place.in, form_.reads_rows ? element : product(element, read_step_)),
          fmt::format("x{}", q), body, form_.is_inverse);
      values.push_back(form_.has_twiddles ? twiddled(value, product(place.power, element), q, body)
                                          : value);
    }
    return values;
  }
  ComplexExpr twiddled(const ComplexExpr& value, const Expr& power, int q,
                       BlockBuilder& body) const {
    const Expr number = signature_.declare_index(fmt::format("power{}", q), power, body);
    const Expr fine_number = number & ((index(1) << fine_bits_) - index(1));
    const ComplexExpr fine = memory_.load(fine_, fine_number, fmt::format("fine{}", q), body);
    const ComplexExpr coarse =
        memory_.load(coarse_, number >> fine_bits_, fmt::format("coarse{}", q), body);
    const ComplexExpr root = keep(multiply(fine, coarse), fmt::format("w{}", q), body);
    return keep(multiply(value, root), fmt::format("y{}", q), body);
  }
  ComplexExpr keep(const ComplexExpr& value, const std::string& name, BlockBuilder& body) const {
    const Expr re = body.add_constant(real_, name + "_re", value.re);
    return {re, body.add_constant(real_, name + "_im", value.im)};
  }

  [[nodiscard]] std::vector<ComplexExpr> get(const Pass& pass, const Unit& unit, std::size_t tile,
                                             BlockBuilder& body) const {
    std::vector<ComplexExpr> values;
    for (int q = 0; q < pass.radix; ++q) {
      const std::string name = fmt::format("x{}", q);
      const Expr place = tile_place(read_element(pass, unit, q), unit.column);
      const ComplexExpr value =
          is_on_host(form_) ? keep({tiles_[tile].re[place], tiles_[tile].im[place]}, name, body)
                            : memory_.load(tile_, with_gaps(place, name, body), name, body);
      if (q == 0) {
        values.push_back(value);
        continue;
      }
      const ComplexExpr factor =
          memory_.load(factors_, plus(unit.lane, pass.first_factor + (q - 1) * pass.stride),
                       fmt::format("w{}", q), body);
      values.push_back(keep(multiply(value, factor), fmt::format("y{}", q), body));
    }
    return values;
  }
  [[nodiscard]] Expr with_gaps(const Expr& place, const std::string& name,
                               BlockBuilder& body) const {
    const int shift = std::countr_zero(static_cast<unsigned>(elements_per_gap(form_)));
    const Expr at = body.add_constant(cgen::i32, name + "_at", place);
    return at + (at >> int_of(shift));
  }
  void put(const Pass& pass, const Unit& unit, const std::vector<ComplexExpr>& results,
           std::size_t tile, BlockBuilder& body) const {
    for (int q = 0; q < pass.radix; ++q) {
      const ComplexExpr& value = results[static_cast<std::size_t>(q)];
      const Expr place = tile_place(written_element(pass, unit, q), unit.column);
      if (is_on_host(form_)) {
        body << assign(tiles_[tile].re[place], value.re)
             << assign(tiles_[tile].im[place], value.im);
      } else {
        memory_.store(tile_, with_gaps(place, fmt::format("z{}", q), body), value, body);
      }
    }
  }
  void write(const Pass& pass, const Unit& unit, const Place& place,
             const std::vector<ComplexExpr>& results, BlockBuilder& body) const {
    BlockBuilder stores;
    for (int q = 0; q < pass.radix; ++q) {
      const ComplexExpr& value = results[static_cast<std::size_t>(q)];
      const Expr element = as_index(written_element(pass, unit, q));
      memory_.store(out_,
                    sum(place.out, form_.writes_rows ? element : product(element, write_step_)),
                    {value.re * factor_, value.im * factor_}, stores, form_.is_inverse);
    }
    if (form_.has_tail) {
      body << if_(sum(first_, as_index(unit.column)) < columns_, stores);
    } else {
      body << stores.group();
    }
  }

  FftForm form_;
  int length_;
  int threads_;
  cgen::Type real_;
  Memory memory_;
  KernelSignature signature_;
  std::vector<Pass> passes_;
  BlockBuilder body_;
  Expr in_ = 0, out_ = 0, factors_ = 0, fine_ = 0, coarse_ = 0, fine_bits_ = 0;
  Expr columns_ = 0, read_step_ = 0, write_step_ = 0, inner_ = 0, factor_ = 0;
  Expr thread_ = 0, first_ = 0, tile_ = 0;
  std::vector<ComplexExpr> tiles_;
  Place first_place_;
};

}  // namespace

int FftForm::length() const noexcept {
  int product = 1;
  for (const int radix : radices) {
    product *= radix;
  }
  return product;
}

int FftForm::threads() const noexcept {
  if (dialect == cgen::Dialect::c) {
    return 1;
  }
  int units = 1;
  for (const int radix : radices) {
    units = std::max(units, length() / radix * columns);
  }
  return static_cast<int>(
      std::min<std::int64_t>(most_threads, ceil_divide(units, whole_warp) * whole_warp));
}

std::string FftForm::name() const {
  return fmt::format("fft.{}.{}.{}{}{}{}{}{}{}{}{}", arrays::name(dtype), fmt::join(radices, "x"),
                     columns, reads_rows ? ".rows" : "", writes_rows ? ".to_rows" : "",
                     has_twiddles ? ".twiddles" : "", has_inner ? ".inner" : "",
                     is_even ? ".even" : "", has_tail ? ".tail" : "", is_inverse ? ".inverse" : "",
                     is_wide ? ".wide" : "");
}

std::int64_t shared_bytes(const FftForm& form) {
  return form.radices.size() < 2
             ? 0
             : tile_elements(form) * static_cast<std::int64_t>(size_bytes(form.dtype));
}

cgen::Module make_fft_module(const FftForm& form) {
  return LaunchCode(form).make();
}

}  // namespace rtcg::arrays::detail
