#include "rtcg/dg/mesh/partition.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tests/dg/mesh/box_examples.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

std::vector<PartitionMethod> methods() {
  std::vector<PartitionMethod> all = {PartitionMethod::automatic, PartitionMethod::curve};
  if (why_no_metis().empty()) {
    all.push_back(PartitionMethod::metis);
  }
  return all;
}

TEST(Partition, MakesPartsOfEqualSizeWithFewFacesBetween) {
  for (const PartitionMethod method : methods()) {
    for (int dimension = 1; dimension <= 3; ++dimension) {
      Mesh mesh = make_box_mesh(testing::box(dimension, dimension == 1 ? 240 : 8));
      std::shuffle(mesh.elements.begin(), mesh.elements.end(), std::mt19937(3));
      const Connectivity connectivity = find_connectivity(mesh);
      for (const int parts : {1, 2, 5}) {
        const std::vector<int> part_of = partition(mesh, connectivity, parts, method);
        ASSERT_EQ(part_of.size(), mesh.element_count());
        EXPECT_EQ(part_of, partition(mesh, connectivity, parts, method));
        for (int part = 0; part < parts; ++part) {
          const double share =
              static_cast<double>(std::count(part_of.begin(), part_of.end(), part)) /
              static_cast<double>(mesh.element_count());
          EXPECT_NEAR(share, 1.0 / parts, 0.05 / parts);
        }
        std::vector<int> random_parts = part_of;
        std::shuffle(random_parts.begin(), random_parts.end(), std::mt19937(4));
        EXPECT_LE(4 * count_cut_faces(connectivity, part_of),
                  count_cut_faces(connectivity, random_parts));
        if (parts == 1) {
          EXPECT_EQ(count_cut_faces(connectivity, part_of), 0U);
        }
      }
    }
  }
}

TEST(Partition, OrdersTheElementsByParts) {
  Mesh mesh = make_box_mesh(testing::box(2, 4));
  for (std::size_t i = 0; i < mesh.element_count(); ++i) {
    mesh.element_regions.push_back(static_cast<int>(i));
  }
  const std::vector<int> part_of = partition(mesh, find_connectivity(mesh), 3);
  const Mesh ordered = ordered_by_parts(mesh, part_of);
  int last_part = 0;
  int last_element = -1;
  for (std::size_t i = 0; i < ordered.element_count(); ++i) {
    const int element = ordered.element_regions[i];
    const int part = part_of[static_cast<std::size_t>(element)];
    EXPECT_EQ(ordered.elements[i], mesh.elements[static_cast<std::size_t>(element)]);
    EXPECT_TRUE(part > last_part || (part == last_part && element > last_element));
    last_part = part;
    last_element = element;
  }
  EXPECT_EQ(last_part, 2);
}

TEST(Partition, MetisOrdersNeighboursNearEachOther) {
  Mesh mesh = make_box_mesh(testing::box(2, 16));
  std::shuffle(mesh.elements.begin(), mesh.elements.end(), std::mt19937(3));
  if (!why_no_metis().empty()) {
    EXPECT_ERROR("dg.partition.no_metis", ordered_by_metis(mesh));
    return;
  }
  Mesh ordered = ordered_by_metis(mesh);
  std::sort(ordered.elements.begin(), ordered.elements.end());
  std::sort(mesh.elements.begin(), mesh.elements.end());
  EXPECT_EQ(ordered.elements, mesh.elements);
}

TEST(Partition, RefusesWhatCannotBe) {
  const Mesh mesh = make_box_mesh(testing::box(2, 2));
  const Connectivity connectivity = find_connectivity(mesh);
  EXPECT_ERROR("dg.partition.bad_count", partition(mesh, connectivity, 0));
  EXPECT_ERROR("dg.partition.bad_count", partition(mesh, connectivity, 9));
  if (!why_no_metis().empty()) {
    EXPECT_ERROR("dg.partition.no_metis", partition(mesh, connectivity, 2, PartitionMethod::metis));
  }
}

}  // namespace
}  // namespace rtcg::dg
