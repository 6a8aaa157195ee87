// Windows over images, as an operand of a product: a row is a place where a window lies, a column a
// tap of the window and a channel. Dimensions are in order of memory, the innermost first.
#pragma once

#include <tuple>
#include <utility>

namespace fact {

// Windows along one dimension: kTaps elements, kDilation apart; the first begins kBefore elements
// before the image, the next kStride elements later.
template <int kTaps_, int kStride_, int kDilation_, int kBefore_>
struct Along {
    static constexpr int kTaps = kTaps_, kStride = kStride_, kDilation = kDilation_;
    static constexpr int kBefore = kBefore_;
};

template <class... Dims>
struct Windows {
    static constexpr int kDims = sizeof...(Dims);
    int channels, places[kDims];

    // The window of a row: the element of the image that its first tap is.
    struct Place {
        int first[kDims], image;
    };
    // Rows go on from one image to the next, from `image` on.
    __device__ Place place(int row, int image) const {
        Place at;
        row = split<Place, true>(row, at, std::make_integer_sequence<int, kDims>());
        at.image = image + row;
        return at;
    }

    // A block of kDepth columns: one tap, and channels from `channel` on. Columns are counted with
    // channels rounded up to whole blocks; the other operand's rows are not, and start at `row`.
    struct Tap {
        int offset[kDims], channel, row;
    };
    template <int kDepth>
    __device__ Tap tap(int column) const {
        int const blocks = (channels + kDepth - 1) / kDepth;
        int const block = column / kDepth, number = block / blocks;
        Tap at;
        at.channel = (block - number * blocks) * kDepth;
        at.row = number * channels + at.channel;
        split<Tap, false>(number, at, std::make_integer_sequence<int, kDims>());
        return at;
    }
    // Goes on to the next block, without dividing. After the last tap comes the first.
    template <int kDepth>
    __device__ void advance(Tap& at) const {
        at.channel += kDepth;
        at.row += kDepth;
        if (at.channel < channels) return;
        at.row -= at.channel - channels;
        at.channel = 0;
        next_tap<0>(at);
    }

  private:
    template <int i>
    using Dim = std::tuple_element_t<i, std::tuple<Dims...>>;

    template <int i>
    __device__ static void next_tap(Tap& at) {
        at.offset[i] += Dim<i>::kDilation;
        if (at.offset[i] < Dim<i>::kTaps * Dim<i>::kDilation) return;
        at.offset[i] = 0;
        if constexpr (i + 1 < kDims) next_tap<i + 1>(at);
    }

    // Takes a number of a place or of a tap apart, and returns what is left of it.
    template <class At, bool kIsPlace, int... i>
    __device__ int split(int number, At& at, std::integer_sequence<int, i...>) const {
        (take<i, kIsPlace>(number, at), ...);
        return number;
    }
    template <int i, bool kIsPlace, class At>
    __device__ void take(int& number, At& at) const {
        int const count = kIsPlace ? places[i] : Dim<i>::kTaps;
        int const left = number / count, coordinate = number - left * count;
        if constexpr (kIsPlace)
            at.first[i] = coordinate * Dim<i>::kStride - Dim<i>::kBefore;
        else
            at.offset[i] = coordinate * Dim<i>::kDilation;
        number = left;
    }
};

// Windows over images whose pixels are a few channels, one step apart and nowhere outside: the taps
// of the innermost dimension and their channels are kRun neighbours in memory, and the next place's
// begin one pixel later. kTaps are those of the other dimensions, the innermost first.
template <int kRun_, int... kTaps>
struct OverlappingRows {
    static constexpr int kRun = kRun_, kOuter = sizeof...(kTaps);

    // A column of the product's operand: a tap of the other dimensions, and a column of its run.
    struct Tap {
        int column, outer[kOuter > 0 ? kOuter : 1];
    };
    __device__ static Tap tap(int column) {
        Tap at{column % kRun, {}};
        [[maybe_unused]] int left = column / kRun, i = 0;
        ((at.outer[i++] = left % kTaps, left /= kTaps), ...);
        return at;
    }
    // Goes on by kDepth columns, which divide a run. After the last tap comes the first.
    template <int kDepth>
    __device__ static void advance(Tap& at) {
        static_assert(kRun % kDepth == 0);
        at.column += kDepth;
        bool carries = at.column == kRun;
        if (carries) at.column = 0;
        [[maybe_unused]] int i = 0;
        ((at.outer[i] = carries ? at.outer[i] + 1 : at.outer[i], carries = at.outer[i] == kTaps,
          at.outer[i] = carries ? 0 : at.outer[i], ++i),
         ...);
    }
};

}  // namespace fact
