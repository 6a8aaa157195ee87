#include "lower/sm90/record.h"

#include "lower/product/epilogue_functor.h"
#include "lower/product/launch_parts.h"
#include "lower/record/record_parts.h"
#include "lower/sm90/matrix_map.h"
#include "lower/sm90/window_map.h"

namespace fact::lower::sm90 {

namespace {

constexpr int kProductThreads = 384;  // kProductThreads in product.cuh
constexpr int kMaxBlocks = 144;       // as in partials.cuh
constexpr int kStatisticsRows = 16;   // RowStatistics::kBlock in row_statistics.cuh
constexpr int kCountWords = 4;        // 64-bit words of RowStatistics::Counts

// As in prepare_pass.cuh.
constexpr int kPassTile = 64, kPassThreads = 256, kSpan = 256, kMaximumSpan = 1024;
constexpr int kBlockDepth = 32;
constexpr int kScalesAligned = 4;  // RowScalesOfB in single_operands.cuh

class RecordBuilder {
  public:
    RecordBuilder(const ir::Kernel& kernel, const ProductForm& form,
                  const schedule::Schedule& schedule, const schedule::Problem& problem,
                  const RowStatistics* statistics)
        : kernel_(kernel),
          form_(form),
          schedule_(schedule),
          problem_(problem),
          statistics_(statistics),
          dims_(product_dims(kernel, form)) {}

    LaunchRecord build() {
        record_.kernel = kernel_.name;
        record_.arch = "sm90a";
        record_.schedule = schedule::to_string(schedule_);
        record_.precision = precision_name(problem_, "f16x3");
        bind_tensors(kernel_, record_);
        for (const EpilogueForm& extra : members())
            if (extra.paired)
                record_.alignments.push_back(
                    {extra.tensor, 2 * info(record_.params[index(extra.tensor)].dtype).bytes});
        if (form_.scattered && form_.scattered->stored_together > 1)
            record_.alignments.push_back(
                {output_tensor(), form_.scattered->stored_together *
                                      info(kernel_.outputs.front().tensor.type.dtype).bytes});
        if (schedule::converted(problem_)) prepare();
        product();
        return record_;
    }

  private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    int output_tensor() const { return static_cast<int>(kernel_.params.size()); }

    // Workspaces of an f32 product, in the order in which prepare() adds them: the f16 rows of B,
    // their scales, and the largest numbers of parts of the rows.
    int rows_tensor() const { return output_tensor() + 1; }
    int scales_tensor() const { return output_tensor() + 2; }
    int maxima_tensor() const { return output_tensor() + 3; }

    // The extra operands that are members of the functor: all except the staged one.
    std::vector<EpilogueForm> members() const {
        std::vector<EpilogueForm> all = form_.extras;
        if (form_.staged >= 0) all.erase(all.begin() + form_.staged);
        return all;
    }

    // Batch dimension `i` of B, or none if B lacks it: prepared rows are not repeated along it.
    std::vector<DimOf> batch_of_b(std::size_t i) const {
        return form_.b.batch[i] < 0 ? std::vector<DimOf>{}
                                    : std::vector<DimOf>{{form_.b.param, form_.b.batch[i]}};
    }

    // f16 numbers per row of a block of B: two for each element if operands are split.
    int block_elements() const { return kBlockDepth * (problem_.split ? 2 : 1); }

