// Scans along the blocks of the grid in one launch, by decoupled look-back.
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/preprocess/realizer.h"
#include "rtcg/loopy/schedule/loop_bounds.h"
#include "rtcg/loopy/schedule/tile_order.h"
#include "rtcg/loopy/symbolic/affine.h"

namespace rtcg::loopy {
namespace {

/// C text with expressions of the kernel in it.
class TextWithParts {
 public:
  explicit TextWithParts(NameGenerator& names) : names_(names) {}

  /// `${0}`, `${1}`, ...
  std::string read(const Expr& expr) { return add({expr, true, false}); }
  std::string variable(const std::string& variable) { return add({Name{variable}, true, true}); }
  std::string place(const Expr& expr) { return add({expr, true, true}); }
  /// `@name` is a variable of the text's own.
  void line(const std::string& text) {
    raw_.text += raw_.text.empty() ? "" : "\n";
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '@') {
        raw_.text += text[i];
        continue;
      }
      std::string base;
      while (i + 1 < text.size() && (std::islower(text[i + 1]) != 0 || text[i + 1] == '_')) {
        base += text[++i];
      }
      const auto known = own_names_.find(base);
      raw_.text += known != own_names_.end() ? known->second : own_names_[base] = names_.make(base);
    }
  }
  [[nodiscard]] RawCode code() const { return raw_; }

 private:
  std::string add(const RawPart& part) {
    raw_.parts.push_back(part);
    return fmt::format("${{{}}}", raw_.parts.size() - 1);
  }

  NameGenerator& names_;
  std::map<std::string, std::string> own_names_;
  RawCode raw_;
};

/// One past the last value of an iname on an axis of the grid, in terms of parameters.
Expr end_on_grid(const Kernel& kernel, const std::string& iname) {
  std::vector<std::string> others = all_inames(kernel);
  std::erase(others, iname);
  for (const Temporary& temporary : kernel.temporaries) {
    others.push_back(temporary.name);
  }
  return simplify_index(
      end_value(loop_bounds(constraints_of(kernel, {iname}), iname, others, kernel.assumptions)));
}

/// Values as words of 32 bits.
struct Pieces {
  std::vector<std::string> values;  ///< C variables
  std::vector<int> first;           ///< word of each
  int count = 0;

  Pieces(std::vector<std::string> variables, const std::vector<cgen::Type>& types)
      : values(std::move(variables)) {
    for (const cgen::Type& type : types) {
      first.push_back(count);
      count += (size_bytes(type) + 3) / 4;
    }
  }
  void write_from(TextWithParts& text, const std::string& indent,
                  const std::vector<std::string>& variables) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      text.line(fmt::format("{0}memcpy(&@words[{1}], &{2}, sizeof({2}));", indent, first[i],
                            variables[i]));
    }
  }
  void read_into(TextWithParts& text, const std::string& indent,
                 const std::vector<std::string>& variables) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      text.line(fmt::format("{0}memcpy(&{2}, &@words[{1}], sizeof({2}));", indent, first[i],
                            variables[i]));
    }
  }
};

}  // namespace

std::string Realizer::add_look_back_state(const Expr& length_words) {
  const std::string state =
      add_temporary("look_back_state", cgen::u64, AddressSpace::global, {1 + length_words});
  look_back_states_.push_back(state);
  return state;
}

