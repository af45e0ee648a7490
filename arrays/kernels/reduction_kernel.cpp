#include "rtcg/arrays/kernels/reduction_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_kernel.h"
#include "rtcg/arrays/kernels/snippet_reducer.h"
#include "rtcg/arrays/kernels/typed_reduction.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/lazy/kernel_table.h"
#include "rtcg/arrays/lazy/run.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/execute/target_of.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::arrays {
namespace detail {

/// The texts of a ReductionKernel, and the kernels made from them so far.
struct ReductionProgram {
  ReductionProgram(const std::vector<Reduction>& reductions,
                   const std::vector<KernelArgument>& arguments, ReductionOptions options,
                   SourceOrigin where)
      : snippets(arguments, std::move(options.preamble), where),
        is_pairwise(options.accuracy == Accuracy::pairwise),
        name(std::move(options.name)) {
    if (reductions.empty()) {
      throw InvalidInput("arrays.reduction_kernel.no_result",
                         "a reduction needs at least one result");
    }
    for (const Reduction& reduction : reductions) {
      results.push_back(read_result(reduction, arguments, options.accuracy));
      if (reduction.type.shared_structure()) {
        snippets.add(reduction.type.shared_structure());
      } else {
        snippets.dtypes.insert(reduction.type.dtype());
      }
      snippets.add(results.back().map);
      snippets.add(results.back().reduce);
      snippets.add(results.back().neutral);
    }
    // a reduction only reads its arguments
    for (auto& [array, use] : snippets.arrays) {
      use.is_written = false;
    }
  }

  SnippetProgram snippets;
  std::vector<ResultProgram> results;
  bool is_pairwise;
  std::string name;
  mutable KernelTable<std::string> kernels;
};

}  // namespace detail

struct ReductionKernel::Program : detail::ReductionProgram {
  using ReductionProgram::ReductionProgram;
};

namespace {

using detail::ResultProgram;

/// Memory for results, or for those of segments.
struct Target {
  AnyArray array;
  Layout layout;  ///< in elements of the result, also of structs
};

/// One launch. The first reads the elements, each further one the results of segments.
struct Pass {
  detail::SplitLayouts layouts{};
  detail::ReductionPlan plan{};
  std::vector<Target> partials{};  ///< what the launch before wrote; empty in the first
  std::vector<Target> targets{};
  bool is_partial = false;  ///< writes results of segments

  [[nodiscard]] bool is_first() const { return partials.empty(); }
  /// Of the elements, over all axes of the loops.
  [[nodiscard]] std::vector<Layout> element_layouts() const {
    std::vector<Layout> result;
    for (std::size_t k = 0; is_first() && k < layouts.kept.size(); ++k) {
      result.push_back(layouts.leaf(k));
    }
    return result;
  }
};

/// One call of a kernel.
class Run {
 public:
  Run(const detail::ReductionProgram& program, const ReductionLaunch& launch,
      const std::vector<Expression>& values)
      : program_(program),
        launch_(launch),
        binding_(detail::bind(program.snippets, values, bind_options(launch))),
        stream_(binding_.stream) {}

  std::vector<AnyArray> operator()() {
    choose_results();
    if (element_count(kept_shape_) == 0) {
      return outputs_;
    }
    const std::vector<Layout> leaves = binding_.layouts();
    std::vector<Layout> targets;
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      targets.push_back(layout_of_result(k));
    }
    run_passes(launch_.offsets
                   ? segmented_layouts(leaves, std::move(targets))
                   : detail::split_layouts(binding_.shape, {axes_, launch_.keeps_axes, true},
                                           targets, leaves));
    return outputs_;
  }

 private:
  [[nodiscard]] static detail::BindOptions bind_options(const ReductionLaunch& launch) {
    detail::BindOptions options{launch.range, launch.stream};
    if (launch.offsets && !options.range) {
      options.range = Slice{};  // one axis
    }
    return options;
  }

  /// Sets the reduced axes, the shape of the results, and their arrays.
  void choose_results() {
    if (launch_.offsets) {
      check_offsets();
      kept_shape_ = {launch_.offsets->shape()[0] - 1};
    } else {
      axes_ = detail::reduced_axes(launch_.axes, binding_.shape.size());
      kept_shape_ = detail::shape_without(binding_.shape, axes_, launch_.keeps_axes);
    }
    if (launch_.out.empty()) {
      for (const ResultProgram& result : program_.results) {
        Extents shape = kept_shape_;
        if (result.type.structure() != nullptr) {
          shape.push_back(static_cast<std::int64_t>(result.type.structure()->size_bytes));
        }
        outputs_.emplace_back(result.type.dtype(), shape, stream_);
      }
    } else {
      outputs_ = launch_.out;
      check_out();
    }
  }

