// What an expert writes for a kernel is in the space, and near its beginning: a search tries it.
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/type.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/machines.h"
#include "rtcg/loopy/tune/tune.h"

namespace rtcg::gallery {
namespace {

constexpr std::size_t most_rank = 200;  // a search of a few seconds on a GPU tries as many

struct Expert {
  std::string name;    ///< of the test
  std::string kernel;  ///< in examples/gallery, or its text
  std::string words;
  std::size_t rank = most_rank;  ///< at most
  loopy::IntegerValues sizes{};  ///< other than the kernel's
  std::optional<cgen::Type> type{};
};

const char* const seven_points = R"(
domains {[i, j, k]: 1 <= i, j, k < n - 1}
arguments u, out: f32[n, n, n]
sizes n=512
statements
  out[i, j, k] = (u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k]
    + u[i, j, k - 1] + u[i, j, k + 1] - 6*u[i, j, k])
)";

loopy::KernelFile file_of(const std::string& kernel) {
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(RTCG_SOURCE_DIR "/examples/gallery")) {
    if (entry.path().stem() == kernel && entry.path().extension() == ".loopy") {
      return loopy::read_kernel_file(entry.path().string());
    }
  }
  return loopy::parse_kernel_file(kernel);
}

void PrintTo(const Expert& expert, std::ostream* out) {
  *out << expert.name;
}

class ExpertsSlicings : public testing::TestWithParam<Expert> {};

TEST_P(ExpertsSlicings, AreInTheSpace) {
  const Expert& expert = GetParam();
  loopy::KernelFile file = file_of(expert.kernel);
  if (expert.type) {
    file.options.default_type = expert.type;
  }
  loopy::SlicingConstraints constraints;
  constraints.parameters = expert.sizes;
  constraints.parameters.insert(file.sizes.begin(), file.sizes.end());
  constraints.machine = loopy::find_machine("h200").model;
  const loopy::Kernel kernel =
      loopy::tuned_kernel(loopy::described_kernel(file), constraints.parameters, {});
  const loopy::SlicingStream stream(kernel, constraints);
  const std::optional<std::size_t> rank = stream.find_words(expert.words);
  ASSERT_TRUE(rank);
  EXPECT_LE(*rank, expert.rank);
  const std::string text = loopy::generate_text(
      loopy::checked_kernel(apply(kernel, stream.at(*rank).slicing)), loopy::Target::cuda);
  EXPECT_NE(text.find("__global__"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, ExpertsSlicings,
    testing::Values(
        // e and f are one loop: neighbours along f for each e are a tile. A copy of a warp touches
        // 8 lines of memory, so that the model ranks it 25 % below the best tiles of copied
        // operands
        Expert{"FourIndices", "abcd-aebf-dfce",
               "fuse ab = a b; fuse cd = c d; fuse fe = f*8 e*4; cd: g.0 ilp*2 l.0*16 vec*4; "
               "ab: g.1 l.1*16 ilp*8; fe: for unr_hint*16; fetch A transposed pad 4; "
               "fetch B transposed pad 4; stages 3",
               400000},
        Expert{
            "FourIndicesCopied", "abcd-aebf-dfce",
            "store A_copy[a,e,f,b]; store B_copy[f,c,e,d]; fuse ab = a b; fuse cd = c d; fuse ef "
            "= e f; b_A_copy: g.0 l.0*6 vec*4; f_A_copy: g.1 l.1*12 ilp*2; e_A_copy: g.2; "
            "d_B_copy: g.0 l.0*6 vec*4; e_B_copy: g.1 l.1*12 ilp*2; c_B_copy: g.2; cd: g.0 ilp*4 "
            "l.0*8 ilp*4; ab: g.1 l.1*16 ilp*6; ef: for unr_hint*12; fetch A pad 1 vec 4; fetch B "
            "vec 4; fetch A_copy stages 3; fetch B_copy stages 3; launch before d_B_copy; launch "
            "before cd"},
        // in the space; the model ranks larger tiles first, 3 % below its time for this one
        Expert{"Complex",
               "product",
               "j: g.0 ilp*2 l.0*16 vec*2; i: g.1 l.1*16 ilp*4; k: for unr_hint*16; "
               "fetch A transposed pad 4; fetch B; stages 3",
               20000,
               {},
               cgen::complex_of(cgen::f32)},
        // the model ranks smaller tiles first, which have fewer idle threads along the diagonal
        Expert{"Symmetric",
               "syrk",
               "j: g.0 ilp*2 l.0*16 vec*4; i: g.1 l.1*16 ilp*8; k: for unr_hint*16; "
               "fetch A#1 transposed pad 4; fetch A#2 transposed pad 4; stages 3",
               20000,
               {{"n", 4096}, {"m", 4096}}},
        // loops over a row are unrolled in place of cut once more
        Expert{"Softmax", "softmax",
               "i: g.0; j: unr_hint l.0*256 unr*4; l: unr_hint l.0*256 vec*4; keep x vec 4; "
               "online j,k"},
        Expert{"LayerNorm", "layer_norm",
               "i: g.0; j: unr_hint l.0*256 unr*4; k: unr_hint l.0*256 unr*4; "
               "l: unr_hint l.0*256 vec*4; keep x vec 4"},
        // the pixels of all images are one loop, and so are channels and weights
        Expert{"Convolution", "conv_3x3",
               "fuse byx = b y x; fuse cpq = c p q; byx: g.0 ilp*2 l.0*32 vec*4; "
               "f: g.1 l.1*8 ilp*8; cpq: for unr_hint*16; fetch image; "
               "fetch weight transposed pad 4; stages 2"},
        Expert{"Histogram", "histogram",
               "i: g.0 for*32 unr*4 l.0*512; private count block copies 32"},
        // planes that feed registers in place of a plane next to them; the model ranks larger tiles
        // first, 5 % below its time for this one
        Expert{"SevenPoints", seven_points,
               "k: g.0 l.0*32 vec*4; j: g.1 l.1*8; i: g.2; march i*64 unr*3; queue u 3; "
               "queue u 4 shared",
               1000},
        Expert{"TwentyFivePoints", "star_25",
               "k: g.0 l.0*32 vec*2; j: g.1 l.1*16; i: g.2; p: unr; march i*128 unr*3; queue u 9; "
               "queue u 7 shared"},
        // all six rules are kept in shared memory, and a block has one element
        Expert{"SpectralElements", "stiffness_3d",
               "k: l.0; j: l.1; i: ilp; e: g.0; place ux shared; place uy shared; "
               "place uz shared; place fx shared; place fy shared; place fz shared"}),
    [](const testing::TestParamInfo<Expert>& info) { return info.param.name; });

}  // namespace
}  // namespace rtcg::gallery
