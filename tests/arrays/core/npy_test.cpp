#include "rtcg/arrays/core/npy.h"

#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

TEST(Npy, RoundTripsAllTypes) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::bf16) {
      continue;
    }
    SCOPED_TRACE(std::string(name(dtype)));
    const AnyArray x = arange(dtype, 0, 6).reshape({2, 3}).transposed();
    std::stringstream file;
    write_npy(file, x);
    const AnyArray y = read_npy(file);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_EQ(y.strides(), x.strides());  // F order stays
    EXPECT_TRUE(Array<bool>(all(x == y)).item());
  }
}

std::string header(const std::string& text) {
  std::string bytes("\x93NUMPY\x01\0", 8);
  bytes.push_back(static_cast<char>(text.size()));
  bytes.push_back('\0');
  return bytes.append(text);
}

TEST(Defect12, ShapesOfFilesAreCheckedProducts) {
  const auto read = [](const std::string& shape) {
    std::istringstream file(
        header("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }\n") +
        "12345678");
    return read_npy(file);
  };
  EXPECT_EQ(read("(1,)").count(), 1);
  EXPECT_ERROR("arrays.extents.too_large", read("(4294967296, 4294967296)"));
  // 2^63, 2^64 and 2^65 bytes
  for (const char* shape : {"(1152921504606846976,)", "(2305843009213693952,)",
                            "(4611686018427387904,)", "(2147483648, 1073741824)"}) {
    EXPECT_ERROR("arrays.read_npy.bad_format", read(shape));
  }
  EXPECT_ERROR("arrays.read_npy.bad_format", read("(4294967296, 2)"));
}

TEST(Npy, ReadsFortranOrder) {
  const std::int16_t values[] = {1, 2, 3, 4, 5, 6};
  std::istringstream file(header("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n") +
                          std::string(reinterpret_cast<const char*>(values), sizeof values));
  const Array<std::int16_t> x(read_npy(file));
  EXPECT_EQ(x.to_vector(), (std::vector<std::int16_t>{1, 3, 5, 2, 4, 6}));
}

TEST(Npy, ReadsEitherByteOrder) {
  const auto read = [](const std::string& type, const std::string& bytes) {
    std::istringstream file(
        header("{'descr': '" + type + "', 'fortran_order': False, 'shape': (2,), }\n") + bytes);
    return read_npy(file);
  };
  EXPECT_EQ(
      Array<std::int32_t>(read(">i4", std::string("\0\0\1\2\xff\xff\xff\xfe", 8))).to_vector(),
      (std::vector<std::int32_t>{258, -2}));
  EXPECT_EQ(Array<Half>(read(">f2", std::string("\x3c\0\xc0\0", 4)))(1).item(), -2.0F);
  EXPECT_EQ(Array<std::complex<float>>(
                read(">c8", std::string("\x3f\x80\0\0\xc0\0\0\0\0\0\0\0\x40\x40\0\0", 16)))
                .to_vector(),
            (std::vector<std::complex<float>>{{1, -2}, {0, 3}}));
  EXPECT_EQ(Array<bool>(read("|b1", std::string("\1\0", 2))).to_vector(),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(Array<std::int8_t>(read(">i1", "ab"))(1).item(), 'b');
}

TEST(Npy, WritesTheBytesThatNumPyWrites) {
  std::ostringstream file;
  write_npy(file, Array<std::uint8_t>(std::vector<std::uint8_t>{7}));
  const std::string header_text = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
  const std::string written = file.str();
  ASSERT_EQ(written.size(), 129U);
  EXPECT_EQ(written.substr(0, 10), std::string("\x93NUMPY\x01\0\x76\0", 10));
  EXPECT_EQ(written.substr(10, header_text.size()), header_text);
  EXPECT_EQ(written.find_first_not_of(' ', 10 + header_text.size()), 127U);
  EXPECT_EQ(written.substr(127), "\n\x07");
}

TEST(Npy, GoesThroughFiles) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "rtcg_npy_test.npy";
  write_npy(path, arange<float>(3));
  EXPECT_EQ(Array<float>(read_npy(path)).to_vector(), (std::vector<float>{0, 1, 2}));
  // what cannot be written leaves the file that was there
  EXPECT_ERROR("arrays.write_npy.bad_type", (write_npy(path, empty(DType::bf16, {2})), 0));
  EXPECT_EQ(Array<float>(read_npy(path)).to_vector(), (std::vector<float>{0, 1, 2}));
  std::filesystem::resize_file(path, 100);
  try {
    static_cast<void>(read_npy(path));
    FAIL() << "a file that is cut off was read";
  } catch (const InvalidInput& error) {
    EXPECT_NE(error.message().find(path.string()), std::string::npos) << error.message();
  }
  std::filesystem::remove(path);
}

TEST(Npy, Refuses) {
  const auto read = [](const std::string& bytes) {
    std::istringstream file(bytes);
    return read_npy(file).shape();
  };
  EXPECT_ERROR("arrays.read_npy.no_such_file", read_npy(std::filesystem::path("/no/such.npy")));
  EXPECT_ERROR("arrays.read_npy.bad_format", read("no numpy"));
  EXPECT_ERROR("arrays.read_npy.bad_format", read(std::string("\x93NUMPY\x09\0\0\0", 10)));
  EXPECT_ERROR("arrays.read_npy.bad_format", read(header("{'descr': '<f4'}\n")));
  EXPECT_ERROR("arrays.read_npy.bad_format",
               read(header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n") + "12"));
  EXPECT_ERROR("arrays.read_npy.bad_format", read(header("{'descr': '<f4', 'fortran_order': False, "
                                                         "'shape': (99999999999999999999,), }\n")));
  for (const char* type : {"'<M8[ns]'", "'|O'", "''", "[('x', '<f4'), ('y', '>f4')]"}) {
    EXPECT_ERROR("arrays.read_npy.bad_type",
                 read(header("{'descr': " + std::string(type) +
                             ", 'fortran_order': False, 'shape': (), }\n")));
  }
  std::ostringstream output;
  EXPECT_ERROR("arrays.write_npy.bad_type", (write_npy(output, empty(DType::bf16, {2})), 0));
  EXPECT_ERROR("arrays.write_npy.failed",
               (write_npy(std::filesystem::path("/no/such/folder.npy"), zeros<float>({2})), 0));
}

}  // namespace
}  // namespace rtcg::arrays
