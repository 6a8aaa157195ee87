// The launcher on a real GPU, with a kernel in PTX that reports how it was launched.
#include "gpu/kernel.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "gpu/driver.h"

namespace fact::gpu {
namespace {

constexpr const char* kProbe = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry probe(.param .align 8 .b8 params[24])
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.x;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra done;
    ld.param.u64 %rd1, [params];
    cvta.to.global.u64 %rd2, %rd1;
    atom.global.add.u32 %r2, [%rd2], 1;
    ld.param.u32 %r3, [params+8];
    ld.param.u32 %r4, [params+12];
    ld.param.u64 %rd3, [params+16];
    mov.u32 %r5, %cluster_nctaid.x;
    st.global.u32 [%rd2+4], %r3;
    st.global.u32 [%rd2+8], %r4;
    st.global.u64 [%rd2+16], %rd3;
    st.global.u32 [%rd2+24], %r5;
done:
    ret;
}
)";

// blocks, extent, constant, unused, stride (two words), cluster, unused
using Report = std::array<int, 8>;

struct Memory {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    template <class F>
    F* find(const char* name) {
        return reinterpret_cast<F*>(dlsym(library, name));
    }
    unsigned long long allocate(std::size_t bytes) {
        unsigned long long address = 0;
        EXPECT_EQ(find<int(unsigned long long*, std::size_t)>("cuMemAlloc_v2")(&address, bytes), 0);
        return address;
    }
    void clear(unsigned long long address, std::size_t words) {
        EXPECT_EQ(find<int(unsigned long long, unsigned, std::size_t)>("cuMemsetD32_v2")(address, 0,
                                                                                         words),
                  0);
    }
    Report read(unsigned long long address) {
        Report report{};
        EXPECT_EQ(find<int()>("cuCtxSynchronize")(), 0);
        EXPECT_EQ(find<int(void*, unsigned long long, std::size_t)>("cuMemcpyDtoH_v2")(
                      report.data(), address, sizeof(report)),
                  0);
        return report;
    }
};

LaunchRecord probe_record(std::array<int, 2> cluster) {
    LaunchRecord record;
    record.kernel = "probe";
    record.arch = "sm90a";
    record.params = {{"x", DType::i32, 2}};
    Launch launch;
    launch.entry = "probe";
    launch.grid = PersistentGrid{{{0, 0}}, {{0, 1}}, {}, 64, 8};
    launch.block = 128;
    launch.cluster = cluster;
    launch.shared_bytes = 160 * 1024;  // one block an SM
    launch.params = {StructParam{24,
                                 {{0, PointerField{0}},
                                  {8, ExtentField{{{0, 0}}}},
                                  {12, ExtentField{{{0, 1}}}},
                                  {16, StrideField{0, 0}}}}};
    record.launches = {launch};
    return record;
}

class KernelOnGpu : public testing::TestWithParam<std::array<int, 2>> {
  protected:
    void SetUp() override {
        auto device = device_info();
        if (!device) GTEST_SKIP() << device.error().message;
        if (device->arch != "sm90a") GTEST_SKIP() << "this GPU is " << device->arch;
        num_sms_ = device->num_sms;
    }
    int num_sms_ = 0;
};

TEST_P(KernelOnGpu, LaunchesWhatTheRecordSays) {
    const int cluster = GetParam()[0] * GetParam()[1];
    auto kernel = Kernel::load(kProbe, probe_record(GetParam()));
    ASSERT_TRUE(kernel.ok()) << kernel.error().text();
    Memory memory;
    const auto address = memory.allocate(sizeof(Report));
    TensorArg x{reinterpret_cast<void*>(address), DType::i32, {256, 16}, {24, 1}};

    const auto launched = [&](std::int64_t rows) {
        x.sizes[0] = rows;
        EXPECT_EQ(kernel->why_refused({&x, 1}), "");
        memory.clear(address, 8);
        auto done = kernel->launch({&x, 1}, {}, nullptr);
        EXPECT_TRUE(done.ok()) << done.error().text();
        return memory.read(address);
    };
    // Four row tiles by two column tiles: eight blocks.
    const Report few = launched(256);
    EXPECT_EQ(few[0], 8);
    EXPECT_EQ(few[1], 256);
    EXPECT_EQ(few[2], 16);
    EXPECT_EQ(few[4], 24);
    EXPECT_EQ(few[6], cluster);
    // More than fit: a full GPU of whole clusters.
    const Report many = launched(64 * 10000);
    EXPECT_EQ(many[0] % cluster, 0);
    EXPECT_LE(many[0], num_sms_);
    EXPECT_GT(many[0], num_sms_ * 3 / 4);

    // A thread that has no context yet.
    x.sizes[0] = 256;
    memory.clear(address, 8);
    std::thread([&] { EXPECT_TRUE(kernel->launch({&x, 1}, {}, nullptr).ok()); }).join();
    EXPECT_EQ(memory.read(address)[0], 8);
}