  void check_offsets() const {
    const AnyArray& offsets = *launch_.offsets;
    const bool is_index = offsets.dtype() == DType::i32 || offsets.dtype() == DType::i64;
    if (!is_index || offsets.axes() != 1 || offsets.count() < 1 || launch_.axes ||
        launch_.keeps_axes) {
      throw InvalidInput(
          "arrays.reduction_kernel.bad_offsets",
          fmt::format("offsets are one axis of i32 or i64, with one more element than "
                      "results, without axes; these are {} of shape {}",
                      name(offsets.dtype()), to_string(offsets.shape())));
    }
  }

  void check_out() const {
    bool fits = outputs_.size() == program_.results.size();
    for (std::size_t k = 0; fits && k < outputs_.size(); ++k) {
      fits = outputs_[k].dtype() == program_.results[k].type.dtype() &&
             layout_of_result(k).shape == kept_shape_ && outputs_[k].device() == stream_.device() &&
             !may_repeat_elements(outputs_[k].layout());
    }
    if (!fits) {
      throw InvalidInput(
          "arrays.reduction_kernel.bad_out",
          fmt::format("out must have an array for each of {} results, of its type and of "
                      "shape {}, on the device of the arguments",
                      program_.results.size(), to_string(kept_shape_)));
    }
  }

  [[nodiscard]] Layout layout_of_result(std::size_t k) const {
    const cgen::LaidOutStruct* structure = program_.results[k].type.structure();
    return structure == nullptr ? outputs_[k].layout()
                                : layout_of_structs(outputs_[k], structure->size_bytes);
  }

  /// The kept axis counts segments; the reduced one has the elements of all segments.
  [[nodiscard]] detail::SplitLayouts segmented_layouts(const std::vector<Layout>& leaves,
                                                       std::vector<Layout> targets) const {
    detail::SplitLayouts result;
    result.kept_shape = kept_shape_;
    result.reduced_shape = binding_.shape;
    result.targets = std::move(targets);
    for (const Layout& leaf : leaves) {
      result.kept.push_back({kept_shape_, {0}, leaf.offset});
      result.reduced.push_back({leaf.shape, leaf.strides, 0});
    }
    return result;
  }

