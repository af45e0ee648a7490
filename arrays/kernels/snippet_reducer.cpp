#include "rtcg/arrays/kernels/snippet_reducer.h"

#include <fmt/format.h>

#include "rtcg/arrays/lazy/lower_steps.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

class SnippetReducer : public Reducer {
 public:
  SnippetReducer(const std::vector<ResultProgram>& results, const SnippetReductionForm& form,
                 SnippetCode& code)
      : results_(results), form_(form), code_(code), offsets_(0) {
    for (const ResultProgram& result : results) {
      functions_.push_back(result.is_compensated ? std::string() : add_reduce(result));
    }
  }

  /// Adds the parameters of targets, offsets and what is read.
  void add_parameters() {
    KernelSignature& parameters = code_.parameters();
    const auto add = [&](const OperandForm& form, const cgen::Type& type, const char* name,
                         bool is_written) {
      parameters.add_operand(form, type, code_.fresh(name), is_written);
    };
    std::size_t target = 0;
    for (const ResultProgram& result : results_) {
      const bool is_partial = form_.shape.is_partial;
      for (int part = 0; part < (is_partial ? result.parts() : 1); ++part) {
        add(form_.targets[target++],
            is_partial ? kept_type(result) : result.stored_type(form_.shape.dialect), "out", true);
      }
    }
    if (form_.offsets) {
      offsets_ = parameters.add_pointer(
          cgen::in_space(cgen::AddressSpace::global, cgen::const_(value_type(*form_.offsets))),
          code_.fresh("offsets"));
    }
    if (form_.partials.empty()) {
      code_.add_arguments();
      return;
    }
    std::size_t leaf = 0;
    for (const ResultProgram& result : results_) {
      for (int part = 0; part < result.parts(); ++part) {
        add(form_.partials[leaf++], kept_type(result), "partial", false);
      }
    }
  }

  [[nodiscard]] std::vector<ReductionPart> parts() const override {
    std::vector<ReductionPart> result;
    for (const ResultProgram& one : results_) {
      const std::string suffix = result.empty() ? "" : fmt::format("_{}", result.size());
      result.push_back({suffix, one.carried_type(), code_.value(one.neutral, one.carried_type())});
      if (one.is_compensated) {
        result.push_back({suffix + "_low", one.carried_type(), constant(0, one.type.dtype())});
      }
    }
    return result;
  }

  void combine(const ReductionState& state, const ReductionState& other,
               cgen::BlockBuilder& body) const override {
    std::size_t part = 0;
    for (std::size_t k = 0; k < results_.size(); ++k) {
      if (results_[k].is_compensated) {
        add_exactly(state, other, part, body);
      } else {
        body << assign(state[part], cgen::call(functions_[k], {state[part], other[part]},
                                               results_[k].carried_type()));
      }
      part += static_cast<std::size_t>(results_[k].parts());
    }
  }

  ReductionState element(const std::vector<Expr>& offsets, const Expr& /*place*/,
                         cgen::BlockBuilder& body) const override {
    ReductionState state;
    if (!form_.partials.empty()) {
      for (const ResultProgram& result : results_) {
        for (int part = 0; part < result.parts(); ++part) {
          const std::size_t leaf = form_.targets.size() + state.size();
          const Expr kept = code_.parameters().pointer(leaf)[offsets[leaf]];
          state.push_back(is_boolean(result) ? not_equal(kept, 0) : kept);
        }
      }
      return state;
    }
    code_.begin_element(offsets, body);
    for (const ResultProgram& result : results_) {
      const cgen::Type type = result.carried_type();
      state.push_back(body.add_constant(type, code_.fresh("item"), code_.value(result.map, type)));
      if (result.is_compensated) {
        state.push_back(constant(0, result.type.dtype()));
      }
    }
    return state;
  }

