#include "lower/sm90/record.h"

#include <algorithm>

#include "lower/sm90/epilogue_functor.h"

namespace fact::lower::sm90 {

namespace {

constexpr int kProductThreads = 384;                 // kProductThreads in product.cuh
constexpr int kSplitTile = 64, kSplitThreads = 256;  // as in split_pass.cuh
constexpr int kStoreRows = 16;                       // a warp's rows of a slab
constexpr int kMostBlocks = 144;                     // as in partials.cuh

// Appends members of a plain struct at their natural alignment.
class StructBuilder {
  public:
    void add(const Field& field) {
        const bool wide = std::holds_alternative<PointerField>(field) ||
                          std::holds_alternative<StrideField>(field) ||
                          std::holds_alternative<TokenField>(field);
        const int size = wide ? 8 : 4;
        offset_ = (offset_ + size - 1) / size * size;
        alignment_ = std::max(alignment_, size);
        param_.members.push_back({offset_, field});
        offset_ += size;
    }
    StructParam finish() {
        param_.bytes = (offset_ + alignment_ - 1) / alignment_ * alignment_;
        return param_;
    }

  private:
    StructParam param_;
    int offset_ = 0, alignment_ = 4;
};

class RecordBuilder {
  public:
    RecordBuilder(const ir::Kernel& kernel, const ProductForm& form,
                  const schedule::Schedule& schedule, const schedule::Problem& problem)
        : kernel_(kernel), form_(form), schedule_(schedule), problem_(problem) {}

    LaunchRecord build() {
        record_.kernel = kernel_.name;
        record_.arch = "sm90a";
        record_.schedule = schedule::to_string(schedule_);
        record_.precision = problem_.operands == DType::f32
                                ? (problem_.split ? "tf32x3" : "tf32")
                                : std::string(info(problem_.operands).name);
        for (const ir::Tensor& t : kernel_.params) record_.params.push_back(spec(t));
        for (const ir::Output& o : kernel_.outputs) record_.outputs.push_back(spec(o.tensor));
        equal_extents();
        for (const EpilogueForm& extra : members())
            if (loads_pairs(kernel_, extra))
                record_.alignments.push_back(
                    {extra.tensor, 2 * info(record_.params[index(extra.tensor)].dtype).bytes});
        if (problem_.operands == DType::f32) prepare();
        product();
        return record_;
    }

  private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    static TensorSpec spec(const ir::Tensor& tensor) {
        return {tensor.name, tensor.type.dtype, static_cast<int>(tensor.type.dims.size())};
    }
    int output_tensor() const { return static_cast<int>(kernel_.params.size()); }
    int planes_tensor() const { return output_tensor() + 1; }

    // The extra operands that are members of the functor: all but the staged one.
    std::vector<EpilogueForm> members() const {
        std::vector<EpilogueForm> all = form_.extras;
        if (form_.staged >= 0) all.erase(all.begin() + form_.staged);
        return all;
    }

    void equal_extents() {
        for (std::size_t d = 0; d < kernel_.dims.size(); ++d) {
            std::vector<DimOf> places;
            const auto note = [&](const ir::Tensor& tensor, int number) {
                for (std::size_t i = 0; i < tensor.type.dims.size(); ++i)
                    if (ir::index(tensor.type.dims[i]) == d)
                        places.push_back({number, static_cast<int>(i)});
            };
            for (std::size_t i = 0; i < kernel_.params.size(); ++i)
                note(kernel_.params[i], static_cast<int>(i));
            note(kernel_.outputs.front().tensor, output_tensor());
            if (places.size() > 1) record_.equal_extents.push_back(places);
        }
    }

    std::vector<DimOf> m() const { return {{form_.a.param, form_.a.outer}}; }
    std::vector<DimOf> n() const { return {{form_.b.param, form_.b.outer}}; }
    std::vector<DimOf> k() const { return {{form_.a.param, form_.a.k}}; }
    std::vector<DimOf> batch(std::size_t i) const {
        if (i >= form_.batch.size()) return {};
        return {{output_tensor(), form_.output.batch[i]}};
    }
    std::vector<DimOf> whole_batch() const {
        std::vector<DimOf> dims = batch(0);
        for (const DimOf& dim : batch(1)) dims.push_back(dim);
        return dims;
    }
    // The batch dimensions that B itself has: its planes hold no copy for the others.
    std::vector<DimOf> batch_of_b(std::size_t i) const {
        return form_.b.batch[i] < 0 ? std::vector<DimOf>{}
                                    : std::vector<DimOf>{{form_.b.param, form_.b.batch[i]}};
    }