/// The first warp publishes what the block comes to, with the status 1. Then it reads what 32
/// blocks before it have published, and the 32 before these, until one has published all up to
/// itself, with the status 2; and publishes the same for this block. Each word of 64 bits has a
/// status and 32 bits of a value, so that a value is whole if its words have the same status: no
/// fences are needed. The status counts the launches, so that nothing has to be cleared.
/// @source Merrill and Garland 2016, Single-pass parallel prefix scan with decoupled look-back
std::vector<Expr> Realizer::look_back(const ReductionOperation& operation,
                                      const std::vector<Expr>& total, const ScanSweeps& sweeps,
                                      const Instruction& threads, std::string& last) {
  const std::size_t count = operation.types().size();
  const auto variables = [&](const std::string& base) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
      names.push_back(add_temporary(base + operation.suffix(i), operation.types()[i]));
    }
    return names;
  };
  const std::vector<std::string> before = variables("before");
  const std::vector<std::string> value = variables("found");
  const std::vector<std::string> next = variables("found_next");
  const std::vector<std::string> combined = variables("found_combined");
  const std::string drawn = add_temporary("drawn", cgen::u64);
  const Pieces pieces(value, operation.types());
  const std::string thread = whole_axis(sweeps.thread);
  Expr row = 0;
  Expr rows = 1;
  for (const std::string& each : threads.within_inames) {
    if (each != sweeps.grid) {
      const Expr length = end_on_grid(kernel_, each);
      row = row * length + Name{each};
      rows = rows * length;
    }
  }
  const Expr words_of_row = end_on_grid(kernel_, sweeps.grid) * Expr(pieces.count);
  const std::string state = add_look_back_state(simplify_index(rows * words_of_row));

  TextWithParts text(names_);
  std::vector<std::string> before_c;
  std::vector<std::string> value_c;
  std::vector<std::string> next_c;
  std::vector<std::string> combined_c;
  for (std::size_t i = 0; i < count; ++i) {
    before_c.push_back(text.variable(before[i]));
    value_c.push_back(text.variable(value[i]));
    next_c.push_back(text.variable(next[i]));
    combined_c.push_back(text.variable(combined[i]));
  }
  const std::string lane = text.read(Name{thread});
  const std::string tile = text.read(Name{sweeps.grid});
  const std::vector<Expr> neutral = operation.neutral();
  const auto assign = [&](const std::string& indent, const std::vector<std::string>& targets,
                          const std::vector<Expr>& values) {
    for (std::size_t i = 0; i < count; ++i) {
      text.line(fmt::format("{}{} = {};", indent, targets[i], text.read(values[i])));
    }
  };
  const auto copy = [&](const std::string& indent, const std::vector<std::string>& targets,
                        const std::vector<std::string>& sources) {
    for (std::size_t i = 0; i < count; ++i) {
      text.line(fmt::format("{}{} = {};", indent, targets[i], sources[i]));
    }
  };
  const auto publish = [&](const std::string& indent, const std::string& status) {
    pieces.write_from(text, indent, value_c);
    text.line(fmt::format("{}for (int @word = 0; @word < {}; ++@word) {{", indent, pieces.count));
    text.line(fmt::format("{}  @published[{}*{} + @word] =", indent, pieces.count, tile));
    text.line(fmt::format("{}      (unsigned long long)(@launch + {}) << 32 | @words[@word];",
                          indent, status));
    text.line(indent + "}");
  };
  text.line(fmt::format("if ({} < {}) {{", lane, warp_size));
  text.line(fmt::format("  volatile unsigned long long *const @published = &{};",
                        text.place(Access{state, {simplify_index(1 + row * words_of_row)}})));
  text.line(fmt::format("  const unsigned @launch = (unsigned)({} >> 32) << 2;", drawn));
  text.line(fmt::format("  unsigned @words[{}];", pieces.count));
  assign("  ", before_c, neutral);
  text.line(fmt::format("  if ({} == 0) {{", lane));
  assign("    ", value_c, total);
  publish("    ", fmt::format("({} == 0 ? 2u : 1u)", tile));
  text.line("  }");
  text.line(fmt::format("  if ({} > 0) {{", tile));
  text.line(fmt::format("    for (int @nearest = {} - 1;; @nearest -= {}) {{", tile, warp_size));
  text.line(fmt::format("      const int @other = @nearest - {} + {};", warp_size - 1, lane));
  text.line("      unsigned @status = 2;");
  assign("      ", value_c, neutral);
  text.line("      if (@other >= 0) {");
  text.line("        bool @is_whole;");
  text.line("        do {");
  text.line("          @is_whole = true;");
  text.line(fmt::format("          for (int @word = 0; @word < {}; ++@word) {{", pieces.count));
  text.line(
      fmt::format("            const unsigned long long @packed = @published[{}*@other + @word];",
                  pieces.count));
  text.line("            const unsigned @own_status = (unsigned)(@packed >> 32) - @launch;");
  text.line("            @words[@word] = (unsigned)@packed;");
  text.line("            @is_whole = @is_whole && (@own_status == 1 || @own_status == 2) &&");
  text.line("                (@word == 0 || @own_status == @status);");
  text.line("            @status = @own_status;");
  text.line("          }");
  text.line("        } while (!@is_whole);");
  pieces.read_into(text, "        ", value_c);
  text.line("      }");
  text.line("      const unsigned @ends = __ballot_sync(0xffffffffu, @status == 2);");
  text.line(
      fmt::format("      if (@ends != 0 && {} < {} - __clz((int)@ends)) {{", lane, warp_size - 1));
  assign("        ", value_c, neutral);
  text.line("      }");
  text.line(
      fmt::format("      for (int @distance = 1; @distance < {}; @distance *= 2) {{", warp_size));
  pieces.write_from(text, "        ", value_c);
  text.line(fmt::format("        for (int @word = 0; @word < {}; ++@word) {{", pieces.count));
  text.line("          @words[@word] = __shfl_down_sync(0xffffffffu, @words[@word], @distance);");
  text.line("        }");
  pieces.read_into(text, "        ", next_c);
  assign("        ", combined_c, operation.combine(as_names(value), as_names(next)));
  copy("        ", value_c, combined_c);
  text.line("      }");
  pieces.write_from(text, "      ", value_c);
  text.line(fmt::format("      for (int @word = 0; @word < {}; ++@word) {{", pieces.count));
  text.line("        @words[@word] = __shfl_sync(0xffffffffu, @words[@word], 0);");
  text.line("      }");
  pieces.read_into(text, "      ", value_c);
  assign("      ", combined_c, operation.combine(as_names(value), as_names(before)));
  copy("      ", before_c, combined_c);
  text.line("      if (@ends != 0) {");
  text.line("        break;");
  text.line("      }");
  text.line("    }");
  text.line(fmt::format("    if ({} == 0) {{", lane));
  assign("      ", value_c, operation.combine(as_names(before), total));
  publish("      ", "2u");
  text.line("    }");
  text.line("  }");
  text.line("}");

  Instruction statement;
  statement.id = names_.make("look_back");
  RawCode code = text.code();
  code.reads.insert(drawn);
  statement.kind = std::move(code);
  statement.within_inames = threads.within_inames;
  statement.within_inames.insert(thread);
  statement.depends_on = threads.depends_on;
  statement.depends_on.insert(last);
  statement.tags.insert(takes_tiles_in_order);
  statement.call_site = threads.call_site;
  kernel_.instructions.push_back(statement);

  const SharedParts parts = add_parts(operation, {before, statement.id}, 1, threads);
  Instruction first_thread = threads;
  first_thread.predicates.push_back(Comparison{ComparisonOp::equal, Name{thread}, 0});
  last = add_statements("_store", parts.at(0), as_names(before), parts.arrays,
                        statement.within_inames, first_thread, statement.id);
  return parts.at(0);
}

}  // namespace rtcg::loopy