  void run_passes(detail::SplitLayouts layouts) {
    Pass pass;
    pass.layouts = std::move(layouts);
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      pass.targets.push_back({outputs_[k], pass.layouts.targets[k]});
    }
    const std::vector<Target> targets = pass.targets;
    while (true) {
      pass.plan = plan_of(pass);
      const std::int64_t outputs = element_count(pass.layouts.kept_shape);
      pass.is_partial = pass.plan.segments > 1 && !has_last_block_reduce(pass.plan, outputs);
      if (!pass.is_partial) {
        pass.targets = targets;
        launch(pass);
        return;
      }
      pass.targets = partial_results(pass.plan.segments, outputs);
      launch(pass);
      pass.partials = std::move(pass.targets);
      pass.layouts.continue_with(pass.partials.size(), pass.plan.segments);
      for (std::size_t k = 0; k < pass.partials.size(); ++k) {
        pass.partials[k].layout = pass.layouts.leaf(k);
      }
    }
  }

  [[nodiscard]] detail::ReductionPlan plan_of(const Pass& pass) const {
    detail::ReductionSize size = pass.layouts.size();
    if (!launch_.offsets || !pass.is_first()) {
      return plan_reduction(stream_.device(), size);
    }
    const std::int64_t length = size.length;
    size.may_split = false;
    size.length = ceil_divide(length, size.outputs);  // of an output on average
    size.kept_step = 0;
    detail::ReductionPlan plan = plan_reduction(stream_.device(), size);
    plan.more[1] = length;  // offsets are clamped to it
    return plan;
  }

  /// An array for each part of each result.
  [[nodiscard]] std::vector<Target> partial_results(std::int64_t segments,
                                                    std::int64_t outputs) const {
    std::vector<Target> result;
    for (const ResultProgram& each : program_.results) {
      const auto bytes = static_cast<std::int64_t>(each.carried_bytes());
      for (int part = 0; part < each.parts(); ++part) {
        result.push_back({AnyArray(DType::u8, {segments, outputs, bytes}, stream_), Layout{}});
      }
    }
    return result;
  }

  /// Whether the last block of a segmented reduction can combine the results in the same launch.
  [[nodiscard]] bool has_last_block_reduce(const detail::ReductionPlan& plan,
                                           std::int64_t outputs) const {
    return can_meet_at_once(stream_.device(), plan, outputs) &&
           std::all_of(program_.results.begin(), program_.results.end(),
                       [](const ResultProgram& result) {
                         return result.type.structure() == nullptr &&
                                !is_complex(result.type.dtype()) && !is_vector(result.type.dtype());
                       });
  }

  [[nodiscard]] detail::SnippetReductionForm form_of_pass(
      const Pass& pass, const std::vector<Layout>& element_layouts) const {
    detail::SnippetReductionForm form;
    if (pass.is_first()) {
      form.snippets = form_of(binding_, element_layouts);
    }
    const detail::SplitLayouts& layouts = pass.layouts;
    detail::SnippetForm& all = form.snippets;
    all.dialect = loopy::dialect_of(stream_.device());
    all.axes = static_cast<std::uint8_t>(layouts.kept_shape.size() + layouts.reduced_shape.size());
    all.is_wide = all.is_wide || is_wide(layouts.size(), pass.plan);
    const auto operand = [&](const Target& target) {
      all.is_wide = all.is_wide || !detail::fits_32_bits(DType::u8, target.layout);
      return detail::form_of(DType::u8, target.layout.strides);
    };
    for (const Target& target : pass.targets) {
      form.targets.push_back(operand(target));
    }
    for (const Target& partial : pass.partials) {
      form.partials.push_back(operand(partial));
    }
    if (launch_.offsets && pass.is_first()) {
      form.offsets = launch_.offsets->dtype();
    }
    form.shape = {.dialect = all.dialect,
                  .kept_axes = layouts.kept_shape.size(),
                  .targets = pass.targets.size(),
                  .spread = pass.plan.spread,
                  .is_partial = pass.is_partial,
                  .is_pairwise = program_.is_pairwise && pass.is_first(),
                  .has_last_block_reduce = !pass.is_partial && pass.plan.segments > 1};
    return form;
  }

  void launch(const Pass& pass) const {
    const std::vector<Layout> element_layouts = pass.element_layouts();
    const detail::SnippetReductionForm form = form_of_pass(pass, element_layouts);
    const bool is_wide = form.snippets.is_wide;
    runtime::ArgumentPack pack;
    for (const Extents& lengths : {pass.layouts.kept_shape, pass.layouts.reduced_shape}) {
      for (const std::int64_t length : lengths) {
        detail::pack_index(pack, length, is_wide);
      }
    }
    pack_results(pack, pass.targets, form.targets, pass.is_partial, is_wide);
    AnyArray offsets = outputs_[0];  // held until the launch
    if (form.offsets) {
      offsets = launch_.offsets->contiguous();
      offsets.storage()->use_on(stream_);
      pack.add(offsets.address());
    }
    if (pass.is_first()) {
      pack_binding(pack, binding_, form.snippets, element_layouts, program_.snippets.uses_count());
    } else {
      pack_results(pack, pass.partials, form.partials, true, is_wide);
    }
    for (const std::int64_t value : pass.plan.more) {
      detail::pack_index(pack, value, is_wide);
    }
    const std::vector<AnyArray> scratch = add_scratch(pack, pass, form.shape);
    program_.kernels
        .get(stream_.device(), key_of(form),
             [&] {
               program_.snippets.check_structs(stream_);
               return detail::compile_snippets(
                   stream_.device(),
                   make_reduction_module(program_.snippets, program_.results, form), program_.name,
                   program_.snippets.where);
             })
        .launch(stream_, pass.plan.launch, pack);
  }

  /// Packs an array for each result, or for each part of each result of segments.
  void pack_results(runtime::ArgumentPack& pack, const std::vector<Target>& arrays,
                    const std::vector<detail::OperandForm>& operands, bool is_partial,
                    bool is_wide) const {
    std::size_t number = 0;
    for (const ResultProgram& result : program_.results) {
      const bool is_carried = is_partial || result.type.structure() != nullptr;
      const std::size_t bytes =
          is_carried ? result.carried_bytes() : size_bytes(result.type.dtype());
      for (int part = 0; part < (is_partial ? result.parts() : 1); ++part, ++number) {
        const Target& target = arrays[number];
        target.array.storage()->use_on(stream_);
        pack_operand(pack, operands[number],
                     {target.array.storage()->address() +
                          static_cast<std::uint64_t>(target.layout.offset) * bytes,
                      target.layout.strides},
                     is_wide);
      }
    }
  }

  /// Packs memory for the results of segments that the last block combines.
  [[nodiscard]] std::vector<AnyArray> add_scratch(runtime::ArgumentPack& pack, const Pass& pass,
                                                  const detail::ReductionShape& shape) const {
    std::vector<AnyArray> scratch;
    if (!shape.has_last_block_reduce) {
      return scratch;
    }
    const std::int64_t count = pass.plan.segments * element_count(pass.layouts.kept_shape);
    for (const ResultProgram& result : program_.results) {
      for (int part = 0; part < result.parts(); ++part) {
        const auto bytes = static_cast<std::int64_t>(result.carried_bytes());
        scratch.emplace_back(DType::u8, Extents{count * bytes}, stream_);
        scratch.back().storage()->use_on(stream_);
        pack.add(scratch.back().address());
      }
    }
    pack.add(detail::LastBlockMemory::of(stream_).counters);
    return scratch;
  }

  const detail::ReductionProgram& program_;
  const ReductionLaunch& launch_;
  detail::SnippetBinding binding_;
  runtime::StreamRef stream_;
  Extents axes_;
  Extents kept_shape_;
  std::vector<AnyArray> outputs_;
};

}  // namespace

