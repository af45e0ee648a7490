// Every kernel of examples/gallery against plain loops: as its file has it, in f32 and f64, and by
// the slicing that the model likes best.
#include "tests/gallery/gallery.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/device/device.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"
#include "tests/support/judged_devices.h"

namespace rtcg::gallery {

std::size_t Grid::place(const Int* indices, std::size_t count) const {
  EXPECT_EQ(count, lengths.size());
  Int place = 0;
  for (std::size_t axis = 0; axis < std::min(count, lengths.size()); ++axis) {
    EXPECT_TRUE(indices[axis] >= 0 && indices[axis] < lengths[axis])
        << "index " << indices[axis] << " of axis " << axis << " with length " << lengths[axis];
    place = place * lengths[axis] + indices[axis];
  }
  return static_cast<std::size_t>(place);
}

void add_to_diagonal(Grid& matrix, double value) {
  for (Int i = 0; i < matrix.lengths[0]; ++i) {
    matrix(i, i) += value;
  }
}

namespace {

using loopy::ArgumentData;
using loopy::Kernel;
using loopy::KernelFile;

const std::filesystem::path gallery_folder = RTCG_SOURCE_DIR "/examples/gallery";

std::vector<std::filesystem::path> gallery_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(gallery_folder)) {
    if (entry.path().extension() == ".loopy") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// C-A-B, one letter an index: C[...] is the sum of A[...]*B[...] over the letters that C lacks.
void contract(const std::string& formula, Numbers& numbers) {
  const std::size_t first = formula.find('-');
  const std::size_t second = formula.find('-', first + 1);
  const std::string of_c = formula.substr(0, first);
  const std::string of_a = formula.substr(first + 1, second - first - 1);
  const std::string of_b = formula.substr(second + 1);
  std::string letters = of_c;
  for (const char letter : of_a) {
    letters += letters.find(letter) == std::string::npos ? std::string(1, letter) : "";
  }
  std::map<char, Int> index;
  const auto indices_of = [&](const std::string& list) {
    std::vector<Int> indices;
    for (const char letter : list) {
      indices.push_back(index[letter]);
    }
    return indices;
  };
  Grid& c = numbers["C"];
  std::fill(c.values.begin(), c.values.end(), 0);
  for (bool is_done = false; !is_done;) {
    c.at(indices_of(of_c)) += numbers["A"].at(indices_of(of_a)) * numbers["B"].at(indices_of(of_b));
    is_done = true;
    for (std::size_t i = letters.size(); is_done && i-- > 0;) {
      Int& at = index[letters[i]];
      is_done = ++at == numbers.size(std::string("n") + letters[i]);
      at = is_done ? 0 : at;
    }
  }
}

/// A kernel with its data at its small sizes, and what it has to give.
class Case {
 public:
  Case(const std::string& name, const Entry* entry, const KernelFile& file)
      : described_(loopy::described_kernel(file)),
        transformed_(loopy::transformed_kernel(file, described_)),
        tolerance_(entry != nullptr ? entry->tolerance : Entry{}.tolerance) {
    const Kernel typed = loopy::infer_types(loopy::expand_subst(described_));
    Numbers numbers;
    numbers.sizes.insert(file.small_sizes.begin(), file.small_sizes.end());
    given_ = loopy::random_arguments(typed, numbers.sizes, 1);
    double scalar = 0.75;
    for (const loopy::Argument& each : typed.arguments) {
      if (!each.is_array) {
        if (numbers.sizes.count(each.name) == 0) {
          numbers.reals[each.name] = scalar += 0.125;
        }
        continue;
      }
      Grid& grid = numbers.arrays[each.name];
      for (const loopy::Expr& length : each.shape) {
        grid.lengths.push_back(loopy::evaluate_integer(length, numbers.sizes).value());
      }
      if (given_.at(each.name).numbers_an_element > 1) {
        grid.lengths.push_back(given_.at(each.name).numbers_an_element);
      }
      grid.values.resize(given_.at(each.name).count());
    }
    read(given_, numbers);
    if (entry != nullptr && entry->prepare != nullptr) {
      entry->prepare(numbers);
    }
    for (auto& [array, data] : given_) {
      for (std::size_t i = 0; i < data.count(); ++i) {
        data.set_element(i, numbers.arrays.at(array).values[i]);
      }
    }
    read(given_, numbers);  // as the types round it
    options_.reals = numbers.reals;
    sizes_ = numbers.sizes;
    if (entry != nullptr) {
      entry->reference(numbers);
    } else if (std::count(name.begin(), name.end(), '-') == 2) {
      contract(name, numbers);
    } else {
      throw std::logic_error("there is no reference for " + name);
    }
    expected_ = std::move(numbers);
  }

  [[nodiscard]] const Kernel& described() const { return described_; }
  [[nodiscard]] const Kernel& transformed() const { return transformed_; }
  [[nodiscard]] const loopy::IntegerValues& sizes() const { return sizes_; }

  void run(const Kernel& kernel, const runtime::Device& device) const {
    expect_right(loopy::run_kernel(kernel, sizes_, given_, device, options_));
  }
  void run_as_cuda_on_the_cpu(const Kernel& kernel) const {
    expect_right(loopy::CudaTextOnCpu(kernel).run(sizes_, given_, options_));
  }

 private:
  static void read(const ArgumentData& from, Numbers& numbers) {
    for (auto& [name, grid] : numbers.arrays) {
      for (std::size_t i = 0; i < grid.values.size(); ++i) {
        grid.values[i] = from.at(name).element(i);
      }
    }
  }

  void expect_right(const ArgumentData& found) const {
    std::size_t changed = 0;
    for (const auto& [name, grid] : expected_.arrays) {
      const loopy::ArrayData& data = found.at(name);
      const double tolerance = tolerance_ * (data.kind == cgen::ScalarKind::f64    ? 1e-6
                                             : data.kind == cgen::ScalarKind::f16  ? 100
                                             : data.kind == cgen::ScalarKind::bf16 ? 800
                                                                                   : 1);
      std::size_t wrong = 0;
      std::string first;
      for (std::size_t i = 0; i < grid.values.size(); ++i) {
        const double should = grid.values[i];
        const double is = data.element(i);
        changed += should != given_.at(name).element(i) ? 1 : 0;
        const bool is_right =
            cgen::is_integral(data.kind)
                ? is == should
                : is == should || std::fabs(is - should) <= tolerance * (1 + std::fabs(should));
        if (!is_right && ++wrong == 1) {
          first = name + "[" + std::to_string(i) + "] is " + std::to_string(is) +
                  ", and should be " + std::to_string(should);
        }
      }
      EXPECT_EQ(wrong, 0U) << "of " << grid.values.size() << " elements: " << first;
    }
    EXPECT_GT(changed, 0U) << "the reference changes nothing";
  }

  Kernel described_;
  Kernel transformed_;
  double tolerance_;
  loopy::IntegerValues sizes_{};
  ArgumentData given_{};
  loopy::CompareOptions options_{};
  Numbers expected_{};
};

class Gallery : public testing::TestWithParam<std::filesystem::path> {
 protected:
  [[nodiscard]] static std::string name() { return GetParam().stem().string(); }

  [[nodiscard]] static const Entry* entry() {
    static const Entries entries = [] {
      Entries all = polybench_entries();
      all.merge(other_entries());
      all.merge(application_entries());
      all.merge(field_entries());
      return all;
    }();
    const auto found = entries.find(name());
    return found == entries.end() ? nullptr : &found->second;
  }

  /// With `type` instead of the file's own, if it has one.
  [[nodiscard]] static Case make_case(const std::optional<cgen::Type>& type = {}) {
    KernelFile file = loopy::read_kernel_file(GetParam().string());
    if (type) {
      file.options.default_type = type;
    }
    return {name(), entry(), file};
  }
};

TEST_P(Gallery, HasSizesAndAReference) {
  const KernelFile file = loopy::read_kernel_file(GetParam().string());
  EXPECT_FALSE(file.sizes.empty());
  EXPECT_FALSE(file.small_sizes.empty());
  EXPECT_TRUE(entry() != nullptr || GetParam().parent_path().filename() == "contractions");
}

TEST_P(Gallery, IsRightOnTheHost) {
  const Case f32 = make_case();
  const Kernel checked = loopy::checked_kernel(f32.transformed());
  for (const auto target : {loopy::Target::cuda, loopy::Target::opencl}) {
    EXPECT_FALSE(loopy::generate_text(checked, target).empty());
  }
  f32.run(f32.transformed(), runtime::Device::host());
}

TEST_P(Gallery, IsRightInDouble) {
  if (loopy::read_kernel_file(GetParam().string()).options.default_type) {
    const Case f64 = make_case(cgen::f64);
    f64.run(f64.described(), runtime::Device::host());
  }
}

/// The slicing that the model likes best, if there are any.
std::optional<Kernel> first_sliced(const Case& given, const loopy::MachineModel& machine) {
  loopy::SlicingConstraints constraints;
  constraints.parameters = given.sizes();
  constraints.machine = machine;
  std::optional<loopy::RankedSlicing> first;
  try {
    first =
        loopy::SlicingStream(loopy::tuned_kernel(given.described(), given.sizes(), {}), constraints)
            .next();
  } catch (const InvalidInput& error) {
    if (error.code() != "loopy.slicings.nothing_to_slice") {
      throw;
    }
  }
  if (!first) {
    return std::nullopt;
  }
  testing::Test::RecordProperty("slicing", to_string(first->slicing));
  return loopy::tuned_kernel(given.described(), given.sizes(), first->slicing);
}

TEST_P(Gallery, IsRightByTheFirstSlicingOfTheHost) {
  const Case f32 = make_case();
  loopy::MachineModel two_cores = loopy::machine_model(runtime::Device::host());
  two_cores.multiprocessors = 2;  // the same slicing on every machine
  if (const auto sliced = first_sliced(f32, two_cores)) {
    f32.run(*sliced, runtime::Device::host());
  }
}

TEST_P(Gallery, IsRightByTheFirstSlicingOfAGpu) {
  const Case f32 = make_case();
  if (const auto sliced = first_sliced(f32, {})) {
    f32.run_as_cuda_on_the_cpu(loopy::checked_kernel(*sliced));
  }
}

TEST_P(Gallery, IsRightAsCudaText) {
  const Case f32 = make_case();
  if (!f32.transformed().recipe.empty()) {
    f32.run_as_cuda_on_the_cpu(f32.transformed());
  }
}

std::string test_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Files, Gallery, testing::ValuesIn(gallery_files()), test_name);

TEST(GalleryFiles, AreOnThePage) {
  std::ifstream stream(RTCG_SOURCE_DIR "/docs/gallery.md");
  std::stringstream page;
  page << stream.rdbuf();
  for (const std::filesystem::path& file : gallery_files()) {
    EXPECT_NE(page.str().find("\n| `" + file.stem().string() + "` |"), std::string::npos) << file;
  }
}

TEST(GalleryFiles, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(RTCG_SOURCE_DIR "/examples/kernels")) {
    names.insert(entry.path().filename().string());
  }
  for (const std::filesystem::path& file : gallery_files()) {
    EXPECT_TRUE(names.insert(file.filename().string()).second) << file;
  }
}

}  // namespace
}  // namespace rtcg::gallery