INSTANTIATE_TEST_SUITE_P(Clusters, KernelOnGpu,
                         testing::Values(std::array{1, 1}, std::array{2, 1}, std::array{2, 2}));

TEST_F(KernelOnGpu, PreparedLaunchesAreSkipped) {
    LaunchRecord record = probe_record({1, 1});
    record.launches.push_back(record.launches[0]);
    record.launches[0].prepares_from = {0};
    auto kernel = Kernel::load(kProbe, record);
    ASSERT_TRUE(kernel.ok()) << kernel.error().text();
    Memory memory;
    const auto address = memory.allocate(sizeof(Report));
    const TensorArg x{reinterpret_cast<void*>(address), DType::i32, {64, 8}, {8, 1}};
    memory.clear(address, 8);
    const std::vector<int> prepared[] = {{0}};
    ASSERT_TRUE(kernel->launch({&x, 1}, prepared, nullptr).ok());
    EXPECT_EQ(memory.read(address)[0], 1);
    ASSERT_TRUE(kernel->launch({&x, 1}, {}, nullptr).ok());
    EXPECT_EQ(memory.read(address)[0], 3);
}

TEST_F(KernelOnGpu, RefusesWhatCannotRunHere) {
    LaunchRecord record = probe_record({1, 1});
    record.launches[0].entry = "missing";
    EXPECT_FALSE(Kernel::load(kProbe, record).ok());
    record = probe_record({1, 1});
    record.launches[0].shared_bytes = 1 << 20;
    EXPECT_FALSE(Kernel::load(kProbe, record).ok());
    record = probe_record({1, 1});
    record.arch = "sm80";
    auto kernel = Kernel::load(kProbe, record);
    ASSERT_FALSE(kernel.ok());
    EXPECT_NE(kernel.error().message.find("was compiled for sm80"), std::string::npos);
}

TEST_F(KernelOnGpu, OneForGoodIsSharedAndStays) {
    const LaunchRecord record = probe_record({1, 1});
    const LaunchRecord* shared = nullptr;
    {
        auto first = Kernel::load_for_good(kProbe, record, 0);
        ASSERT_TRUE(first.ok()) << first.error().text();
        auto second = Kernel::load_for_good(kProbe, record, 0);
        ASSERT_TRUE(second.ok()) << second.error().text();
        EXPECT_EQ(&first->record(), &second->record());
        EXPECT_EQ(first->identity(), Kernel::identity_of(kProbe, record));
        shared = &first->record();
    }
    auto again = Kernel::load_for_good(kProbe, record, 0);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(&again->record(), shared);
    auto other = Kernel::load_for_good(kProbe, probe_record({2, 1}), 0);
    ASSERT_TRUE(other.ok()) << other.error().text();
    EXPECT_NE(&other->record(), shared);
    EXPECT_FALSE(Kernel::load_for_good(kProbe, record, 1 << 10).ok());
}

TEST_F(KernelOnGpu, LoadingBreaksNoCaptureOfAnotherThread) {
    auto context = Kernel::load(kProbe, probe_record({1, 1}));  // makes one current
    ASSERT_TRUE(context.ok()) << context.error().text();
    Memory memory;
    void* stream = nullptr;
    void* graph = nullptr;
    constexpr unsigned kNonBlocking = 1;
    constexpr int kGlobal = 0;  // forbids all threads what may wait for the GPU
    ASSERT_EQ(memory.find<int(void**, unsigned)>("cuStreamCreate")(&stream, kNonBlocking), 0);
    ASSERT_EQ(memory.find<int(void*, int)>("cuStreamBeginCapture_v2")(stream, kGlobal), 0);
    std::thread([] {
        LaunchRecord record = probe_record({1, 1});
        record.kernel = "loaded_beside_a_capture";
        auto kernel = Kernel::load_for_good(kProbe, record, 0);
        EXPECT_TRUE(kernel.ok()) << kernel.error().text();
    }).join();
    EXPECT_EQ(memory.find<int(void*, void**)>("cuStreamEndCapture")(stream, &graph), 0);
    EXPECT_NE(graph, nullptr);
}

}  // namespace
}  // namespace fact::gpu