  void store(const ReductionState& state, const std::function<Expr(std::size_t)>& offset,
             cgen::BlockBuilder& body) const override {
    const KernelSignature& parameters = code_.parameters();
    std::size_t part = 0;
    std::size_t target = 0;
    for (const ResultProgram& result : results_) {
      if (form_.shape.is_partial) {
        for (int k = 0; k < result.parts(); ++k, ++target) {
          const Expr& value = state[part + static_cast<std::size_t>(k)];
          body << assign(parameters.pointer(target)[offset(target)],
                         is_boolean(result) ? cast(cgen::u8, value) : value);
        }
      } else {
        const bool is_opencl_half =
            form_.shape.dialect == cgen::Dialect::opencl && result.type.dtype() == DType::f16;
        if (is_vector(result.type.dtype()) && is_packed(result.type.dtype(), form_.shape.dialect)) {
          body << cgen::Statement(cgen::ExpressionStatement{cgen::call(
              fmt::format("{}_store", name(result.type.dtype())),
              {cgen::address_of(parameters.pointer(target)[offset(target)]), state[part]},
              cgen::void_type)});
        } else if (is_opencl_half) {  // which many devices have in memory only
          body << cgen::Statement(cgen::ExpressionStatement{
              cgen::call("vstore_half", {state[part], offset(target), parameters.pointer(target)},
                         cgen::void_type)});
        } else {
          body << assign(parameters.pointer(target)[offset(target)],
                         final_value(result, state, part));
        }
        ++target;
      }
      part += static_cast<std::size_t>(result.parts());
    }
  }

  [[nodiscard]] std::optional<std::pair<Expr, Expr>> bounds(
      const Expr& output, const Expr& length, cgen::BlockBuilder& body) const override {
    if (!form_.offsets) {
      return std::nullopt;
    }
    const KernelSignature& parameters = code_.parameters();
    // no host check sees the offsets, so the kernel clamps them
    const auto place = [&](const char* name, const Expr& index) {
      const Expr given =
          body.add_constant(cgen::i64, code_.fresh("given"), cast(cgen::i64, offsets_[index]));
      const Expr zero = cast(cgen::i64, parameters.index(0));
      const Expr most = cast(cgen::i64, length);
      const Expr inside = select(given < zero, zero, select(given < most, given, most));
      return parameters.declare_index(name, cast(parameters.index_type(), inside), body);
    };
    const Expr begin = place("own_begin", output);
    const Expr end = place("own_end", output + parameters.index(1));
    return std::pair(begin, end);
  }

 private:
  static bool is_boolean(const ResultProgram& result) {
    return result.type.structure() == nullptr && result.type.dtype() == DType::boolean;
  }
  /// As memory holds a part between two passes.
  static cgen::Type kept_type(const ResultProgram& result) {
    return is_boolean(result) ? cgen::u8 : result.carried_type();
  }

  std::string add_reduce(const ResultProgram& result) {
    const cgen::Type type = result.carried_type();
    return code_.add_function(type, {{type, "a", {}, {}}, {type, "b", {}, {}}}, result.reduce,
                              "reduce", is_vector(result.type.dtype()));
  }

  /// The rounded sum and its rounding error (Knuth's two-sum).
  void add_exactly(const ReductionState& state, const ReductionState& other, std::size_t part,
                   cgen::BlockBuilder& body) const {
    const cgen::Type type = state[part].type();
    const auto name = [&](const char* base, const Expr& value) {
      return body.add_constant(cgen::value_type(type), code_.fresh(base), value);
    };
    const Expr& high = state[part];
    const Expr& low = state[part + 1];
    const Expr sum = name("sum", high + other[part]);
    const Expr taken = name("taken", sum - high);
    const Expr lost = name("lost", (high - (sum - taken)) + (other[part] - taken));
    body << assign(low, low + (other[part + 1] + lost)) << assign(high, sum);
  }

  [[nodiscard]] Expr final_value(const ResultProgram& result, const ReductionState& state,
                                 std::size_t part) const {
    if (result.is_compensated) {
      const Expr& low = state[part + 1];  // NaN once the sum is infinite
      return select(equal(low, low), state[part] + low, state[part]);
    }
    const DType dtype = result.type.dtype();
    const bool is_named =
        result.type.structure() != nullptr || is_complex(dtype) || is_vector(dtype);
    return is_named ? state[part]
                    : to_memory(state[part], result.type.dtype(), form_.shape.dialect);
  }

  const std::vector<ResultProgram>& results_;
  const SnippetReductionForm& form_;
  SnippetCode& code_;
  std::vector<std::string> functions_;
  Expr offsets_;
};

void append(std::string& key, const std::vector<OperandForm>& operands) {
  for (const OperandForm& operand : operands) {
    for (std::size_t axis = 0; axis < operand.axes; ++axis) {
      key.push_back("01s"[static_cast<int>(operand.strides[axis])]);
    }
    key.push_back(';');
  }
  key.push_back('|');
}

}  // namespace