    // The passes over B: OperandSource and PreparedRows.
    void prepare() {
        const int b = form_.b.param;
        std::vector<DimOf> all_batch;
        for (std::size_t i = 0; i < form_.num_batch_dims(); ++i)
            for (const DimOf& dim : batch_of_b(i)) all_batch.push_back(dim);
        const std::vector<DimOf> depth{{b, form_.b.k}};
        const ExtentField batch{all_batch}, columns{dims_.n};
        record_.workspaces.push_back(
            {DType::f16, {batch, {depth, 1, kBlockDepth}, columns, {{}, block_elements()}}});
        record_.workspaces.push_back(
            {DType::f32, {batch, {dims_.n, 1, kScalesAligned}, {{}, kScalesAligned}}});
        record_.workspaces.push_back({DType::f32, {{depth, 1, kMaximumSpan}, batch, columns}});

        record_.alignments.push_back({b, 16});  // the passes read four elements at a time
        // Each tap begins with a block of B.
        if (form_.a.windows && !form_.a.overlaps())
            record_.alignments.push_back({form_.a.param, kBlockDepth * info(DType::f32).bytes});

        StructBuilder source;
        source.add(PointerField{b});
        source.add(StrideField{b, form_.b.outer});
        source.add(StrideField{b, form_.b.k});
        for (const int dim : form_.b.batch) source.add(StrideField{b, dim});
        source.add(ExtentField{dims_.n});
        source.add(ExtentField{depth});
        for (std::size_t i = 0; i < form_.num_batch_dims(); ++i)
            source.add(ExtentField{batch_of_b(i)});

        StructBuilder rows;
        rows.add(PointerField{rows_tensor()});
        rows.add(PointerField{scales_tensor()});
        rows.add(PointerField{maxima_tensor()});

        Launch launch;
        launch.block = kPassThreads;
        launch.params = {source.finish(), rows.finish()};
        launch.prepares_from = {b};
        launch.entry = maximum_entry(kernel_);
        launch.grid = TileGrid{dims_.n, depth, all_batch, kPassTile, kMaximumSpan, kMaxGridDepth};
        record_.launches.push_back(launch);
        launch.entry = prepare_entry(kernel_);
        launch.grid = TileGrid{dims_.n, depth, all_batch, kPassTile, kSpan, kMaxGridDepth};
        record_.launches.push_back(launch);
    }

    // `tile`: its rows or columns per tile; `num_sharing`: thread blocks that load them together.
    TensorMapParam operand_map(const OperandForm& operand, int tile, int num_sharing) const {
        if (operand.windows) return *window_map(kernel_, operand, tile / num_sharing);
        const bool along_k = operand.major == schedule::Major::k;
        const int row = 128 / info(problem_.operands).bytes;  // elements of a row of 128 bytes
        return matrix_map(operand.param, along_k ? operand.k : operand.outer,
                          along_k ? operand.outer : operand.k, operand.batch, row,
                          along_k ? tile / num_sharing : schedule_.tile.k);
    }

    // The map of the f16 rows that prepare_pass writes.
    TensorMapParam rows_map() const {
        TensorMapParam map;
        map.tensor = rows_tensor();
        map.dims = {3, 2, 1, 0};
        map.box = {block_elements(), schedule_.tile.n / schedule_.cluster.m, 1, 1};
        map.swizzle_bytes = block_elements() * info(DType::f16).bytes;
        return map;
    }

