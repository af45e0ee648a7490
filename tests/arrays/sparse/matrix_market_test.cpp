#include "rtcg/arrays/sparse/matrix_market.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

detail::MarketEntries parsed(const std::string& text, bool takes_fractions = true) {
  std::istringstream in(text);
  return detail::parse_matrix_market(in, "test.mtx", takes_fractions);
}

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(parsed(text));
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

/// A file of the tests, removed in the end.
class MarketFile {
 public:
  explicit MarketFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("rtcg_matrix_market_test_" + std::to_string(::getpid()) + ".mtx")) {
    std::ofstream(path_) << text;
  }
  ~MarketFile() { std::filesystem::remove(path_); }
  MarketFile(const MarketFile&) = delete;
  MarketFile& operator=(const MarketFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(MatrixMarket, ReadsFiles) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const MarketFile file(
      "%%MatrixMarket matrix coordinate real general\n"
      "% a comment\n"
      "\n"
      "2 3 4\n"
      "1 1 1.5\n"
      "2 3 -2e1\n"
      "  1 2   +4\n"
      "1 1 0.5\n");
  const auto a = read_matrix_market<double>(file.path());
  EXPECT_EQ(a.entries(), 3);
  EXPECT_EQ(a.to_dense().to_vector(), (std::vector<double>{2, 4, 0, 0, 0, -20}));
  EXPECT_ERROR("arrays.matrix_market.type", read_matrix_market<int>(file.path()));
  EXPECT_ERROR("arrays.matrix_market.unreadable",
               read_matrix_market<double>(file.path() + ".none"));
}

TEST(MatrixMarket, CompletesSymmetricMatrices) {
  const detail::MarketEntries symmetric = parsed(
      "%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 7\n2 1 5\n3 2 -4\n", false);
  EXPECT_EQ(symmetric.row, (std::vector<std::int32_t>{0, 1, 0, 2, 1}));
  EXPECT_EQ(symmetric.column, (std::vector<std::int32_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(symmetric.value, (std::vector<double>{7, 5, 5, -4, -4}));
  const detail::MarketEntries skew =
      parsed("%%matrixmarket MATRIX Coordinate Real Skew-Symmetric\n2 2 1\n2 1 3\n");
  EXPECT_EQ(skew.value, (std::vector<double>{3, -3}));
  const detail::MarketEntries pattern =
      parsed("%%MatrixMarket matrix coordinate pattern general\n2 5 2\n1 5\n2 1\n");
  EXPECT_EQ(pattern.value, (std::vector<double>{1, 1}));
  EXPECT_EQ(pattern.column, (std::vector<std::int32_t>{4, 0}));
}

TEST(MatrixMarket, NamesTheLineThatIsWrong) {
  const std::string head = "%%MatrixMarket matrix coordinate real general\n2 2 2\n";
  EXPECT_ERROR("arrays.matrix_market.syntax", parsed(""));
  EXPECT_ERROR("arrays.matrix_market.syntax", parsed("1 1 1\n"));
  EXPECT_ERROR("arrays.matrix_market.syntax", parsed(head + "1 1 x\n1 1 1\n"));
  EXPECT_ERROR("arrays.matrix_market.syntax", parsed(head + "1 1\n1 1 1\n"));
  EXPECT_ERROR("arrays.matrix_market.syntax", parsed(head + "1 1.5 1\n1 1 1\n"));
  EXPECT_ERROR("arrays.matrix_market.out_of_range", parsed(head + "1 1 1\n3 1 1\n"));
  EXPECT_ERROR("arrays.matrix_market.out_of_range", parsed(head + "0 1 1\n1 1 1\n"));
  EXPECT_ERROR("arrays.matrix_market.count", parsed(head + "1 1 1\n"));
  EXPECT_ERROR("arrays.matrix_market.count", parsed(head + "1 1 1\n1 2 1\n2 2 1\n"));
  EXPECT_ERROR("arrays.matrix_market.unsupported",
               parsed("%%MatrixMarket matrix array real general\n1 1\n1\n"));
  EXPECT_ERROR("arrays.matrix_market.unsupported",
               parsed("%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 1 0\n"));
  EXPECT_ERROR("arrays.matrix_market.syntax",
               parsed("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n"));
  EXPECT_ERROR("arrays.matrix_market.syntax",
               parsed("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 4\n"));
  EXPECT_EQ(message_of(head + "% one\n1 1 1\n3 1 1\n"),
            "'test.mtx', line 5: (3, 1) is outside of a matrix of 2 x 2, whose rows and columns "
            "count from 1");
}

}  // namespace
}  // namespace rtcg::arrays