cgen::Type ResultProgram::carried_type() const {
  if (type.structure() != nullptr) {
    return cgen::named(type.structure()->name);
  }
  return snippet_value_type(type.dtype());
}

cgen::Type ResultProgram::stored_type(cgen::Dialect dialect) const {
  return type.structure() != nullptr ? carried_type() : snippet_storage_type(type.dtype(), dialect);
}

std::size_t ResultProgram::carried_bytes() const {
  if (type.structure() != nullptr) {
    return type.structure()->size_bytes;
  }
  const DType dtype = type.dtype();
  const int lanes = lanes_of(dtype);
  // three lanes take the place of four on most devices
  return size_bytes(
      vector_of(is_half(dtype) ? DType::f32 : element_of(dtype), lanes == 3 ? 4 : lanes));
}

std::string key_of(const SnippetReductionForm& form) {
  std::string key = key_of(form.snippets);
  append(key, form.targets);
  append(key, form.partials);
  key += fmt::format("{},{},{},{}{}{}", form.shape.kept_axes, static_cast<int>(form.shape.spread),
                     form.shape.targets, form.shape.is_partial ? 'p' : '-',
                     form.shape.has_last_block_reduce ? 'm' : '-',
                     form.offsets ? static_cast<int>(*form.offsets) : -1);
  return key;
}

cgen::Module make_reduction_module(const SnippetProgram& program,
                                   const std::vector<ResultProgram>& results,
                                   const SnippetReductionForm& form) {
  SnippetCode code(program, form.snippets);
  SnippetReducer reducer(results, form, code);
  reducer.add_parameters();
  cgen::BlockBuilder body;
  if (form.partials.empty()) {
    code.begin_body(body);
  }
  emit_reduction(form.shape, code.parameters(), reducer, body);
  return finish_kernel(form.snippets.dialect, code.parameters(), body, code.items());
}

namespace {

bool is_named(DType dtype) {
  return is_complex(dtype) || is_vector(dtype);
}

/// `a + b` as C has it for this type.
std::string reduce_text(const Reduction& reduction) {
  const DType dtype = reduction.type.dtype();
  const std::string text = Snippet(reduction.reduce, {}).without_blanks();
  if (!is_complex(dtype) || (text != "a+b" && text != "a*b")) {
    return reduction.reduce;
  }
  return fmt::format("{}_{}(a, b)", dtype == DType::c64 ? "complex64" : "complex128",
                     text[1] == '+' ? "add" : "mul");
}

std::string neutral_text(const Reduction& reduction) {
  const DType dtype = reduction.type.dtype();
  const std::string text = Snippet(reduction.neutral, {}).without_blanks();
  if (!is_named(dtype) || (text != "0" && text != "1")) {
    return reduction.neutral;
  }
  if (is_vector(dtype)) {
    const std::vector<char> all(static_cast<std::size_t>(lanes_of(dtype)), text.front());
    return fmt::format("make_{}({})", name(snippet_vector(dtype)), fmt::join(all, ", "));
  }
  return fmt::format("{}_make({}, 0)", dtype == DType::c64 ? "complex64" : "complex128",
                     text.front());
}

}  // namespace

ResultProgram read_result(const Reduction& reduction, const std::vector<KernelArgument>& arguments,
                          Accuracy accuracy) {
  ResultProgram result{reduction.type, Snippet(neutral_text(reduction), {}),
                       Snippet(reduce_text(reduction), {}), Snippet(reduction.map, arguments),
                       false};
  for (const auto& [name, use] : result.map.arrays()) {
    const bool is_told = use.is_written && !use.bare;
    if (is_told) {
      throw InvalidInput("arrays.reduction_kernel.map_writes",
                         fmt::format("the map expression '{}' writes '{}': a reduction only reads",
                                     reduction.map, name));
    }
  }
  if (accuracy == Accuracy::compensated) {
    const DType dtype = reduction.type.dtype();
    if ((dtype != DType::f32 && dtype != DType::f64) || result.reduce.without_blanks() != "a+b") {
      throw InvalidInput(
          "arrays.reduction_kernel.not_a_sum",
          fmt::format("only sums 'a + b' of f32 and f64 can be compensated, not '{}' of {}",
                      reduction.reduce, name(dtype)));
    }
    result.is_compensated = true;
  }
  return result;
}

}  // namespace rtcg::arrays::detail
