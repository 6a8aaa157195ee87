// The yardstick: the product as CUTLASS's collective builder makes it, plain or with the epilogue of
// epilogue.fact (EPILOGUE=1) or residual.fact (EPILOGUE=2) as a visitor tree. TILE_M, TILE_N, CLUSTER_M, PINGPONG and STAGES
// are the schedule.
#define CUTLASS_USE_TANH_FOR_SIGMOID  // one special function for a silu, as in our kernels
#include <cutlass/epilogue/thread/activation.h>
#include <cutlass/gemm/device/gemm_universal_adapter.h>

#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

using cute::_1;
using Element = cutlass::bfloat16_t;
using RowMajor = cutlass::layout::RowMajor;
using ColumnMajor = cutlass::layout::ColumnMajor;
using Tile = cute::Shape<cute::Int<TILE_M>, cute::Int<TILE_N>, cute::_64>;
using Cluster = cute::Shape<cute::Int<CLUSTER_M>, _1, _1>;

struct Operands {
    void const *x, *w;
    void* y;
    float const *alpha, *beta;
    Element const *bias, *gain, *shift, *keep, *offset, *residual;
};

#if EPILOGUE
namespace fusion = cutlass::epilogue::fusion;
namespace thread = cutlass::epilogue::thread;
template <template <class> class Function, class... Inputs>
using Apply = fusion::Sm90EVT<
    fusion::Sm90Compute<Function, float, float, cutlass::FloatRoundStyle::round_to_nearest>,
    Inputs...>;
template <class T>
using MultiplyAdd = cutlass::homogeneous_multiply_add<T>;
using Scalar = fusion::Sm90ScalarBroadcast<float>;
using Row = fusion::Sm90RowBroadcast<0, Tile, Element, float>;
using Column = fusion::Sm90ColBroadcast<0, Tile, Element, float>;

using Hidden = Apply<thread::SiLu, Apply<MultiplyAdd, Scalar, fusion::Sm90AccFetch, Row>>;
using Scaled = Apply<thread::Clamp, Apply<MultiplyAdd, Row, Hidden, Row>>;
using Branch = Apply<cutlass::multiplies, Apply<cutlass::multiplies, Scalar, Column>, Scaled>;
#if EPILOGUE == 2
using Added = fusion::Sm90SrcFetch<Element>;
using Source = Element;
#else
using Added = Column;
using Source = void;
#endif
using Sum = Apply<cutlass::plus, Added, Branch>;
using Finish = Apply<thread::ReLu, Apply<cutlass::multiplies, Sum, Scalar>>;

// Inputs first, then the function's own; the accumulator, the source and most functions have none.
typename Finish::Arguments finish(Operands const& o) {
    typename Hidden::Arguments hidden{{{{}, {o.alpha}}, {}, {o.bias}, {}}, {}};
    typename Scaled::Arguments scaled{{{o.gain}, hidden, {o.shift}, {}}, {-6.f, 6.f}};
    typename Branch::Arguments branch{{{{}, {o.beta}}, {o.keep}, {}}, scaled, {}};
    typename Added::Arguments added{};
#if EPILOGUE == 1
    added.ptr_col = o.offset;
#endif
    typename Sum::Arguments sum{added, branch, {}};
    return {{sum, {{0.70710678f}}, {}}, {}};
}
#else
using Finish = cutlass::epilogue::fusion::LinearCombination<Element, float, void, float>;
using Source = void;
#endif

using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, Source, RowMajor, 8, Element,
    RowMajor, 8,
    std::conditional_t<PINGPONG, cutlass::epilogue::TmaWarpSpecialized,
                       cutlass::epilogue::TmaWarpSpecializedCooperative>,
    Finish>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, RowMajor, 8, Element, ColumnMajor,
    8, float, Tile, Cluster, cutlass::gemm::collective::StageCount<STAGES>,
    std::conditional_t<PINGPONG, cutlass::gemm::KernelTmaWarpSpecializedPingpong,
                       cutlass::gemm::KernelTmaWarpSpecializedCooperative>>::CollectiveOp;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<
    cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>>;

static_assert(Gemm::GemmKernel::SharedStorageSize <= 232448, "fewer stages fit");

// y = x @ w.T and what follows. The raster is CUTLASS's: 0 heuristic, 1 along M, 2 along N.
extern "C" int run(Operands const& o, int m, int n, int k, int raster, int swizzle,
                   cudaStream_t stream) {
    static cutlass::KernelHardwareInfo const hardware = [] {
        cutlass::KernelHardwareInfo info;
        cudaGetDevice(&info.device_id);
        info.sm_count = info.query_device_multiprocessor_count(info.device_id);
        return info;
    }();
    typename Gemm::Arguments arguments{
        cutlass::gemm::GemmUniversalMode::kGemm,
        {m, n, k, 1},
        {static_cast<Element const*>(o.x),
         {k, _1{}, 0},
         static_cast<Element const*>(o.w),
         {k, _1{}, 0}},
        {{}, EPILOGUE == 2 ? o.residual : nullptr, {n, _1{}, 0}, static_cast<Element*>(o.y), {n, _1{}, 0}},
        hardware};
#if EPILOGUE
    arguments.epilogue.thread = finish(o);
#endif
    using Raster = decltype(arguments.scheduler.raster_order);
    arguments.scheduler.raster_order = static_cast<Raster>(raster);
    arguments.scheduler.max_swizzle_size = swizzle;
    Gemm gemm;
    if (Gemm::get_workspace_size(arguments) != 0) return -1;
    if (auto status = gemm.can_implement(arguments); status != cutlass::Status::kSuccess)
        return static_cast<int>(status);
    return static_cast<int>(gemm.run(arguments, nullptr, stream));
}
