// What SciPy computed, computed again: scipy_cases.txt says what.
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/arrays/solve/eigenvalues.h"
#include "rtcg/arrays/solve/krylov.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"

namespace rtcg::arrays {
namespace {

using Numbers = std::vector<double>;

struct Case {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::map<std::string, Numbers> lines{};

  [[nodiscard]] const Numbers& at(const std::string& name) const { return lines.at(name); }
  [[nodiscard]] std::vector<std::int32_t> integers(const std::string& name) const {
    const Numbers& numbers = at(name);
    return {numbers.begin(), numbers.end()};
  }
};

std::vector<Case> all_cases() {
  std::ifstream file(RTCG_SOURCE_DIR "/tests/arrays/sparse/scipy_cases.txt");
  std::vector<Case> result;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "case") {
      result.emplace_back();
      words >> result.back().rows >> result.back().columns;
    } else if (name != "#" && name != "end") {
      Numbers& numbers = result.back().lines[name];
      for (double number = 0; words >> number;) {
        numbers.push_back(number);
      }
    }
  }
  return result;
}

void expect_same_indices(const AnySparseMatrix& a, const Case& expected, const std::string& lists,
                         const std::string& places) {
  EXPECT_EQ(a.first().to_vector<std::int32_t>(), expected.integers(lists + "_first"));
  EXPECT_EQ(a.column().to_vector<std::int32_t>(), expected.integers(lists + "_" + places));
  EXPECT_EQ(a.value().to_vector<double>(), expected.at(lists + "_value"));
}

/// Of whole numbers, so that every order of additions gives the same.
void check_matrix(const SparseMatrix<double>& a, const Case& expected) {
  expect_same_indices(a, expected, "csr", "column");
  expect_same_indices(a.in_format(SparseFormat::csc), expected, "csc", "row");
  const FormatOptions roomy{.most_stored = 1000};
  EXPECT_EQ(a.in_format(SparseFormat::dia, roomy).any().column().to_vector<std::int32_t>(),
            expected.integers("dia_offsets"));
  const Array<double> x(expected.at("x"));
  const Array<double> z(expected.at("z"));
  for (const SparseFormat format :
       {SparseFormat::csr, SparseFormat::ell, SparseFormat::dia, SparseFormat::packets}) {
    EXPECT_EQ((a.in_format(format, roomy) * x).to_vector<double>(), expected.at("product"))
        << name(format);
  }
  EXPECT_EQ((a.transposed() * z).to_vector<double>(), expected.at("transposed_product"));
  EXPECT_EQ(a.diagonal().to_vector(), expected.at("diagonal"));
  EXPECT_EQ(a.row_sums().to_vector(), expected.at("row_sums"));
  EXPECT_EQ(a.with_scaled_rows(z).to_dense().to_vector(), expected.at("scaled_rows"));
  EXPECT_EQ(a.with_scaled_columns(x).to_dense().to_vector(), expected.at("scaled_columns"));
  EXPECT_EQ((a * a.transposed()).to_dense().to_vector(), expected.at("gram"));
  EXPECT_EQ((a + a).to_dense().to_vector(), expected.at("twice"));
}

void check_solvers(const SparseMatrix<double>& a, const Case& expected) {
  const Array<double> z(expected.at("z"));
  const SolveOptions options{.tolerance = 1e-13};
  const Numbers& solution = expected.at("solution");
  for (const Solution& found :
       {conjugate_gradients(a, z, options), minres(a, z, options), bicgstab(a, z, options)}) {
    const Numbers values = found.x.to_vector<double>();
    ASSERT_EQ(values.size(), solution.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], solution[i], 1e-11);  // solutions and condition are about 1
    }
  }
  const ExtremeEigenvalues extremes = extreme_eigenvalues(a);
  EXPECT_NEAR(extremes.smallest, expected.at("extremes")[0], 1e-4 * expected.at("extremes")[1]);
  EXPECT_NEAR(extremes.largest, expected.at("extremes")[1], 1e-4 * expected.at("extremes")[1]);
}

TEST(SciPyCases, GiveTheSameResults) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const std::vector<Case> cases = all_cases();
  ASSERT_EQ(cases.size(), 10U);
  for (const Case& each : cases) {
    SCOPED_TRACE(std::to_string(each.rows) + " x " + std::to_string(each.columns));
    const auto a = SparseMatrix<double>::from_triplets(
        each.rows, each.columns, each.integers("row"), each.integers("column"), each.at("value"));
    check_matrix(a, each);
    if (each.lines.count("solution") != 0) {
      check_solvers(a, each);
    }
  }
}

}  // namespace
}  // namespace rtcg::arrays
