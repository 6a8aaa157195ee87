// The skeleton's shared-memory layout, run on the host: what ldmatrix hands to each lane is what
// mma expects of it, and no read meets a bank twice.
#include "../../kernels/sm80/stage_layout.cuh"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace fact::sm80 {
namespace {

struct Half {
    std::uint16_t bits;
};

// One element of the operand, found by a lane in a fragment's word.
struct Place {
    int outer, k;
    bool operator==(const Place&) const = default;
};

template <class Layout>
class Stage {
  public:
    Stage() : at_(Layout::kBytes / Layout::kElementBytes, Place{-1, -1}) {
        for (int row = 0; row < Layout::kRows; ++row)
            for (int column = 0; column < Layout::kColumns; ++column) {
                Place& place = at_[element(Layout::offset(row, column))];
                EXPECT_EQ(place.outer, -1) << "two elements in one place";
                place = Layout::kMajor == Major::k ? Place{row, column} : Place{column, row};
            }
    }
    Place at(int byte) const { return at_[element(byte)]; }

  private:
    static std::size_t element(int byte) {
        EXPECT_EQ(byte % Layout::kElementBytes, 0);
        return static_cast<std::size_t>(byte / Layout::kElementBytes);
    }
    std::vector<Place> at_;
};

// Addresses read together, `bytes` each: every bank at most once.
void expect_no_conflict(const std::vector<int>& addresses, int bytes) {
    std::set<int> banks;
    for (const int address : addresses)
        for (int b = 0; b < bytes; b += 4)
            EXPECT_TRUE(banks.insert((address + b) / 4 % 32).second) << "bank conflict";
}

// The elements of a lane's word, by the definition of mma's operands: row lane / 4 of eight, the
// word's elements neighbours along K.
template <class Layout>
void expect_word(const std::vector<Place>& found, int lane, int outer, int k) {
    constexpr int kPerWord = 4 / Layout::kElementBytes;
    ASSERT_EQ(found.size(), static_cast<std::size_t>(kPerWord));
    for (int e = 0; e < kPerWord; ++e)
        EXPECT_EQ(found[static_cast<std::size_t>(e)],
                  (Place{outer + lane / 4, k + lane % 4 * kPerWord + e}));
}

template <class Layout>
void read_matrices(const Stage<Layout>& stage, int outer, int block, int step) {
    constexpr int kPerWord = 4 / Layout::kElementBytes;
    for (int matrix = 0; matrix < 4; ++matrix) {
        std::vector<int> rows;  // lanes 8 * matrix to 8 * matrix + 7 give the addresses
        for (int line = 0; line < 8; ++line)
            rows.push_back(
                Layout::matrix_offset(Layout::lane_offset(8 * matrix + line, outer), block, step));
        expect_no_conflict(rows, 16);
        for (int lane = 0; lane < 32; ++lane) {
            std::vector<Place> word;
            for (int e = 0; e < kPerWord; ++e) {
                // Transposed, the lane's row of the result is a column of what was read.
                const int row = Layout::kMajor == Major::k ? lane / 4 : lane % 4 * 2 + e;
                const int byte = Layout::kMajor == Major::k
                                     ? lane % 4 * 4 + e * Layout::kElementBytes
                                     : lane / 4 * 2;
                word.push_back(stage.at(rows[static_cast<std::size_t>(row)] + byte));
            }
            expect_word<Layout>(word, lane, outer + 16 * block + matrix / 2 * 8,
                                step * Layout::kDepth + matrix % 2 * (Layout::kDepth / 2));
        }
    }
}

template <class Layout>
void read_words(const Stage<Layout>& stage, int outer, int block, int step) {
    for (int h = 0; h < 2; ++h)
        for (int d = 0; d < 2; ++d) {
            std::vector<int> addresses;
            for (int lane = 0; lane < 32; ++lane) {
                addresses.push_back(
                    Layout::word_offset(Layout::lane_offset(lane, outer), block, step, h, d));
                expect_word<Layout>({stage.at(addresses.back())}, lane, outer + 16 * block + 8 * h,
                                    step * Layout::kDepth + 4 * d);
            }
            expect_no_conflict(addresses, 4);
        }
}

// Every fragment that a warp of `warp` rows (or columns) reads.
template <class Element, Major kMajor, int kTile, int kTileK>
void prove(int warp) {
    using Layout = StageLayout<Element, kMajor, kTile, kTileK>;
    const Stage<Layout> stage;
    for (int outer = 0; outer < kTile; outer += warp)
        for (int block = 0; block < warp / 16; ++block)
            for (int step = 0; step < kTileK / Layout::kDepth; ++step) {
                if constexpr (Layout::kByWords)
                    read_words(stage, outer, block, step);
                else
                    read_matrices(stage, outer, block, step);
            }
}

template <class Element, int kTileK>
void prove_all() {
    for (const int warp : {16, 32, 64}) {
        prove<Element, Major::k, 64, kTileK>(warp);
        prove<Element, Major::k, 128, kTileK>(warp);
        prove<Element, Major::k, 256, kTileK>(warp);
        prove<Element, Major::mn, 64, kTileK>(warp);
        prove<Element, Major::mn, 128, kTileK>(warp);
        prove<Element, Major::mn, 256, kTileK>(warp);
    }
}

TEST(StageLayout, HalvesReachTheirLanesWithoutConflicts) {
    prove_all<Half, 64>();
    prove_all<Half, 32>();
}

TEST(StageLayout, FloatsReachTheirLanesWithoutConflicts) {
    prove_all<float, 32>();
}

}  // namespace
}  // namespace fact::sm80