    void product() {
        const int out = output_tensor();
        const auto box_map = [&](int tensor, const EpilogueForm& at) {
            return matrix_map(tensor, at.n, at.m, at.batch,
                              128 / info(record_.outputs.front().dtype).bytes, kStoreRows);
        };

        Launch launch;
        launch.entry = product_entry(kernel_);
        launch.waits = true;
        PersistentGrid grid{dims_.m, dims_.n, dims_.batch, schedule_.tile.m,
                            columns_of(schedule_, problem_)};
        if (splits_depth(schedule_.scheduler)) {
            grid.k = dims_.k, grid.tile_k = schedule_.tile.k;
            grid.max_blocks = kMaxBlocks;
        }
        launch.grid = grid;
        if (grid.tile_n < schedule_.swizzle)  // else n * swizzle / tile_n <= n, checked anyway
            record_.counts.push_back({dims_.n, schedule_.swizzle, grid.tile_n});
        launch.block = kProductThreads;
        launch.cluster = {schedule_.cluster.m, schedule_.cluster.n};
        launch.shared_bytes = schedule::shared_memory_on_sm90(schedule_, problem_).bytes;
        launch.params = {
            operand_map(form_.a, schedule_.tile.m, schedule_.cluster.n),
            schedule::converted(problem_)
                ? rows_map()
                : operand_map(form_.b, columns_of(schedule_, problem_), schedule_.cluster.m)};
        if (form_.second != kNoProduct)
            launch.params.push_back(
                operand_map(form_.second_b, columns_of(schedule_, problem_), schedule_.cluster.m));
        if (form_.scattered)
            launch.params.push_back(places_param(kernel_, *form_.scattered));
        else
            launch.params.push_back(box_map(out, form_.output));
        if (form_.staged >= 0) {
            const EpilogueForm& staged = form_.extras[index(form_.staged)];
            launch.params.push_back(box_map(staged.tensor, staged));
        }
        const OperandForm* windows = form_.a.overlaps() ? nullptr : form_.windows();
        const ExtentField depth =
            windows ? depth_of_windows(kernel_, *windows, schedule_.tile.k) : ExtentField{dims_.k};
        launch.params.push_back(extents_param(dims_, depth));
        launch.params.push_back(order_param(schedule_));
        if (windows) launch.params.push_back(windows_param(kernel_, *windows));
        if (has_members(form_)) launch.params.push_back(functor_param(form_));
        if (splits_depth(schedule_.scheduler)) launch.params.push_back(partials());
        if (statistics_) launch.params.push_back(statistics());
        if (schedule::converted(problem_)) {
            StructBuilder scales;
            scales.add(PointerField{scales_tensor()});
            launch.params.push_back(scales.finish());
        }
        record_.launches.push_back(launch);
    }

    // `Partials`, and a workspace for the sums of every thread block and the marks of its groups.
    StructParam partials() {
        // Two marks per thread block and two counts, of 8 bytes each, in units of a float.
        constexpr int kMarks = 2 * 8 / 4, kStartCounts = 2 * 8 / 4;
        const int workspace = record_.num_tensors();
        record_.workspaces.push_back(
            {DType::f32,
             {},
             kMaxBlocks * (kMarks + schedule_.tile.m * schedule_.tile.n) + kStartCounts});
        StructBuilder partials;
        partials.add(PointerField{workspace});
        partials.add(TokenField{});
        return partials.finish();
    }

    // `RowStatistics`, and workspaces for its members `counts` and `computed`.
    StructParam statistics() {
        const int counts = record_.num_tensors(), computed = counts + 1;
        record_.alignments.push_back({form_.a.param, 16});  // rows are read in whole vectors
        // An upper bound of the rows that the kernel counts: M is rounded up to blocks of rows.
        ExtentField rows{dims_.batch, kStatisticsRows};
        rows.dims.insert(rows.dims.end(), dims_.m.begin(), dims_.m.end());
        record_.counts.push_back(std::move(rows));
        record_.workspaces.push_back({DType::i64, {}, kCountWords});
        record_.workspaces.push_back({DType::i32, {{dims_.batch}, {dims_.m, 1, kStatisticsRows}}});
        StructBuilder param;
        param.add(PointerField{form_.a.param});
        param.add(StrideField{form_.a.param, form_.a.outer});
        for (const int dim : form_.a.batch) param.add(StrideField{form_.a.param, dim});
        for (const int number : statistics_->params) param.add(PointerField{number});
        param.add(PointerField{counts});
        param.add(PointerField{computed});
        param.add(TokenField{});
        return param.finish();
    }

    const ir::Kernel& kernel_;
    const ProductForm& form_;
    const schedule::Schedule& schedule_;
    const schedule::Problem& problem_;
    const RowStatistics* statistics_;
    ProductDims dims_;
    LaunchRecord record_;
};

}  // namespace

LaunchRecord product_record(const ir::Kernel& kernel, const ProductForm& form,
                            const schedule::Schedule& schedule, const schedule::Problem& problem,
                            const RowStatistics* statistics) {
    return RecordBuilder(kernel, form, schedule, problem, statistics).build();
}

std::string maximum_entry(const ir::Kernel& kernel) {
    return kernel.name + "_maximum";
}

std::string prepare_entry(const ir::Kernel& kernel) {
    return kernel.name + "_prepare";
}

}  // namespace fact::lower::sm90
