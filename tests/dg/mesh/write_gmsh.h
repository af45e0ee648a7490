#pragma once

#include <algorithm>
#include <cstring>
#include <string>

// Bytes of MSH files, as text or as memory images, for tests of the reader.

namespace rtcg::dg::testing {

enum class GmshMode { text, binary, swapped };

class GmshWriter {
 public:
  explicit GmshWriter(GmshMode mode) : mode_(mode) {}

  GmshWriter& text(const std::string& words) {
    bytes_ += words;
    return *this;
  }
  GmshWriter& i32(int value) { return number(value); }
  GmshWriter& i64(long long value) { return number(value); }
  GmshWriter& real(double value) { return number(value); }
  /// Ends a row, which binary files do not have.
  GmshWriter& row() { return mode_ == GmshMode::text ? text("\n") : *this; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] bool is_binary() const { return mode_ != GmshMode::text; }

  GmshWriter& header(const std::string& version) {
    text("$MeshFormat\n" + version + (is_binary() ? " 1 8\n" : " 0 8\n"));
    if (is_binary()) {
      i32(1).text("\n");
    }
    return text("$EndMeshFormat\n");
  }

 private:
  template <class Number>
  GmshWriter& number(Number value) {
    if (mode_ == GmshMode::text) {
      return text(std::to_string(value) + " ");
    }
    char copy[sizeof(Number)];
    std::memcpy(copy, &value, sizeof(Number));
    if (mode_ == GmshMode::swapped) {
      std::reverse(copy, copy + sizeof(Number));
    }
    bytes_.append(copy, sizeof(Number));
    return *this;
  }

  GmshMode mode_;
  std::string bytes_;
};

/// The unit square in two triangles, with the names `left`, `wall` and `air`; node tags have gaps.
inline std::string square_41(GmshMode mode) {
  GmshWriter out(mode);
  out.header("4.1");
  out.text("$PhysicalNames\n3\n1 7 \"left\"\n1 8 \"wall\"\n2 5 \"air\"\n$EndPhysicalNames\n");
  out.text("$Comments\nanything $at all\n$EndComments\n$Entities\n");
  out.i64(1).i64(4).i64(1).i64(0).row();
  out.i32(1).real(0).real(0).real(0).i64(0).row();
  for (int curve = 1; curve <= 4; ++curve) {
    out.i32(curve);
    for (int i = 0; i < 6; ++i) {
      out.real(i / 3);
    }
    out.i64(1).i32(curve == 4 ? -7 : 8).i64(2).i32(1).i32(-2).row();
  }
  out.i32(1);
  for (int i = 0; i < 6; ++i) {
    out.real(i / 3);
  }
  out.i64(1).i32(5).i64(0).row().text(mode == GmshMode::text ? "" : "\n");
  out.text("$EndEntities\n$Nodes\n");
  out.i64(2).i64(5).i64(10).i64(50).row();
  out.i32(0).i32(1).i32(0).i64(1).row().i64(99).row().real(9).real(9).real(9).row();
  out.i32(2).i32(1).i32(1).i64(4).row();
  for (const int tag : {10, 20, 30, 50}) {
    out.i64(tag).row();
  }
  for (const int corner : {0, 1, 3, 2}) {
    out.real(corner % 2).real(corner / 2).real(0).real(0.5).real(0.5).row();
  }
  out.text(out.is_binary() ? "\n" : "").text("$EndNodes\n$Elements\n");
  out.i64(6).i64(7).i64(1).i64(7).row();
  out.i32(0).i32(1).i32(15).i64(1).row().i64(1).i64(99).row();
  const int corners[5] = {10, 20, 30, 50, 10};
  for (int curve = 1; curve <= 4; ++curve) {
    out.i32(1).i32(curve).i32(1).i64(1).row();
    out.i64(1 + curve).i64(corners[curve - 1]).i64(corners[curve]).row();
  }
  out.i32(2).i32(1).i32(2).i64(2).row();
  out.i64(6).i64(10).i64(20).i64(30).row().i64(7).i64(30).i64(10).i64(50).row();
  out.text(out.is_binary() ? "\n" : "").text("$EndElements\n");
  return out.bytes();
}

/// The same in version 2.2, the triangles being of second order.
inline std::string square_22(GmshMode mode) {
  GmshWriter out(mode);
  out.header("2.2");
  out.text("$PhysicalNames\n3\n1 7 \"left\"\n1 8 \"wall\"\n2 5 \"air\"\n$EndPhysicalNames\n");
  out.text("$Nodes\n9\n");
  const double x[9] = {0, 1, 1, 0, .5, 1, .5, 0, .5};
  const double y[9] = {0, 0, 1, 1, 0, .5, 1, .5, .5};
  for (int node = 0; node < 9; ++node) {
    out.i32(node + 1).real(x[node]).real(y[node]).real(2).row();
  }
  out.text(out.is_binary() ? "\n" : "").text("$EndNodes\n$Elements\n6\n");
  const auto element = [&](int number, int type, int group,
                           const std::initializer_list<int>& nodes) {
    if (out.is_binary()) {
      out.i32(type).i32(1).i32(2).i32(number);
    } else {
      out.i32(number).i32(type).i32(2);
    }
    out.i32(group).i32(1);
    for (const int node : nodes) {
      out.i32(node);
    }
    out.row();
  };
  element(1, 8, 8, {1, 2, 5});
  element(2, 8, 8, {2, 3, 6});
  element(3, 8, 8, {3, 4, 7});
  element(4, 8, 7, {4, 1, 8});
  element(5, 9, 5, {1, 2, 3, 5, 6, 9});
  element(6, 9, 5, {3, 1, 4, 9, 8, 7});
  out.text(out.is_binary() ? "\n" : "").text("$EndElements\n");
  return out.bytes();
}

}  // namespace rtcg::dg::testing