ResultType::ResultType(const cgen::LaidOutStruct& type)
    : dtype_(DType::u8), structure_(std::make_shared<cgen::LaidOutStruct>(type)) {}

ReductionKernel::ReductionKernel(ResultType type, std::string neutral, std::string reduce,
                                 std::string map, const ArgumentList& arguments,
                                 ReductionOptions options, SourceOrigin where)
    : ReductionKernel(std::vector<Reduction>{{std::move(type), std::move(neutral),
                                              std::move(reduce), std::move(map)}},
                      arguments, std::move(options), where) {}

ReductionKernel::ReductionKernel(std::vector<Reduction> results, const ArgumentList& arguments,
                                 ReductionOptions options, SourceOrigin where)
    : program_(std::make_shared<Program>(results, arguments.list(), std::move(options), where)) {}

ReductionKernel::ReductionKernel(const Expression& reduction, const ArgumentList& arguments)
    : typed_(std::make_shared<detail::TypedReduction>(reduction, arguments.list())) {}

std::vector<AnyArray> ReductionKernel::run(const std::vector<Expression>& values,
                                           const ReductionLaunch& launch) const {
  if (typed_) {
    return typed_->run(values, launch);
  }
  return Run(*program_, launch, values)();
}

AnyArray ReductionKernel::run_single(const std::vector<Expression>& values,
                                     const ReductionLaunch& launch) const {
  if (program_ && program_->results.size() != 1) {
    throw InvalidInput("arrays.reduction_kernel.several_results",
                       fmt::format("kernel '{}' has {} results: take them from run(values)",
                                   program_->name, program_->results.size()));
  }
  return run(values, launch)[0];
}

loopy::Kernel ReductionKernel::as_loop_kernel() const {
  if (typed_) {
    return typed_->as_loop_kernel();
  }
  const ResultProgram& result = program_->results[0];
  if (program_->results.size() != 1 || !program_->snippets.preamble.empty() ||
      result.type.structure() != nullptr) {
    detail::refuse_loop("it has several results, structs or a preamble");
  }
  return detail::element_loop_kernel(
      program_->snippets.arguments,
      {"out[0] = " + detail::loop_reduction(result.reduce, result.neutral, result.map)},
      program_->name, result.type.dtype());
}

std::string ReductionKernel::text(cgen::Dialect dialect) const {
  if (typed_) {
    throw Unsupported(
        "arrays.elementwise_kernel.no_text",
        "the text of a kernel of an expression depends on the arrays that it runs on");
  }
  detail::SnippetReductionForm form;
  form.snippets = program_->snippets.contiguous_form(dialect);
  form.targets.assign(program_->results.size(), detail::form_of(DType::u8, {}));
  form.shape.dialect = dialect;
  form.shape.targets = form.targets.size();
  form.shape.is_pairwise = program_->is_pairwise;
  form.shape.spread = dialect == cgen::Dialect::c ? detail::ReductionSpread::threads
                                                  : detail::ReductionSpread::block;
  return cgen::print_module(make_reduction_module(program_->snippets, program_->results, form),
                            dialect)
      .text;
}

}  // namespace rtcg::arrays