    void prepare() {
        const int b = form_.b.param;
        std::vector<DimOf> all_batch = batch_of_b(0);
        for (const DimOf& dim : batch_of_b(1)) all_batch.push_back(dim);
        const std::vector<DimOf> depth{{b, form_.b.k}};
        record_.workspaces.push_back({DType::f32, {all_batch, n(), depth}, problem_.split ? 2 : 1});

        record_.alignments.push_back({b, 16});  // the pass reads four neighbours at a time

        StructBuilder source;  // SplitSource
        source.add(PointerField{b});
        source.add(StrideField{b, form_.b.outer});
        source.add(StrideField{b, form_.b.k});
        source.add(StrideField{b, form_.b.batch[0]});
        source.add(StrideField{b, form_.b.batch[1]});
        source.add(PointerField{planes_tensor()});
        source.add(ExtentField{n()});
        source.add(ExtentField{depth});
        source.add(ExtentField{batch_of_b(0)});
        source.add(ExtentField{batch_of_b(1)});

        Launch launch;
        launch.entry = prepare_entry(kernel_);
        launch.grid = TileGrid{n(), depth, all_batch, kSplitTile, kSplitTile};
        launch.block = kSplitThreads;
        launch.params = {source.finish()};
        launch.prepares_from = b;
        record_.launches.push_back(launch);
    }

    TensorMapParam operand_map(const OperandForm& operand, int tile, int shared) const {
        const bool along_k = operand.major == schedule::Major::k;
        const int row = 128 / info(problem_.operands).bytes;
        TensorMapParam map;
        map.tensor = operand.param;
        map.dims = {along_k ? operand.k : operand.outer, along_k ? operand.outer : operand.k,
                    operand.batch[0], operand.batch[1]};
        map.box = {row, along_k ? tile / shared : schedule_.tile.k, 1, 1};
        return map;
    }

    TensorMapParam planes_map() const {
        TensorMapParam map;
        map.tensor = planes_tensor();
        map.dims =
            problem_.split ? std::array<int, 4>{3, 2, 1, 0} : std::array<int, 4>{2, 1, 0, kNoDim};
        map.box = {32, schedule_.tile.n / schedule_.cluster.m, 1, 1};
        return map;
    }

    void product() {
        const int out = output_tensor();
        const auto box_map = [&](int tensor, const EpilogueForm& at) {
            TensorMapParam map;
            map.tensor = tensor;
            map.dims = {at.n, at.m, at.batch[0], at.batch[1]};
            map.box = {128 / info(record_.outputs.front().dtype).bytes, kStoreRows, 1, 1};
            return map;
        };

        StructBuilder extents;  // Extents
        extents.add(ExtentField{m()});
        extents.add(ExtentField{n()});
        extents.add(ExtentField{k()});
        extents.add(ExtentField{batch(0)});
        extents.add(ExtentField{batch(1)});

        StructBuilder finish;  // Finish: one Operand after another
        for (const EpilogueForm& extra : members()) {
            finish.add(PointerField{extra.tensor});
            for (const int dim : {extra.m, extra.n, extra.batch[0], extra.batch[1]})
                finish.add(StrideField{extra.tensor, dim});
        }

        Launch launch;
        launch.entry = product_entry(kernel_);
        PersistentGrid grid{m(), n(), whole_batch(), schedule_.tile.m, schedule_.tile.n};
        if (streamk()) grid.k = k(), grid.tile_k = schedule_.tile.k;
        launch.grid = grid;
        launch.block = kProductThreads;
        launch.cluster = {schedule_.cluster.m, schedule_.cluster.n};
        launch.shared_bytes = schedule::shared_memory_on_sm90(schedule_, problem_).bytes;
        launch.params = {operand_map(form_.a, schedule_.tile.m, schedule_.cluster.n),
                         problem_.operands == DType::f32
                             ? planes_map()
                             : operand_map(form_.b, schedule_.tile.n, schedule_.cluster.m),
                         box_map(out, form_.output)};
        if (form_.staged >= 0) {
            const EpilogueForm& staged = form_.extras[index(form_.staged)];
            launch.params.push_back(box_map(staged.tensor, staged));
        }
        launch.params.push_back(extents.finish());
        if (has_members(form_)) launch.params.push_back(finish.finish());
        if (streamk()) launch.params.push_back(partials());
        record_.launches.push_back(launch);
    }

    bool streamk() const { return schedule_.scheduler == schedule::Scheduler::streamk; }

    // Partials, and the memory for every block's sums and its two groups' marks.
    StructParam partials() {
        constexpr int kMarks = 2 * 8 / 4;  // floats' worth
        const int workspace = record_.num_tensors();
        record_.workspaces.push_back(
            {DType::f32, {}, kMostBlocks * (kMarks + schedule_.tile.m * schedule_.tile.n)});
        StructBuilder partials;
        partials.add(PointerField{workspace});
        partials.add(TokenField{});
        return partials.finish();
    }

    const ir::Kernel& kernel_;
    const ProductForm& form_;
    const schedule::Schedule& schedule_;
    const schedule::Problem& problem_;
    LaunchRecord record_;
};

}  // namespace

LaunchRecord product_record(const ir::Kernel& kernel, const ProductForm& form,
                            const schedule::Schedule& schedule, const schedule::Problem& problem) {
    return RecordBuilder(kernel, form, schedule, problem).build();
}

// A suffix keeps a kernel's name out of the way of what the skeletons call their own parts.
std::string product_entry(const ir::Kernel& kernel) {
    return kernel.name + "_kernel";
}

std::string prepare_entry(const ir::Kernel& kernel) {
    return kernel.name + "_prepare";
}

}  // namespace fact::lower::sm90
